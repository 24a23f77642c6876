"""Decoding and offsets in code-point mode by the rules of tokenizers, where they differ from sentencepiece."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.codepoint_offsets import SectionRules, TracedIds
from fastbpe._core.encode.codepoint_pieces import TokenEncoder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import Array, int64s
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.choices import DecodeErrors, Unit, UnknownIds
from fastbpe.errors import SpecialTokenError, note_place
from fastbpe.model import Buffer, CodePointModel, Conventions
from fastbpe.tokenizer.codepoint_tables import (
    METASPACE_UTF8,
    Parts,
    as_found,
    decoded_bytes,
    make_normalizer,
    overridden,
)

Text = str | bytes


class Decoding:
    """Decoding as the decoders of a tokenizer.json do it.

    Consecutive byte ids decode together if their bytes are UTF-8; if not, each decodes to one U+FFFD.

    Args:
        model: model with conventions.
        parts: tables of the model.
        skips: bool – drop special tokens before any other step.
    """

    def __init__(self, model: CodePointModel, parts: Parts, *, skips: bool) -> None:
        assert model.conventions is not None
        special = overridden(model, skips=skips)
        self.decoder = parts.decoder
        if skips:
            self.decoder = Decoder(
                parts.surfaces, special, leading=parts.leading, space_keepers=parts.space_keepers, joins=True
            )
        self._plain = Decoder(parts.surfaces, special, joins=True)
        self.strips = model.conventions.strips
        self.byte_ids = frozenset(decoded_bytes(model))
        self.first_texts: dict[int, bytes] = {}
        if model.conventions.decoder == "Metaspace" and self.strips:
            self.first_texts = dict(_odd_first_texts(model))

    def decode(
        self, ids: Sequence[int] | Buffer, errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
    ) -> str:
        """Decode ids to text. With errors="replace", bytes that are not UTF-8 decode as in tokenizers."""
        if unknown_ids == "skip":
            ids = self.decoder.known(ids)
        first, rest, decoder = self._begin(ids, unknown_ids)
        if errors != "replace":
            return first + decoder.decode(rest, errors, num_threads, unknown_ids)
        try:
            return first + decoder.decode(rest, "strict", num_threads, unknown_ids)
        except UnicodeDecodeError:
            return first + self._decode_runs(rest, unknown_ids, strips=self.strips and decoder is not self._plain)

    def decode_batch(
        self,
        batch: list[Sequence[int] | Buffer],
        errors: DecodeErrors,
        num_threads: int | None,
        unknown_ids: UnknownIds,
    ) -> list[str]:
        """Decode each sequence of ids."""
        if not self.first_texts or not batch:
            with contextlib.suppress(UnicodeDecodeError):
                return self.decoder.decode_batch(batch, "strict", num_threads, unknown_ids)
        return [self.decode(ids, errors, num_threads, unknown_ids) for ids in batch]

    def decode_bytes(self, ids: Sequence[int] | Buffer) -> bytes:
        """Decode ids to bytes, UTF-8 or not."""
        first, rest, decoder = self._begin(ids, "raise")
        return first.encode() + decoder.decode_bytes(rest)

    def _begin(
        self, ids: Sequence[int] | Buffer, unknown_ids: UnknownIds
    ) -> tuple[str, Sequence[int] | Buffer, Decoder]:
        """Split off a first token that loses more than one space.

        Returns:
            (text of that token, the other ids, decoder of the other ids). The text is "" if there is no such
            token.
        """
        if not self.first_texts:
            return "", ids if hasattr(ids, "__len__") else list(ids), self.decoder
        listed = list(ids)
        for at, token in enumerate(self.decoder.tokens(listed, unknown_ids)):
            if token:
                if listed[at] not in self.first_texts:
                    break
                return self.first_texts[listed[at]].decode(), listed[at + 1 :], self._plain
        return "", listed, self.decoder

    def _decode_runs(self, ids: Sequence[int] | Buffer, unknown_ids: UnknownIds, *, strips: bool) -> str:
        """Decode each run of byte ids by itself. strips: drop a space at the beginning."""
        out: list[str] = []
        run = b""
        for token_id, token in zip(ids, self.decoder.tokens(ids, unknown_ids), strict=True):
            if token_id in self.byte_ids:
                run += token
            elif token:
                out += [_text_of_run(run), token.decode()]
                run = b""
        text = "".join([*out, _text_of_run(run)])
        return text[1:] if strips and text.startswith(" ") else text


def _odd_first_texts(model: CodePointModel) -> Iterator[tuple[int, bytes]]:
    """Yield (id, bytes) of the tokens that lose more than one space at the beginning of a text.

    A Metaspace decoder drops every U+2581 of the first token.
    """
    found = {token.id: as_found(model, token).encode() for token in model.added_tokens}
    for i, piece in enumerate(model.pieces):
        piece = found.get(i, piece)
        if METASPACE_UTF8 in piece[1:] or piece[:1] == b" ":
            yield i, piece.replace(METASPACE_UTF8, b"")


def _text_of_run(run: bytes) -> str:
    try:
        return run.decode()
    except UnicodeDecodeError:
        return "\ufffd" * len(run)


class Places:
    """Encoder that also gives the span of each id.

    Args:
        rules: rules for text between tokens.
        escapes: bool – before tokens are looked for, each U+2581 of the text becomes a space (see `Conventions`).
    """

    def __init__(self, rules: SectionRules, *, escapes: bool) -> None:
        self._rules = rules
        self._escapes = escapes

    def lists(
        self,
        texts: Iterable[Text],
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
        unit: Unit,
    ) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Encode texts. Returns for each text the list of ids and the list of their spans.

        Args:
            texts: str or bytes.
            allowed: matcher of the tokens to find; None: find no tokens.
            disallowed: matcher of the tokens to refuse; None: refuse no tokens.
            unit: unit of the spans.

        Raises SpecialTokenError for a text with a disallowed token.
        """
        lists: list[tuple[list[int], list[tuple[int, int]]]] = []
        for text in _checked(texts):
            out = TracedIds(0)
            self._add_all([text], allowed, disallowed, unit, out, isinstance(texts, tuple), len(lists))
            lists.append(out.lists())
        return lists

    def arrays(
        self,
        texts: Iterable[Text],
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
        unit: Unit,
    ) -> tuple[Array, Array, Array]:
        """Encode texts.

        Returns three arrays: the ids of all texts, their spans, and the offset of each text's first id.
        """
        listed = list(_checked(texts))
        out = TracedIds(sum(len(text) for text in listed if isinstance(text, (str, bytes))))
        ends = self._add_all(listed, allowed, disallowed, unit, out, isinstance(texts, tuple), 0)
        return *out.arrays(), int64s(ends)

    def _add_all(
        self,
        texts: list[Text],
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
        unit: Unit,
        out: TracedIds,
        is_single: bool,
        first: int,
    ) -> list[int]:
        """Encode texts into `out`. Returns the number of ids before each text, and the number of all ids.

        Args:
            texts, allowed, disallowed, unit: as in `lists`.
            out: object to which the ids are added, with their spans.
            is_single: bool – there is one text: errors do not name its index.
            first: index of the first text.
        """
        ends = [0]
        while True:
            try:
                out.add_texts(texts, ends, self._rules, allowed, disallowed, unit)
                if len(ends) > len(texts):
                    return ends
                self._add(texts[len(ends) - 1], allowed, disallowed, unit, out)
                ends.append(len(out))
            except (TypeError, ValueError) as error:
                if not is_single:
                    note_place(error, f"texts[{first + len(ends) - 1}]")
                raise

    def _add(
        self,
        text: Text,
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
        unit: Unit,
        out: TracedIds,
    ) -> None:
        """Encode a str or bytes, whether it has tokens or not."""
        data = to_utf8(text)
        if disallowed is not None and (found := disallowed.search(data)):
            raise SpecialTokenError.disallowed(data[found[0] : found[1]].decode())
        out.begin()
        prefixed = self._add_segments(data, allowed, out, [])
        if self._rules.as_tokenizers:
            out.end_as_tokenizers(data, prefixed, self._rules.removes_spaces)
        out.finish(text if isinstance(text, str) else data, data, unit)

    def section_ends(self, text: str, allowed: SpecialMatcher | None) -> list[tuple[int, str | None]]:
        """List (ids up to the end, text of the token or None) of each token and of each text between two tokens.

        A text between two tokens that has no ids is left out.
        """
        out, ends = TracedIds(0), list[tuple[int, str | None]]()
        out.begin()
        self._add_segments(to_utf8(text), allowed, out, ends)
        return ends

    def _add_segments(
        self, data: bytes, allowed: SpecialMatcher | None, out: TracedIds, ends: list[tuple[int, str | None]]
    ) -> list[int]:
        """Add ids and spans as sentencepiece gives them. Returns indices of ids that begin with an added space.

        ends: list to which the results of `section_ends` are appended.
        """
        prefixed: list[int] = []
        then = None if allowed is None else allowed.then
        for start, end, token_id in segments(data, allowed):
            if token_id is not None:
                out.add(token_id, start, end)
                ends.append((out.n, data[start:end].decode()))
                continue
            for a, b, one_id, has_dummy, spelled in self._normalized(data, start, end, then):
                if one_id is not None:
                    out.add(one_id, a, b)
                    ends.append((out.n, spelled))
                else:
                    before = out.n
                    prefixed += self._add_section(data, a, b, has_dummy, out)
                    if out.n > before:
                        ends.append((out.n, None))
        return prefixed

    def _add_section(self, data: bytes, start: int, end: int, has_dummy: bool, out: TracedIds) -> list[int]:
        """Add a text between tokens. has_dummy: put a space before the text in any case."""
        first, rules = out.n, self._rules
        if not (has_dummy or rules.puts_space(data, start, end)):
            out.add_section(rules.plain, data, start, end, False, end)
            return []
        if start < end:
            out.add_section(rules.prefixed, data, start, end, True, end)
        else:  # a text of only the added space has an empty span
            out.add_section(rules.plain, data[:start] + b" ", start, start + 1, False, start)
        return [first]

    def _normalized(
        self, data: bytes, start: int, end: int, then: SpecialMatcher | None
    ) -> Iterator[tuple[int, int, int | None, bool, str]]:
        """Find the tokens in normalized text.

        Returns:
            (start, end, id, prefixed, spelled) of each token and of each text between two tokens. id: None for a
            text between tokens. prefixed: a space is put before it. spelled: the token's text after normalization.
        """
        text, dummy = data[start:end], int(self._rules.dummy_prefix)
        if then is None:
            yield start, end, None, bool(dummy), ""
            return
        places = [start] * dummy + [*range(start, end + 1)]
        if self._escapes:
            places = [start] * dummy + _places_of_spaces(text, start)
            text = b" " * dummy + text.replace(METASPACE_UTF8, b" ")
        at = 0
        for a, b, token_id in (*then.find_all(text), (len(text), len(text), None)):
            if at < a:
                yield places[at], places[a], None, bool(dummy) and at == 0, ""
            if token_id is not None:
                spelled = text[a:b].decode()
                if self._escapes:
                    spelled = spelled.replace(" ", METASPACE_UTF8.decode())
                yield places[a], places[b], token_id, False, spelled
            at = b


def _places_of_spaces(text: bytes, start: int) -> list[int]:
    """List the offset of each byte that remains when each U+2581 becomes a space, and then the end of the text."""
    out: list[int] = []
    for number, part in enumerate(text.split(METASPACE_UTF8)):
        if number:
            out.append(start)
            start += len(METASPACE_UTF8)
        out += range(start, start + len(part))
        start += len(part)
    return [*out, start]


def _checked(texts: Iterable[Text]) -> Iterable[Text]:
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts must be a list of texts, not one text: give [text]")
    return texts


def segments(data: bytes, matcher: SpecialMatcher | None) -> Iterator[tuple[int, int, int | None]]:
    """Yield (start, end, id) of each token found in a text, and of each text between tokens, with id None."""
    at = 0
    for start, end, token_id in matcher.find_all(data) if matcher else []:
        if at < start:  # the white space that the token before includes may hold the beginning of this token
            yield at, start, None
        yield start, end, token_id
        at = end
    if at < len(data):
        yield at, len(data), None


def make_places(encoder: Encoder, model: CodePointModel, parts: Parts) -> Places:
    """Make the encoder with spans for a code-point tokenizer, with or without the rules of a tokenizer.json.

    Args:
        encoder: encodes the text between tokens.
        model: model of the tokenizer.
        parts: tables of the model.
    """

    def tokens(*, has_dummy: bool) -> TokenEncoder:
        normalizer = make_normalizer(model, marks_to_spaces=parts.marks_spaces, add_dummy_prefix=has_dummy)
        return TokenEncoder(encoder, normalizer)

    conventions = model.conventions or Conventions()
    rules = SectionRules(
        tokens(has_dummy=False),
        tokens(has_dummy=True),
        dummy_prefix=model.normalizer["add_dummy_prefix"],
        prefix=conventions.prefix,
        as_tokenizers=model.conventions is not None,
        removes_spaces=model.normalizer["remove_extra_whitespaces"],
    )
    return Places(rules, escapes=conventions.escapes)

"""Decoding and offsets of code points by the rules of tokenizers, where they differ from sentencepiece."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.codepoint_offsets import TracedIds
from fastbpe._core.encode.codepoint_pieces import TokenEncoder
from fastbpe._core.ids.id_lists import Array, int64s
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe.errors import SpecialTokenError, note_place
from fastbpe.model import Buffer, CodePointModel, Conventions
from fastbpe.tokenizer.codepoint_tables import METASPACE_UTF8, Parts, as_found, decoded_bytes, overridden


class Decoding:
    """Decoding as the decoders of a tokenizer.json do it.

    Consecutive byte ids decode together, or, if they are not UTF-8, to one U+FFFD each.

    Args:
        model: model with conventions.
        parts: its tables.
        skips: leave special tokens out, before anything else.
    """

    def __init__(self, model: CodePointModel, parts: Parts, *, skips: bool) -> None:
        assert model.conventions is not None
        special = overridden(model, skips=skips)
        self.decoder = parts.decoder
        if skips:
            self.decoder = Decoder(parts.surfaces, special, leading=parts.leading, whole=parts.whole, joins=True)
        self._plain = Decoder(parts.surfaces, special, joins=True)
        self.strips = model.conventions.strips
        self.bytes = frozenset(decoded_bytes(model))
        self.firsts: dict[int, bytes] = {}
        if model.conventions.decoder == "Metaspace" and self.strips:
            self.firsts = dict(_odd_firsts(model))

    def decode(self, ids: Sequence[int] | Buffer, errors: str, num_threads: int | None, unknown_ids: str) -> str:
        """Decode ids to text. errors="replace" does as tokenizers."""
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
        self, batch: list[Sequence[int] | Buffer], errors: str, num_threads: int | None, unknown_ids: str
    ) -> list[str]:
        """Decode each sequence of ids."""
        if not self.firsts or not batch:
            with contextlib.suppress(UnicodeDecodeError):
                return self.decoder.decode_batch(batch, "strict", num_threads, unknown_ids)
        return [self.decode(ids, errors, num_threads, unknown_ids) for ids in batch]

    def decode_bytes(self, ids: Sequence[int] | Buffer) -> bytes:
        """Decode ids to bytes, UTF-8 or not."""
        first, rest, decoder = self._begin(ids, "raise")
        return first.encode() + decoder.decode_bytes(rest)

    def _begin(self, ids: Sequence[int] | Buffer, unknown_ids: str) -> tuple[str, Sequence[int] | Buffer, Decoder]:
        """Take off a first token that loses more than a space.

        Returns:
            The text of that token, "" if there is none; the other ids; their decoder.
        """
        if not self.firsts:
            return "", ids if hasattr(ids, "__len__") else list(ids), self.decoder
        listed = list(ids)
        for at, token in enumerate(self.decoder.tokens(listed, unknown_ids)):
            if token:
                if listed[at] not in self.firsts:
                    break
                return self.firsts[listed[at]].decode(), listed[at + 1 :], self._plain
        return "", listed, self.decoder

    def _decode_runs(self, ids: Sequence[int] | Buffer, unknown_ids: str, *, strips: bool) -> str:
        """Decode each run of byte ids by itself. strips: drop a first space."""
        out: list[str] = []
        run = b""
        for token_id, token in zip(ids, self.decoder.tokens(ids, unknown_ids), strict=True):
            if token_id in self.bytes:
                run += token
            elif token:
                out += [_text_of_run(run), token.decode()]
                run = b""
        text = "".join([*out, _text_of_run(run)])
        return text[1:] if strips and text.startswith(" ") else text


def _odd_firsts(model: CodePointModel) -> Iterator[tuple[int, bytes]]:
    """Give (id, bytes) of the tokens that lose more than a first space at the beginning of a text.

    A Metaspace decoder drops every U+2581 there.
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


_PLAIN = Conventions()


class Places:
    """Encoder that tells the span of each id.

    Args:
        plain, prefixed: encoders of text between added tokens; `prefixed` puts a space before the text.
        conventions: rules of a tokenizer.json; None: the spans are those of sentencepiece.
        dummy_prefix: the model puts a space before text.
        removes_spaces: the model makes one space of several.
    """

    def __init__(
        self,
        plain: TokenEncoder,
        prefixed: TokenEncoder,
        conventions: Conventions | None,
        *,
        dummy_prefix: bool,
        removes_spaces: bool,
    ) -> None:
        self._plain = plain
        self._prefixed = prefixed
        self._conventions = conventions
        self._dummy_prefix = dummy_prefix
        self._removes_spaces = removes_spaces

    def lists(
        self,
        texts: Iterable[str | bytes],
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
        unit: str,
    ) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Encode texts; give the lists of ids and of spans of each. Arguments are those of `add`.

        Raises SpecialTokenError for a text with a disallowed token.
        """
        lists = []
        for text, data in _with_utf8(texts, disallowed):
            out = TracedIds(0)
            self._add(text, data, allowed, unit, out)
            lists.append(out.lists())
        return lists

    def arrays(
        self,
        texts: Iterable[str | bytes],
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
        unit: str,
    ) -> tuple[Array, Array, Array]:
        """Encode texts; give arrays of the ids of all, of their spans, and of the offsets of the texts' ids."""
        texts = texts if isinstance(texts, (tuple, str, bytes)) else list(texts)
        out, ends = TracedIds(sum(len(text) for text in texts if isinstance(text, (str, bytes)))), [0]
        for text, data in _with_utf8(texts, disallowed):
            self._add(text, data, allowed, unit, out)
            ends.append(len(out))
        return *out.arrays(), int64s(ends)

    def _add(
        self, text: str | bytes, data: bytes, allowed: SpecialMatcher | None, unit: str, out: TracedIds
    ) -> None:
        """Encode a text.

        Args:
            text: the text.
            data: the same in UTF-8.
            allowed: matcher of the tokens to find; None: none.
            unit: unit of the spans.
            out: object to which the ids are added, with their spans as the conventions have them.
        """
        out.begin()
        if allowed is not None:
            prefixed = self._add_segments(data, allowed, out)
        elif data:
            prefixed = self._add_section(data, 0, len(data), self._dummy_prefix, out)
        else:
            return
        if self._conventions is not None:
            if self._removes_spaces:
                out.begin_at_last_space(data)
            out.widen(data, prefixed)
        out.finish(text, data, unit)

    def _add_segments(self, data: bytes, allowed: SpecialMatcher, out: TracedIds) -> list[int]:
        """Add ids and spans as sentencepiece has them; give the indices of ids that begin with an added space."""
        prefixed: list[int] = []
        for start, end, token_id in segments(data, allowed):
            if token_id is not None:
                out.add(token_id, start, end)
                continue
            for a, b, one_id, has_dummy in self._normalized(data, start, end, allowed.then):
                if one_id is not None:
                    out.add(one_id, a, b)
                else:
                    prefixed += self._add_section(data, a, b, has_dummy, out)
        return prefixed

    def _add_section(self, data: bytes, start: int, end: int, has_dummy: bool, out: TracedIds) -> list[int]:
        """Add a text between tokens. has_dummy: put a space before it, whatever the conventions say."""
        first = out.n
        if not (has_dummy or self._has_prefix(data, start, end)):
            out.add_section(self._plain, data, start, end, False, end)
            return []
        if start < end:
            out.add_section(self._prefixed, data, start, end, True, end)
        else:  # a text that is only the added space has an empty span
            out.add_section(self._plain, data[:start] + b" ", start, start + 1, False, start)
        return [first]

    def _normalized(
        self, data: bytes, start: int, end: int, then: SpecialMatcher | None
    ) -> Iterator[tuple[int, int, int | None, bool]]:
        """Find the tokens in normalized text.

        Returns:
            (start, end, id, prefixed) of each token, and of the text between two, where id is None. prefixed: True
            if a space is put before it.
        """
        text, dummy = data[start:end], int(self._dummy_prefix)
        if then is None:
            yield start, end, None, bool(dummy)
            return
        places = [start] * dummy + [*range(start, end + 1)]
        if (self._conventions or _PLAIN).escapes:
            places = [start] * dummy + _places_of_spaces(text, start)
            text = b" " * dummy + text.replace(METASPACE_UTF8, b" ")
        at = 0
        for a, b, token_id in (*then.find_all(text), (len(text), len(text), None)):
            if at < a:
                yield places[at], places[a], None, bool(dummy) and at == 0
            if token_id is not None:
                yield places[a], places[b], token_id, False
            at = b

    def _has_prefix(self, data: bytes, start: int, end: int) -> bool:
        prefix = (self._conventions or _PLAIN).prefix
        has_place = prefix == "always" or (prefix == "first" and start == 0)
        return has_place and start < end and not data.startswith((b" ", METASPACE_UTF8), start, end)


def _places_of_spaces(text: bytes, start: int) -> list[int]:
    """List the offset of each byte that remains when U+2581 becomes a space, and the end of the text."""
    out: list[int] = []
    for number, part in enumerate(text.split(METASPACE_UTF8)):
        if number:
            out.append(start)
            start += len(METASPACE_UTF8)
        out += range(start, start + len(part))
        start += len(part)
    return [*out, start]


def _with_utf8(
    texts: Iterable[str | bytes], disallowed: SpecialMatcher | None
) -> Iterator[tuple[str | bytes, bytes]]:
    """Give each text with its UTF-8. Raises SpecialTokenError; a note tells the index of a text in a list."""
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts must be a list of texts, not one text: give [text]")
    for index, text in enumerate(texts):
        try:
            data = to_utf8(text)
            if disallowed is not None and (found := disallowed.search(data)):
                raise SpecialTokenError.disallowed(data[found[0] : found[1]].decode())
        except (TypeError, ValueError) as error:
            if type(texts) is not tuple:
                note_place(error, f"texts[{index}]")
            raise
        yield text if isinstance(text, str) else data, data


def segments(data: bytes, matcher: SpecialMatcher | None) -> Iterator[tuple[int, int, int | None]]:
    """Give (start, end, id) of the tokens found in a text, and of the text between them, where id is None."""
    at = 0
    for start, end, token_id in matcher.find_all(data) if matcher else []:
        if at < start:  # a token may begin within white space that the one before took along
            yield at, start, None
        yield start, end, token_id
        at = end
    if at < len(data):
        yield at, len(data), None

"""Decoding and offsets of code points by the rules of tokenizers, where they differ from sentencepiece."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.codepoint_pieces import Offsets, TokenEncoder
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe.model import Buffer, CodePointModel, Conventions
from fastbpe.tokenizer.codepoint_tables import METASPACE_UTF8, Parts, as_found, decoded_bytes, overridden

Spans = list[tuple[int, int]]


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


class Places:
    """Encoder that tells the span of each id, in bytes of the text's UTF-8.

    Args:
        sections: function that gives the encoder of text between added tokens; its argument tells whether that
            encoder puts a space before the text.
        conventions: rules of a tokenizer.json.
        dummy_prefix: the model puts a space before text.
    """

    def __init__(
        self, sections: Callable[[bool], TokenEncoder], conventions: Conventions, *, dummy_prefix: bool
    ) -> None:
        self._sections = sections
        self._conventions = conventions
        self._dummy_prefix = dummy_prefix

    def of(self, data: bytes, allowed: SpecialMatcher | None) -> tuple[list[int], Offsets, set[int]]:
        """Encode a text.

        Args:
            data: the text in UTF-8.
            allowed: matcher of the tokens to find; None: none.

        Returns:
            ids; their spans as sentencepiece has them; indices of the ids that begin with a space put before text.
        """
        ids: list[int] = []
        places = Offsets()
        prefixed: set[int] = set()
        then = None if allowed is None else allowed.then
        for start, end, token_id in segments(data, allowed):
            found = (
                [(start, end, token_id, False)]
                if token_id is not None
                else self._normalized(data, start, end, then)
            )
            for a, b, one_id, has_dummy in found:
                if one_id is not None:
                    ids.append(one_id)
                    places.add(a, b)
                    continue
                text = data[a:b]
                if has_dummy or self._has_prefix(text, a):
                    prefixed.add(len(ids))
                # A text that is only the added space has an empty span.
                tokens = self._sections(len(ids) in prefixed and a < b).encode(
                    text or b" " * has_dummy, offsets=True
                )
                places.add_tokens(tokens, a, b)
                if ids:
                    ids += tokens.ids()
                else:
                    ids = tokens.ids()
        return ids, places, prefixed

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
        if self._conventions.escapes:
            places = [start] * dummy + _places_of_spaces(text, start)
            text = b" " * dummy + text.replace(METASPACE_UTF8, b" ")
        at = 0
        for a, b, token_id in (*then.find_all(text), (len(text), len(text), None)):
            if at < a:
                yield places[at], places[a], None, bool(dummy) and at == 0
            if token_id is not None:
                yield places[a], places[b], token_id, False
            at = b

    def _has_prefix(self, text: bytes, at: int) -> bool:
        prefix = self._conventions.prefix
        has_place = prefix == "always" or (prefix == "first" and at == 0)
        return has_place and bool(text) and not text.startswith((b" ", METASPACE_UTF8))


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


def begin_at_last_space(spans: Spans, text: str) -> Spans:
    """Shorten spans to begin with one space at most: the last of several that became one."""
    out = []
    for start, end in spans:
        while start + 1 < end and text[start] == text[start + 1] == " ":
            start += 1
        out.append((start, end))
    return out


def widen(spans: Spans, prefixed: set[int]) -> Spans:
    """Widen empty spans, in characters, as tokenizers has them.

    A space put before text gets the span of its first character, one put after it that of its last. Each byte id
    of a character spans the character.

    Args:
        spans: spans as sentencepiece has them.
        prefixed: as `Places.of` gives it.
    """
    out = [*spans]
    for i in range(len(out) - 1, -1, -1):
        start, end = out[i]
        if start == end and i + 1 == len(out) and i not in prefixed:
            out[i] = max(start - 1, 0), start
        elif start == end:
            out[i] = start, start + 1 if i in prefixed else out[i + 1][1]
    return out


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

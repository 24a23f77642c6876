"""Encoding shown step by step: `Tokenizer.explain`.

`encode_with_offsets` returns ids and positions. The bytes of the ids are the normalized text, which the splitter
divides into pieces, and each piece is merged again, slowly, to record the merges.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.text.utf8_text import n_valid, plain, to_utf8
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.plurals import counted
from fastbpe._utils.short_reprs import fields_repr, html_text, short_repr
from fastbpe.display.shown_tokens import Viewed
from fastbpe.tokenizer.families.family import Family
from fastbpe.tokenizer.families.merged_tokens import MergedTokens
from fastbpe.tokenizer.families.symbol_merging import merge_steps, symbols_in
from fastbpe.vocabularies.material import shown_token

_N_SHOWN = 50  # pieces, merges of a piece, and changes that `print` shows

Spans = list[tuple[int, int]]


class Explained(Viewed, Protocol):
    """The parts of a tokenizer that explaining needs."""

    @property
    def _merged_tokens(self) -> MergedTokens: ...
    @property
    def _family(self) -> Family: ...
    def decode(self, ids: list[int]) -> str: ...


class Merge(NamedTuple):
    """One merge: the bytes of two neighbours, and the priority of the pair (the lowest merges first)."""

    left: bytes
    right: bytes
    priority: int


class Piece(NamedTuple):
    """Piece of a text.

    text: str – the piece after normalization; U+FFFD for bytes that are not UTF-8.
    start, end: int – its position in the text, in characters.
    kind: str – "text" for ordinary text, "special" or "added" for a special or added token, "unknown" for
        characters without a token, "bytes" for characters that fall back to bytes, "symbol" for a user-defined
        symbol.
    merges: the merges of its symbols, in order. If the vocabulary looks up whole pieces first, a piece that is a
        token becomes that token, even if its merges make other ids.
    ids: its ids.
    """

    text: str
    start: int
    end: int
    kind: str
    merges: tuple[Merge, ...]
    ids: tuple[int, ...]

    def __repr__(self) -> str:
        return fields_repr(self)


class Change(NamedTuple):
    """Part of a text that decoding does not restore: text[start:end] becomes `decoded`."""

    start: int
    end: int
    text: str
    decoded: str

    def __repr__(self) -> str:
        return fields_repr(self)


@dataclass(frozen=True)
class Explanation:
    """Steps of an encoding. `Tokenizer.explain` returns it.

    text: the text.
    pieces: its pieces in order, including special and added tokens.
    changes: differences between the text and the decoded ids; empty if decoding restores the text.
    """

    text: str
    pieces: tuple[Piece, ...]
    changes: tuple[Change, ...]

    def __repr__(self) -> str:
        n_ids = sum(len(piece.ids) for piece in self.pieces)
        sizes = f"{counted(len(self.pieces), 'piece')}, {counted(n_ids, 'id')}"
        return f"<fastbpe.Explanation of {short_repr(self.text)}: {sizes}>"

    def _repr_html_(self) -> str:
        return html_text(str(self))

    @property
    def normalized(self) -> str:
        """The text after normalization: the text of the pieces, joined."""
        return "".join([piece.text for piece in self.pieces])

    @property
    def ids(self) -> list[int]:
        """New list of the ids."""
        return [token_id for piece in self.pieces for token_id in piece.ids]

    def __str__(self) -> str:
        lines = [f"text        {short_repr(self.text)}", f"normalized  {short_repr(self.normalized)}"]
        for piece in self.pieces[:_N_SHOWN]:
            kind = "" if piece.kind == "text" else f"  {piece.kind}"
            ids = short_repr([*piece.ids])
            lines.append(f"piece       {short_repr(piece.text)}{kind}  {piece.start}:{piece.end}  ids {ids}")
            lines += [
                f"  merge     {shown_token(one.left)} + {shown_token(one.right)}  ({one.priority})"
                for one in piece.merges[:_N_SHOWN]
            ]
            if len(piece.merges) > _N_SHOWN:
                lines.append(f"  ... {len(piece.merges):,} merges in all")
        if len(self.pieces) > _N_SHOWN:
            lines.append(f"... {len(self.pieces):,} pieces in all: see .pieces")
        for one in self.changes[:_N_SHOWN]:
            lines.append(f"lost        {short_repr(one.text)} at {one.start} becomes {short_repr(one.decoded)}")
        if len(self.changes) > _N_SHOWN:
            lines.append(f"... {len(self.changes):,} changes in all: see .changes")
        return "\n".join(lines)


def explain(
    tokenizer: Explained,
    text: str | bytes,
    allowed_special: str | Collection[str],
    disallowed_special: str | Collection[str],
) -> Explanation:
    """Explain how a text is encoded. See `Tokenizer.explain`."""
    characters = joined(text)
    ids, spans = tokenizer.encode_with_offsets(
        characters, allowed_special=allowed_special, disallowed_special=disallowed_special
    )
    merged = tokenizer._merged_tokens
    # Only a spelling needs the words; `ids` stands in for them, so that slices work.
    words = ids if merged.words is None else merged.words(characters, allowed_special)
    pieces: list[Piece] = []
    at = 0
    for n, kind in _runs(tokenizer, ids, merged):
        if kind == "text":
            pieces += _pieces(merged, ids[at : at + n], spans[at : at + n], words[at : at + n])
        else:
            start, end = spans[at][0], spans[at + n - 1][1]
            pieces.append(
                Piece(to_utf8(characters[start:end]).decode(), start, end, kind, (), tuple(ids[at : at + n]))
            )
        at += n
    return Explanation(characters, tuple(pieces), tuple(_changes(tokenizer, characters, ids, spans)))


def joined(text: str | bytes) -> str:
    """Return a text as str, with surrogate pairs replaced by their characters; lone surrogates stay."""
    if not isinstance(text, str):
        return to_utf8(text).decode()
    text = plain(text)
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _runs(tokenizer: Explained, ids: list[int], merged: MergedTokens) -> Iterator[tuple[int, str]]:
    """Yield the length and kind of each run of ids: a single id, or all consecutive ids of text or of bytes."""
    added = {token.id for token in tokenizer.added_tokens}
    special = {*tokenizer.special_tokens.values()}
    run, n = "", 0
    for token_id in ids:
        if token_id not in merged.apart:
            kind = "text"
        elif token_id in merged.fallback:
            kind = "bytes"
        elif token_id in special:
            kind = "special"
        elif token_id in added:
            kind = "added"
        else:
            kind = "unknown" if token_id == tokenizer.unk_token_id else "symbol"
        if n and (kind != run or kind not in ("text", "bytes")):
            yield n, run
            n = 0
        run, n = kind, n + 1
    if n:
        yield n, run


def _pieces(merged: MergedTokens, ids: list[int], spans: Spans, words: Sequence[int]) -> Iterator[Piece]:
    """Yield the pieces of a run of ids that come from merging. words: as for `_ends_by_words`.

    first, end: indices of ids. at, borders, inside: offsets in the bytes of the ids, kept for superwords only.
    """
    first = at = 0
    borders = _borders(merged, ids) if merged.superwords is not None else []
    for end in _ends_by_words(words) if merged.spelling is not None else _ends(merged, ids):
        tokens = [merged.tokens[token_id] for token_id in ids[first:end]]
        if merged.superwords is None:
            merges = tuple(_merges(merged, tokens if merged.spelling is not None else [b"".join(tokens)]))
        else:
            data = b"".join(tokens)
            inside = borders[bisect_right(borders, at) : bisect_left(borders, at + len(data))]
            ends = [*(border - at for border in inside), len(data)]
            merges = tuple(_merges_of_words(merged, data, ends))
            at += len(data)
        text = merged.text_of(tokens).decode("utf-8", "replace")
        yield Piece(text, spans[first][0], spans[end - 1][1], "text", merges, tuple(ids[first:end]))
        first = end


def _ends_by_words(words: Sequence[int]) -> Iterator[int]:
    """Yield the number of ids up to the end of each piece. words: number of the word of each id."""
    for n in range(1, len(words)):
        if words[n] != words[n - 1]:
            yield n
    yield len(words)


def _ends(merged: MergedTokens, ids: list[int]) -> Iterator[int]:
    """Yield the number of ids up to the end of each piece. The bytes of the ids must be the text."""
    ends = {*_borders(merged, ids)}
    at = 0
    for n, token_id in enumerate(ids, 1):
        at += len(merged.tokens[token_id])
        if at in ends or n == len(ids):
            yield n


def _borders(merged: MergedTokens, ids: list[int]) -> list[int]:
    """Return the ends of pieces in the bytes of ids; [] if the bytes are not UTF-8."""
    data = b"".join([merged.tokens[token_id] for token_id in ids])
    # A vocabulary without all bytes leaves bytes out of the pieces: then a piece here ends where an id does.
    return [*merged.splitter.ends(data)] if n_valid(data) == len(data) else []


def _merges_of_words(merged: MergedTokens, data: bytes, ends: list[int]) -> Iterator[Merge]:
    """Merge a piece, or several that became a superword: first within each word, then the words.

    ends: ends of the pieces in the data.
    """
    assert merged.superwords is not None
    pieces = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    for piece in pieces:
        yield from _merges(merged, [piece])
    if len(pieces) > 1:
        for merge in _merges_by(merged, merged.superwords, pieces):
            yield merge._replace(priority=merged.n_merges + merge.priority)


def _merges(merged: MergedTokens, wholes: list[bytes]) -> Iterator[Merge]:
    """Merge a piece, the best pair first and the leftmost of equal pairs, and yield the merges in order.

    wholes: the piece (with a spelling: its tokens).
    """
    return _merges_by(merged, merged.vocabulary, [part for whole in wholes for part in merged.symbols_of(whole)])


def _merges_by(merged: MergedTokens, vocabulary: Vocabulary, parts: list[bytes]) -> Iterator[Merge]:
    """Merge symbols with the pairs of a vocabulary, and yield the merges in order. Changes the list `parts`."""
    for left, right, symbol, priority in merge_steps(symbols_in(parts, vocabulary), vocabulary):
        yield Merge(parts[left], parts[right], priority)
        parts[left] = parts[left] + parts[right] if merged.spelling is None else merged.tokens[symbol]


def _changes(tokenizer: Explained, text: str, ids: list[int], spans: Spans) -> Iterator[Change]:
    """Compare a text with the decoded ids, between the positions that correspond in both.

    start, end: positions in the text. at, stop: the corresponding positions in the decoded text.
    """
    decoded = tokenizer.decode(ids)
    if decoded == text:
        return
    start = at = 0
    last: tuple[int, int, int, int] | None = None  # (start, end, at, stop) of a change that the next may continue
    for end, stop in [*_common_places(tokenizer, decoded, ids, spans), (len(text), len(decoded))]:
        # Tokens share a character; or spans lie beyond the text, as in tokenizers for bytes with a prefix.
        if end < start or stop < at or end > len(text):
            continue
        change = _trimmed(text, decoded, start, end, at, stop)
        if change is not None and last is not None and (last[1], last[3]) == (change[0], change[2]):
            last = last[0], change[1], last[2], change[3]
        elif change is not None:
            if last is not None:
                yield Change(last[0], last[1], text[last[0] : last[1]], decoded[last[2] : last[3]])
            last = change
        start, at = end, stop
    if last is not None:
        yield Change(last[0], last[1], text[last[0] : last[1]], decoded[last[2] : last[3]])


def _common_places(tokenizer: Explained, decoded: str, ids: list[int], spans: Spans) -> Iterator[tuple[int, int]]:
    """Yield corresponding positions in a text and in its decoded ids, at boundaries of tokens."""
    shown, positions = tokenizer._family.surfaces.decode_with_offsets(ids)
    if shown != decoded or not ids:
        return  # rules that need the whole text changed it
    following = [*spans[1:], (sys.maxsize, 0)]
    for (start, end), (next_start, _), at, stop in zip(
        spans, following, positions, [*positions[1:], len(decoded)], strict=True
    ):
        yield start, at
        if end <= next_start:  # else the next token has bytes of the same character
            yield end, stop


def _trimmed(
    text: str, decoded: str, start: int, end: int, at: int, stop: int
) -> tuple[int, int, int, int] | None:
    """Trim the common ends of text[start:end] and decoded[at:stop]; return None if the two are equal."""
    while start < end and at < stop and text[start] == decoded[at]:
        start, at = start + 1, at + 1
    while start < end and at < stop and text[end - 1] == decoded[stop - 1]:
        end, stop = end - 1, stop - 1
    return (start, end, at, stop) if start < end or at < stop else None

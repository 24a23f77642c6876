"""Merging of a text step by step, for people to watch: a slow way to find its tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.tokenizer.families.codepoint_family import CodePointFamily
from fastbpe.tokenizer.families.symbol_merging import merge_steps
from fastbpe.tokenizer.tokenizer import Tokenizer


class Merge(NamedTuple):
    """One merge of two neighbours.

    at: int – index of the left neighbour, and of the resulting token.
    token: bytes – the resulting token.
    id: int or None – its id; None for a symbol that represents several ids.
    priority: int – position of the pair in the order of merging; the lowest of all neighbours merges first.
    """

    at: int
    token: bytes
    id: int | None
    priority: int


class MergedPiece(NamedTuple):
    """Merges within one piece of a text; no merge crosses pieces. A superword of whole pieces is one piece here.

    symbols: list of bytes – the base symbols: bytes, or characters.
    merges: list of Merge – the merges, in their order.
    whole: int or None – id of the whole piece, if encoding looks it up before merging (merges may end
        differently).
    """

    symbols: list[bytes]
    merges: list[Merge]
    whole: int | None


def merged_pieces(tokenizer: Tokenizer, text: str) -> list[MergedPiece]:
    """Merge a short text step by step. Special and added tokens are treated as ordinary text.

    The time is quadratic in the length of a piece.

    >>> tokenizer = Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None)
    >>> for merge in merged_pieces(tokenizer, "abcab")[0].merges:
    ...     print(merge.at, merge.token, merge.id)
    0 b'ab' 256
    2 b'ab' 256
    0 b'abc' 257
    """
    text = to_utf8(text).decode()  # without surrogates
    family = tokenizer._family
    if isinstance(family, CodePointFamily):
        return _merged_characters(family, text)
    vocabulary = family.vocabulary
    found = []
    for start, end in _apart(tokenizer.pieces(text)):
        piece = text[start:end].encode()
        symbols = [(byte, vocabulary.find(byte)) for byte in (bytes([value]) for value in piece)]
        known = [(byte, symbol) for byte, symbol in symbols if symbol is not None]  # other bytes are left out
        whole = vocabulary.find(piece) if vocabulary.whole_piece_first else None
        found.append(_merged(known, vocabulary, range(vocabulary.n_ids), whole))
    phases = tokenizer._pipeline.phases
    if phases is not None and phases.joins_pieces and phases.superwords is not None:
        return _with_superwords(found, vocabulary, phases.superwords, tokenizer._merged_tokens.n_merges)
    return found


def _with_superwords(
    pieces: list[MergedPiece], vocabulary: Vocabulary, superwords: Vocabulary, n_words: int
) -> list[MergedPiece]:
    """Join the pieces that become superwords, with the merges that join them, which come after n_words others."""
    found: list[MergedPiece] = []
    run: list[MergedPiece] = []  # pieces that are one token each

    def end_run() -> None:
        symbols = [symbol for symbol in map(vocabulary.find, map(_token_of, run)) if symbol is not None]
        for at, merged, priority in _steps(symbols, superwords):
            left, right = run[at : at + 2]
            # First the left piece becomes one symbol, so the symbols of the right one begin at index 1.
            merges = [*left.merges, *(merge._replace(at=merge.at + 1) for merge in right.merges)]
            token = _token_of(left) + _token_of(right)
            merges.append(Merge(0, token, merged, n_words + priority))
            run[at : at + 2] = [MergedPiece(left.symbols + right.symbols, merges, None)]
        found.extend(run)
        run.clear()

    for piece in pieces:
        if len(piece.symbols) - len(piece.merges) == 1:
            run.append(piece)
        else:
            end_run()
            found.append(piece)
    end_run()
    return found


def _token_of(piece: MergedPiece) -> bytes:
    """Return the token of a piece that becomes a single token."""
    return b"".join(piece.symbols)


def _apart(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that share a character, because some splitters cut characters into bytes."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start < found[-1][1]:
            start, _ = found.pop()
        found.append((start, end))
    return found


def _merged_characters(family: CodePointFamily, text: str) -> list[MergedPiece]:
    parts = family.parts
    ids = [token_id if token_id < parts.surfaces.n_ids else None for token_id in parts.symbol_ids()]
    found: list[MergedPiece] = []
    run: list[tuple[bytes, int]] = []

    def end_run() -> None:
        if run:
            found.append(_merged(run, parts.vocabulary, ids, None))
            run.clear()

    for character in family.normalized(text):
        data = character.encode()
        symbol = parts.vocabulary.find(data)
        if symbol is not None:
            run.append((data, symbol))
        else:  # no piece has this character: it becomes bytes, or unknown
            end_run()
            found.append(MergedPiece([data], [], None))
    end_run()
    return found


def _merged(
    base: list[tuple[bytes, int]], vocabulary: Vocabulary, ids: Sequence[int | None], whole: int | None
) -> MergedPiece:
    tokens = [data for data, _ in base]
    symbols = [symbol for _, symbol in base]
    merges = []
    for at, merged, priority in _steps(symbols, vocabulary):
        tokens[at : at + 2] = [tokens[at] + tokens[at + 1]]
        merges.append(Merge(at, tokens[at], ids[merged], priority))
    return MergedPiece([data for data, _ in base], merges, whole)


def _steps(symbols: list[int], vocabulary: Vocabulary) -> Iterator[tuple[int, int, int]]:
    """Merge symbols, and yield (index of the left one among those left, the new symbol, the priority)."""
    places = [*range(len(symbols))]
    for left, right, merged, priority in merge_steps(symbols, vocabulary):
        places.remove(right)
        yield places.index(left), merged, priority

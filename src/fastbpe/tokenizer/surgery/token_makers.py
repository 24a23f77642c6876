"""Makers of the tokens of a tokenizer: the two tokens that merge into each. See `vocabularies.makers`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fastbpe._core.merge.merge_piece import symbol_makers
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import CodePointModel, Model, PieceType
from fastbpe.tokenizer.families.codepoint_tables import METASPACE_UTF8, Parts
from fastbpe.tokenizer.families.ranked_merges import merges_by_rank
from fastbpe.tokenizer.families.symbol_merging import merge_all
from fastbpe.tokenizer.families.token_spelling import symbols_of

NO_ID = -1  # in place of the id of a character that is not a piece


def decided_by_ranks(vocabulary: Vocabulary, model: Model) -> bool:
    """Tell whether any two tokens merge if together they are a token, with the lowest id first."""
    return model.merges_rule == "ranks" or merges_by_rank(vocabulary, model)


def mergeable(model: CodePointModel) -> tuple[int, ...]:
    """Return the types of the pieces that merging may make."""
    if model.conventions is not None:
        return PieceType.NORMAL, PieceType.UNUSED
    return PieceType.NORMAL, PieceType.USER_DEFINED, PieceType.UNUSED


def piece_makers(model: CodePointModel, parts: Parts) -> dict[int, tuple[int, int]]:
    """Map the id of each piece that merging makes to the ids of the two pieces that make it, the best first.

    NO_ID stands for a character that is not a piece.
    """
    kinds = mergeable(model)
    ids: dict[bytes, int] = {}
    for i, (piece, kind) in enumerate(zip(model.pieces, model.types, strict=True)):
        if kind in kinds and not (parts.marks_spaces and b" " in piece):  # such a space is never in a text
            ids[piece.replace(METASPACE_UTF8, b" ") if parts.marks_spaces else piece] = i
    of_symbol = [ids.get(token, NO_ID) for token in parts.vocabulary.tokens()]
    made = symbol_makers(parts.vocabulary)
    if model.merges:  # listed: the best first
        # pair() finds each of them: `or` only tells the type checker so.
        priorities = {symbol: parts.vocabulary.pair(*pair) or (0, 0) for symbol, pair in made.items()}
        made = dict(sorted(made.items(), key=lambda item: priorities[item[0]]))
    return {of_symbol[i]: (of_symbol[left], of_symbol[right]) for i, (left, right) in made.items()}


def characters(token: bytes) -> list[bytes]:
    """Cut the UTF-8 of a piece into characters; a piece that is not UTF-8 counts as one character."""
    try:
        return [character.encode() for character in token.decode()]
    except UnicodeDecodeError:
        return [token]


def each_byte(token: bytes) -> list[bytes]:
    return [bytes([byte]) for byte in token]


def spelled_makers(vocabulary: Vocabulary, model: Model) -> dict[int, tuple[int, int]]:
    """Map each character-level token that merging makes to the (left id, right id) of its last merge."""
    assert model.spelling is not None
    tokens, merges = vocabulary.tokens(), model.merge_list() or []
    found: dict[tuple[int, int], int] = {}
    for i in dict.fromkeys(made for _, _, made in merges):
        found_symbols = [vocabulary.find(symbol) for symbol in symbols_of(tokens[i], model.spelling)]
        symbols = [symbol for symbol in found_symbols if symbol is not None]
        if len(symbols) < len(found_symbols):
            continue
        last, _ = merge_all(symbols, vocabulary, until=2)
        if len(last) == 2 and (pair := vocabulary.pair(last[0], last[1])) is not None and pair[1] == i:
            found[last[0], last[1]] = i
    return {i: (left, right) for left, right, i in merges if found.get((left, right)) == i}


def is_whole_piece(model: Model, encode: Callable[[str], Sequence[int]]) -> Callable[[int, bytes], bool]:
    """Return a function that tells whether `encode` turns the text of a token into this token.

    Requires: no merge makes the token.
    """

    def is_whole(token_id: int, token: bytes) -> bool:
        if not model.whole_piece_first:
            return False
        try:
            return [*encode(token.decode())] == [token_id]
        except UnicodeDecodeError:
            return False

    return is_whole


def uncovered(model: CodePointModel) -> Iterator[int]:
    """Yield the ids of pieces with a character that is not itself a piece; none with byte fallback.

    Without such a piece, a text with its characters could not be restored by decoding.
    """
    if model.trainer["byte_fallback"]:
        return
    kinds = mergeable(model)
    alone = {
        piece
        for piece, kind in zip(model.pieces, model.types, strict=True)
        if kind in kinds and len(characters(piece)) == 1
    }
    for i, (piece, kind) in enumerate(zip(model.pieces, model.types, strict=True)):
        is_text = kind in kinds or kind == PieceType.USER_DEFINED
        if is_text and len(piece) > 1 and not alone.issuperset(characters(piece)):
            yield i

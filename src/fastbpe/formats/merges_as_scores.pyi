"""Merges as sentencepiece's scores."""

from fastbpe.model import Buffer

def judge(
    piece_bytes: bytes, piece_ends: bytes, types: bytes, merges: Buffer, splits: bool, seed: int
) -> tuple[bytes, bool]:
    """Give scores to pieces, and tell whether the scores give every text the same pieces as the merges.

    The scores rank the pieces in the order of the first merge that makes each; pieces without a merge come last.
    The result is the same if the merges are exactly the pairs of symbols that spell a piece, and the list has all
    pairs of a piece in a row.

    Args:
        piece_bytes, piece_ends: bytes – the pieces, as in `CodePointModel`.
        types: bytes – type of each piece, in sentencepiece's enum.
        merges: uint32 triples (left id, right id, merged id), best first; no pair twice.
        splits: bool – text is split before each U+2581, so no piece has one after its first character.
        seed: a random number that the maker of a file cannot know.

    Returns:
        (scores, same): scores as in `CodePointModel`; same: the result is the same. False also if the search takes
        too
            long.
    """

def rescore(
    piece_bytes: bytes, piece_ends: bytes, types: bytes, merges: Buffer, splits: bool, seed: int
) -> tuple[bytes, list[int]] | None:
    """Find scores that give every text the same pieces as the merges. The merges may be any list.

    Takes the arguments of `judge`.

    Returns:
        (scores, ids): ids of the pieces that merging must not make. The merges leave two symbols of such a piece's
        text, and scores would merge these. None if a piece is longer than MAX_CHARACTERS.
    """

def unmade(piece_bytes: bytes, piece_ends: bytes, types: bytes, merges: Buffer, seed: int) -> list[int] | None:
    """Return the ids of the pieces that the merges do not make of the piece's own text.

    None if a piece is longer than MAX_CHARACTERS. Takes the arguments of `judge`.
    """

def first_bad(piece_bytes: bytes, piece_ends: bytes, merges: Buffer) -> int | None:
    """Return the index of the first merge whose two pieces do not spell the piece that it makes; None if all do.

    -1 if `piece_ends` does not cut `piece_bytes` into pieces. Takes the arguments of `judge`.
    """

"""Merges as sentencepiece's scores."""

from fastbpe.model import Buffer

def judge(
    piece_bytes: bytes, piece_ends: bytes, types: bytes, merges: Buffer, splits: bool, seed: int
) -> tuple[bytes, bool]:
    """Give scores to pieces, and tell whether they say exactly what the merges say.

    The scores rank the pieces that merges make in the order in which they are first made, then the others. They
    say the same if the merges are all pairs of symbols that make a piece, each piece's pairs side by side.

    Args:
        piece_bytes, piece_ends: pieces as `CodePointModel` has them.
        types: of each piece, one byte of sentencepiece's enum.
        merges: left id, right id, merged id (32 bits each), best first; no pair twice.
        splits: no piece has U+2581 but as its first character.
        seed: a random number that the maker of a file cannot know.

    Returns:
        (scores, same): scores as `CodePointModel` has them. same is False also if the search took too long.
    """

def rescore(
    piece_bytes: bytes, piece_ends: bytes, types: bytes, merges: Buffer, splits: bool, seed: int
) -> tuple[bytes, list[int]] | None:
    """Find scores with which every text becomes the same pieces as with any list of merges.

    Arguments as of `judge`.

    Returns:
        (scores, ids): ids are the pieces that must be taken out of merging. Merged alone, such a piece stays two
        symbols that no merge joins, and scores would join them. None if a piece is too long to be followed.
    """

def unmade(piece_bytes: bytes, piece_ends: bytes, types: bytes, merges: Buffer, seed: int) -> list[int] | None:
    """Return the ids of the pieces that merging their own text does not make.

    None if a piece is too long to be followed. Arguments as of `judge`.
    """

def first_bad(piece_bytes: bytes, piece_ends: bytes, merges: Buffer) -> int | None:
    """Return the index of the first merge whose two pieces do not spell the piece that it makes; None if all do.

    -1 if the ends do not cut the bytes into pieces. Arguments as of `judge`.
    """

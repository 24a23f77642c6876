"""The fast twin of `model_file._piece`."""

from fastbpe.model import Buffer

def read(data: Buffer, at: int, n_before: int) -> tuple[int, bytes, bytes, bytes, bytes]:
    """Read the plain pieces that follow each other from data[at] on.

    Args:
        data: the file.
        at: offset of the first piece.
        n_before: bytes of text in the pieces before; ends count from it.

    Returns:
        (offset of the first field that is not a plain piece, texts end to end, end of each text as uint32, scores
        as little-endian float32, types as bytes).
    """

def first_repeated(text: bytes, ends: bytes, seed: int) -> tuple[int, int] | None:
    """Return the two ids of the first piece that stands twice, or None.

    Args:
        text: pieces end to end.
        ends: the end of each, as uint32.
        seed: a random number that the maker of a file cannot know.
    """

def ids_of(types: bytes, wanted: int) -> list[int]:
    """Return the ids of one type, ascending. types: one byte for each id."""

def of_type(text: bytes, ends: bytes, types: bytes, wanted: int) -> dict[int, bytes]:
    """Return id → piece of one type.

    Args:
        text: pieces end to end.
        ends: the end of each, as uint32.
        types: one byte for each id.
        wanted: the type.
    """

def strings(data: bytes, at: int, tag: bytes) -> tuple[list[str], int]:
    """Read the strings of the fields with one tag that follow each other from data[at] on.

    Strings of 128 bytes or more are left to the caller. Bytes that are not UTF-8 become surrogates.

    Returns:
        (strings, offset of the first other field).
    """

"""Fast twin of `model_file._piece`."""

from fastbpe.model import Buffer

def read(data: Buffer, at: int, n_before: int) -> tuple[int, bytes, bytes, bytes, bytes]: ...
def first_repeated(text: bytes, ends: bytes, seed: int) -> tuple[int, int] | None:
    """Return the two ids of the first piece that appears twice, or None.

    Args:
        text: pieces end to end.
        ends: the end of each, as uint32.
        seed: a random number that the maker of a file cannot know.
    """

def ids_of(types: bytes, wanted: int) -> list[int]: ...
def of_type(text: bytes, ends: bytes, types: bytes, wanted: int) -> dict[int, bytes]: ...
def strings(data: bytes, at: int, tag: bytes) -> tuple[list[str], int]: ...

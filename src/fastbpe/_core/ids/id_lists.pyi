"""Outputs of ids: an array with memory of its own, or a list of ints from a table of ints made once."""

from typing import final

@final
class Array:
    """Integers in memory of their own, exported by the buffer protocol: numpy wraps them without a copy."""

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

def int64s(values: list[int]) -> Array:
    """Make an array of int64 of a list of ints."""

def lists_in_turns(ids: Array, offsets: Array) -> list[list[int]]:
    """Make the lists of several texts, and let other threads run in between.

    Args:
        ids: uint32 of all texts, end to end.
        offsets: int64 – text i has ids[offsets[i]:offsets[i + 1]].
    """

"""Outputs of ids: an array that owns its memory, or a list of ints from a table of ints made once."""

from typing import final

@final
class Array:
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

def lists_in_turns(ids: Array, offsets: Array) -> list[list[int]]: ...

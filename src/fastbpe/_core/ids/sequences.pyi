"""Sequences of integers, read from lists, arrays and other objects, and kept end to end."""

from typing import Any, final

@final
class Sequences:
    """Sequences of integers from 0 to limit - 1.

    limit: one more than the greatest integer.
    of_ids: the integers are ids, and one outside the limits is an InvalidTokenError; False: they are symbols, and
        it is a ValueError.
    is_one: only one sequence will be added: errors name no index.
    first: index of the first sequence, for errors.
    """

    def __new__(cls, limit: int, *, of_ids: bool = False, is_one: bool = False, first: int = 0) -> Sequences: ...
    def __len__(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def n_items(self) -> int:
        """Number of integers of all sequences."""

    def clear(self) -> None:
        """Drop all sequences and free their memory."""

    def add(self, sequence: Any, count: int = 1) -> None:
        """Append a sequence: a list, tuple, range, or any array of integers in one dimension.

        count: how often it counts.

        Raises ValueError (InvalidTokenError for ids) or TypeError, with the place, and then adds nothing.
        """

    def lengths(self) -> list[int]:
        """List the lengths of the sequences."""

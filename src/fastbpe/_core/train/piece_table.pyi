from collections.abc import Callable
from typing import Any

from typing_extensions import Self, disjoint_base

@disjoint_base
class PieceTable:
    """Distinct pieces and how often each was counted. One thread at a time may use it.

    spill: callable or None – spill(table) takes all pieces away (`clear`) when the table needs more than `limit`
        bytes.
    limit: int – bytes that tables and pieces may take; 0: no limit.
    """

    def __new__(
        cls, *args: Any, spill: Callable[[Self], object] | None = None, limit: int = 0, **kwargs: Any
    ) -> Self: ...
    def __len__(self) -> int: ...
    @property
    def n_arena(self) -> int: ...
    @property
    def n_pieces(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def used_bytes(self) -> int:
        """Bytes that the tables and pieces take."""

    def add_piece(self, piece: bytes, count: int) -> None:
        """Count one piece `count` times."""

    def add_table(self, other: PieceTable, *, behind: bool = True) -> None:
        """Add the counts of another table.

        behind: bool – the other's pieces occur after all of these; False: both tables counted batches of one
            source, whose positions can be compared.
        """

    def append(self, other: PieceTable) -> None:
        """Append the pieces of another table; no piece may be in both."""

    def abandon(self) -> None:
        """Make a thread that is adding pieces stop soon, with an error: nobody wants the counts."""

    def settle(self) -> None:
        """Make the counts in `pieces` true."""

    def finish(self) -> None:
        """Put the pieces in order of first appearance; free the hash tables, which are built again when needed."""

    def clear(self) -> None:
        """Forget all pieces; n_bytes stays."""

    def items(self) -> list[tuple[bytes, int]]:
        """Return (piece, count) of each piece, in order of first appearance once `finish` has sorted them."""

    def total(self) -> tuple[int, int]:
        """Return (number of pieces, their bytes) in the text: each piece times its count."""

    def count_of(self, piece: bytes) -> int:
        """Return how often a piece was counted; 0 if it was not met."""

    def equals(self, other: PieceTable) -> bool:
        """Tell whether both tables hold the same pieces with the same counts, in any order."""

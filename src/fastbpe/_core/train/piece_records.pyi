from collections.abc import Callable

from typing_extensions import Buffer

from fastbpe._core.train.piece_table import PieceTable

def write_parts(
    table: PieceTable, bits: int, seed: int, write: Callable[[int, bytes], object], *, place: int = 0
) -> None: ...
def write_by_position(
    table: PieceTable, width: int, n_parts: int, write: Callable[[int, bytes], object], *, min_count: int = 1
) -> tuple[int, int]: ...
def add_records(table: PieceTable, data: Buffer, *, place: int = 0) -> int: ...
def tables_of(table: PieceTable) -> tuple[bytes, bytes, bytes]: ...
def add_tables(table: PieceTable, pieces: Buffer, lengths: Buffer, counts: Buffer) -> str | None:
    """Add pieces that `tables_of` returned, each of them new; return None, or a sentence that states an error."""

def add_columns(table: PieceTable, pieces: Buffer, lengths: Buffer, counts: Buffer, first: int) -> int: ...

from collections.abc import Callable

from typing_extensions import Buffer

from fastbpe._core.train.piece_table import PieceTable

def write_parts(table: PieceTable, bits: int, seed: int, write: Callable[[int, bytes], object]) -> None:
    """Write all pieces as records, divided into 2**bits parts by the first bits of a hash.

    bits: int – 1 to 32.
    seed: int – seed of the hash; tables written with the same seed put a piece into the same part.
    write: callable – write(part, records) is called once for each part that has pieces.
    """

def add_records(table: PieceTable, data: Buffer) -> int:
    """Add the pieces of all complete records in data and return the bytes read."""

def tables_of(table: PieceTable) -> tuple[bytes, bytes, bytes]:
    """Return three bytes objects: all pieces end to end, their lengths (uint32) and their counts (int64)."""

def add_tables(table: PieceTable, pieces: Buffer, lengths: Buffer, counts: Buffer) -> str | None:
    """Add pieces that `tables_of` returned, each of them new; return None, or a text that says what is wrong."""

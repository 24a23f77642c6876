from collections.abc import Callable

from typing_extensions import Buffer

from fastbpe._core.train.piece_table import PieceTable

def write_parts(
    table: PieceTable, bits: int, seed: int, write: Callable[[int, bytes], object], *, place: int = 0
) -> None:
    """Write all pieces as records, divided into 2**bits parts by the first bits of a hash.

    bits: int – 1 to 32.
    place: int – is added to the position at which each piece was met first.
    seed: int – seed of the hash; tables written with the same seed put a piece into the same part.
    write: callable – write(part, records) is called once for each part that has pieces.
    """

def write_by_position(
    table: PieceTable, width: int, n_parts: int, write: Callable[[int, bytes], object], *, min_count: int = 1
) -> tuple[int, int]:
    """Write the frequent pieces as records, divided into parts by the position at which they first occur.

    width: int – positions of a part; the last part has the rest.
    n_parts: int – number of parts.
    write: callable – write(part, records) is called once for each part that has pieces, in ascending order.
    min_count: int – count below which a piece is left out.

    Returns (number of pieces left out, sum of their counts).
    """

def add_records(table: PieceTable, data: Buffer, *, place: int = 0) -> int:
    """Add the pieces of all complete records in data and return the bytes read.

    place: int – is added to the position at which each piece was met first.
    """

def tables_of(table: PieceTable) -> tuple[bytes, bytes, bytes]:
    """Return three bytes objects: all pieces end to end, their lengths (uint32) and their counts (int64)."""

def add_tables(table: PieceTable, pieces: Buffer, lengths: Buffer, counts: Buffer) -> str | None:
    """Add pieces that `tables_of` returned, each of them new; return None, or a text that says what is wrong."""

def add_columns(table: PieceTable, pieces: Buffer, lengths: Buffer, counts: Buffer, first: int) -> int:
    """Add rows of a file of counts to a table, which may hold the pieces already and may spill.

    pieces: bytes that begin with the pieces of the rows; there may be more of them.
    lengths, counts: bytes – the rows.
    first: int – position of the first row among the rows of all files.

    Returns the bytes of the pieces of the rows. Raises ValueError for a row that no file of counts has.
    """

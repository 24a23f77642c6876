"""Ids of texts copied into the rows of a padded matrix, and a mask of the places that they fill."""

from typing_extensions import Buffer

def fill_rows(ids: Buffer, starts: Buffer, counts: Buffer, columns: Buffer, out: Buffer) -> None:
    """Copy ids[starts[i] : starts[i] + counts[i]] into row i of a matrix, from column columns[i] on."""

def fill_mask(counts: Buffer, columns: Buffer, out: Buffer) -> None:
    """Write counts[i] ones into row i of a matrix, from column columns[i] on."""

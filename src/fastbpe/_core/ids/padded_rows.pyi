"""Ids of texts copied into the rows of a padded matrix, and a mask of the places that they fill."""

from typing import Any

def fill_rows(ids: Any, starts: Any, counts: Any, columns: Any, out: Any) -> None:
    """Copy ids[starts[i] : starts[i] + counts[i]] into row i of a matrix, from column columns[i] on."""

def fill_mask(counts: Any, columns: Any, out: Any) -> None:
    """Write counts[i] ones into row i of a matrix, from column columns[i] on."""

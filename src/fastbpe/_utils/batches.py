"""Batches of texts, as passed by callers: lists, iterators, arrays and columns, but not tables."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_ROWS = 1 << 12  # rows of a column that become Python objects at a time
_COLUMNS = ("columns", "column_names")  # attributes of the tables of pandas, polars, pyarrow, datasets


class OneText(tuple[str | bytes, ...]):
    """Batch with the only text of a call: errors do not name its index."""


def items_in(batch: Any, name: str = "texts") -> Any:
    """Return an iterable of the items of a batch: the values of an Arrow column, anything else unchanged.

    Args:
        batch: the caller's argument.
        name: name of the argument, for the error.

    Raises:
        TypeError: the batch is a mapping or a table, whose items would be names or rows.

    >>> items_in(["a", "b"])
    ['a', 'b']
    >>> items_in({"text": ["a", "b"]})
    Traceback (most recent call last):
    TypeError: texts is a dict, whose items are names: pass one column of it, such as texts["text"]
    """
    kind = type(batch)
    if kind is list or kind is tuple:  # only for speed
        return batch
    check_no_table(batch, name)
    if kind.__module__.partition(".")[0] == "pyarrow" and hasattr(batch, "to_pylist"):  # not a scalar
        return _values(batch)
    return batch


def check_no_table(batch: Any, name: str) -> None:
    """Raise TypeError for a mapping or a table, as `items_in` does."""
    kind = type(batch)
    if isinstance(batch, Mapping) or any(hasattr(kind, attribute) for attribute in _COLUMNS):
        what = "names" if isinstance(batch, Mapping) else "names, columns or rows"
        raise TypeError(
            f'{name} is a {kind.__name__}, whose items are {what}: pass one column of it, such as {name}["text"]'
        )


def _values(column: Any) -> Iterator[Any]:
    """Yield the values of an Arrow array, or of the chunks of a column."""
    chunks: Iterable[Any] = getattr(column, "chunks", (column,))
    for chunk in chunks:
        for start in range(0, len(chunk), _ROWS):
            yield from chunk.slice(start, _ROWS).to_pylist()

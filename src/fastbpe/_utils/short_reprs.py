"""Representations that fit on a screen: for records with long fields, and for reports in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_N_ITEMS = 4  # items of a collection that are shown
_MAX_TEXT = 60  # characters or bytes of a text that are shown
_MAX_OTHER = 300  # characters of any other object's repr
_MAX_BITS = 256  # bits of an integer that is shown; Python refuses to print more than 4,300 digits
_MAX_DEPTH = 3  # levels of nested collections that are shown


def short_repr(value: object, depth: int = _MAX_DEPTH) -> str:
    """Return the repr of a value; long texts and collections are cut off and show their length.

    >>> short_repr([1, 2]), short_repr({i: str(i) for i in range(9)}), short_repr("a" * 100)[-22:]
    ('[1, 2]', "{0: '0', 1: '1', 2: '2', 3: '3', ... 9 in all}", "aaa'... 100 characters")
    """
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"an integer of {value.bit_length():,} bits"
    if isinstance(value, (str, bytes)):
        if len(value) <= _MAX_TEXT:
            return repr(value)
        return f"{value[:_MAX_TEXT]!r}... {len(value):,} {'characters' if isinstance(value, str) else 'bytes'}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return repr(value)  # a record has its own
    if isinstance(value, Mapping):
        inner = depth - 1
        items = (f"{short_repr(key, inner)}: {short_repr(item, inner)}" for key, item in value.items())
        return _joined(items, len(value), depth, "{}")
    if isinstance(value, (list, tuple, Set)):
        brackets = "[]" if isinstance(value, list) else "()" if isinstance(value, tuple) else "{}"
        if isinstance(value, Set) and not value:
            return repr(value)  # set(): {} would be a dict
        end = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return _joined((short_repr(item, depth - 1) for item in value), len(value), depth, brackets, end)
    shown = repr(value)
    return shown if len(shown) <= _MAX_OTHER else f"{shown[:_MAX_OTHER]}..."


def _joined(items: Iterable[str], n: int, depth: int, brackets: str, end: str = "") -> str:
    """Join the first items of a collection. `end`: the comma for a tuple with one item."""
    left, right = brackets[0], brackets[1]
    if depth <= 0 and n:
        return f"{left}... {n:,} in all{right}"
    shown = ", ".join(islice(items, _N_ITEMS))
    if n > _N_ITEMS:
        return f"{left}{shown}, ... {n:,} in all{right}"
    return f"{left}{shown}{end}{right}"


def fields_repr(record: Any) -> str:
    """Return the repr of a dataclass or a named tuple, with long fields cut off, for its `__repr__`."""
    names: Sequence[str] = getattr(record, "_fields", None) or list(record.__dataclass_fields__)
    shown = ", ".join(f"{name}={short_repr(getattr(record, name))}" for name in names)
    return f"{type(record).__name__}({shown})"


def html_text(text: str) -> str:
    """Return a text as HTML that keeps its lines and columns: for `_repr_html_`."""
    from html import escape  # here: only notebooks need it

    return f'<pre style="white-space: pre-wrap">{escape(text)}</pre>'


def html_table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """Return rows as an HTML table: numbers right-aligned, all else left-aligned.

    >>> html_table([("<b>", 1234)])
    '<table><tr><td style="text-align: left">&lt;b&gt;</td><td style="text-align: right">1,234</td></tr></table>'
    """
    from html import escape

    def cell(value: object, tag: str = "td") -> str:
        side = "right" if isinstance(value, (int, float)) else "left"
        shown = f"{value:,}" if isinstance(value, int) else f"{value:.2f}" if isinstance(value, float) else value
        return f'<{tag} style="text-align: {side}">{escape(str(shown))}</{tag}>'

    lines = ["".join(cell(name, "th") for name in head)] if head else []
    lines += ["".join(map(cell, row)) for row in rows]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"

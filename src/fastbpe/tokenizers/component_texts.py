"""Texts of components: their JSON as tokenizers writes it, and what `repr` and `str` show."""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe._utils import late_json as json
from fastbpe._utils.named_tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

#: Fields whose values are shown as names, without quotes.
_NAMES = frozenset({"behavior", "prepend_scheme", "direction", "strategy", "progress_format"})
#: A number that Python's JSON writes unlike tokenizers. The second regex also matches strings, which stay. It is
#: slow, and many vocabularies have a token such as "NaN", so the first one is tried before.
_NUMBER = r"\de-0\d|[\[,: ]-?(?:NaN|Infinity)"
_STRING_OR_NUMBER = r'("dropout": ?)(\d[\d.]*e-06)|"(?:[^"\\]|\\.)*"|-?\d[\d.]*e-0\d|NaN|-?Infinity'


def compact(value: Any) -> bytes:
    return json_text(value).encode()


def json_text(value: Any, *, pretty: bool = False) -> str:
    """Return JSON as tokenizers writes it: 1e-8, but 0.00001 without an exponent; infinity and NaN as null.

    >>> json_text(["1e-08", 1e-08, 1.5e-05, 1e+20, float("inf")])
    '["1e-08",1e-8,0.000015,1e+20,null]'
    """
    import re

    layout: dict[str, Any] = {"indent": 2} if pretty else {"separators": (",", ":")}
    text = json.dumps(value, ensure_ascii=False, **layout)
    may_differ = any(part in text for part in ("e-0", "NaN", "Infinity"))  # much faster than the regexes
    return re.sub(_STRING_OR_NUMBER, _rewritten, text) if may_differ and re.search(_NUMBER, text) else text


def _rewritten(found: re.Match[str]) -> str:
    text = found[0]
    if found[1]:  # the only number of 32 bits: Rust writes these without an exponent from 1e-6 on
        return found[1] + plain_digits(float(found[2]))
    if text[0] == '"':
        return text
    if text[-1] in "Ny":
        return "null"
    if text.endswith("e-05"):
        return plain_digits(float(text))
    return text.replace("e-0", "e-")


def plain_digits(value: float) -> str:
    """Write a number without an exponent, in the fewest digits, as Rust does."""
    shown = repr(value)
    if "e" in shown:
        from decimal import Decimal  # here: few numbers need it

        shown = format(Decimal(shown), "f")
    return shown.removesuffix(".0").replace("nan", "NaN")


def single(value: float) -> float:
    """Return a number rounded to a 32-bit float; infinity for one that is too large."""
    from array import array

    return array("f", [value])[0]


def shortest(value: float) -> float:
    """Return the number with the fewest digits that rounds to the same 32-bit float, as in a tokenizer.json."""
    rounded = single(value)
    shorter = (float(f"{rounded:.{n}g}") for n in range(1, 10))  # nine digits tell all 32-bit floats apart
    return next((number for number in shorter if single(number) == rounded), rounded)  # NaN equals no number


class Limits(NamedTuple):
    """Limits of the repr or str of a component.

    n_items: a list or dict of this length or longer is shortened to its first n_items - 1 items and three dots.
    n_bytes: a string of more UTF-8 bytes is shortened to its first n_bytes bytes and three dots.
    """

    n_items: int
    n_bytes: int


REPR = Limits(100, 1 << 62)  # strings are shown whole; the other three numbers are tokenizers' own
STR = Limits(6, 100)


def show_component(described: Mapping[str, Any], limits: Limits) -> str:
    """Return a component as `repr` or `str` shows it."""
    fields = ((key, value) for key, value in described.items() if key != "type")
    return f"{described['type']}({', '.join(f'{key}={show(value, limits, key)}' for key, value in fields)})"


def show(value: Any, limits: Limits, key: str = "") -> str:
    """Return a value within a component as `repr` or `str` shows it.

    key: name of the value's field, or kind of the value from `_ITEMS`.
    """
    if isinstance(value, str):
        return value if key in _NAMES else _quoted(value, limits)
    if isinstance(value, list):
        left, right = "()" if key in ("sep", "cls", "merge") else "[]"  # lists in JSON, but tuples in tokenizers
        shown = [show(item, limits, _ITEMS.get(key, "")) for item in value[: limits.n_items]]
        return f"{left}{_listed(shown, limits)}{right}"
    if isinstance(value, tuple):
        return f"({', '.join(show(item, limits) for item in value)})"
    if isinstance(value, float):
        return plain_digits(single(value) if key == "dropout" else value)  # only dropout has 32 bits in tokenizers
    if not isinstance(value, Mapping):
        return repr(value)
    if isinstance(value.get("type"), str):
        return show_component(value, limits)
    if key in ("pattern", "piece"):
        [(kind, inner)] = value.items()
        if key == "pattern":
            return f"{kind}({_quoted(inner, limits)})"
        name = inner["id"] if kind == "Sequence" else _quoted(inner["id"], limits)
        return f"{kind}(id={name}, type_id={inner['type_id']})"
    if key == "token":
        return f"SpecialToken({', '.join(f'{name}={show(inner, limits)}' for name, inner in value.items())})"
    inner_key = _ITEMS.get(key, "")
    first = [*value.items()][: limits.n_items]
    shown = [f"{show(name, limits)}:{show(inner, limits, inner_key)}" for name, inner in first]
    return f"{{{_listed(shown, limits)}}}"


#: Field with several items → kind of each item, which `show` gets as its key.
_ITEMS = {"single": "piece", "pair": "piece", "special_tokens": "token", "merges": "merge"}


def _listed(shown: list[str], limits: Limits) -> str:
    return ", ".join(shown if len(shown) < limits.n_items else [*shown[: limits.n_items - 1], "..."])


def _quoted(text: str, limits: Limits) -> str:
    data = text.encode("utf-8", "surrogatepass")  # a pickled state may contain lone surrogates
    if len(data) <= limits.n_bytes:
        return f'"{text}"'
    return f'"{data[: limits.n_bytes].decode("utf-8", "ignore")}..."'

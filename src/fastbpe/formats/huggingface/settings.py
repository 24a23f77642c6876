"""Truncation and padding of a tokenizer.json, as plain data, checked as tokenizers 0.23 checks them."""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe.formats.huggingface.decoder_json import fail, is_id, is_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NEEDED = object()  # marks a member without a default
#: Members of "truncation" and "padding" with their defaults, in the order in which tokenizers writes them.
_MEMBERS: Mapping[str, Mapping[str, Any]] = {
    "truncation": {"direction": "Right", "max_length": _NEEDED, "strategy": _NEEDED, "stride": _NEEDED},
    "padding": {
        "strategy": _NEEDED,
        "direction": _NEEDED,
        "pad_to_multiple_of": None,
        "pad_id": _NEEDED,
        "pad_type_id": _NEEDED,
        "pad_token": _NEEDED,
    },
}
_NAMES = {"direction": ("Left", "Right"), "strategy": ("LongestFirst", "OnlyFirst", "OnlySecond")}
_NUMBER = "an integer from 0 to 2**64 - 1"


def canonical(name: str, described: Any, where: str) -> dict[str, Any] | None:
    """Return the JSON of "truncation" or "padding" as tokenizers writes it; None if it is not set.

    described: its JSON. Raises FormatError if tokenizers would refuse it.

    >>> canonical("truncation", {"max_length": 8, "strategy": "OnlyFirst", "stride": 0}, "x.json")
    {'direction': 'Right', 'max_length': 8, 'strategy': 'OnlyFirst', 'stride': 0}
    """
    if described is None:
        return None
    place, members = f"{where}: {name}", _MEMBERS[name]
    if isinstance(described, list) and len(described) == len(members):  # serde also reads a list of the values
        described = dict(zip(members, described, strict=True))
    if not isinstance(described, Mapping):
        fail(place, f"must be an object, not {described!r:.60}")
    made = {key: described.get(key, default) for key, default in members.items()}
    for key, value in made.items():
        if value is _NEEDED:
            fail(place, f"it has no {key!r}")
        if expected := _flaw(name, key, value):
            fail(f"{place}.{key}", f"must be {expected}, not {value!r:.60}")
    return made


def _flaw(name: str, key: str, value: Any) -> str:
    """Describe the values that are allowed for a member; "" if its value is allowed."""
    if name == "padding" and key == "strategy":
        is_fixed = isinstance(value, Mapping) and [*value] == ["Fixed"] and is_value("number", value["Fixed"])
        return "" if value == "BatchLongest" or is_fixed else '"BatchLongest" or {"Fixed": length}'
    if key in _NAMES:
        return "" if isinstance(value, str) and value in _NAMES[key] else f"one of {', '.join(_NAMES[key])}"
    if key in ("pad_id", "pad_type_id"):
        return "" if is_id(value) else "an id of 0 to 2**32 - 1"
    if key == "pad_token":
        return "" if isinstance(value, str) else "text"
    if key == "pad_to_multiple_of" and value is None:
        return ""
    return "" if is_value("number", value) else _NUMBER

"""Checks of arguments that many calls share."""

from __future__ import annotations

import operator
from typing import SupportsIndex


def integer(name: str, value: object) -> int:
    """An argument that must be an integer, as an int. TypeError for all others, bools among them."""
    if not isinstance(value, SupportsIndex) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    return operator.index(value)

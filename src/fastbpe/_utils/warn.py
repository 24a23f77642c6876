"""Warnings that point at a line of the program."""

from __future__ import annotations

import sys


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning for the line, outside fastbpe, that called fastbpe."""
    import warnings  # here: few programs get a warning

    level = 2
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "fastbpe":
        frame = frame.f_back  # type: ignore[assignment]
        level += 1
    warnings.warn(message, category, stacklevel=level)

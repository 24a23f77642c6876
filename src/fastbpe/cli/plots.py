"""Plots by matplotlib, without a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastbpe.cli import streams
from fastbpe.display.visible import visible_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colours of Okabe and Ito, which the colour-blind tell apart.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")


def check(name: str) -> None:
    """Raise an error if a plot cannot be written: by its ending, its place, or without matplotlib."""
    if not name.endswith((".png", ".svg")):
        raise ValueError(f"--plot {name}: give it the ending .png or .svg")
    streams.check_output(name)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("--plot needs matplotlib: pip install 'fastbpe-tokenizer[plot]'") from None


def figure(width: float, height: float) -> Figure:
    """Make an empty figure, its size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def label(text: str) -> str:
    """Return a text for matplotlib, in which a `$` begins no formula and every character is visible."""
    return visible_text(text).replace("$", r"\$")

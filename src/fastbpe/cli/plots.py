"""Plots with matplotlib, without a window."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING

from fastbpe.cli import outputs, streams
from fastbpe.display.visible import visible_text
from fastbpe.formats.atomic_files import write_with

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colours of Okabe and Ito, which colour-blind people can tell apart.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
#: Fonts for characters that DejaVu Sans lacks; the installed ones are tried in order.
FURTHER_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Nirmala UI",
    "Noto Sans Thai",
    "Leelawadee UI",
    "Noto Sans Symbols",
    "Segoe UI Symbol",
    "Arial Unicode MS",
)


def add_arguments(group: argparse._ActionsContainer, what: str) -> None:
    """Add --plot and --force. what: the things that are drawn."""
    group.add_argument("--plot", metavar="PICTURE", help=f"plot {what} to a .png or .svg file (needs matplotlib)")
    outputs.add_force(group, "PICTURE")


def check(args: argparse.Namespace) -> None:
    """Check --plot and --force.

    Raises an error if the plot cannot be written: wrong extension or folder, an existing file without --force, or
    no matplotlib. --force without --plot ends the command.
    """
    name = args.plot
    if name is None:
        if args.force:
            args.wrong("--force needs --plot")
        return
    if not name.endswith((".png", ".svg")):
        raise ValueError(f"--plot {name}: must end with .png or .svg")
    outputs.refuse_existing(args, name)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("--plot needs matplotlib: pip install 'fastbpe-tokenizer[plot]'") from None


def figure(width: float, height: float) -> Figure:
    """Create an empty figure; the size is in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)  # sets the figure's canvas: one that draws without a window
    return made


def save(drawn: Figure, name: str) -> None:
    """Write a figure to a file atomically. Warn in one line if no font has some of its characters."""
    from matplotlib.font_manager import get_font_names
    from matplotlib.text import Text

    installed = {*get_font_names()}
    families = ["DejaVu Sans", *(font for font in FURTHER_FONTS if font in installed)]
    for text in drawn.findobj(Text):
        text.set_fontfamily(families)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write_with(name, lambda file: drawn.savefig(file, format=name.rpartition(".")[2]))
    if any("missing from font" in str(warning.message) for warning in caught):
        streams.complain(
            f"{name}: the plot has characters that no installed font has; they become boxes", "warning"
        )


def label(text: str) -> str:
    """Return a text for matplotlib in which no `$` begins a formula and every character is visible."""
    return visible_text(text).replace("$", r"\$")

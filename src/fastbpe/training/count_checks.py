"""Checks of counts: of a single one, and whether counts may be added up."""

from __future__ import annotations

from collections.abc import Iterable

from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.arguments import integer
from fastbpe.errors import TrainingError
from fastbpe.patterns import PatternLike, resolve_pattern, shown_pattern

NEIGHBOURS = " neighbours"  # end of `PieceCounts.runs_of`: the runs are pairs of neighbours
_MAX_COUNT = (1 << 63) - 1  # occurrences of a piece
_MAX_SHOWN = 60  # characters of a pattern in an error


def unit_of(mode: str, runs_of: str | None) -> str:
    """Return the noun for what `PieceCounts` of this mode and runs_of contain."""
    if runs_of is None:
        return "piece" if mode == "byte" else "word"
    if runs_of.endswith(NEIGHBOURS):
        return "pair of tokens"
    return "run of tokens" if " " in runs_of else "run of words"


def checked_count(piece: object, number: object) -> tuple[bytes, int]:
    """Check a piece and its count.

    Returns:
        The piece as bytes, and the count.

    Raises:
        TypeError: the piece is not bytes or str, or the count is not an integer.
        ValueError: the count is negative.
        OverflowError: the count is above 2**63 - 1.
    """
    if isinstance(piece, str):
        piece = to_utf8(piece)
    if not isinstance(piece, bytes):
        raise TypeError(f"piece {piece!r} is {type(piece).__name__}, not bytes or str")
    checked = integer(f"count of {piece!r}", number)
    if checked < 0:
        raise ValueError(f"count of {piece!r} is {checked}: it must not be negative")
    if checked > _MAX_COUNT:
        raise OverflowError(f"count of {piece!r} is {checked}: more than 2**63 - 1")
    return piece, checked


def check_same_splitting(
    pattern: PatternLike, special_tokens: Iterable[str], other: PatternLike, other_special_tokens: Iterable[str]
) -> None:
    """Check that pieces were made with the same pattern and special tokens as others.

    Args:
        pattern, special_tokens: pattern and tokens with which the pieces were made.
        other, other_special_tokens: pattern and tokens to compare with.

    Raises:
        TrainingError: they differ.
    """
    patterns = [shown_pattern(resolve_pattern(one)[1], _MAX_SHOWN) for one in (pattern, other)]
    names = [sorted(special_tokens), sorted(other_special_tokens)]
    for name, differs, (mine, theirs) in (
        ("split pattern", pattern != other, patterns),
        ("special tokens", names[0] != names[1], names),
    ):
        if differs:
            raise TrainingError(
                f"the pieces were counted with the {name} {mine}, not {theirs}: use the same {name}, or count "
                "the text again"
            )


def check_complete(runs_of: str | None, n_pruned: int) -> None:
    """Raise TrainingError if these are counts of neighbours, and rare ones were left out.

    Neighbours must be complete before they are added up, since the sum is the limit of what may be cut.
    """
    if n_pruned and runs_of is not None and runs_of.endswith(NEIGHBOURS):
        raise TrainingError(
            "rare pairs of neighbouring tokens were left out of these counts, so they cannot be added to others: "
            "add up complete counts, and then leave out rare pairs with min_count="
        )


def check_same_runs(runs_of: str | None, other: str | None) -> None:
    """Raise TrainingError unless both are counts of runs of the same words, or both are counts of pieces."""
    if runs_of == other:
        return
    if runs_of is None or other is None:
        raise TrainingError("cannot combine counts of pieces with counts of runs; add them up separately")
    raise TrainingError(
        "these counts of runs differ in the tokenizer, in documents= (lines or whole) or in neighbours=: count "
        "all runs with the same superwords=, base= and neighbours="
    )

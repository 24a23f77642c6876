"""Checks of counts: of a single one, of a file, and whether counts may be added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._core.train.piece_records import add_columns
from fastbpe._core.train.piece_table import PieceTable
from fastbpe._utils.arguments import integer
from fastbpe._utils.short_reprs import short_repr
from fastbpe.errors import FormatError, TrainingError
from fastbpe.formats.piece_counts_file import Counted
from fastbpe.patterns import PatternLike, told_apart

NEIGHBOURS = " neighbours"  # end of `PieceCounts.runs_of`: the runs are pairs of neighbours
_MAX_COUNT = (1 << 63) - 1  # occurrences of a piece
_ROWS = 1 << 16  # rows of a file that are added at a time: Ctrl-C waits for them


def unit_of(mode: str, runs_of: str | None) -> str:
    """Return the noun for what `PieceCounts` of this mode and runs_of contain."""
    if runs_of is None:
        return "piece" if mode == "byte" else "word"
    if runs_of.endswith(NEIGHBOURS):
        return "pair of tokens"
    return "run of tokens" if " " in runs_of else "run of words"


def checked_count(piece: object, number: object, what: str = "piece") -> tuple[bytes, int]:
    """Check a piece and its count.

    Args:
        piece, number: the piece, and its count.
        what: word for the piece, for the error.

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
        raise TypeError(f"{what} {short_repr(piece)} is {type(piece).__name__}, not bytes or str")
    if type(number) is int and 0 <= number <= _MAX_COUNT:
        return piece, number
    name = f"count of {short_repr(piece)}"
    checked = number if isinstance(number, int) and number > _MAX_COUNT else integer(name, number)
    if checked < 0:
        raise ValueError(f"{name} is {checked}: it must not be negative")
    if checked > _MAX_COUNT:
        raise OverflowError(f"{name} is {short_repr(checked)}: more than 2**63 - 1")
    return piece, checked


def add_rows(table: PieceTable, counted: Counted, where: str, first: int = 0) -> int:
    """Add the rows of a file of counts to a table, and check them.

    Args:
        table: may already have pieces of the file, and may spill.
        counted: content of the file.
        where: name of the file, for errors.
        first: position of the first row among the rows of all files.

    Returns:
        The number of rows.

    Raises:
        FormatError: a piece is empty, a count is below 1, or the lengths do not add up to the bytes of the pieces.
    """
    lengths, counts = memoryview(counted.lengths), memoryview(counted.counts)  # uint32 and int64
    pieces = memoryview(counted.pieces)
    n_rows, n_read = len(lengths) // 4, 0
    try:
        for row in range(0, n_rows, _ROWS):
            end = row + _ROWS
            columns = pieces[n_read:], lengths[4 * row : 4 * end], counts[8 * row : 8 * end]
            n_read += add_columns(table, *columns, first + row)
    except ValueError as error:
        raise FormatError(f"{where}: {error}; copy the file again or recreate it") from None
    if n_read != len(pieces):
        raise FormatError(
            f"{where}: extra bytes after its last piece: {len(pieces) - n_read}; copy the file again or "
            "recreate it"
        )
    return n_rows


def check_same_splitting(
    pattern: PatternLike, special_tokens: Iterable[str], other: PatternLike, other_special_tokens: Iterable[str]
) -> None:
    """Check that pieces were made with the same pattern and special tokens as others.

    Args:
        pattern, special_tokens: pattern and tokens with which the pieces were made.
        other, other_special_tokens: pattern and tokens to compare with.

    Raises:
        TrainingError: they differ.
        PatternError: a pattern is an unknown name.
    """
    name, shown = "split pattern", told_apart(pattern, other)
    mine, theirs = {*special_tokens}, {*other_special_tokens}
    if shown is None and mine != theirs:
        name = "special tokens"
        both = f" (besides {len(mine & theirs)} that both have)" if mine & theirs else ""
        shown = short_repr(sorted(mine - theirs)), f"{short_repr(sorted(theirs - mine))}{both}"
    if shown is not None:
        raise TrainingError(
            f"the pieces were counted with the {name} {shown[0]}, not {shown[1]}: use the same {name}, or count "
            "the text again"
        )


def check_neighbours_known(argument: str, source: object) -> None:
    """Check that superwords can be learned from a source. The caller has handled counts of runs without a name.

    Args:
        argument: the argument that asks for superwords, for the error.
        source: texts, paths or counts.

    Raises:
        TrainingError: the source is counts.
    """
    if getattr(source, "runs_of", None) is not None:
        raise TrainingError(
            "counts of runs cannot be a named source: add up the counts of all sources, and pass only their sum"
        )
    if isinstance(source, Mapping):
        raise TrainingError(
            f"{argument} needs the texts, or counts of runs (count_pieces with superwords=): counts of pieces do "
            "not say which pieces are neighbours"
        )


def check_complete(runs_of: str | None, n_pruned: int) -> None:
    """Raise TrainingError if these are counts of neighbours, and rare ones were left out.

    A pair that is rare in each of two texts may be frequent in both: only the sum tells where runs may be cut.
    """
    if n_pruned and runs_of is not None and runs_of.endswith(NEIGHBOURS):
        raise TrainingError(
            "rare pairs of neighbouring tokens were left out of these counts, so they cannot be added to others: "
            "add up complete counts, and then prune the sum with min_count="
        )


def check_same_runs(runs_of: str | None, other: str | None) -> None:
    """Raise TrainingError unless both are counts of pieces, or of runs of the same tokenizer and options."""
    if runs_of == other:
        return
    if runs_of is None or other is None:
        raise TrainingError(
            "cannot combine counts of pieces with counts of runs or neighbours; add them up separately"
        )
    raise TrainingError(
        "these counts of runs differ in the tokenizer, in documents= (lines or whole) or in neighbours=: count "
        "all runs with the same superwords=, base= and neighbours="
    )

"""Counted pieces: what training learns from, to be counted on many machines, added up and kept."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import IO, Any

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_records import add_tables, tables_of
from fastbpe._utils.arguments import integer
from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.threads import usable_threads
from fastbpe.corpus.sources import Source, check_separator, documents, n_bytes
from fastbpe.errors import FormatError, TrainingError
from fastbpe.formats import atomic_files, piece_counts
from fastbpe.patterns import Pattern, PatternLike, resolve_pattern, shown_pattern
from fastbpe.splitting import make_splitter
from fastbpe.splitting.cutting import make_cutter
from fastbpe.tokenizer.special_tokens import make_matcher
from fastbpe.training.options import check_special_tokens

ON_ERROR = ("raise", "skip")
ERRORS = ("strict", "replace")

_ROWS = 1 << 16  # of a parquet file, written at a time


class PieceCounts(Mapping[bytes, int]):
    """Distinct pieces of text and how often each occurs: a mapping from bytes to int that never changes.

    Made by `count_pieces`, or from pieces that were counted elsewhere. Counts of the same pattern and special
    tokens add up: `a + b` holds what text a and text b hold together, and `sum(shards)` works. Pieces come in
    order of first appearance, which `ties="first"` asks for; equality does not look at the order.

    Args:
        counts: piece (bytes, or str as UTF-8) to count, or pairs of them; a piece given twice is counted twice.
        pattern: what made the pieces, as for `train`: the tokenizer that is learned from them splits text by it.
        special_tokens: those that cut the text before it was split.

    Raises:
        TypeError, ValueError: a piece or a count that is none.
        OverflowError: a count above 2**63 - 1.

    >>> counts = PieceCounts({"low": 5, " lower": 2}) + PieceCounts({"low": 1})
    >>> counts[b"low"], len(counts), counts.n_pieces, counts.n_bytes
    (6, 2, 8, 30)
    """

    def __init__(
        self,
        counts: Mapping[bytes | str, int] | Iterable[tuple[bytes | str, int]] = (),
        *,
        pattern: PatternLike = None,
        special_tokens: Iterable[str] = (),
    ) -> None:
        table = PieceCounter(Splitter())
        items = counts.items() if isinstance(counts, Mapping) else counts
        for piece, number in items:
            _add(table, piece, number)
        table.finish()
        self._table = table
        self._pattern = resolve_pattern(pattern)[1]
        self._special_tokens = check_special_tokens(special_tokens)
        self._n_bytes = table.total()[1]
        self._n_skipped = self._n_pruned = 0

    @classmethod
    def _of(
        cls,
        table: PieceCounter,
        pattern: Pattern,
        special_tokens: tuple[str, ...],
        n_bytes: int,
        n_skipped: int = 0,
        n_pruned: int = 0,
    ) -> PieceCounts:
        made = cls.__new__(cls)
        made._table, made._pattern, made._special_tokens = table, pattern, special_tokens
        made._n_bytes, made._n_skipped, made._n_pruned = n_bytes, n_skipped, n_pruned
        return made

    @property
    def pattern(self) -> Pattern:
        """The split pattern that made the pieces; None: no splitting."""
        return self._pattern

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The special tokens that cut the text."""
        return self._special_tokens

    @property
    def n_pieces(self) -> int:
        """The pieces of the text, each as often as it occurs."""
        return self._table.total()[0]

    @property
    def n_bytes(self) -> int:
        """The bytes of text that were counted, special tokens among them."""
        return self._n_bytes

    @property
    def n_skipped(self) -> int:
        """The documents that could not be read and were left out, as on_error="skip" asks for."""
        return self._n_skipped

    @property
    def n_pruned(self) -> int:
        """The pieces, each as often as it occurred, that `pruned` has left out."""
        return self._n_pruned

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[bytes]:
        return iter([piece for piece, _ in self._table.items()])

    def __getitem__(self, piece: bytes | str) -> int:
        number = self._table.count_of(to_utf8(piece) if isinstance(piece, str) else bytes(piece))
        if not number:
            raise KeyError(piece)
        return number

    def items(self) -> Any:
        """Pairs of piece and count, in order of first appearance."""
        return dict(self._table.items()).items()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PieceCounts):
            return NotImplemented
        return (
            self._pattern == other._pattern
            and set(self._special_tokens) == set(other._special_tokens)
            and self._table.equals(other._table)
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: PieceCounts) -> PieceCounts:
        if not isinstance(other, PieceCounts):
            return NotImplemented
        return add([self, other])

    def __radd__(self, other: object) -> PieceCounts:
        return self if other == 0 else NotImplemented  # sum() begins with 0

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle_counts, (b"".join(piece_counts.dump(self._plain())),)

    def __repr__(self) -> str:
        pattern = shown_pattern(self._pattern, 40)
        return f"<fastbpe.PieceCounts of {len(self):,} distinct pieces, pattern {pattern}>"

    def pruned(self, min_count: int) -> PieceCounts:
        """The pieces that occur so often or more; learning from them takes less memory, and is no longer exact.

        Add up first: what is rare in each of many shards may be common in all.

        >>> counts = PieceCounts({"low": 5, "lwo": 1}).pruned(2)
        >>> dict(counts), counts.n_pruned
        ({b'low': 5}, 1)
        """
        if integer("min_count", min_count) < 1:
            raise ValueError(f"min_count={min_count}: give 1 or more")
        table = PieceCounter(Splitter())
        n_dropped = 0
        for piece, number in self._table.items():
            if number >= min_count:
                table.add_piece(piece, number)
            else:
                n_dropped += number
        table.finish()
        return PieceCounts._of(
            table, self._pattern, self._special_tokens, self._n_bytes, self._n_skipped, self._n_pruned + n_dropped
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything into one file, whole or not at all; `PieceCounts.load` reads it."""
        atomic_files.write(path, piece_counts.dump(self._plain()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PieceCounts:
        """Read a file that `save` wrote.

        Raises FormatError for a file that is none, was altered or cut off, or is of a newer version.
        """
        return _parse(atomic_files.map_file(path), os.fspath(path))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a parquet file with the columns piece (binary) and count (int64); needs pyarrow."""
        arrow = require_pyarrow(path)
        schema = arrow.schema(
            [arrow.field("piece", arrow.binary(), False), arrow.field("count", arrow.int64(), False)]
        )

        def fill(file: IO[bytes]) -> None:
            items = self._table.items()
            with arrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
                for at in range(0, len(items), _ROWS):
                    rows = items[at : at + _ROWS]
                    columns = [[piece for piece, _ in rows], [number for _, number in rows]]
                    writer.write_table(arrow.table(columns, schema=schema))

        atomic_files.write_with(path, fill)

    def check_made_by(self, pattern: PatternLike, special_tokens: Iterable[str]) -> None:
        """Raise TrainingError unless this pattern and these special tokens, in any order, made the pieces."""
        for name, mine, other in (
            ("split pattern", self._pattern, pattern),
            ("special tokens", sorted(self._special_tokens), sorted(special_tokens)),
        ):
            if mine != other:
                raise TrainingError(
                    f"the pieces were counted with the {name} {mine!r}, which do not go with {other!r}: count "
                    "them anew, or leave the other out"
                )

    def _plain(self) -> piece_counts.Counted:
        return piece_counts.Counted(
            self._pattern,
            self._special_tokens,
            self._n_bytes,
            self._n_skipped,
            self._n_pruned,
            *tables_of(self._table),
        )


def count_pieces(
    source: Source,
    *,
    mode: str = "byte",
    pattern: PatternLike = "cl100k",
    special_tokens: Iterable[str] = (),
    num_threads: int | None = None,
    max_memory_bytes: int | None = None,
    progress: Progress = None,
    text_field: str = "text",
    separator: str | None = None,
    on_error: str = "raise",
    errors: str = "strict",
) -> PieceCounts:
    """Count the pieces of a source: the first half of `train`.

    Exact, and the same for any number of threads. Files are read as a stream, and never held whole.

    Args:
        source: as for `train`: a path, or texts; a mapping of pieces to counts becomes `PieceCounts` as it is.
        mode: "byte".
        pattern, special_tokens: what makes the pieces, as for `train`.
        num_threads: None: FASTBPE_NUM_THREADS, or one for each usable core.
        max_memory_bytes: what the tables that count may take, in all threads together; beyond it counts go to
            temporary files (in TMPDIR) and are added up at the end. The distinct pieces themselves, with 32 bytes
            each, are held in any case. None: no limit.
        progress: as for `train`, of the phase "counting".
        text_field: where a line of jsonl or a row of parquet holds its text.
        separator: what ends a document within a txt file and belongs to none; "\\n": a document a line, which may
            also end with "\\r\\n". None: the file is one document.
        on_error: "skip": lines of jsonl and rows of parquet that hold no text are left out, and n_skipped says how
            many; "raise": they are a FormatError.
        errors: "replace": bytes that are not UTF-8 become U+FFFD; "strict": they are an error.

    Raises:
        FormatError: a file that cannot be read, with line or place.
        ValueError: bytes that are not UTF-8, with document and offset.
        OSError: no room for temporary files.

    >>> count_pieces(["low lower low"], pattern=r" ?[a-z]+")[b" low"]
    1
    """
    if mode != "byte":
        raise TrainingError(f'mode={mode!r}: this version counts mode="byte"')
    reading = Reading(
        num_threads=num_threads,
        max_memory_bytes=max_memory_bytes,
        text_field=text_field,
        separator=separator,
        on_error=on_error,
        errors=errors,
    )
    names = check_special_tokens(special_tokens)
    return counted(source, resolve_pattern(pattern)[1], names, reading, Reporter(progress))


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a source is read and counted; see `count_pieces`."""

    num_threads: int | None = None
    max_memory_bytes: int | None = None
    text_field: str = "text"
    separator: str | None = None
    on_error: str = "raise"
    errors: str = "strict"

    def __post_init__(self) -> None:
        usable_threads(self.num_threads)
        if self.max_memory_bytes is not None and integer("max_memory_bytes", self.max_memory_bytes) < 1:
            raise ValueError(f"max_memory_bytes={self.max_memory_bytes}: give 1 or more, or None")
        for name, choices in (("on_error", ON_ERROR), ("errors", ERRORS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: choose one of {', '.join(map(repr, choices))}")
        check_separator(self.separator)
        if not isinstance(self.text_field, str):
            raise TypeError(f"text_field must be str, not {type(self.text_field).__name__}")

    def check_unused(self) -> None:
        """Raise TrainingError if any option is given: there is nothing to read."""
        given = ", ".join(field.name for field in fields(self) if getattr(self, field.name) != field.default)
        if given:
            raise TrainingError(f"the source is counted already: leave out {given}")


def counted(
    source: Source, pattern: PatternLike, special_tokens: tuple[str, ...], reading: Reading, reporter: Reporter
) -> PieceCounts:
    """The counted pieces of a source; pattern and special tokens are checked."""
    if isinstance(source, PieceCounts):
        raise TrainingError("the source is PieceCounts already: use it as it is")
    if isinstance(source, Mapping):
        reading.check_unused()
        with reporter.phase("counting", 0):
            return PieceCounts(source, pattern=pattern, special_tokens=special_tokens)
    from fastbpe.training.piece_counting import (
        count,  # here: with queues and threads, which who only encodes does not need
    )

    splitter = make_splitter(pattern)
    skipped: list[FormatError] = []
    with reporter.phase("counting", n_bytes(source), unit="B", unit_scale=True) as phase:
        table, n_read = count(
            documents(
                source,
                field=reading.text_field,
                separator=reading.separator,
                cut=make_cutter(splitter, special_tokens),
                skip=skipped.append if reading.on_error == "skip" else None,
                errors=reading.errors,
            ),
            splitter,
            make_matcher(special_tokens, {}) if special_tokens else None,
            num_threads=reading.num_threads,
            max_memory_bytes=reading.max_memory_bytes,
            report=lambda n: phase.update(n - phase.n),
        )
    return PieceCounts._of(table, resolve_pattern(pattern)[1], special_tokens, n_read, len(skipped))


def add(counts: Sequence[PieceCounts]) -> PieceCounts:
    """One after another."""
    first, *others = counts
    table = PieceCounter(Splitter())
    table.add_table(first._table)
    for other in others:
        other.check_made_by(first._pattern, first._special_tokens)
        table.add_table(other._table)
    table.finish()
    return PieceCounts._of(
        table,
        first._pattern,
        first._special_tokens,
        sum(each._n_bytes for each in counts),
        sum(each._n_skipped for each in counts),
        sum(each._n_pruned for each in counts),
    )


def _add(table: PieceCounter, piece: object, number: object) -> None:
    data, checked = checked_count(piece, number)
    if checked and data:
        table.add_piece(data, checked)


def checked_count(piece: object, number: object) -> tuple[bytes, int]:
    """A piece as bytes and its count; TypeError, ValueError or OverflowError for what is none."""
    if isinstance(piece, str):
        piece = to_utf8(piece)
    if not isinstance(piece, bytes):
        raise TypeError(f"piece {piece!r} is {type(piece).__name__}, not bytes or str")
    checked = integer(f"count of {piece!r}", number)
    if checked < 0:
        raise ValueError(f"count of {piece!r} is {checked}: it must not be negative")
    if checked >= 1 << 63:
        raise OverflowError(f"count of {piece!r} is {checked}: more than 2**63 - 1")
    return piece, checked


def _parse(data: Any, where: str) -> PieceCounts:
    counted = piece_counts.parse(data, where)
    table = PieceCounter(Splitter())
    problem = add_tables(table, counted.pieces, counted.lengths, counted.counts)
    if problem:
        raise FormatError(f"{where}: {problem}; get it again")
    table.finish()
    return PieceCounts._of(table, counted.pattern, tuple(counted.special_tokens), *counted[2:5])


def unpickle_counts(data: bytes) -> PieceCounts:
    return _parse(data, "<pickle>")

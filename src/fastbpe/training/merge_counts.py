"""Merging of files of counts in bounded memory: `PieceCounts.merge`.

The result equals, byte for byte, the file of the added-up counts: distinct pieces, in order of first appearance.
There are three passes; each holds only a part of the pieces in memory at a time:

1. Read file after file into one table. A table beyond its limit goes to temporary files by hash (`Spill`), so that
   all counts of a piece are in the same file. Each piece keeps its place among the rows of all files.
2. Add up one hash file after another. Drop rare pieces. Write the rest as a run, in stretches of places.
3. Read the next stretches from all runs, as many as fit into memory, sort them, and write them. Each place belongs
   to at most one piece, so a stretch has no more pieces than places.

Tried and rejected: a k-way merge of sorted files. Counts are saved in order of first appearance, so each file
would first have to be sorted by text, and the result by position again.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_records import add_records, tables_of, write_by_position
from fastbpe._utils.arguments import integer
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import TrainingError
from fastbpe.formats import atomic_files, piece_counts_file
from fastbpe.formats.piece_counts_file import Counted
from fastbpe.model import Buffer
from fastbpe.training.codepoint_counts import WordFacts
from fastbpe.training.count_checks import add_rows, check_complete, check_same_runs, check_same_splitting, unit_of
from fastbpe.training.counting_threads import MIN_TABLE_BYTES, Spill

SUFFIX = ".pieces"  # extension of the files of counts in a folder
# maximum bytes of the table for each byte of a file: a row of 13 bytes becomes an entry of about 100
_TABLE_BYTES = 8
# Up to 2**9 temporary files are open at once: half as many as systems usually allow a process. With so many, the
# table of one hash file takes _TABLE_BYTES / 2**9 of the input, the 64th that `PieceCounts.merge` mentions.
_MAX_HASH_BITS = 9
_STRETCHES_PER_HASH_FILE = 8  # a table for the pieces of a stretch should fit even if it has eight times its share
_EVERYTHING = 1  # min_count that drops no piece


class MergeSummary(NamedTuple):
    """Result of merging files of counts.

    Attributes:
        path: str – the file that was written.
        n_files: int – files that were merged.
        n_distinct: int – distinct units in the result.
        n_pieces: int – sum of their counts.
        n_bytes: int – bytes of the text that was counted.
        n_skipped: int – documents that counting left out.
        n_distinct_pruned: int – distinct units that min_count left out.
        n_pruned: int – sum of the counts of these units and of the units that the files had left out.
        unit: str – what was counted: "piece", "word", "run of words", "run of tokens" or "pair of tokens".
    """

    path: str
    n_files: int
    n_distinct: int
    n_pieces: int
    n_bytes: int
    n_skipped: int
    n_distinct_pruned: int
    n_pruned: int
    unit: str


def merge_files(
    paths: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    min_count: int = _EVERYTHING,
    max_memory_bytes: int = 1 << 30,
    report: Callable[[int], object] = lambda n_files: None,
) -> MergeSummary:
    """Merge files of counts; see `PieceCounts.merge`.

    Args:
        paths: the files, in the order in which their pieces are added.
        out: the file to write.
        min_count: minimum number of occurrences, in all files together, of a piece that is kept.
        max_memory_bytes: maximum number of bytes for tables.
        report: function to call with the number of files read so far.
    """
    min_count = integer("min_count", min_count)
    if min_count < 1:
        raise ValueError(f"min_count={min_count}: must be at least 1")
    max_memory_bytes = integer("max_memory_bytes", max_memory_bytes)
    if max_memory_bytes < 1:
        raise ValueError(f"max_memory_bytes={max_memory_bytes}: must be at least 1")
    if not paths:
        raise TrainingError("there are no count files to merge: pass at least one")
    with ExitStack() as files:
        merge = _Merge(files, max_memory_bytes, sum(map(os.path.getsize, paths)))
        for number, path in enumerate(paths):
            merge.add(path)
            report(number + 1)
        return merge.write(out, min_count)


def files_of(paths: object) -> list[Path]:
    """List files of counts.

    Args:
        paths: a file; a folder, which means its files with the extension .pieces, in the order of their names; or
            an iterable of both.

    Raises:
        FileNotFoundError: a folder contains no such file.
        TypeError: an item is not a path.
    """
    if isinstance(paths, (str, os.PathLike)):
        path = Path(paths)
        if not path.is_dir():
            return [path]
        found = sorted(path.glob("*" + SUFFIX))
        if not found:
            raise FileNotFoundError(f"{path}: the folder has no file whose name ends with {SUFFIX}")
        return found
    if isinstance(paths, bytes) or not hasattr(paths, "__iter__"):
        raise TypeError(f"paths must be a file, a folder or a list of these, not {type(paths).__name__}")
    return [file for path in paths for file in files_of(path)]


class _Merge:
    """Merging of files: `add` each, then `write`. Temporary files are removed when `files` is closed."""

    def __init__(self, files: ExitStack, max_memory_bytes: int, n_file_bytes: int) -> None:
        self._files = files
        # half, because there are two tables at a time, or a table and the copy of it that `write` makes
        self._limit = max(max_memory_bytes // 2, MIN_TABLE_BYTES)
        n_tables = n_file_bytes * _TABLE_BYTES // self._limit + 1  # at most this number hold all pieces
        hash_bits = min(n_tables.bit_length(), _MAX_HASH_BITS)
        self._n_stretches = _STRETCHES_PER_HASH_FILE << hash_bits
        self._n_files = self._n_rows = 0
        self._first: Counted | None = None
        self._first_path = ""
        self._words: WordFacts | None = None
        self._numbers = [0, 0, 0]  # n_bytes, n_skipped, n_pruned
        self._spill = Spill(hash_bits)
        files.callback(self._spill.close)
        self._table = PieceCounter(Splitter(), spill=self._spill, limit=self._limit)

    def add(self, path: str | os.PathLike[str]) -> None:
        where = os.fspath(path)
        counted = piece_counts_file.parse(atomic_files.map_file(path), where)
        words = None if counted.words is None else WordFacts.of_plain(counted.words, where)
        blamed = where
        try:
            if self._first is None:
                self._first_path = where
                self._first, self._words = counted._replace(pieces=b"", lengths=b"", counts=b""), words
            else:
                self._check_addable(self._first, counted, words)
                check_complete(counted.runs_of, counted.n_pruned)
                blamed = self._first_path
                check_complete(self._first.runs_of, self._first.n_pruned)
        except TrainingError as error:
            raise TrainingError(f"{blamed}: {error}") from None
        self._n_files += 1
        for i, number in enumerate((counted.n_bytes, counted.n_skipped, counted.n_pruned)):
            self._numbers[i] += number
        self._n_rows += add_rows(self._table, counted, where, self._n_rows)

    def _check_addable(self, first: Counted, counted: Counted, words: WordFacts | None) -> None:
        """Check that a file was counted with the options of the first one."""
        if (words is None) != (self._words is None):
            modes = ["byte" if facts is None else facts.mode for facts in (words, self._words)]
            raise TrainingError(f"cannot combine counts of mode={modes[0]!r} with counts of mode={modes[1]!r}")
        check_same_runs(first.runs_of, counted.runs_of)
        check_same_splitting(counted.pattern, counted.special_tokens, first.pattern, first.special_tokens)
        if words is not None and self._words is not None:
            words.check_addable(self._words)
            self._words = self._words.plus(words)

    def write(self, out: str | os.PathLike[str], min_count: int) -> MergeSummary:
        """Write the result and return its summary."""
        sections = [self._files.enter_context(_temporary()) for _ in range(3)]
        n_distinct = n_pieces = n_rare = n_rare_times = 0
        for part, some_rare, some_times in self._parts_in_order(min_count):
            n_distinct += part.n_pieces
            n_pieces += part.total()
            n_rare += some_rare
            n_rare_times += some_times
            for section, table in zip(sections, tables_of(part), strict=True):
                section.write(table)
        assert self._first is not None
        n_bytes, n_skipped, n_pruned = self._numbers
        pieces, lengths, counts = (_mapped(section) for section in sections)
        counted = Counted(
            self._first.pattern,
            self._first.special_tokens,
            n_bytes,
            n_skipped,
            n_pruned + n_rare_times,
            pieces,
            lengths,
            counts,
            None if self._words is None else self._words.plain(),
            self._first.runs_of,
        )
        atomic_files.write(out, piece_counts_file.dump(counted))
        unit = unit_of("byte" if self._words is None else self._words.mode, counted.runs_of)
        numbers = n_distinct, n_pieces, n_bytes, n_skipped, n_rare, counted.n_pruned
        return MergeSummary(os.fspath(out), self._n_files, *numbers, unit)

    def _parts_in_order(self, min_count: int) -> Iterator[tuple[PieceCounter, int, int]]:
        """Yield (table, number of pieces left out, sum of their counts), in the order of positions.

        The first item has the numbers for all tables, the others have 0.
        """
        parts: Iterator[PieceCounter]
        if self._spill.is_used():
            self._spill(self._table)
            parts = self._spill.parts()
        else:
            parts = iter([self._table])
        width = self._n_rows // self._n_stretches + 1
        runs = _Runs(self._files.enter_context(_temporary()), self._n_stretches)
        n_rare = n_times = 0
        for part in parts:
            rare, times = write_by_position(part, width, self._n_stretches, runs.begin(), min_count=min_count)
            n_rare, n_times = n_rare + rare, n_times + times
            if min_count > _EVERYTHING and self._words is not None:
                # The kept words are put back below: only there they are in a table without the rare ones.
                self._words = self._words.without(part)
        for table in runs.stretches(self._limit):
            if min_count > _EVERYTHING and self._words is not None:
                self._words = self._words.with_again(table)
            yield table, n_rare, n_times
            n_rare = n_times = 0


class _Runs:
    """Temporary file of runs. A run is the records of one hash file, ordered by stretch."""

    def __init__(self, file: IO[bytes], n_stretches: int) -> None:
        self._file, self._n_stretches = file, n_stretches
        self._sizes: list[array[int]] = []  # for each run, the bytes of each stretch
        self._starts: list[int] = []

    def begin(self) -> Callable[[int, bytes], None]:
        """Begin a run, and return the function to call with the records of each stretch, in ascending order."""
        sizes = array("Q", bytes(8 * self._n_stretches))
        self._sizes.append(sizes)
        self._starts.append(self._file.tell())

        def write(stretch: int, records: bytes) -> None:
            sizes[stretch] = self._file.write(records)

        return write

    def stretches(self, limit: int) -> Iterator[PieceCounter]:
        """Yield finished tables, in order, each of as many stretches as fit into a limit of bytes.

        Each table is emptied before the next one is yielded.
        """
        table, n_bytes = PieceCounter(Splitter()), 0
        offsets = list(self._starts)  # for each run, where its next stretch begins
        for stretch in range(self._n_stretches):
            n_more = sum(sizes[stretch] for sizes in self._sizes) * _TABLE_BYTES
            if n_bytes and n_bytes + n_more > limit:
                table.finish()
                yield table
                table.clear()
                n_bytes = 0
            n_bytes += n_more
            for run, sizes in enumerate(self._sizes):
                if sizes[stretch]:
                    self._file.seek(offsets[run])
                    add_records(table, self._file.read(sizes[stretch]))
                    offsets[run] += sizes[stretch]
        table.finish()
        yield table


def _temporary() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="fastbpe-")


def _mapped(file: IO[bytes]) -> Buffer:
    """Map the written bytes of a file into memory, which the system can reclaim at any time."""
    file.flush()
    if not os.fstat(file.fileno()).st_size:
        return b""
    return memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))

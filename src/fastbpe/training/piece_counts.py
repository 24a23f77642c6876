"""`PieceCounts`: distinct pieces with their counts, which can be added up and stored in files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_records import tables_of
from fastbpe._utils.arguments import integer
from fastbpe._utils.plurals import counted
from fastbpe._utils.progress import Progress, Reporter
from fastbpe.errors import FormatError, TrainingError
from fastbpe.formats import atomic_files, piece_counts_file
from fastbpe.patterns import Pattern, PatternLike, resolve_pattern, shown_pattern
from fastbpe.training import count_checks
from fastbpe.training.options import check_special_tokens

if TYPE_CHECKING:
    from fastbpe.training.codepoint_counts import WordFacts
    from fastbpe.training.merge_counts import MergeSummary


class PieceCounts(Mapping[bytes, int]):
    """Distinct pieces of text with their counts: an immutable mapping from bytes to int.

    `count_pieces` creates it from text, the constructor from pieces that were counted elsewhere. Counts with the
    same pattern and special tokens can be added: `a + b` are the counts of both texts together, `sum(shards)`
    works, and `2 * a` are the counts of a text that occurs twice. The order of pieces is the order of their first
    appearance, which `train(ties="first")` relies on; `==` ignores it.

    `count_pieces(mode="codepoint")` counts the words of normalized sentences; `options` returns the options of
    counting. The order of words has no meaning, and may differ from run to run. Words of `mode="unigram"` end
    only at white space, and a byte 0xFF follows the last word of each sentence; the last sentence of `a + b` is
    b's last.

    Args:
        counts: mapping of pieces (bytes, or str as UTF-8) to counts, or (piece, count) pairs. The counts of a
            piece that appears twice are added up; empty pieces and counts of 0 are left out.
        pattern: str, list of str or None – the split pattern that made the pieces, as for `train`. A tokenizer
            trained on them splits text with it.
        special_tokens: list of str – the special tokens that separated stretches of text before it was split.

    Raises:
        TypeError: a piece is not bytes or str, or a count is not an integer.
        ValueError: a count is negative.
        OverflowError: a count is above 2**63 - 1.
        PatternError: the pattern is a misspelled name.
        SpecialTokenError: a special token is empty, given twice, or a single byte.

    >>> import fastbpe
    >>> counts = fastbpe.PieceCounts({"low": 5, " lower": 2}) + fastbpe.PieceCounts({"low": 1})
    >>> counts[b"low"], len(counts), counts.n_pieces, counts.n_bytes
    (6, 2, 8, 30)
    """

    _n_pieces: int | None = None  # None until n_pieces is read

    def __init__(
        self,
        counts: Mapping[bytes | str, int] | Iterable[tuple[bytes | str, int]] = (),
        *,
        pattern: PatternLike = None,
        special_tokens: Iterable[str] = (),
    ) -> None:
        table, n_bytes = PieceCounter(Splitter()), 0
        items = counts.items() if isinstance(counts, Mapping) else counts
        for piece, number in items:
            data, checked = count_checks.checked_count(piece, number)
            if checked and data:
                table.add_piece(data, checked)
                n_bytes += checked * len(data)
        table.finish()
        self._table = table
        self._pattern = resolve_pattern(pattern)[1]
        self._special_tokens = check_special_tokens(special_tokens)
        self._n_bytes = n_bytes
        self._n_skipped = self._n_pruned = 0
        self._words: WordFacts | None = None
        self._runs_of: str | None = None

    @property
    def mode(self) -> str:
        """The mode of training for these counts: "byte", "codepoint" or "unigram".

        >>> import fastbpe
        >>> fastbpe.count_pieces(["low lower"], mode="codepoint").mode
        'codepoint'
        """
        return "byte" if self._words is None else self._words.mode

    @property
    def options(self) -> dict[str, Any]:
        """Options of counting: in byte mode, pattern and special tokens; else the given ones.

        The normalizer's options are left out.

        >>> import fastbpe
        >>> fastbpe.count_pieces(["low 12"], mode="codepoint", split_digits=True).options
        {'split_digits': True}
        """
        if self._words is None:
            return {"pattern": self._pattern, "special_tokens": self._special_tokens}
        return dict(self._words.options)

    @property
    def pattern(self) -> Pattern:
        """The split pattern that made the pieces; None: the text was not split."""
        return self._pattern

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The special tokens that separated stretches of text before it was split."""
        return self._special_tokens

    @property
    def runs_of(self) -> str | None:
        """Fingerprint of the tokenizer whose runs of ids were counted (`count_pieces(superwords=)`); None: pieces.

        For `Superwords`, its `documents` ("lines" or "whole") follows the fingerprint. Then follows "neighbours"
        if pairs were counted, or "cut" and four numbers if such counts cut the runs (`count_pieces(neighbours=)`).
        A run consists of two or more ids, in three bytes each, little-endian.
        """
        return self._runs_of

    @property
    def n_pieces(self) -> int:
        """Number of pieces in the text: the sum of all counts."""
        if self._n_pieces is None:
            self._n_pieces = self._table.total()
        return self._n_pieces

    @property
    def n_bytes(self) -> int:
        """Number of bytes of the text that was counted, including its special tokens."""
        return self._n_bytes

    @property
    def n_skipped(self) -> int:
        """Number of documents that `on_error="skip"` left out because they could not be read."""
        return self._n_skipped

    @property
    def n_pruned(self) -> int:
        """Sum of the counts of the pieces that `pruned` left out."""
        return self._n_pruned

    def __len__(self) -> int:
        return self._table.n_pieces

    def __iter__(self) -> Iterator[bytes]:
        return iter([piece for piece, _ in self._table.items()])

    def __getitem__(self, piece: bytes | str) -> int:
        key: object = to_utf8(piece) if isinstance(piece, str) else piece
        number = self._table.count_of(bytes(key)) if isinstance(key, (bytes, bytearray)) else 0
        if not number:
            raise KeyError(piece)
        return number

    def items(self) -> Any:
        """Return the pairs of piece and count, in order of first appearance; words are in no particular order.

        >>> import fastbpe
        >>> list(fastbpe.count_pieces(["low lower low"], pattern=r" ?[a-z]+").items())
        [(b'low', 1), (b' lower', 1), (b' low', 1)]
        """
        return dict(self._table.items()).items()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PieceCounts):
            return NotImplemented
        return (
            self._pattern == other._pattern
            and self.mode == other.mode
            and self._runs_of == other._runs_of
            and (self._words is None or other._words is None or self._words.is_addable(other._words))
            and set(self._special_tokens) == set(other._special_tokens)
            and self._table.equals(other._table)
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: PieceCounts) -> PieceCounts:
        if not isinstance(other, PieceCounts):
            return NotImplemented
        return added_up([self, other])

    def __radd__(self, other: object) -> PieceCounts:
        return self if other == 0 else NotImplemented  # sum() begins with 0

    def __mul__(self, times: int) -> PieceCounts:
        times = integer("the factor", times)
        if times < 1:
            raise ValueError(f"counts can be multiplied by 1 or more, not by {times}")
        parts, doubled = [], self
        while times:
            if times & 1:
                parts.append(doubled)
            times >>= 1
            if times:
                doubled = doubled + doubled
        return added_up(parts)

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle_counts, (b"".join(piece_counts_file.dump(self._plain())),)

    def __repr__(self) -> str:
        units = counted(len(self), f"distinct {count_checks.unit_of(self.mode, self._runs_of)}")
        if self._words is not None:
            return f"<fastbpe.PieceCounts of {units}, mode={self.mode!r}>"
        pattern = resolve_pattern(self._pattern)[0] or shown_pattern(self._pattern, 40)
        return f"<fastbpe.PieceCounts of {units}, pattern {pattern}>"

    def pruned(self, min_count: int) -> PieceCounts:
        """Return the pieces that occur often enough.

        Training on them takes less memory and may lead to a different tokenizer. Add up shards first: a piece that
        is rare in each shard may be frequent in all together. In code-point and unigram mode, the characters of
        all words still count for the alphabet.

        Args:
            min_count: int – minimum number of occurrences of a piece that is kept; 1 or more.

        Raises:
            ValueError: min_count is below 1.
            TypeError: min_count is not an integer.

        >>> import fastbpe
        >>> counts = fastbpe.PieceCounts({"low": 5, "lwo": 1}).pruned(2)
        >>> dict(counts), counts.n_pruned
        ({b'low': 5}, 1)
        """
        min_count = integer("min_count", min_count)
        if min_count < 1:
            raise ValueError(f"min_count={min_count}: must be at least 1")
        kept, dropped = PieceCounter(Splitter()), PieceCounter(Splitter())
        for piece, number in self._table.items():
            (kept if number >= min_count else dropped).add_piece(piece, number)
        kept.finish()
        n_pruned = self._n_pruned + dropped.total()
        words = None if self._words is None else self._words.without(dropped)
        return counts_of_table(
            kept,
            self._pattern,
            self._special_tokens,
            n_bytes=self._n_bytes,
            n_skipped=self._n_skipped,
            n_pruned=n_pruned,
            words=words,
            runs_of=self._runs_of,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts, pattern and special tokens into one file, which `PieceCounts.load` reads.

        The file is written atomically.

        Args:
            path: str or PathLike – the file to write; an older one is replaced.

        Raises:
            OSError: the file cannot be written.

        >>> import fastbpe, pathlib, tempfile
        >>> counts = fastbpe.PieceCounts({"low": 5})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     counts.save(pathlib.Path(folder, "shard.counts"))
        ...     fastbpe.PieceCounts.load(pathlib.Path(folder, "shard.counts")) == counts
        True
        """
        atomic_files.write(path, piece_counts_file.dump(self._plain()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PieceCounts:
        """Read a file that `save` wrote.

        Args:
            path: str or PathLike – the file.

        Raises:
            FormatError: the file does not contain piece counts, was altered or truncated, or has a newer version.
            OSError: the file cannot be read.

        >>> import fastbpe, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fastbpe.PieceCounts({"low": 5}).save(pathlib.Path(folder, "shard.counts"))
        ...     dict(fastbpe.PieceCounts.load(pathlib.Path(folder, "shard.counts")))
        {b'low': 5}
        """
        return _parse(atomic_files.map_file(path), os.fspath(path))

    @staticmethod
    def merge(
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        out: str | os.PathLike[str],
        *,
        min_count: int = 1,
        max_memory_bytes: int = 1 << 30,
        progress: Progress = None,
    ) -> MergeSummary:
        """Merge files of `save` into one file, in bounded memory. There may be thousands of files.

        The result equals the file of the added-up counts byte for byte, unless min_count leaves pieces out.

        Args:
            paths: the files; or a folder, which means its files with the extension .pieces, sorted by name.
            out: str or PathLike – the file to write; an older one is replaced.
            min_count: int – minimum number of occurrences, in all files together, of a piece that is kept; the
                summary has the number of the pieces left out. 1: keep all.
            max_memory_bytes: int – maximum number of bytes for tables; beyond it, counts go to temporary files (in
                TMPDIR), about twice the size of the input files. The tables of very large files exceed the limit:
                they need up to a 64th of the size of all input files, the most if no piece is in two files.
            progress: bool, function or None – as for `train`; the one phase is "merging".

        Returns:
            A named tuple: path, n_files, n_distinct, n_pieces, n_bytes, n_skipped, n_distinct_pruned, n_pruned,
            unit (what was counted, such as "piece").

        Raises:
            FormatError: a file does not contain piece counts, or is damaged.
            TrainingError: a file was counted with other options than the first, there are no files, or one of
                several files of counts with neighbours="count" was pruned (prune the merged counts instead).
            OverflowError: a piece occurs more than 2**63 - 1 times.
            ValueError: min_count or max_memory_bytes is below 1.
            OSError: a file cannot be read or written.

        >>> import fastbpe, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for i in range(3):
        ...         fastbpe.PieceCounts({"low": 5, f"rare{i}": 1}).save(pathlib.Path(folder, f"{i}.pieces"))
        ...     all_of = pathlib.Path(folder, "all")
        ...     summary = fastbpe.PieceCounts.merge(folder, all_of, min_count=2)
        ...     dict(fastbpe.PieceCounts.load(all_of)), summary.n_files, summary.n_pruned
        ({b'low': 15}, 3, 3)
        """
        # imported here: most programs do not merge
        from fastbpe.training.merge_counts import files_of, merge_files

        files = files_of(paths)
        with Reporter(progress).phase("merging", len(files), unit=" files") as phase:
            return merge_files(
                files,
                out,
                min_count=min_count,
                max_memory_bytes=max_memory_bytes,
                report=phase.reach,
            )

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a parquet file with the columns piece (binary) and count (int64).

        Args:
            path: str or PathLike – the file to write; an older one is replaced.

        Raises:
            ImportError: pyarrow is not installed.
            OSError: the file cannot be written.

        >>> import fastbpe, pathlib, tempfile
        >>> import pyarrow.parquet
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fastbpe.PieceCounts({"low": 5}).to_parquet(pathlib.Path(folder, "counts.parquet"))
        ...     pyarrow.parquet.read_table(pathlib.Path(folder, "counts.parquet")).to_pylist()
        [{'piece': b'low', 'count': 5}]
        """
        piece_counts_file.write_parquet(path, self._table.items())

    def check_made_by(self, pattern: PatternLike, special_tokens: Iterable[str]) -> None:
        """Check that the pieces were made with a pattern and special tokens.

        Args:
            pattern: str, list of str or None – the split pattern, as for `train`.
            special_tokens: iterable of str – the special tokens, in any order.

        Raises:
            TrainingError: the pieces were made with another pattern or other special tokens.
            PatternError: the pattern is an unknown name.

        >>> import fastbpe
        >>> counts = fastbpe.PieceCounts({"low": 5})
        >>> counts.check_made_by(None, [])
        >>> counts.check_made_by(None, ["<|end|>"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        fastbpe.errors.TrainingError: the pieces were counted with the special tokens [], ...
        """
        count_checks.check_same_splitting(self._pattern, self._special_tokens, pattern, special_tokens)

    def _plain(self) -> piece_counts_file.Counted:
        return piece_counts_file.Counted(
            self._pattern,
            self._special_tokens,
            self._n_bytes,
            self._n_skipped,
            self._n_pruned,
            *tables_of(self._table),
            None if self._words is None else self._words.plain(),
            self._runs_of,
        )


def counts_of_table(
    table: PieceCounter,
    pattern: Pattern,
    special_tokens: tuple[str, ...],
    *,
    n_bytes: int,
    n_skipped: int = 0,
    n_pruned: int = 0,
    words: WordFacts | None = None,
    runs_of: str | None = None,
) -> PieceCounts:
    """Create `PieceCounts` from a finished table, and take ownership of the table.

    Args:
        table: the pieces with their counts.
        pattern: the split pattern, resolved.
        special_tokens: names, checked.
        n_bytes: int – bytes of the text that was counted.
        n_skipped: int – documents that could not be read and were left out.
        n_pruned: int – sum of the counts of the pieces that were pruned.
        words: facts about the words in code-point or unigram mode; None: byte mode.
        runs_of: as in `PieceCounts.runs_of`, if the pieces are runs of ids; None: they are ordinary pieces.
    """
    counts = PieceCounts.__new__(PieceCounts)
    counts._table, counts._pattern, counts._special_tokens, counts._words = table, pattern, special_tokens, words
    counts._n_bytes, counts._n_skipped, counts._n_pruned = n_bytes, n_skipped, n_pruned
    counts._runs_of = runs_of
    return counts


def facts_of(counts: PieceCounts) -> WordFacts | None:
    """Return the facts about the words of code-point or unigram mode; None for pieces of byte mode."""
    return counts._words


def table_of(counts: PieceCounts) -> PieceCounter:
    """Return the table of pieces that the learner reads. Do not change it."""
    return counts._table


def added_up(counts: Sequence[PieceCounts]) -> PieceCounts:
    """Add up counts. Pieces keep their order; the pieces of the first counts come first."""
    first, *others = counts
    if not others:
        return first
    table, words = PieceCounter(Splitter()), first._words
    table.add_table(first._table)
    for other in others:
        if other.mode != first.mode:
            raise TrainingError(f"cannot combine counts of mode={first.mode!r} with counts of mode={other.mode!r}")
        count_checks.check_same_runs(first._runs_of, other._runs_of)
        count_checks.check_complete(first._runs_of, first._n_pruned + other._n_pruned)
        other.check_made_by(first._pattern, first._special_tokens)
        if words is not None and other._words is not None:
            words.check_addable(other._words)
            words = words.plus(other._words)
        table.add_table(other._table)
    table.finish()
    return counts_of_table(
        table,
        first._pattern,
        first._special_tokens,
        n_bytes=sum(each._n_bytes for each in counts),
        n_skipped=sum(each._n_skipped for each in counts),
        n_pruned=sum(each._n_pruned for each in counts),
        words=words,
        runs_of=first._runs_of,
    )


def _parse(data: Any, where: str) -> PieceCounts:
    counted = piece_counts_file.parse(data, where)
    table = PieceCounter(Splitter())
    if count_checks.add_rows(table, counted, where) != table.n_pieces:
        raise FormatError(f"{where}: a piece occurs twice; copy the file again or recreate it")
    table.finish()
    words = None
    if counted.words is not None:
        from fastbpe.training.codepoint_counts import WordFacts  # imported here: byte mode does not need it

        words = WordFacts.of_plain(counted.words, where)
    return counts_of_table(
        table,
        counted.pattern,
        tuple(counted.special_tokens),
        n_bytes=counted.n_bytes,
        n_skipped=counted.n_skipped,
        n_pruned=counted.n_pruned,
        words=words,
        runs_of=counted.runs_of,
    )


def unpickle_counts(data: bytes) -> PieceCounts:
    """Restore the counts in a pickle. Pickles refer to this function by name: do not rename it."""
    return _parse(data, "<pickle>")

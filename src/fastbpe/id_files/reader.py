"""Memory-mapped reading of files of ids: documents, any range of ids, random windows for training."""

from __future__ import annotations

import mmap
import os
import random
import sys
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, overload

from fastbpe._utils.arguments import integer, not_a_tokenizer
from fastbpe._utils.choices import AnyIdType
from fastbpe._utils.optional_imports import require_numpy
from fastbpe.errors import FormatError
from fastbpe.id_files.megatron import DocumentStarts
from fastbpe.id_files.parts import READABLE, Part, check_alike, find_parts, read_part

_MAX_MAPPED = 64  # parts that stay mapped: a map needs a file descriptor, and a process has about a thousand


class HasFingerprint(Protocol):
    """Part of a tokenizer's interface that reading its ids needs."""

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides ids."""


def open_ids(
    path: str | os.PathLike[str],
    *,
    tokenizer: HasFingerprint | None = None,
    dtype: AnyIdType | None = None,
    as_numpy: bool = False,
) -> StoredIds:
    """Open files of ids, the output of `encode_files`, for reading. Maps them into memory and copies no ids.

    Files of other programs can also be read: a .npy array; a .bin with the header of llm.c; a .bin with Megatron's
    index (.idx), which defines its dtype and documents. This function checks sizes, counts and dtypes of all files
    without reading the ids; `fastbpe verify` reads and checks all.

    Args:
        path: a .bin, .idx or .npy file; a folder of one set of shards; or the output that shards were written for:
            "train.bin" for train-00000-of-00010.bin and so on. A .bin or .npy file without a description
            (train.bin.json) and without an index is one document.
        tokenizer: the tokenizer that should have made the ids. Files that record another one are an error; files
            that record none are accepted. None: any.
        dtype: the dtype that the ids should have ("uint16", "uint32", …). It is required for a .bin file whose
            dtype no header, description or index states; for all others, None means the dtype stated there.
        as_numpy: return numpy arrays instead of memoryviews; these are not copied either.

    Returns:
        A sequence of the documents.

    Raises:
        FormatError: the files are inconsistent, or do not fit the arguments tokenizer and dtype. The message names
            the file.
        FileNotFoundError: there is no such file, or a shard is missing.
        ValueError: no file and no argument states the dtype, or there is no such dtype.
        ImportError: as_numpy is True, and numpy is not installed.

    >>> import fastbpe, pathlib, tempfile
    >>> tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text, out = pathlib.Path(folder, "a.txt"), pathlib.Path(folder, "a.bin")
    ...     _ = text.write_text("one\\ntwo\\n")
    ...     _ = tokenizer.encode_files(text, out, separator="\\n", progress=False)
    ...     ids = fastbpe.open_ids(out, tokenizer=tokenizer)
    ...     len(ids), ids.n_ids, ids.dtype, tokenizer.decode(ids[1])
    (2, 6, 'uint16', 'two')
    """
    if tokenizer is not None and not hasattr(tokenizer, "fingerprint"):
        raise not_a_tokenizer("tokenizer", tokenizer)
    parts = [read_part(file, dtype) for file in find_parts(path)]
    check_alike(parts)
    made_by = parts[0].fingerprint
    if tokenizer is not None and made_by is not None and made_by != tokenizer.fingerprint:
        raise FormatError(
            f"{parts[0].path}: its ids were made by the tokenizer with the fingerprint {made_by[:12]}…, but the "
            f"tokenizer that was passed has {tokenizer.fingerprint[:12]}…; pass the tokenizer that made them"
        )
    if as_numpy:
        require_numpy("open_ids(as_numpy=True)")
    return StoredIds(parts, as_numpy=as_numpy)


class StoredIds(Sequence[Any]):
    """Ids in files, as a sequence of documents; `fastbpe.open_ids` returns it.

    A document, and any range of ids, is a memoryview of the mapped file (or a numpy array). Only a range that
    spans several shards is copied. The sequence can be pickled: a process that gets it maps the files itself.
    Threads may share it.

    Attributes:
        dtype: str – type of the ids: "uint16", "uint32", …
        n_ids: int – number of all ids.
        n_documents: int – number of documents; also len().
        fingerprint: str or None – fingerprint of the tokenizer; None: the files do not record it.
        paths: tuple of Path – the files, in order.

    >>> import fastbpe, pathlib, tempfile
    >>> tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text, out = pathlib.Path(folder, "a.txt"), pathlib.Path(folder, "a.bin")
    ...     _ = text.write_text("one\\ntwo\\n")
    ...     _ = tokenizer.encode_files(text, out, separator="\\n", progress=False)
    ...     ids = fastbpe.open_ids(out)
    ...     [tokenizer.decode(document) for document in ids], ids.ids(2, 4).tolist()
    (['one', 'two'], [101, 116])
    """

    def __init__(self, parts: Sequence[Part], *, as_numpy: bool = False) -> None:
        self.dtype = parts[0].dtype
        self.n_ids = sum(part.n_ids for part in parts)
        self.n_documents = sum(part.n_documents for part in parts)
        self.fingerprint = parts[0].fingerprint
        self.paths: tuple[Path, ...] = tuple(part.path for part in parts)
        self._parts, self._as_numpy = tuple(parts), as_numpy
        self._first_ids = [0, *accumulate(part.n_ids for part in parts)]
        self._first_documents = [0, *accumulate(part.n_documents for part in parts)]
        self._maps: OrderedDict[int, tuple[memoryview, memoryview | DocumentStarts | None]] = OrderedDict()

    def __reduce__(self) -> Any:
        return _reopened, (self._parts, self._as_numpy)

    def __repr__(self) -> str:
        n_files = len(self.paths)
        return (
            f"<fastbpe.StoredIds {self.paths[0].name}{f' and {n_files - 1} more' if n_files > 1 else ''}: "
            f"{self.n_ids:,} ids ({self.dtype}) of {self.n_documents:,} "
            f"{'document' if self.n_documents == 1 else 'documents'}>"
        )

    def __len__(self) -> int:
        return self.n_documents

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.n_documents))]
        i = index + self.n_documents if index < 0 else index
        if not 0 <= i < self.n_documents:
            raise IndexError(f"document index {index} is out of range; number of documents: {self.n_documents}")
        part_index = bisect_right(self._first_documents, i) - 1
        return self._given(self._document(part_index, i - self._first_documents[part_index]))

    def __iter__(self) -> Iterator[Any]:
        for part_index, part in enumerate(self._parts):
            for i in range(part.n_documents):
                yield self._given(self._document(part_index, i))

    def ids(self, start: int = 0, end: int | None = None) -> Any:
        """Return the ids from `start` up to `end`, counted over all documents.

        Args:
            start: position of the first id, from 0 to n_ids.
            end: position after the last id, from start to n_ids. None: n_ids.

        Raises:
            IndexError: the range is not within the ids.

        >>> import fastbpe, tempfile
        >>> tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = fastbpe.write_shard(tokenizer, ["one", "two"], f"{folder}/a.bin", (0, 1))
        ...     fastbpe.open_ids(folder).ids(2, 4).tolist()
        [101, 116]
        """
        start, end = integer("start", start), self.n_ids if end is None else integer("end", end)
        if not 0 <= start <= end <= self.n_ids:
            raise IndexError(
                f"ids {start} to {end}: start must be at least 0, and end at least start and at most the number "
                f"of ids, {self.n_ids}"
            )
        return self._given(self._range(start, end))

    def span(self, index: int) -> tuple[int, int]:
        """Return (start, end) of a document among all ids: `ids(*span(i))` equals document i.

        Args:
            index: the document, from 0 to n_documents - 1.

        Raises:
            IndexError: there is no such document.

        >>> import fastbpe, tempfile
        >>> tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = fastbpe.write_shard(tokenizer, ["one", "two"], f"{folder}/a.bin", (0, 1))
        ...     fastbpe.open_ids(folder).span(1)
        (3, 6)
        """
        index = integer("index", index)
        if not 0 <= index < self.n_documents:
            raise IndexError(f"document index {index} is out of range; number of documents: {self.n_documents}")
        part_index = bisect_right(self._first_documents, index) - 1
        start, end = self._offsets(part_index, index - self._first_documents[part_index])
        return self._first_ids[part_index] + start, self._first_ids[part_index] + end

    def random_windows(self, n: int, length: int, *, seed: int | str) -> Any:
        """Return windows of consecutive ids at random positions, for training.

        A window may span several documents. The positions depend only on the seed, the length and the number of
        ids, so shards lead to the same windows as the merged file. If the seed contains the training step, a
        restarted run sees the same windows.

        Args:
            n: number of windows.
            length: number of ids of each window, from 1 to n_ids. For inputs and targets of 1024 ids, it is 1025.
            seed: seed of the positions, such as f"{seed} {rank} {step}".

        Returns:
            A list of n memoryviews; with as_numpy an array of shape (n, length), which is a copy.

        Raises:
            ValueError: length is not from 1 to n_ids, or n is negative.

        >>> import fastbpe, tempfile
        >>> tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = fastbpe.write_shard(tokenizer, ["one", "two"], f"{folder}/a.bin", (0, 1))
        ...     windows = fastbpe.open_ids(folder).random_windows(2, 3, seed=0)
        ...     len(windows), len(windows[0])
        (2, 3)
        """
        n, length = integer("n", n), integer("length", length)
        seed = seed if isinstance(seed, str) else integer("seed", seed)
        if not 1 <= length <= self.n_ids:
            raise ValueError(f"length={length}: must be from 1 to the number of ids, {self.n_ids}")
        if n < 0:
            raise ValueError(f"n={n}: must be a number of windows, at least 0")
        places = random.Random(seed)
        starts = [places.randrange(self.n_ids - length + 1) for _ in range(n)]
        windows = [self._range(start, start + length) for start in starts]
        if not self._as_numpy:
            return windows
        rows = require_numpy("random_windows").empty((n, length), dtype=self.dtype)
        for row, window in zip(rows, windows, strict=True):
            row[:] = self._given(window)
        return rows

    def _given(self, view: memoryview) -> Any:
        """Return ids in the caller's form."""
        if not self._as_numpy:
            return view
        return require_numpy("open_ids(as_numpy=True)").frombuffer(view, dtype=self.dtype)

    def _document(self, part_index: int, i: int) -> memoryview:
        start, end = self._offsets(part_index, i)
        return self._map(part_index)[0][start:end]

    def _offsets(self, part_index: int, i: int) -> tuple[int, int]:
        """Return the position of a part's document among the ids of the part."""
        part, offsets = self._parts[part_index], self._map(part_index)[1]
        if offsets is None:
            return 0, part.n_ids
        start, end = offsets[i], offsets[i + 1]
        if not 0 <= start <= end <= part.n_ids:
            raise FormatError(
                f"{part.offsets or part.path}: document {i} goes from position {start} to {end}, which is not "
                f"a range of its {part.n_ids} ids; copy the file again or recreate it"
            )
        return start, end

    def _range(self, start: int, end: int) -> memoryview:
        """Return the ids between two positions among all parts. Copies them if they are in several parts."""
        part_index = bisect_right(self._first_ids, start) - 1
        views: list[memoryview] = []
        while start < end:
            first, stop = self._first_ids[part_index], min(end, self._first_ids[part_index + 1])
            views.append(self._map(part_index)[0][start - first : stop - first])
            start = stop
            part_index += 1
        if len(views) == 1:
            return views[0]
        return _cast(memoryview(b"".join(views)), self.dtype)

    def _map(self, part_index: int) -> tuple[memoryview, memoryview | DocumentStarts | None]:
        """Map a part, and return (its ids, its offsets). The last _MAX_MAPPED parts stay mapped."""
        maps = self._maps
        mapped = maps.pop(part_index, None)
        if mapped is None:
            part = self._parts[part_index]
            mapped = _view(part.path, part.start, self.dtype, part.n_ids), _offsets_of(part)
        maps[part_index] = mapped  # as the last one used
        while len(maps) > _MAX_MAPPED:
            try:
                maps.popitem(last=False)
            except KeyError:  # other threads have removed the rest
                break
        return mapped


def _reopened(parts: Sequence[Part], as_numpy: bool) -> StoredIds:
    return StoredIds(parts, as_numpy=as_numpy)


def _offsets_of(part: Part) -> memoryview | DocumentStarts | None:
    """Map the offsets of a part's documents; None if no file has them: the part is then one document."""
    if part.index is not None:
        return part.index.starts(part.n_ids)
    return None if part.offsets is None else _view(part.offsets, 0, "int64", part.n_documents + 1)


def _view(path: Path, start: int, dtype: str, n: int) -> memoryview:
    """Map the n integers of a file after `start` bytes. Raises FormatError if its size has changed since."""
    expected = start + n * READABLE[dtype][0]
    with open(path, "rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        if n_bytes != expected:
            raise FormatError(f"{path}: {n_bytes} bytes, but {expected} when it was opened; open it again")
        if not n:  # an empty file cannot be mapped
            return _cast(memoryview(b""), dtype)
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[start:]
    if sys.byteorder == "little":
        return _cast(data, dtype)
    swapped: array[int] = array(READABLE[dtype][1], data.tobytes())
    swapped.byteswap()
    return memoryview(swapped).toreadonly()


def _cast(data: Any, dtype: str) -> memoryview:
    """View bytes as integers."""
    view: memoryview = data.cast(READABLE[dtype][1])
    return view

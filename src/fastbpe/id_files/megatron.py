"""Indexes of Megatron-LM's datasets (.idx) from other programs, which define dtype and documents of a .bin.

Layouts, little-endian, from megatron/core/datasets/indexed_dataset.py and, for the older TNTIDX, from its
predecessor megatron/data/indexed_dataset.py:

- MMIDIDX: magic (9 bytes), version 1 (int64), code of the dtype (1 byte), number of sequences n and of ends of
  documents d (int64 each); n lengths (int32), n positions in bytes (int64), d ends of documents, in sequences
  (int64); in multimodal data also n bytes, the mode of each sequence. The first of the d ends is 0, so there are
  d - 1 documents.
- TNTIDX: magic (8 bytes); version 1, code, bytes per id, n, number of sizes, d (int64 each); n + 1 positions of
  sizes, n + 1 positions in ids, the sizes, d ends of documents as above (int64 each).

A document may have several sequences. They must be consecutive in the .bin; other indexes are refused.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import IO

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.corpus.sink_formats import MEGATRON_MAGIC, OLD_MEGATRON_MAGIC, read_integers
from fastbpe.errors import FormatError

#: Code of a dtype → its name. Older versions exchange 6 and 7, which no file of ids has.
_CODES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float64", 7: "float32", 8: "uint16"
}  # fmt: skip
_AT_ONCE = 1 << 16  # sequences or documents that are read at a time
_HEADER_BYTES, _OLD_HEADER_BYTES = 9 + 8 + 1 + 2 * 8, 8 + 6 * 8  # of the layouts above, before the tables


class MegatronIndex(NamedTuple):
    """Places of the tables of an index.

    path: the .idx file.
    dtype: str – type of the ids.
    n_sequences, n_documents: int – sequences and documents.
    at_lengths, at_starts, at_ends: int – offsets in the file, in bytes, where three tables begin: the lengths of
        the sequences, their positions, and the ends of the documents.
    length_code: str – type of a length, as a type code of `array`.
    unit: int – by how much an id advances a position: its number of bytes if positions are in bytes, 1 if in ids.
    """

    path: Path
    dtype: str
    n_sequences: int
    n_documents: int
    at_lengths: int
    at_starts: int
    at_ends: int
    length_code: str
    unit: int

    def starts(self, n_ids: int) -> DocumentStarts:
        """Map the index into memory. Item i of the result is the position, in ids, at which document i begins."""
        return DocumentStarts(self, n_ids)

    def check(self, n_ids: int) -> None:
        """Read all of the index, and raise FormatError unless sequences and documents are consecutive."""
        at = 0
        with open(self.path, "rb") as length_file, open(self.path, "rb") as start_file:
            length_file.seek(self.at_lengths)
            start_file.seek(self.at_starts)
            for first in range(0, self.n_sequences, _AT_ONCE):
                n = min(_AT_ONCE, self.n_sequences - first)
                lengths = read_integers(length_file, n, self.length_code)
                expected = [*accumulate((length * self.unit for length in lengths), initial=at)]
                if min(lengths) < 0 or read_integers(start_file, n).tolist() != expected[:-1]:
                    raise FormatError(
                        f"{self.path}: sequences {first} to {first + n - 1} are not consecutive in the .bin "
                        "file; write the dataset again"
                    )
                at = expected[-1]
        if at != n_ids * self.unit:
            raise FormatError(
                f"{self.path}: its sequences have {at // self.unit} ids, but the .bin file has {n_ids}; copy "
                "both files again or recreate them"
            )
        before = 0
        for end in self.ends():
            if end < before:
                raise FormatError(
                    f"{self.path}: the ends of documents must not decrease, but a document that ends at "
                    f"sequence {end} comes after one that ends at sequence {before}; copy the file again or "
                    "recreate it"
                )
            before = end

    def ends(self) -> Iterator[int]:
        """Read the ends of documents, in sequences, without the 0 before them."""
        with open(self.path, "rb") as file:
            file.seek(self.at_ends + 8)
            for first in range(0, self.n_documents, _AT_ONCE):
                yield from read_integers(file, min(_AT_ONCE, self.n_documents - first))


class DocumentStarts:
    """Positions in ids at which documents begin: item i for document i, then the number of all ids."""

    def __init__(self, index: MegatronIndex, n_ids: int) -> None:
        self._index, self._n_ids = index, n_ids
        expected = index.at_ends + 8 * (index.n_documents + 1)  # without the modes
        with open(index.path, "rb") as file:
            n_bytes = os.fstat(file.fileno()).st_size
            if n_bytes < expected:
                raise FormatError(
                    f"{index.path}: {n_bytes} bytes, but at least {expected} when it was opened; open it again"
                )
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self._starts, self._ends = (
            data[at : at + 8 * n]
            for at, n in ((index.at_starts, index.n_sequences), (index.at_ends, index.n_documents + 1))
        )

    def __getitem__(self, document: int) -> int:
        sequence = _at(self._ends, document)
        if sequence == self._index.n_sequences:
            return self._n_ids
        if not 0 <= sequence < self._index.n_sequences:
            raise FormatError(
                f"{self._index.path}: document {document} begins at sequence {sequence}, but there are "
                f"{self._index.n_sequences} sequences; copy the file again or recreate it"
            )
        return _at(self._starts, sequence) // self._index.unit


def _at(table: memoryview, i: int) -> int:
    return int.from_bytes(table[8 * i : 8 * i + 8], "little", signed=True)


def read_index(path: Path, id_bytes: dict[str, int], n_bytes: int) -> MegatronIndex:
    """Read the header of an index, and check all that can be checked without reading all of its tables.

    id_bytes: dtype of ids that can be read → bytes per id; n_bytes: size of the .bin.

    Raises:
        FormatError: the file is damaged, of another version, or does not fit the .bin; the message names it.
    """
    with open(path, "rb") as file:
        is_old = file.read(8) == OLD_MEGATRON_MAGIC
        if not is_old:
            file.seek(len(MEGATRON_MAGIC))
        version = _number(file)
        if version != 1:
            raise FormatError(f"{path}: a Megatron index of version {version}; fastbpe reads version 1")
        code = _number(file) if is_old else _number(file, 1)
        dtype = _CODES.get(code, "")
        if dtype not in id_bytes:
            said = f"{dtype} numbers, not ids" if dtype else f"items of the unknown type {code}"
            raise FormatError(f"{path}: it says that its .bin contains {said}; pass a dataset of integers")
        id_size = _number(file) if is_old else id_bytes[dtype]
        n = _number(file)
        n_sizes = _number(file) if is_old else n
        n_ends = _number(file)
        file_bytes = path.stat().st_size
        if is_old:
            at_starts = _OLD_HEADER_BYTES + 8 * (n + 1)
            at_lengths = at_starts + 8 * (n + 1)
            at_ends = at_lengths + 8 * n
            index = MegatronIndex(path, dtype, n, n_ends - 1, at_lengths, at_starts, at_ends, "q", 1)
            valid_file_bytes: tuple[int, ...] = (at_ends + 8 * n_ends,)
        else:
            at_lengths = _HEADER_BYTES
            at_starts = at_lengths + 4 * n
            at_ends = at_starts + 8 * n
            index = MegatronIndex(path, dtype, n, n_ends - 1, at_lengths, at_starts, at_ends, "i", id_size)
            valid_file_bytes = (at_ends + 8 * n_ends, at_ends + 8 * n_ends + n)  # without or with modes
        fits = n_sizes == n and id_size == id_bytes[dtype] and file_bytes in valid_file_bytes
        if n < 0 or n_ends < 1 or not fits:
            raise FormatError(
                f"{path}: {file_bytes} bytes do not fit {n} sequences and {n_ends - 1} documents; "
                "copy the file again or recreate it"
            )
        file.seek(at_ends)
        first = _number(file)
        file.seek(at_ends + 8 * (n_ends - 1))
        last = _number(file)
        end = 0
        if n:
            file.seek(at_starts + 8 * (n - 1))
            end = _number(file) * (id_size // index.unit)  # in bytes, as n_bytes
            file.seek(at_lengths + (8 if is_old else 4) * (n - 1))
            end += id_size * _number(file, 8 if is_old else 4)
    if (first, last, end) != (0, n, n_bytes):
        raise FormatError(
            f"{path}: its documents cover the sequences {first} to {last} of {n}, and the last sequence ends at "
            f"byte {end}, but {path.with_suffix('.bin').name} has {n_bytes} bytes; copy both files again or "
            "recreate them"
        )
    return index


def _number(file: IO[bytes], n_bytes: int = 8) -> int:
    return int.from_bytes(file.read(n_bytes), "little", signed=n_bytes > 1)

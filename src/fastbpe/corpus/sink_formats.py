"""Files written at the end of a run, from all its ids and offsets: parquet, Arrow, Megatron's index.

Each writer writes the same bytes when it is called again, so that a run killed at this point can resume.
"""

from __future__ import annotations

import json
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe.corpus.id_headers import ID_BYTES
from fastbpe.corpus.remote import AnyPath
from fastbpe.errors import FormatError

_OFFSET_BYTES = 8  # bytes of an int64
_ROW_GROUP_IDS = 1 << 22  # ids in a row group of parquet or a batch of Arrow; more only if one document has more
_ROW_GROUP_ROWS = 1 << 16  # documents of a row group or batch
# Megatron-LM, megatron/core/datasets/indexed_dataset.py: header, version, code of the dtype. It has no uint32; ids
# below 2**31 have the bytes of int32.
MEGATRON_MAGIC = b"MMIDIDX\x00\x00"
OLD_MEGATRON_MAGIC = b"TNTIDX\x00\x00"  # of the index that Megatron-LM wrote before, fairseq's "cached"
_MEGATRON_HEADER = MEGATRON_MAGIC + (1).to_bytes(8, "little")
_MEGATRON_CODES = {"uint16": 8, "uint32": 4}  # 4 is int32
_MAX_MEGATRON_LENGTH = (1 << 31) - 1  # ids of a sequence, whose length is an int32
_OFFSETS_AT_ONCE = 1 << 16


def write_parquet(path: Path, ids: Path, offsets: Path, about: Mapping[str, Any]) -> None:
    """Write a parquet file: one row per document, with a column input_ids of lists of uint16 or uint32.

    Args:
        ids: file of all ids, little-endian.
        offsets: file of int64: the start of each document, and the end of the last one, in ids.
        about: metadata; its "dtype" is the type of the ids.
    """
    arrow = require_pyarrow(path, "parquet")
    schema = _schema(arrow, about)
    # large_list in memory; without store_schema readers get plain lists.
    with arrow.parquet.ParquetWriter(path, schema, store_schema=False, compression="zstd") as writer:
        for table in _tables(arrow, schema, ids, offsets, about):
            writer.write_table(table)
        writer.add_key_value_metadata({"fastbpe": json.dumps(about)})


def write_arrow(path: Path, ids: Path, offsets: Path, about: Mapping[str, Any]) -> None:
    """Write an Arrow IPC stream with the rows of `write_parquet`; uncompressed, so that readers can map it.

    It is a stream because `datasets.Dataset.from_file` opens no other form of Arrow.

    Accepts the arguments of `write_parquet`.
    """
    arrow = require_pyarrow(path, "arrow")
    schema = _schema(arrow, about).with_metadata({"fastbpe": json.dumps(about)})
    with arrow.ipc.new_stream(str(path), schema) as writer:
        for table in _tables(arrow, schema, ids, offsets, about):
            writer.write_table(table)


def write_megatron_index(path: Path, offsets: Path, dtype: str) -> None:
    """Write the .idx of Megatron's indexed dataset for a .bin: each document is one sequence.

    offsets: as for `write_parquet`. dtype: uint16 or uint32, of the ids.

    Raises:
        FormatError: a document has more ids than the format allows.
    """
    with open(path, "wb") as file:
        for block in _megatron_index(path, offsets, dtype):
            file.write(block)


def _megatron_index(path: Path, offsets: Path, dtype: str) -> Iterator[bytes]:
    """Yield the content of a .idx in blocks."""
    n = offsets.stat().st_size // _OFFSET_BYTES - 1
    yield _MEGATRON_HEADER + bytes([_MEGATRON_CODES[dtype]])
    # As `id_files.megatron` lays it out: numbers of sequences and of ends; lengths, positions, ends of documents.
    yield n.to_bytes(8, "little") + (n + 1).to_bytes(8, "little")
    for starts in _blocks(offsets):
        lengths = [end - start for start, end in pairwise(starts)]
        if max(lengths) > _MAX_MEGATRON_LENGTH:
            raise FormatError(
                f"{path}: a document has {max(lengths)} ids: the limit of .idx is {_MAX_MEGATRON_LENGTH}; "
                "write .bin"
            )
        yield _packed("i", lengths)
    for starts in _blocks(offsets):
        yield _packed("q", [start * ID_BYTES[dtype] for start in starts[:-1]])
    for first in range(0, n + 1, _OFFSETS_AT_ONCE):
        yield _packed("q", range(first, min(n + 1, first + _OFFSETS_AT_ONCE)))


def is_megatron_index(path: AnyPath) -> bool:
    """Tell whether a file exists and begins like the .idx of Megatron's indexed dataset, new or old."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        return file.read(len(MEGATRON_MAGIC)).startswith((MEGATRON_MAGIC, OLD_MEGATRON_MAGIC))


def check_megatron_index(path: Path, offsets: Path, dtype: str) -> None:
    """Raise FormatError unless a .idx equals the file that `write_megatron_index` writes for these arguments."""
    with open(path, "rb") as file:
        fits = all(file.read(len(block)) == block for block in _megatron_index(path, offsets, dtype))
        if not fits or file.read(1):
            name = offsets.name.removesuffix(".offsets")
            raise FormatError(
                f"{path}: this is not the index of {name}; write it again: fastbpe merge {name} -o NEW.idx"
            )


def _blocks(offsets: Path) -> Iterator[Sequence[int]]:
    """Read the starts of some documents at a time, plus the end of the last of them."""
    with open(offsets, "rb") as file:
        starts = read_integers(file, 1)
        while block := read_integers(file, _OFFSETS_AT_ONCE):
            yield starts + block
            starts = block[-1:]


def read_integers(file: IO[bytes], n: int, code: str = "q") -> array[int]:
    """Read up to n little-endian integers of a type of `array`."""
    block: array[int] = array(code, file.read(array(code).itemsize * n))
    if sys.byteorder == "big":
        block.byteswap()
    return block


def _packed(code: str, values: Any) -> bytes:
    """Pack integers, little-endian."""
    packed: array[int] = array(code, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _schema(arrow: Any, about: Mapping[str, Any]) -> Any:
    item = arrow.field("element", getattr(arrow, str(about["dtype"]))(), nullable=False)
    return arrow.schema([arrow.field("input_ids", arrow.large_list(item), nullable=False)])


def _tables(arrow: Any, schema: Any, ids: Path, offsets: Path, about: Mapping[str, Any]) -> Iterator[Any]:
    """Yield a table for each row group."""
    kind = schema.field(0).type
    with open(ids, "rb") as id_file:
        for starts in _row_groups(offsets):
            n_ids = starts[-1] - starts[0]
            data = arrow.py_buffer(id_file.read(n_ids * ID_BYTES[about["dtype"]]))
            values = arrow.Array.from_buffers(kind.value_type, n_ids, [None, data])
            ends = arrow.py_buffer(array("q", [start - starts[0] for start in starts]))
            rows = arrow.LargeListArray.from_buffers(kind, len(starts) - 1, [None, ends], children=[values])
            yield arrow.Table.from_arrays([rows], schema=schema)


def _row_groups(path: Path) -> Iterator[Sequence[int]]:
    """Read the offsets of each row group: the starts of its documents, and the end of the last one.

    A document with more than _ROW_GROUP_IDS ids is a separate group.
    """
    with open(path, "rb") as file:
        starts: array[int] = array("q")
        while True:
            starts += read_integers(file, _ROW_GROUP_ROWS + 1 - len(starts))
            if len(starts) < 2:
                return
            n_rows = max(bisect_right(starts, starts[0] + _ROW_GROUP_IDS) - 1, 1)
            yield starts[: n_rows + 1]
            starts = starts[n_rows:]

"""Columns of tables. Offsets in Arrow data that point outside are an error: reading them would end the process."""

from __future__ import annotations

import io
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import fastbpe
from fastbpe import FormatError, SequenceTokenizer, Tokenizer
from fastbpe.cluster.arrow_columns import rows_of
from fastbpe.id_files.verifying import verify_ids
from helpers.child_processes import run_python

LENGTHS = (11, 5, 7)
LISTS = [[97 + i] * length for i, length in enumerate(LENGTHS)]
TOKENIZER = Tokenizer.from_merges([], pattern=None)


def damaged(data: bytes, offset_type: str = "i") -> bytes:
    good, bad = (array(offset_type, [0, second, 16, 23]).tobytes() for second in (11, 1 << 24))
    assert data.count(good) == 1
    return data.replace(good, bad)


def damaged_column(column: Any) -> Any:
    sink = io.BytesIO()
    table = pyarrow.table({"x": column})
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pyarrow.ipc.open_stream(damaged(sink.getvalue())).read_all()


@pytest.mark.parametrize("new", [pyarrow.ipc.new_file, pyarrow.ipc.new_stream])
def test_wrong_offset_in_a_file_of_sequences_is_a_format_error(new: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    table = pyarrow.table({"input_ids": pyarrow.array(LISTS, pyarrow.list_(pyarrow.int64()))})
    with new(str(path), table.schema) as writer:
        writer.write_table(table)
    path.write_bytes(damaged(path.read_bytes()))
    tokenizer = SequenceTokenizer.from_merges([], base_size=256)
    with pytest.raises(FormatError, match=r"a\.arrow: not a valid Arrow file: .*; copy the file again"):
        tokenizer.encode_files(path, tmp_path / "out.bin", progress=False)


def test_wrong_offset_in_a_file_of_ids_is_a_format_error(tmp_path: Path) -> None:
    out = tmp_path / "out.arrow"
    texts = tmp_path / "a.txt"
    texts.write_text("".join("a" * n + "\n" for n in LENGTHS))
    TOKENIZER.encode_files(texts, out, separator="\n", progress=False)
    out.write_bytes(damaged(out.read_bytes(), "q"))
    assert "not a valid Arrow file" in str(verify_ids(out).problems)
    with pytest.raises(FormatError, match=r"out\.arrow: not a valid Arrow file: .*overwrite=True"):
        fastbpe.merge_shards(out, tmp_path / "all.bin", progress=False)


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.binary()])
def test_wrong_offset_in_an_array_of_texts_is_a_value_error(kind: Any) -> None:
    table = damaged_column(pyarrow.array(["a" * n for n in LENGTHS], kind))
    for texts in (table.column("x"), table.column("x").chunk(0)):
        with pytest.raises(ValueError, match="offset"):
            TOKENIZER.to_arrow(texts)
    with pytest.raises(ValueError, match="offset"):
        list(rows_of([table], "x"))


def test_wrong_index_in_a_dictionary_of_texts_is_an_index_error() -> None:
    indices = pyarrow.array([0, 1 << 24], pyarrow.int32())
    texts = pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(["a"]), safe=False)
    with pytest.raises(IndexError, match="16777216"):
        TOKENIZER.to_arrow(texts)


def test_wrong_offset_in_an_array_of_ids_is_a_value_error() -> None:
    table = damaged_column(pyarrow.array(LISTS, pyarrow.list_(pyarrow.uint32())))
    with pytest.raises(ValueError, match="offset"):
        TOKENIZER.decode_batch(table.column("x"))


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_fresh_process_reads_a_field_of_a_struct_and_loads_parquet_if_needed(tmp_path: Path, kind: str) -> None:
    path, table = tmp_path / f"a.{kind}", pyarrow.table({"doc": [{"text": "one"}, {"text": "two"}]})
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pyarrow.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    said = run_python(
        "import fastbpe, sys; counts = fastbpe.count_pieces(sys.argv[1], text_field='doc.text');"
        "print(counts.n_bytes, 'pyarrow.parquet' in sys.modules)",
        str(path),
    )
    assert said == f"6 {kind == 'parquet'}\n"

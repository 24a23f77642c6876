"""Mappings and tables are no batches of texts: every batch call says so; columns and arrays are batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest

import fastbpe
from fastbpe import Tokenizer

TEXTS = ["one two", "пять 👍", "six"]
BATCH_CALLS: dict[str, Callable[[Tokenizer, Any], Any]] = {
    "encode_batch": lambda t, texts: t.encode_batch(texts),
    "encode_ordinary_batch": lambda t, texts: t.encode_ordinary_batch(texts),
    "dropout": lambda t, texts: t.encode_batch(texts, dropout=0.5, seed=1),
    "encode_batch_to_numpy": lambda t, texts: [part.tolist() for part in t.encode_batch_to_numpy(texts)],
    "encode_batch_with_offsets": lambda t, texts: t.encode_batch_with_offsets(texts),
    "offsets as numpy": lambda t, texts: [x.tolist() for x in t.encode_batch_with_offsets(texts, as_numpy=True)],
    "count_batch": lambda t, texts: t.count_batch(texts).tolist(),
    "truncate_batch": lambda t, texts: t.truncate_batch(texts, 2),
    "to_arrow": lambda t, texts: t.to_arrow(texts).to_pylist(),
    "aencode_batch": lambda t, texts: asyncio.run(fastbpe.aencode_batch(t, texts)),
    "count_pieces": lambda t, texts: dict(fastbpe.count_pieces(texts, progress=False)),
    "train": lambda t, texts: fastbpe.train(texts, vocab_size=260, progress=False).vocab,
    "changed_texts": lambda t, texts: fastbpe.changed_texts(t, t, texts).n_texts,
    "prune": lambda t, texts: t.prune(corpus=texts)[0].vocab,
}
COUNTED = ("count_pieces", "train")  # a mapping there is of pieces to counts


def pandas_frame() -> Any:
    return pytest.importorskip("pandas").DataFrame({"text": TEXTS})


def polars_frame() -> Any:
    return pytest.importorskip("polars").DataFrame({"text": TEXTS})


def dataset() -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict({"text": TEXTS})


TABLES: dict[str, Callable[[], Any]] = {
    "dict": lambda: {"text": TEXTS},
    "Table": lambda: pyarrow.table({"text": TEXTS}),
    "RecordBatch": lambda: pyarrow.record_batch({"text": TEXTS}),
    "pandas": pandas_frame,
    "polars": polars_frame,
    "Dataset": dataset,
}
COLUMNS: dict[str, Callable[[], Any]] = {
    "tuple": lambda: tuple(TEXTS),
    "iterator": lambda: iter(TEXTS),
    "array": lambda: pyarrow.array(TEXTS),
    "view": lambda: pyarrow.array(TEXTS, pyarrow.string_view()),
    "dictionary": lambda: pyarrow.array(TEXTS).dictionary_encode(),
    "chunked": lambda: pyarrow.chunked_array([TEXTS[:1], TEXTS[1:]]),
    "numpy": lambda: numpy.array(TEXTS),
    "pandas": lambda: pandas_frame()["text"],
    "polars": lambda: polars_frame()["text"],
    "datasets": lambda: dataset()["text"],
}


@pytest.mark.parametrize("call", BATCH_CALLS)
@pytest.mark.parametrize("table", TABLES)
def test_table_is_refused_and_the_column_way_is_named(code_tokenizer: Tokenizer, call: str, table: str) -> None:
    given = TABLES[table]()
    if call in COUNTED and table == "dict":
        pytest.skip("counts of pieces")
    with pytest.raises(
        TypeError, match=r"is a \w+, whose items are .*: pass one column of it, such as \w+\[.text.\]"
    ):
        BATCH_CALLS[call](code_tokenizer, given)


@pytest.mark.parametrize("call", BATCH_CALLS)
@pytest.mark.parametrize("column", COLUMNS)
def test_column_and_array_are_texts(code_tokenizer: Tokenizer, call: str, column: str) -> None:
    given = COLUMNS[column]()
    wanted = BATCH_CALLS[call](code_tokenizer, iter(TEXTS))
    assert BATCH_CALLS[call](code_tokenizer, given) == wanted


def test_scalar_is_no_column(code_tokenizer: Tokenizer) -> None:
    with pytest.raises(TypeError):
        code_tokenizer.encode_batch(pyarrow.scalar("ab"))


def test_null_of_a_column_is_named(code_tokenizer: Tokenizer) -> None:
    with pytest.raises(TypeError, match=r"texts\[1\]: text must be str, or bytes of UTF-8, not NoneType"):
        code_tokenizer.encode_batch(pyarrow.array(["a", None]))


def test_decode_batch_refuses_tables(code_tokenizer: Tokenizer) -> None:
    for batch in ({"ids": [[1]]}, pyarrow.table({"ids": [[1]]})):
        with pytest.raises(TypeError, match=r"batch is a \w+, whose items are .*: pass one column of it"):
            code_tokenizer.decode_batch(batch)  # type: ignore[arg-type]
    assert code_tokenizer.decode_batch(pyarrow.array([[97]])) == ["a"]


def test_encode_files_refuses_tables(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="inputs must be a path, a folder, or a list of paths, not Table"):
        code_tokenizer.encode_files(pyarrow.table({"path": ["a"]}), tmp_path / "out.bin")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="texts is a dict"):
        fastbpe.write_shard(code_tokenizer, {"text": TEXTS}, tmp_path / "out.bin", shard=(0, 1))


def test_dict_of_columns_is_no_counts() -> None:
    for call in (fastbpe.count_pieces, lambda source: fastbpe.train(source, vocab_size=260)):
        with pytest.raises(TypeError, match="count"):
            call({"text": TEXTS})

"""Killed workers, tasks that run twice, and bad input: the same result, or an error that names the thing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from cluster.conftest import Cluster
from fastbpe import FormatError, OptionError, TrainingError
from fastbpe.errors import SpecError

pytestmark = [pytest.mark.sample(1), pytest.mark.filterwarnings("ignore")]  # of the engines

TEXTS = [f"low lower {i % 17} lowest {i}" for i in range(600)]


@pytest.mark.parametrize("options", [{}, {"mode": "codepoint"}], ids=["byte", "codepoint"])
def test_worker_killed_in_the_middle_leaves_the_counts_unchanged(
    cluster: Cluster, options: dict[str, Any], tmp_path: Path
) -> None:
    marker = tmp_path / "killed"
    table = cluster.dying(cluster.table(TEXTS), str(marker))
    assert cluster.module.count_pieces(table, "text", **options) == fastbpe.count_pieces(iter(TEXTS), **options)
    assert marker.exists()


def test_worker_killed_in_the_middle_leaves_the_ids_unchanged(cluster: Cluster, tmp_path: Path) -> None:
    tokenizer = fastbpe.train(iter(TEXTS), vocab_size=300, progress=False)
    table = cluster.dying(cluster.table(TEXTS), str(tmp_path / "killed"))
    rows = cluster.rows(cluster.module.encode(table, "text", tokenizer))
    assert [list(row["input_ids"]) for row in rows] == tokenizer.encode_ordinary_batch(TEXTS)
    assert (tmp_path / "killed").exists()


def test_worker_killed_in_the_middle_leaves_whole_shards(cluster: Cluster, tmp_path: Path) -> None:
    tokenizer = fastbpe.train(iter(TEXTS), vocab_size=300, progress=False)
    out = tmp_path / "ids"
    out.mkdir()
    table = cluster.dying(cluster.table(TEXTS), str(tmp_path / "killed"))
    cluster.module.write_shards(table, "text", tokenizer, out / "a.bin")
    assert (tmp_path / "killed").exists()
    assert [list(ids) for ids in fastbpe.open_ids(out)] == tokenizer.encode_ordinary_batch(TEXTS)
    endings = ("", ".json", ".offsets", ".manifest.json")  # no file that the killed worker left
    assert sorted(path.name for path in out.iterdir()) == sorted(
        f"a-{i:05}-of-00002.bin{ending}" for i in range(2) for ending in endings
    )


def test_task_that_runs_twice_gives_the_same_rows() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from fastbpe.cluster.counting import Counting, check_options, count_texts, counts_of_rows

    for options in ({}, {"mode": "codepoint"}):
        how = Counting("text", options, False, 3, 5)
        parts = [pyarrow.table({"text": TEXTS[at : at + 100]}) for at in range(0, 600, 100)]
        once, twice = (
            [row for i, part in enumerate(parts) for row in count_texts([part], how, i, "")] for _ in "ab"
        )
        assert once == twice
        counts = counts_of_rows(reversed(once), check_options(options, "raise"))
        assert counts == fastbpe.count_pieces(iter(TEXTS), **options)


def test_null_row_is_an_error_that_names_column_and_row(cluster: Cluster, tmp_path: Path) -> None:
    table = cluster.table(["a", "b", "c", None, "d"], 1)
    tokenizer = fastbpe.train(["ab"], vocab_size=256, progress=False)
    for call in (
        lambda: cluster.module.count_pieces(table, "text"),
        lambda: cluster.module.write_shards(table, "text", tokenizer, tmp_path / "a.bin"),
    ):
        with pytest.raises(FormatError, match=r"column 'text': row 3 of .* is null"):
            call()
    assert list(tmp_path.glob("*.bin*")) == []


def test_null_rows_are_left_out_of_shards_counted_and_named(cluster: Cluster, tmp_path: Path) -> None:
    table = cluster.table([b"a", None, b"b \xe9", b"c", None, b"d"], 2, "binary")
    tokenizer = fastbpe.train(["ab"], vocab_size=256, progress=False)
    for errors, wanted in (("strict", "acd"), ("replace", "ab \ufffdcd")):
        summary = cluster.module.write_shards(
            table, "text", tokenizer, tmp_path / "a.bin", on_error="skip", errors=errors
        )
        assert "".join(map(tokenizer.decode, fastbpe.open_ids(tmp_path / "a.bin"))) == wanted
        assert summary.n_skipped == len(summary.skipped) == (3 if errors == "strict" else 2)
        assert "0: document 1 (counted from 0) is None" in summary.skipped[0]
        assert "1: document 1 (counted from 0) is None" in summary.skipped[-1]


def test_bytes_that_are_not_utf8_are_an_error_or_replaced(cluster: Cluster) -> None:
    rows = [b"a", b"b \xe9"]
    with pytest.raises(ValueError, match="UTF-8"):
        cluster.module.count_pieces(cluster.table(rows, kind="binary"), "text")
    counts = cluster.module.count_pieces(cluster.table(rows, kind="binary"), "text", errors="replace")
    assert counts == fastbpe.count_pieces(["a", "b \ufffd"])


def test_wrong_columns_options_and_tokenizers_are_refused_before_any_task(
    cluster: Cluster, tmp_path: Path
) -> None:
    table, module = cluster.table(["a"]), cluster.module
    tokenizer: Any = fastbpe.train(["ab"], vocab_size=256, progress=False)
    out = tmp_path / "a.bin"
    for call, error, message in (
        (lambda: module.count_pieces(table, "body"), ValueError, "no column 'body'; the table has 'id', 'text'"),
        (lambda: module.count_pieces(table, 5), TypeError, "column must be a name"),
        (lambda: module.count_pieces(table, "id"), TypeError, "column 'id' has the type .*int"),
        (lambda: module.encode(table, "id", tokenizer), TypeError, "column 'id' has the type"),
        (lambda: module.encode(table, "text", "gpt2"), TypeError, "use fastbpe.load"),
        (lambda: module.encode(table, "text", tokenizer, output="id"), ValueError, "output='id'"),
        (lambda: module.encode(table, "text", tokenizer, dtype="float"), (ValueError, TypeError), "float"),
        (lambda: module.count_pieces(table, "text", on_error="no"), ValueError, "on_error='no'"),
        (lambda: module.count_pieces(table, "text", mode="ids"), TrainingError, "mode='ids'"),
        (lambda: module.count_pieces(table, "text", byte_fallback=True), OptionError, "byte_fallback"),
        (
            lambda: module.count_pieces(table, "text", mode="codepoint", split_digits="maybe"),
            SpecError,
            "split_digits='maybe'",
        ),
        (lambda: module.write_shards(table, "id", tokenizer, out), TypeError, "column 'id' has the type"),
        (lambda: module.write_shards(table, "text", "gpt2", out), TypeError, "use fastbpe.load"),
        (
            lambda: module.write_shards(table, "text", tokenizer, out, colour=1),
            TypeError,
            "'colour' is not an option",
        ),
        (lambda: module.write_shards(table, "text", tokenizer, out, dtype="int8"), ValueError, "int8"),
        (lambda: module.write_shards(table, "text", tokenizer, tmp_path / "a.txt"), ValueError, r"\.bin"),
    ):
        with pytest.raises(error, match=message):
            call()
    assert list(tmp_path.iterdir()) == []


def test_ids_that_the_asked_dtype_cannot_hold_are_refused(cluster: Cluster, tmp_path: Path) -> None:
    tokenizer = fastbpe.train(["ab"], vocab_size=256, progress=False).with_special_tokens({"<large>": 65536})
    table = cluster.table(["a<large>"])
    with pytest.raises(ValueError, match='is too small for the id 65536: choose "uint32"'):
        cluster.module.write_shards(table, "text", tokenizer, tmp_path / "a.bin", dtype="uint16")
    assert list(tmp_path.iterdir()) == []
    ids = cluster.module.encode(table, "text", tokenizer, dtype="int16", allowed_special="all")  # a row has it
    with pytest.raises(Exception, match="int16 is too small for id 65536 at position 1: its limit is 32767"):
        cluster.rows(ids)


def test_damaged_parquet_file_is_named_and_nothing_written(cluster: Cluster, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "ids").mkdir()
    for name in ("good", "worse"):
        parquet.write_table(pyarrow.table({"text": TEXTS}), tmp_path / "corpus" / f"{name}.parquet")
    damaged = tmp_path / "corpus" / "worse.parquet"
    data = bytearray(damaged.read_bytes())
    data[4:2000] = bytes(1996)  # the pages; the footer stays, so that the schema can be read
    damaged.write_bytes(data)
    tokenizer = fastbpe.train(iter(TEXTS), vocab_size=300, progress=False)
    if cluster.name == "spark":
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        assert session is not None
        table: Any = session.read.parquet(str(tmp_path / "corpus"))
    else:
        import ray

        table = ray.data.read_parquet(str(tmp_path / "corpus"))
    for call in (
        lambda: cluster.module.count_pieces(table, "text"),
        lambda: cluster.module.write_shards(table, "text", tokenizer, tmp_path / "ids" / "a.bin"),
    ):
        with pytest.raises(Exception, match=r"worse\.parquet"):
            call()
    with pytest.raises((FileNotFoundError, FormatError)):  # whole shards of other tasks at most
        fastbpe.open_ids(tmp_path / "ids")


def test_workers_keep_few_tokenizers() -> None:
    import pickle

    from fastbpe.cluster import workers

    made = [fastbpe.train([f"{c}{c}b"], vocab_size=257, progress=False) for c in "acdefg"]
    for tokenizer in made:
        kept = workers.tokenizer_of(tokenizer.fingerprint, lambda tokenizer=tokenizer: pickle.dumps(tokenizer))
        assert workers.tokenizer_of(tokenizer.fingerprint, lambda: b"") is kept
    assert workers._load.cache_info().currsize == 4
    fastbpe.release_memory()
    assert not workers._load.cache_info().currsize


@pytest.mark.daily
def test_missing_engine_says_what_to_install() -> None:
    for name in ("pyspark", "ray"):
        code = f"""
import sys
sys.modules[{name!r}] = None
import fastbpe.spark, fastbpe.ray
module = fastbpe.spark if {name!r} == "pyspark" else fastbpe.ray
try:
    module.count_pieces(None, "text")
except ImportError as error:
    print(error)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
        )
        assert "pip install" in done.stdout


def test_importing_fastbpe_imports_no_engine() -> None:
    code = "import sys, fastbpe.spark, fastbpe.ray; print({'pyspark', 'ray'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "set()"

"""Tasks without memory inside an engine: it tries them again with the same result, or the error names the part."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from cluster.conftest import Cluster
from fastbpe import Tokenizer
from fastbpe.errors import WorkerError
from helpers.child_processes import run_python

pytestmark = [
    pytest.mark.sample(1),  # one of the engines, another one each day
    pytest.mark.filterwarnings("ignore"),  # of the engines
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc to read the used memory from"),
]

WORDS, N_TIMES = "some words, 123; ", 2_100_000  # 36 MB
TEXTS = ["low lower", "lowest", "low", WORDS * N_TIMES]  # the second part of two has the large text
TASKS = {"spark": ("_count", "_encode", "_write"), "ray": ("_count", "_write")}
ENDINGS = ("", ".json", ".offsets", ".manifest.json")
WAY_OUT = r"give tasks more memory, or divide the data into more parts with repartition\(n\)"


@pytest.fixture
def short_of_memory(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Make the tasks of fastbpe fail for lack of memory.

    It takes the mode: "always" – a task may use 12 MB beyond what its process has, too little to copy the large
    text; "once" – only until one has failed; "killed" – the process of a task is killed, as the kernel does it. It
    returns a file that exists when a task has failed.
    """

    def shorten(mode: str) -> Path:
        failed = tmp_path / "failed"
        limited = limiting(mode, str(failed))
        for name in TASKS[cluster.name]:
            monkeypatch.setattr(cluster.module, name, limited(getattr(cluster.module, name)))
        if cluster.name == "ray":
            monkeypatch.setattr(cluster.module, "_EncodingActor", limited_actor(limited))
        return failed

    return shorten


def limiting(mode: str, failed: str) -> Callable[[Any], Any]:
    """Return a wrapper of tasks. Its functions are nested, so that engines send them and not their names."""
    room, n_large = 12_000_000, len(WORDS) * N_TIMES

    def limited(task: Any) -> Any:
        def run(*args: Any) -> Any:
            import ctypes
            import importlib
            import os
            import resource
            import signal
            import threading

            # Import pandas first: Ray reuses its workers, and an import without memory would leave pandas half
            # imported. So would an interrupt, by which Ray cancels tasks; it interrupts only the main thread.
            importing = threading.Thread(target=importlib.import_module, args=("pandas",))
            importing.start()
            importing.join()
            import pyarrow

            pyarrow.array([b"a"])  # for a thread's first array Arrow reserves more memory than the limit
            if mode == "once" and os.path.exists(failed):
                return task(*args)
            if mode == "killed":
                open(failed, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            with open("/proc/self/statm") as statm:
                used = int(statm.read().split()[0]) * resource.getpagesize()
            before = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (used + room, before[1]))
            libc = ctypes.CDLL(None)
            libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
            taken = [*iter(lambda: libc.malloc(ctypes.c_size_t(n_large)), None)]  # memory reserved by malloc
            try:
                result = task(*args)
                return result if not hasattr(result, "send") else list(result)
            except MemoryError:
                open(failed, "w").close()
                raise
            finally:
                for memory in taken:
                    libc.free(memory)
                resource.setrlimit(resource.RLIMIT_AS, before)

        return run

    return limited


def limited_actor(limited: Callable[[Any], Any]) -> Any:
    from fastbpe.ray import _EncodingActor

    call = limited(_EncodingActor.__call__)

    class Actor(_EncodingActor):
        def __call__(self, table: Any) -> Any:
            return call(self, table)

    return Actor


def table_of_texts(cluster: Cluster) -> Any:
    """Make a table of the texts in two parts. Spark makes the large one, since its driver has little memory."""
    if cluster.name == "ray":
        return cluster.table(TEXTS)
    return cluster.table([*TEXTS[:3], WORDS]).selectExpr("id", f"if(id = 3, repeat(text, {N_TIMES}), text) text")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return fastbpe.train(["low lower lowest some words"], vocab_size=266, progress=False)


def test_counting_without_memory_names_the_part(cluster: Cluster, short_of_memory: Callable[[str], Path]) -> None:
    failed = short_of_memory("always")
    with pytest.raises(Exception, match=f"{part_of(cluster)}: no memory for its texts; {WAY_OUT}"):
        cluster.module.count_pieces(table_of_texts(cluster), "text")
    assert failed.exists()


def part_of(cluster: Cluster) -> str:
    return "partition 1" if cluster.name == "spark" else r"a block of 2 rows and 35,7\d\d,\d{3} bytes"


def test_counts_of_a_task_that_lacks_memory_once_equal_those_of_one_machine(
    cluster: Cluster, short_of_memory: Callable[[str], Path]
) -> None:
    failed = short_of_memory("once")
    counts = cluster.module.count_pieces(table_of_texts(cluster), "text")
    assert failed.exists()
    assert counts == fastbpe.count_pieces(iter(TEXTS))


def test_writing_without_memory_names_part_and_shard_and_leaves_no_half_shard(
    cluster: Cluster, short_of_memory: Callable[[str], Path], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    failed, out = short_of_memory("always"), tmp_path / "ids"
    out.mkdir()
    part = "partition 1, shard 1 of 2" if cluster.name == "spark" else "block 1, shard 1"
    with pytest.raises(Exception, match=f"{part}: no memory for its texts; {WAY_OUT}"):
        cluster.module.write_shards(table_of_texts(cluster), "text", tokenizer, out / "a.bin")
    assert failed.exists()
    first = {f"a-00000-of-00002.bin{ending}" for ending in ENDINGS} if cluster.name == "spark" else set()
    assert {path.name for path in out.iterdir()} <= first


def test_encoding_without_memory_names_the_part(
    cluster: Cluster, short_of_memory: Callable[[str], Path], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    failed = short_of_memory("always")
    with pytest.raises(Exception, match=f"{part_of(cluster)}: no memory for its texts; {WAY_OUT}"):
        written(cluster, cluster.module.encode(table_of_texts(cluster), "text", tokenizer), tmp_path / "rows")
    assert failed.exists()
    parquet = pytest.importorskip("pyarrow.parquet")
    files = [*(tmp_path / "rows").rglob("*.parquet")]
    ids = {i for path in files for i in parquet.read_table(path).column("id").to_pylist()}
    # Spark removes all files; Ray may have written the other block, with the first two rows, before the error.
    assert ids <= (set() if cluster.name == "spark" else {0, 1})


def written(cluster: Cluster, table: Any, folder: Path) -> Any:
    """Write a table to parquet files and read them."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table.write.parquet(str(folder)) if cluster.name == "spark" else table.write_parquet(str(folder))
    return parquet.read_table(folder)


def test_ids_of_a_task_that_lacks_memory_once_equal_those_of_one_machine(
    cluster: Cluster,
    short_of_memory: Callable[[str], Path],
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed, table = short_of_memory("once"), table_of_texts(cluster)
    if cluster.name == "ray":  # as the page says
        if not hasattr(table.context, "max_map_retries"):
            pytest.skip("this Ray Data does not try errors of functions again")
        monkeypatch.setattr(table.context, "retried_map_errors", ["no memory for"])
        monkeypatch.setattr(table.context, "max_map_retries", 3)
    rows = cluster.module.encode(table, "text", tokenizer)
    rows = rows.drop("text") if cluster.name == "spark" else rows.drop_columns(["text"])
    found = written(cluster, rows, tmp_path / "rows").sort_by("id").column("input_ids")
    assert failed.exists()
    assert found.combine_chunks().flatten().equals(one_row(tokenizer, found.type.value_type))
    assert [len(row) for row in found] == [tokenizer.count(text) for text in TEXTS]


def one_row(tokenizer: Tokenizer, kind: Any) -> Any:
    """Return the ids of all texts one after the other, as an Arrow array."""
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.concat_arrays([pyarrow.array(tokenizer.encode_to_numpy(text), kind) for text in TEXTS])


def test_memory_limit_of_spark_is_an_error_that_names_the_shard(
    spark: Cluster, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`spark.executor.pyspark.memory` becomes this property of each job, and the limit of its Python workers."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    context, table = session.sparkContext, table_of_texts(spark)
    # Another environment makes Spark start new workers. Old workers keep freed memory, into which the text fits.
    monkeypatch.setitem(context.environment, "FASTBPE_TEST_WORKERS", "new")

    def used(_: Any) -> Any:
        import pyarrow

        import fastbpe.spark  # noqa: F401 – to be counted

        with open("/proc/self/status") as status:
            yield pyarrow.RecordBatch.from_pydict({"kb": [int(status.read().split("VmSize:")[1].split()[0])]})

    kb = min(row.kb for row in session.range(1).mapInArrow(used, "kb bigint").collect())  # without rows
    context.setLocalProperty(
        "resource.pyspark.memory", str(kb // 1024 + 48)
    )  # MB: too few for the text and a copy
    try:
        with pytest.raises(Exception, match=f"partition 1, shard 1 of 2: no memory for its texts; {WAY_OUT}"):
            spark.module.write_shards(table, "text", tokenizer, tmp_path / "a.bin")
    finally:
        context.setLocalProperty("resource.pyspark.memory", None)
    assert {path.name for path in tmp_path.iterdir()} <= {f"a-00000-of-00002.bin{ending}" for ending in ENDINGS}


def test_task_that_lacks_memory_once_writes_the_shards_of_one_machine(
    cluster: Cluster, short_of_memory: Callable[[str], Path], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    failed = short_of_memory("once")
    for name in ("ids", "one"):
        (tmp_path / name).mkdir()
    done = cluster.module.write_shards(table_of_texts(cluster), "text", tokenizer, tmp_path / "ids" / "a.bin")
    assert failed.exists()
    assert done.n_documents == len(TEXTS)
    for i in range(2):
        fastbpe.write_shard(tokenizer, TEXTS[2 * i : 2 * i + 2], tmp_path / "one" / "a.bin", (i, 2))
    names = sorted(f"a-{i:05}-of-00002.bin{ending}" for i in range(2) for ending in ENDINGS)
    assert sorted(path.name for path in (tmp_path / "ids").iterdir()) == names
    for name in names:
        assert (tmp_path / "ids" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name


def test_worker_killed_at_each_try_is_an_error_that_names_the_shard(
    cluster: Cluster, short_of_memory: Callable[[str], Path], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    failed = short_of_memory("killed")
    named = "shard n of 2: Task [01] in stage" if cluster.name == "spark" else "block [01], shard [01]"
    with pytest.raises(WorkerError, match=f"a.bin.*{named}.*its worker died at each try.*give tasks more memory"):
        cluster.module.write_shards(cluster.table(["low", "lower"]), "text", tokenizer, tmp_path / "a.bin")
    assert failed.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["failed"]
    if cluster.name == "spark":  # Ray Data restarts such tasks endlessly
        with pytest.raises(WorkerError, match=r"count_pieces: Task [01] in stage.*its worker died at each try"):
            cluster.module.count_pieces(cluster.table(["low", "lower"]), "text")


LOW_NODE = """
import sys, time
import pyarrow, ray, ray.data
import fastbpe, fastbpe.ray
from fastbpe.errors import WorkerError
ray.init(num_cpus=2, include_dashboard=False, object_store_memory=120_000_000, log_to_driver=False)
write = fastbpe.ray._write
def slow(*args):
    time.sleep(60)  # until Ray ends the worker
    return write(*args)
blocks = [ray.put(pyarrow.table({"text": [text]})) for text in ("low", "lower")]
class Made:  # a dataset that is made: tasks that make one would be ended, too
    context = ray.data.DataContext.get_current()
    schema = lambda self: pyarrow.schema([("text", pyarrow.string())])
    select_columns = lambda self, names: self
fastbpe.ray._write, fastbpe.ray._streamed = slow, lambda dataset: blocks
tokenizer = fastbpe.train(["low lower"], vocab_size=257, progress=False)
try:
    fastbpe.ray.write_shards(Made(), "text", tokenizer, sys.argv[1] + "/a.bin")
except WorkerError as error:
    print("named:", error, type(error.__cause__).__name__)
"""


def test_worker_that_ray_ends_for_lack_of_memory_is_an_error_that_names_the_shard(tmp_path: Path) -> None:
    """Here, Ray's monitor takes any use of memory for too much, so it ends the worker at each try."""
    pytest.importorskip("ray.data", reason="ray[data] is not installed", exc_type=ImportError)
    settings = {"memory_usage_threshold": "0.001", "memory_monitor_refresh_ms": "100", "task_oom_retries": "1"}
    printed = run_python(LOW_NODE, str(tmp_path), **{f"RAY_{name}": value for name, value in settings.items()})
    named = next(line for line in printed.splitlines() if line.startswith("named:"))
    assert re.search(r"a\.bin: block [01], shard [01]: its worker died at each try of Ray", named)
    assert named.endswith("OutOfMemoryError")
    assert list(tmp_path.iterdir()) == []

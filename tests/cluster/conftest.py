"""Spark and Ray on this machine, two workers each, started once; a test is skipped where one is missing."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import pytest

SECONDS = 120  # of one test, by the clock: a machine under load starts workers slowly
DRIVER_MEMORY, OBJECT_STORE_BYTES = "2g", 120_000_000


class Cluster(NamedTuple):
    """An engine.

    name: "spark" or "ray".
    module: fastbpe.spark or fastbpe.ray.
    table: function of (texts or None, number of parts) that makes a table.
    rows: returns all rows of a table in order, as dictionaries.
    dying: makes a table whose first task is killed when it has read half of its rows; (table, marker file).
    """

    name: str
    module: Any
    table: Callable[..., Any]
    rows: Callable[[Any], list[dict[str, Any]]]
    dying: Callable[[Any, str], Any]


@pytest.fixture(autouse=True)
def bounded_time() -> Iterator[None]:
    """End a test that waits for an engine for too long."""

    def end(*_: object) -> None:
        raise TimeoutError(f"the engine did not answer within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session", autouse=True)
def s3_port() -> Iterator[int]:
    """Choose the port of an S3 server, and tell it the processes of the engines before they start."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    settings = {"KEY": "testing", "SECRET": "testing", "ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    with mock.patch.dict(os.environ, {f"FSSPEC_S3_{name}": value for name, value in settings.items()}):
        yield port


@pytest.fixture(scope="session", params=["spark", "ray"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def spark() -> Iterator[Cluster]:
    pytest.importorskip("pyspark", reason="pyspark is not installed", minversion="4.0")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java 17: apt-get install openjdk-17-jre-headless")
    from pyspark.sql import SparkSession

    import fastbpe.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.memory": DRIVER_MEMORY,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
    }
    builder = SparkSession.builder.master("local[2, 4]").appName("fastbpe-tests")  # 4: tries of a task
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")

    def table(texts: list[Any], n_parts: int = 2, kind: str = "string") -> Any:
        rows = session.sparkContext.parallelize([(number, text) for number, text in enumerate(texts)], n_parts)
        return session.createDataFrame(rows, f"id int, text {kind}")

    def dying(df: Any, marker: str) -> Any:
        def pass_on(batches: Any) -> Any:
            import os
            import signal

            for number, batch in enumerate(batches):
                if number and not os.path.exists(marker):
                    open(marker, "w").close()
                    os.kill(os.getpid(), signal.SIGKILL)
                yield batch

        return df.mapInArrow(pass_on, df.schema)

    yield Cluster("spark", fastbpe.spark, table, lambda df: [row.asDict() for row in df.collect()], dying)
    session.stop()


@pytest.fixture(scope="session")
def ray() -> Iterator[Cluster]:
    ray = pytest.importorskip("ray", reason="ray is not installed")
    pytest.importorskip("ray.data", reason="ray[data] is not installed", exc_type=ImportError)
    import pyarrow

    import fastbpe.ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        logging_level="error",
        log_to_driver=False,
    )
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True  # for reading rows back; fastbpe sets it where it needs it

    def table(texts: list[Any], n_parts: int = 2, kind: str = "string") -> Any:
        whole = pyarrow.table({"id": range(len(texts)), "text": pyarrow.array(texts, getattr(pyarrow, kind)())})
        size = -(-len(texts) // n_parts) or 1
        return ray.data.from_arrow([whole.slice(at, size) for at in range(0, len(texts) or 1, size)])

    def dying(dataset: Any, marker: str) -> Any:
        def pass_on(batch: Any) -> Any:
            import os
            import signal

            if batch["id"][0].as_py() and not os.path.exists(marker):
                open(marker, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return batch

        return dataset.map_batches(pass_on, batch_format="pyarrow", batch_size=50)

    yield Cluster("ray", fastbpe.ray, table, lambda dataset: dataset.take_all(), dying)
    ray.shutdown()

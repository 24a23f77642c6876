"""Shards that engines write: streamed, in each format, on other file systems, of tables without rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import fastbpe
from cluster.conftest import Cluster
from fastbpe import Tokenizer

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of the engines
    pytest.mark.filterwarnings("ignore:::(aiobotocore|botocore|s3fs|moto|aiohttp|werkzeug|urllib3)"),
]

TEXTS = [f"low lower {i % 17} lowest {i}" for i in range(60)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return fastbpe.train(iter(TEXTS), vocab_size=300, progress=False)


@pytest.fixture(scope="session")
def bucket(s3_port: int) -> Iterator[str]:
    """Address of a bucket of an S3 server in this process, which the engines' processes know, too."""
    pytest.importorskip("s3fs", reason="s3:// needs s3fs")
    server_module = pytest.importorskip("moto.server", reason="the S3 server of the test is moto's")
    import fsspec

    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=s3_port, verbose=False)
    server.start()
    options = {"key": "testing", "secret": "testing", "endpoint_url": f"http://127.0.0.1:{s3_port}"}
    with mock.patch.dict(fsspec.config.conf, {"s3": options}):
        fsspec.filesystem("s3").mkdir("corpora")
        yield "s3://corpora"
    server.stop()


def contents(folder: Path) -> dict[str, bytes]:
    """Name → bytes of all files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def shards_of_one_machine(tokenizer: Tokenizer, folder: Path, name: str, n: int) -> dict[str, bytes]:
    folder.mkdir()
    size = len(TEXTS) // n
    for i in range(n):
        fastbpe.write_shard(tokenizer, TEXTS[i * size : (i + 1) * size], folder / name, (i, n))
    return contents(folder)


@pytest.mark.parametrize("name", ["a.idx", "a.parquet"])
def test_shards_of_other_formats_have_the_bytes_of_one_machine(
    cluster: Cluster, tokenizer: Tokenizer, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "ids"
    out.mkdir()
    cluster.module.write_shards(cluster.table(TEXTS, 3), "text", tokenizer, out / name)
    assert contents(out) == shards_of_one_machine(tokenizer, tmp_path / "one", name, 3)


def test_shards_are_written_to_addresses(
    cluster: Cluster, tokenizer: Tokenizer, tmp_path: Path, bucket: str
) -> None:
    import fsspec

    (tmp_path / "ids").mkdir()
    there = f"{bucket}/{tmp_path.name}-{cluster.name}"
    for folder in (f"file://{tmp_path}/ids", there):
        done = cluster.module.write_shards(cluster.table(TEXTS, 3), "text", tokenizer, f"{folder}/a.bin")
        assert done.n_documents == len(TEXTS)
    files = fsspec.filesystem("s3")
    found = {name.rpartition("/")[2]: files.cat_file(name) for name in files.find(there)}
    assert found == contents(tmp_path / "ids") == shards_of_one_machine(tokenizer, tmp_path / "one", "a.bin", 3)


def test_table_without_rows_gives_shards_without_documents(
    cluster: Cluster, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    summary = cluster.module.write_shards(cluster.table([]), "text", tokenizer, tmp_path / "a.bin")
    assert (summary.n_documents, summary.n_ids) == (0, 0)
    assert len(fastbpe.open_ids(tmp_path)) == 0


def test_table_without_partitions_gives_one_shard(spark: Cluster, tokenizer: Tokenizer, tmp_path: Path) -> None:
    table = spark.table([])
    nothing = table.sparkSession.createDataFrame(table.sparkSession.sparkContext.emptyRDD(), table.schema)
    assert spark.module.write_shards(nothing, "text", tokenizer, tmp_path / "a.bin").n_documents == 0
    assert len(fastbpe.open_ids(tmp_path).paths) == 1


def test_missing_folder_is_an_error_before_any_task(
    cluster: Cluster, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder; create it first"):
        cluster.module.write_shards(cluster.table(TEXTS), "text", tokenizer, tmp_path / "missing" / "a.bin")


def test_ray_writes_blocks_while_others_are_made(ray: Cluster, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """The last block is only made after another one has been written."""
    out = tmp_path / "ids"
    out.mkdir()

    def wait_at_the_end(batch: Any) -> Any:
        import time
        from pathlib import Path

        deadline = time.monotonic() + 60
        while batch["id"][-1].as_py() == len(TEXTS) - 1 and not [*Path(out).rglob("*.manifest.json")]:
            assert time.monotonic() < deadline, "no block was written before the last was made"
            time.sleep(0.1)
        return batch

    table = ray.table(TEXTS, 12).map_batches(wait_at_the_end, batch_format="pyarrow", batch_size=None)
    ray.module.write_shards(table, "text", tokenizer, out / "a.bin")
    assert contents(out) == shards_of_one_machine(tokenizer, tmp_path / "one", "a.bin", 12)


def test_ray_writes_beside_actors_that_hold_all_cpus(ray: Cluster, tokenizer: Tokenizer, tmp_path: Path) -> None:
    class Same:
        def __call__(self, batch: Any) -> Any:
            return batch

    table = ray.table(TEXTS, 12).map_batches(Same, batch_format="pyarrow", batch_size=None, concurrency=2)
    ray.module.write_shards(table, "text", tokenizer, tmp_path / "a.bin")
    assert [list(ids) for ids in fastbpe.open_ids(tmp_path)] == tokenizer.encode_ordinary_batch(TEXTS)


def test_ray_writes_blocks_of_pandas(ray: Cluster, tokenizer: Tokenizer, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = ray.table(TEXTS, 3).map_batches(lambda frame: pandas.DataFrame(frame), batch_format="pandas")
    ray.module.write_shards(table, "text", tokenizer, tmp_path / "a.bin")
    assert [list(ids) for ids in fastbpe.open_ids(tmp_path)] == tokenizer.encode_ordinary_batch(TEXTS)

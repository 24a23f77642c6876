"""Compare counting, learning and encoding with Spark and with Ray on this machine to fastbpe alone.

    python benchmarks/cluster.py [--n-bytes 2000000000] [--text english] [--engine single spark spark-files …]
        [--vocab-size 32000 100000] [--folder FOLDER]

The text is grown by grow.py, if the corpus is smaller, and lies in parquet files of documents. Each engine runs
in a process of its own with two workers; fastbpe alone, in one with two threads. The total leaves out two times:
start and pass. A pass reads the texts and hands them to Python as Arrow, and does nothing with them; counting and
encoding include one each. The second row ("p") has the processor seconds of all processes together, which other
load on the machine changes little; workers that an engine has ended may be missing. "spark-files" and "ray-files"
hand out only the numbers of tasks, and the tasks read the files themselves. Peak memory is the sum of the
proportional set sizes (PSS) of the process and what it started, sampled five times a second.

Vocabularies of all sizes are learned from the same counts; the last encodes. The last column must be equal for all
engines: counts, fingerprints of the vocabularies, number of ids, and the sum of the hashes of all documents' ids.
It is a sum, because Spark reorders the documents: it puts the largest files first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

N_WORKERS = 2
N_TASKS = 4  # of "spark-files" and "ray-files"
DOCUMENT_CHARACTERS = 4000
FILE_DOCUMENTS = 8000  # per file, about 32 MB
GROW = Path(__file__).with_name("grow.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-bytes", type=int, default=2_000_000_000)
    parser.add_argument("--text", default="english")
    parser.add_argument("--vocab-size", type=int, nargs="+", default=[32_000, 100_000])
    parser.add_argument("--engine", nargs="*", default=["single", "spark", "spark-files", "ray", "ray-files"])
    parser.add_argument("--run", help=argparse.SUPPRESS)  # in the process of one engine
    parser.add_argument("--folder", help="keep the text there, for the next run (default: nowhere)")
    args = parser.parse_args()
    if args.run:
        RUNS[args.run](Path(args.folder), args.vocab_size)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(args.folder or name)
        folder.mkdir(exist_ok=True)
        size = folder / "n_bytes"
        if not size.exists():
            size.write_text(str(write_corpus(folder, args)))
        n_bytes = int(size.read_text())
        names = ["start", "pass", "count", *map(learning, args.vocab_size), "encode"]
        print(f"{n_bytes:,} bytes of text, {N_WORKERS} workers")
        print(" " * 12 + "".join(f"{name:>11}" for name in (*names, "total", "memory")) + "  counts, ids")
        for engine in args.engine:
            done, peak = measured(engine, folder, args.vocab_size)
            seconds = [done[step] for step in names]
            row = "".join(f"{second:10.1f}s" for second in [*seconds, sum(seconds[2:])])
            print(f"{engine:>12}{row}{peak / 1e6:8,.0f} MB  {done['check']}, {hashed(done['out'])}", flush=True)
            spent = [done[f"{step} cpu"] for step in names]
            print(f"{'':>12}" + "".join(f"{second:10.1f}p" for second in [*spent, sum(spent[2:])]), flush=True)


def learning(vocab_size: int) -> str:
    """Name the step that learns a vocabulary."""
    return f"learn {vocab_size / 1000:g}k"


def write_corpus(folder: Path, args: argparse.Namespace) -> int:
    """Write parquet files of documents; returns the bytes of their text."""
    import pyarrow
    import pyarrow.parquet

    text = folder / "text.txt"
    command = [sys.executable, str(GROW), str(text), "--n-bytes", str(args.n_bytes), "--text", args.text]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (folder / "corpus").mkdir()
    n_bytes = number = 0
    with open(text, encoding="utf-8") as file:
        while documents := [part for _ in range(FILE_DOCUMENTS) if (part := file.read(DOCUMENT_CHARACTERS))]:
            n_bytes += sum(len(part.encode()) for part in documents)
            table = pyarrow.table({"text": documents})
            pyarrow.parquet.write_table(table, folder / "corpus" / f"{number:05}.parquet", row_group_size=1000)
            number += 1
    text.unlink()
    return n_bytes


def measured(engine: str, folder: Path, sizes: list[int]) -> tuple[dict[str, Any], int]:
    """Run an engine in a process of its own; returns its seconds and its peak memory in bytes."""
    command = [sys.executable, __file__, "--run", engine, "--folder", str(folder)]
    command += ["--vocab-size", *map(str, sizes)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=out, stderr=log)
        peak = 0
        while process.poll() is None:
            peak = max(peak, sum(map(pss_of, family_of(process.pid))))
            time.sleep(0.2)
        out.seek(0)
        log.seek(0)
        lines = [line for line in out.read().splitlines() if line.startswith(b"{")]
        if process.returncode or not lines:
            said = log.read()[-4000:].decode(errors="replace")
            raise SystemExit(f"{said}\n{engine}: exit status {process.returncode}")
    return json.loads(lines[-1]), peak


def family_of(pid: int) -> Iterator[int]:
    """Yield a process and all that it started."""
    yield pid
    try:
        children = [
            child
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return
    for child in children:
        yield from family_of(int(child))


def pss_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def hashed(out: str) -> str:
    """Return the number of the ids of an output, and the sum of the hashes of its documents."""
    import fastbpe

    ids = fastbpe.open_ids(out)
    hashes = (hashlib.blake2b(memoryview(document).cast("B"), digest_size=8).digest() for document in ids)
    whole = sum(int.from_bytes(one, "little") for one in hashes) % (1 << 64)
    return f"{ids.n_ids:,} ids {whole:016x}"


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # user and system time, and those of the children
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def single(folder: Path, sizes: list[int]) -> None:
    steps = Steps()
    import fastbpe

    steps.end("start")
    import pyarrow.parquet

    for path in sorted((folder / "corpus").iterdir()):
        with pyarrow.parquet.ParquetFile(path) as file:
            sum(batch.num_rows for batch in file.iter_batches(columns=["text"]))
    steps.end("pass")
    counts = fastbpe.count_pieces(folder / "corpus", num_threads=N_WORKERS, progress=False)
    steps.end("count")
    learned = learn(steps, counts, sizes)
    out = folder / "single.bin"
    learned[-1].encode_files(folder / "corpus", out, num_threads=N_WORKERS, progress=False, overwrite=True)
    steps.end("encode")
    steps.tell(counts, learned, out)


def spark(folder: Path, sizes: list[int]) -> None:
    steps = Steps()
    from pyspark.sql import SparkSession

    import fastbpe.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers are the python3 of the system
    builder = SparkSession.builder.master(f"local[{N_WORKERS}]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "2g").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    session.range(1).count()
    steps.end("start")
    table = session.read.parquet(str(folder / "corpus"))
    table.select("text").mapInArrow(map_rows, "n long").groupBy().sum().collect()
    steps.end("pass")
    engine(steps, fastbpe.spark, table, folder / "spark", sizes)


def ray(folder: Path, sizes: list[int]) -> None:
    steps = Steps()
    import ray

    import fastbpe.ray

    ray.init(num_cpus=N_WORKERS, include_dashboard=False, log_to_driver=False, object_store_memory=1_000_000_000)
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.range(1).count()
    steps.end("start")
    table = ray.data.read_parquet(str(folder / "corpus"))
    table.select_columns(["text"]).map_batches(n_rows, batch_format="pyarrow", batch_size=None).sum("n")
    steps.end("pass")
    engine(steps, fastbpe.ray, table, folder / "ray", sizes)


def map_rows(batches: Any) -> Any:
    import pyarrow

    for batch in batches:
        yield pyarrow.RecordBatch.from_pydict({"n": [batch.num_rows]})


def n_rows(table: Any) -> Any:
    import pyarrow

    return pyarrow.table({"n": [table.num_rows]})


def spark_files(folder: Path, sizes: list[int]) -> None:
    steps = Steps()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{N_WORKERS}]").config("spark.ui.enabled", "false")
    context = builder.getOrCreate().sparkContext
    context.parallelize(range(N_WORKERS), N_WORKERS).foreach(lambda _: None)
    steps.end("start")
    scheduler(steps, folder, sizes, lambda task, n: context.parallelize(range(n), n).foreach(task))


def ray_files(folder: Path, sizes: list[int]) -> None:
    steps = Steps()
    import ray

    ray.init(num_cpus=N_WORKERS, include_dashboard=False, log_to_driver=False, object_store_memory=200_000_000)
    ray.get([ray.remote(lambda: None).remote() for _ in range(N_WORKERS)])
    steps.end("start")
    scheduler(steps, folder, sizes, lambda task, n: ray.get([ray.remote(task).remote(i) for i in range(n)]))


def scheduler(
    steps: Steps, folder: Path, sizes: list[int], run: Callable[[Callable[[int], object], int], object]
) -> None:
    """Count and encode with tasks that read files themselves: the engine handles only the numbers of the tasks.

    Args:
        run: runs a function for each number below n.
    """
    import fastbpe

    files = sorted((folder / "corpus").iterdir())
    out = folder / "files"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    steps.end("pass")

    def count(i: int) -> None:
        part = files[i * len(files) // N_TASKS : (i + 1) * len(files) // N_TASKS]
        fastbpe.count_pieces(part, num_threads=1, progress=False).save(out / f"{i}.pieces")

    run(count, N_TASKS)
    fastbpe.PieceCounts.merge([out / f"{i}.pieces" for i in range(N_TASKS)], out / "all.pieces", progress=False)
    counts = fastbpe.PieceCounts.load(out / "all.pieces")
    steps.end("count")
    learned = learn(steps, counts, sizes)

    def encode(i: int) -> None:
        learned[-1].encode_files(files, out / "a.bin", shard=(i, N_TASKS), num_threads=1, progress=False)

    run(encode, N_TASKS)
    steps.end("encode")
    steps.tell(counts, learned, out / "a.bin")


def engine(steps: Steps, module: Any, table: Any, out: Path, sizes: list[int]) -> None:
    """Count, learn and encode into shards with Spark or Ray."""
    counts = module.count_pieces(table, "text")
    steps.end("count")
    learned = learn(steps, counts, sizes)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    module.write_shards(table, "text", learned[-1], out / "a.bin")
    steps.end("encode")
    steps.tell(counts, learned, out / "a.bin")


def learn(steps: Steps, counts: Any, sizes: list[int]) -> list[Any]:
    """Learn a vocabulary of each size."""
    import fastbpe

    learned = []
    for size in sizes:
        learned.append(fastbpe.train(counts, vocab_size=size, progress=False))
        steps.end(learning(size))
    return learned


class Steps:
    """Seconds of each step of a run."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._begun, self._spent = time.perf_counter(), 0.0

    def end(self, step: str) -> None:
        now = time.perf_counter()
        self._seconds[step], self._begun = now - self._begun, now
        spent = sum(map(processor_seconds, family_of(os.getpid())))
        self._seconds[f"{step} cpu"], self._spent = spent - self._spent, spent

    def tell(self, counts: Any, learned: list[Any], out: Path) -> None:
        """Print the seconds, and what must be equal for all engines."""
        vocabularies = " ".join(tokenizer.fingerprint[:12] for tokenizer in learned)
        check = f"{len(counts):,} distinct of {counts.n_pieces:,}, {vocabularies}"
        print(json.dumps({**self._seconds, "check": check, "out": str(out)}), flush=True)


RUNS: dict[str, Callable[[Path, list[int]], None]] = {
    "single": single,
    "spark": spark,
    "spark-files": spark_files,
    "ray": ray,
    "ray-files": ray_files,
}

if __name__ == "__main__":
    main()

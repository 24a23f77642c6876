"""Tasks killed or run twice, full disks, little memory: the same shard in the end, or an error and no half."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe.id_files.verifying import verify_ids
from helpers.child_processes import run_python
from helpers.shared_data import standard_library

WRITE = """
import sys
import fastbpe
from fastbpe import Tokenizer
tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="gpt2")
out, n_documents, n_times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
for _ in range(n_times):
    fastbpe.write_shard(tokenizer, (f"document {i} " * 50 for i in range(n_documents)), out, (0, 1))
"""


def task(out: Path, n_documents: int, n_times: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITE, str(out), str(n_documents), str(n_times)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:  # it writes no more
        assert process.stdout.readline() == "ready\n"
    return process


def shown(folder: Path) -> dict[str, bytes]:
    """Return the files that do not belong to a single task."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


@pytest.mark.daily
def test_shard_of_a_killed_task_is_absent_or_whole(tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    whole.mkdir()
    out.mkdir()
    assert task(whole / "a.bin", 3000).wait() == 0
    rng = random.Random(1)
    for _ in range(6):
        process = task(out / "a.bin", 3000)
        time.sleep(rng.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (
            set(shown(out)) in ({*()}, {*shown(whole)})
            or not (out / "a-00000-of-00001.bin.manifest.json").exists()
        )
    assert task(out / "a.bin", 3000).wait() == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == shown(whole)  # no file of a killed task
    assert verify_ids(out).problems == ()


@pytest.mark.daily
def test_two_tasks_for_one_shard_at_the_same_time_leave_it_whole(tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    whole.mkdir()
    out.mkdir()
    assert task(whole / "a.bin", 100).wait() == 0
    tasks = [task(out / "a.bin", 100, 15) for _ in range(3)]
    while any(process.poll() is None for process in tasks):
        if (out / "a-00000-of-00001.bin.manifest.json").exists():  # from then on, a reader finds it whole
            assert verify_ids(out).problems == ()
            assert len(fastbpe.open_ids(out)) == 100
        time.sleep(0.01)
    assert [process.wait() for process in tasks] == [0, 0, 0]
    assert {path.name: path.read_bytes() for path in out.iterdir()} == shown(whole)


@pytest.mark.daily
def test_full_disk_is_named_and_leaves_no_half_of_a_shard_or_a_merge(tmp_path: Path) -> None:
    """A limit on file size plays the full disk."""
    pytest.importorskip("resource")
    code = f"""
import os, resource
import fastbpe
tokenizer = fastbpe.Tokenizer.from_ranks({{bytes([i]): i for i in range(256)}}, pattern="gpt2")
folder = {str(tmp_path)!r}
calls = (
    lambda: fastbpe.write_shard(tokenizer, ["some words, 123; " * 9000] * 5, folder + "/a.bin", (0, 1)),
    lambda: fastbpe.merge_shards(folder + "/a.bin", folder + "/all.bin", progress=False),
)
for call in calls:
    before = sorted(os.listdir(folder))
    for most in 100, 5000, 1_000_000:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        try:
            print(call())
        except OSError as error:
            print(error.errno, str(error.filename).startswith(folder))
        left = [name for name in os.listdir(folder) if not name.endswith(".partial")]
        assert sorted(left) == before, left
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(call().n_ids)
print(sorted(os.listdir(folder)))
"""
    files = [f"{name}{end}" for name in ("a-00000-of-00001.bin", "all.bin") for end in ("", ".json", ".offsets")]
    names = sorted([*files, "a-00000-of-00001.bin.manifest.json"])
    assert run_python(code).splitlines() == [*[*["27 True"] * 3, "765000"] * 2, str(names)]


MEMORY = """
import resource, sys
import fastbpe
tokenizer = fastbpe.load(sys.argv[1])
text, folder, n = open(sys.argv[2]).read(), sys.argv[3], int(sys.argv[4])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
def run(n, name):
    for i in range(2):
        fastbpe.write_shard(tokenizer, (text for _ in range(n)), f"{folder}/{name}.bin", (i, 2), num_threads=2)
    fastbpe.merge_shards(f"{folder}/{name}.bin", f"{folder}/all-{name}.bin", progress=False)
    stored = fastbpe.open_ids(f"{folder}/all-{name}.bin")
    stored.random_windows(8, 100, seed=0)
run(20, "warm")
before = peak()
run(n, "large")
print((peak() - before) // 1024)
"""


@pytest.mark.daily
def test_memory_of_writing_and_merging_does_not_grow_with_the_shards(
    code_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    pytest.importorskip("resource")
    (tmp_path / "text.txt").write_text(standard_library(100_000))
    code_tokenizer.save(tmp_path / "model.fbpe")
    grown = int(run_python(MEMORY, *map(str, (tmp_path / "model.fbpe", tmp_path / "text.txt", tmp_path, 400))))
    assert grown < 30, f"{grown} MB more for 80 MB of text than for 4 MB"


@pytest.mark.daily
def test_process_without_memory_for_a_shard_raises_memory_error_and_leaves_none(tmp_path: Path) -> None:
    """An executor with a limit on its memory, and a document that does not fit."""
    pytest.importorskip("resource")
    code = f"""
import os, resource
import fastbpe
tokenizer = fastbpe.Tokenizer.from_ranks({{bytes([i]): i for i in range(256)}}, pattern="gpt2")
fastbpe.write_shard(tokenizer, ["a b c"], {str(tmp_path / "warm.bin")!r}, (0, 1), num_threads=1)
text = "some words, 123; " * 4_000_000
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 100_000_000, resource.RLIM_INFINITY))
try:
    fastbpe.write_shard(tokenizer, [text], {str(tmp_path / "a.bin")!r}, (0, 1), num_threads=1)
except MemoryError:
    print("MemoryError")
print(fastbpe.write_shard(tokenizer, ["a b c"], {str(tmp_path / "a.bin")!r}, (0, 1), num_threads=1).n_ids)
"""
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("no /proc to read the used memory from")
    assert run_python(code).split() == ["MemoryError", "5"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]

"""Refuse memory, fill disks, kill writers, fork beside threads, and go on for long: `python tools/every_fault.py`.

Prints the seed and a line for each check, and exits with 1 if any fails. The calls are those of all public methods
(tests/helpers/every_call.py):

- memory: malloc refuses at the nth call; each method raises MemoryError or gives the right answer, and works later
- disks: a full, a read-only and a vanishing disk: each writer raises OSError and leaves the old file
- kills: SIGKILL at --moments random moments of each writer: each file is the old or the new one, and the next run
  ends with the same bytes
- forks: children forked while threads are inside all methods give the right answers
- soak: resident memory stays flat over --seconds of random calls

Linux only; disks needs root, for a mount of its own. Name checks to run only those.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import fastbpe
from fastbpe import PieceCounts
from helpers import refusing_malloc
from helpers.every_call import CALLS, World

TESTS = str(Path(__file__).resolve().parent.parent / "tests")
MAX_REFUSALS = 60  # numbers of allocations that are tried for each method
MAX_GROWN_BYTES = 40 << 20
ALARM_SECONDS = 300  # after which a child that hangs is killed
KEEPS = {"write_shard"}  # a shard that is done is not written again


def writers(world: World) -> dict[str, Callable[[Path], object]]:
    """Return the calls that write files, each given the path of its first file."""
    learned, numbers = world.tokenizer, world.folder / "numbers.jsonl"
    numbers.write_text('{"input_ids": [1, 2, 3]}\n' * 2000)
    return {
        "save": learned.save,
        "export to tiktoken": lambda path: learned.export(path, format="tiktoken"),
        "export to GPT-2's files": lambda path: learned.export(path, format="gpt2"),
        "export to tokenizer.json": lambda path: learned.export(path, format="huggingface", verify=False),
        "PieceCounts.save": world.counts.save,
        "PieceCounts.merge": lambda path: PieceCounts.merge([world.saved_counts] * 9, path, progress=False),
        "SequenceTokenizer.save": world.sequences.save,
        "encode_files": lambda path: learned.encode_files(
            world.input, path.with_suffix(".bin"), num_threads=2, progress=False, overwrite=True
        ),
        "encode_files of sequences": lambda path: world.sequences.encode_files(
            numbers, path.with_suffix(".bin"), progress=False, overwrite=True
        ),
        "write_shard": lambda path: fastbpe.write_shard(
            learned, [world.long[:3000]] * 9, path.with_suffix(".bin"), (0, 1)
        ),
        "merge_shards": lambda path: fastbpe.merge_shards(
            world.shards / "a.bin", path.with_suffix(".bin"), progress=False, overwrite=True
        ),
    }


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder that readers see: not those that writers keep for themselves."""
    found = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") or part.endswith(".partial") for part in inside.parts):
            found[str(inside)] = path.read_bytes()
    return found


# memory

REFUSED = """
import ctypes, random, sys, tempfile, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[2])
from helpers.every_call import CALLS, World
library, rng, most = ctypes.CDLL(sys.argv[1]), random.Random(int(sys.argv[3])), int(sys.argv[4])
with tempfile.TemporaryDirectory() as folder:
    world = World(folder, 20_000)
    own = ("Tokenizer.to_arrow", "PieceCounts.to_parquet")  # pyarrow's own allocations are not refused
    n_refused = n_calls = 0
    for name, call in CALLS.items():
        expected = call(world)
        library.refuse_only_own(name in own)
        n = 0
        for turn in range(most):
            n += 1 if turn < most // 2 else rng.randrange(1, 9)
            try:
                library.arm(n)
                found = call(world)
            except MemoryError:
                n_refused += 1
            else:
                assert found == expected, (name, n)
            finally:
                ended = library.still_left() > 0  # fewer calls than that
                library.arm(0)
            n_calls += 1
            assert call(world) == expected, (name, n, "afterwards")
            if ended:
                break
    print(f"{n_calls:,} calls of {len(CALLS)} methods, {n_refused:,} MemoryErrors")
"""


def memory(world: World, arguments: argparse.Namespace) -> list[str]:
    library = refusing_malloc.build(world.folder)
    if library is None:
        return ["memory: needs a C compiler and glibc"]
    command = [sys.executable, "-c", REFUSED, str(library), TESTS, str(arguments.seed), str(MAX_REFUSALS)]
    environment = os.environ | refusing_malloc.loaded(library)
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    print(f"memory: {run.stdout.strip() or 'failed'}")
    return [f"memory: exit status {run.returncode}: {run.stderr[-3000:]}"] if run.returncode else []


# disks


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a disk of this size."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def disks(world: World, arguments: argparse.Namespace) -> list[str]:
    """Try each writer on each disk."""
    failed, n = [], 0
    for name, write in writers(world).items():
        for kind, problem in (
            ("full", full_disk(world, name, write)),
            ("read-only", read_only_disk(world, name, write)),
            *((f"vanishing at open {at}", vanishing_disk(world, write, at)) for at in range(1, 7)),
        ):
            n += 1
            if problem:
                failed.append(f"disks: {name}, {kind}: {problem}")
    with contextlib.suppress(OSError):
        world.tokenizer.save("/dev/full")
        failed.append("disks: save to /dev/full: no error")
    print(f"disks: {n + 1} writers and disks")
    return failed


def refused(write: Callable[[Path], object], path: Path, *numbers: int) -> str:
    """Return a problem unless a call raises OSError with one of these numbers; any, if none is given."""
    try:
        write(path)
    except OSError as error:
        if numbers and error.errno not in numbers:
            return f"another error: {error!r}"
        return "" if error.filename or not numbers else f"the error names no file: {error!r}"
    except BaseException as error:
        return f"another error: {error!r}"
    return "no error"


def full_disk(world: World, name: str, write: Callable[[Path], object]) -> str:
    with small_disk(world.folder / f"full {name}", "2m") as disk:
        if name not in KEEPS:
            write(disk / "out")
        before = files_of(disk)
        with contextlib.suppress(OSError), open(disk / ".fill", "wb") as fill:  # a hidden file is no reader's
            while fill.write(b"a" * 512):
                fill.flush()
        problem = refused(write, disk / "out", errno.ENOSPC)
        return problem or ("" if files_of(disk) == before else "the old files are gone or changed")


def read_only_disk(world: World, name: str, write: Callable[[Path], object]) -> str:
    with small_disk(world.folder / f"fixed {name}", "8m") as disk:
        if name not in KEEPS:
            write(disk / "out")
        before = files_of(disk)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        problem = refused(write, disk / "out", errno.EROFS, errno.EACCES)  # the latter for a file that is there
        return problem or ("" if files_of(disk) == before else "the old files are gone or changed")


def vanishing_disk(world: World, write: Callable[[Path], object], at: int) -> str:
    """Remove the folder in a child, when the writer opens, renames or makes its nth file there."""
    folder = Path(tempfile.mkdtemp(dir=world.folder))

    def work() -> str:
        left = at

        def count(event: str, given: tuple[object, ...]) -> None:
            nonlocal left
            if event in ("open", "os.rename", "os.mkdir") and str(folder) in str(given[0]):
                left -= 1
                if not left:
                    shutil.rmtree(folder, ignore_errors=True)

        sys.addaudithook(count)
        problem = refused(write, folder / "out")
        if left > 0 or problem == "no error":  # done before, or what it wrote was gone at once
            return ""
        return problem

    return in_child(work)


def in_child(work: Callable[[], str]) -> str:
    """Run work in a forked child; return what it returns, or how it ended."""
    readable, writable = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads are alive: that is what is tried
        child = os.fork()
    if not child:
        os.close(readable)
        try:
            signal.alarm(ALARM_SECONDS)
            said = work()
        except BaseException as error:
            said = repr(error)
        os.write(writable, said.encode()[:4000])
        os._exit(0)
    os.close(writable)
    with open(readable, "rb") as file:
        said = file.read().decode(errors="replace")
    status = os.waitpid(child, 0)[1]
    return said if not status else f"the child ended with status {status}"


# kills


def kills(world: World, arguments: argparse.Namespace) -> list[str]:
    failed, n_killed = [], 0
    rng = random.Random(arguments.seed)
    for name, write in writers(world).items():
        folder = Path(tempfile.mkdtemp(dir=world.folder))
        start = time.perf_counter()
        write(folder / "out")
        took = time.perf_counter() - start
        once = files_of(folder)
        shutil.rmtree(folder)
        folder.mkdir()
        for moment in range(arguments.moments):
            if moment % 20 == 0:  # with no file there, and over the file of an earlier run
                shutil.rmtree(folder)
                folder.mkdir()
            n_killed += killed(partial(write, folder / "out"), rng.uniform(0, 1.5) * took)
            wrong = {file: data for file, data in files_of(folder).items() if once.get(file) != data}
            if wrong:
                failed.append(f"kills: {name}, moment {moment}: half a file: {sorted(wrong)}")
                break
        write(folder / "out")
        if files_of(folder) != once:
            failed.append(f"kills: {name}: another run after a kill ends with other files")
        left = [path.name for path in folder.iterdir() if path.name.startswith(".") or ".partial" in path.name]
        if left:
            failed.append(f"kills: {name}: another run leaves {left}")
    print(f"kills: {n_killed:,} of {arguments.moments * len(writers(world)):,} runs killed")
    return failed


def killed(work: Callable[[], object], seconds: float) -> bool:
    """Run work in a child and kill it after some seconds; tell whether it was killed."""
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            work()
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


# forks


def forks(world: World, arguments: argparse.Namespace) -> list[str]:
    """Fork again and again while threads are inside the methods."""
    expected = {name: call(world) for name, call in CALLS.items()}
    names = [name for name in CALLS if name not in ("fastbpe.install", "fastbpe.uninstall")]
    rng, done, failed = random.Random(arguments.seed), threading.Event(), []

    def work(seed: int) -> None:
        own = random.Random(seed)
        while not done.is_set():
            name = own.choice(names)
            if CALLS[name](world) != expected[name]:
                failed.append(f"forks: {name} in a thread: another result")

    threads = [threading.Thread(target=work, args=(rng.random(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(arguments.forks):
            chosen = rng.sample(names, 4)

            def check(chosen: list[str] = chosen) -> str:
                wrong = [name for name in chosen if CALLS[name](world) != expected[name]]
                return f"another result of {', '.join(wrong)}" if wrong else ""

            if problem := in_child(check):
                failed.append(f"forks: turn {turn}, one of {', '.join(chosen)}: {problem}")
    finally:
        done.set()
        for thread in threads:
            thread.join()
    print(f"forks: {arguments.forks} children beside three threads")
    return failed


# soak


def soak(world: World, arguments: argparse.Namespace) -> list[str]:
    expected = {name: call(world) for name, call in CALLS.items()}
    rng, at, n = random.Random(arguments.seed), [], 0
    end = time.monotonic() + arguments.seconds
    sample = time.monotonic()
    while time.monotonic() < end:
        name = rng.choice([*CALLS])
        n += 1
        if CALLS[name](world) != expected[name]:
            return [f"soak: call {n}, {name}: another result"]
        if time.monotonic() >= sample:
            at.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
            sample += arguments.seconds / 100
            for folder in world.folder.glob(f"{os.getpid()}-*"):
                shutil.rmtree(folder)
    quarter = len(at) // 4
    grown = max(at[-quarter:]) - max(at[quarter : 2 * quarter])
    told = f"{at[-1] >> 20} MiB, {grown / (1 << 20):+.1f} MiB over the last half"
    print(f"soak: {n:,} calls in {arguments.seconds:.0f} s, {told}")
    return [f"soak: {grown >> 20} MiB more"] if grown > MAX_GROWN_BYTES else []


CHECKS = {check.__name__: check for check in (memory, disks, kills, forks, soak)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="*", help=f"checks to run: {', '.join(CHECKS)}; default: all")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--moments", type=int, default=200, help="kills of each writer")
    parser.add_argument("--forks", type=int, default=200, help="children")
    parser.add_argument("--seconds", type=float, default=600, help="time of the soak")
    arguments = parser.parse_args()
    chosen = arguments.checks or [*CHECKS]
    if unknown := set(chosen) - set(CHECKS):
        parser.error(f"no such check: {', '.join(sorted(unknown))}")
    print(f"seed {arguments.seed}", flush=True)
    failed = []
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            failed += CHECKS[name](World(folder), arguments)
    for line in failed:
        print(f"FAILED: {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())

"""Run fuzz targets under atheris: `python tests/fuzz/run.py --seconds 60 [TARGET …]`.

Shares the time among the targets and runs each in a process of its own, from the seeds of seeds.py and from what
earlier runs found (--corpus). Prints for each the executions, the seconds, the seed and the corpus, and ends with
1 if one failed; the input stays in --artifacts, and `python tests/fuzz/run.py TARGET FILE` runs it again.

Atheris sees the branches of Python. To see those of the core, and its memory errors, build the core with

    CC=clang FASTBPE_SANITIZE=fuzzer python setup.py build_ext --inplace --force

and give --preload, which loads AddressSanitizer with atheris. Needs `pip install atheris`.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

#: Limits of one input: seconds, MiB of memory. ASan itself takes a part of the memory.
MAX_SECONDS, MAX_MEBIBYTES, MAX_BYTES = 60, 2048, 4096
#: Target → the words of its format; other targets have no dictionary.
DICTIONARIES = {
    "huggingface": "json", "model_folder": "json", "tekken": "json", "jsonl": "json", "manifest": "json",
    "js_tiktoken": "json",
    "gpt2": "json", "gguf": "gguf", "regex": "regex",
}  # fmt: skip


def names() -> list[str]:
    from fuzz import parsers, twins

    return [*parsers.TARGETS, *twins.TARGETS]


def target(name: str) -> None:
    """Run one target in this process; sys.argv holds libFuzzer's arguments."""
    import atheris

    with atheris.instrument_imports(include=["fastbpe"]):
        from fuzz import parsers, twins
    run = {**parsers.TARGETS, **twins.TARGETS}[name]
    run(b"")  # makes what all inputs share, such as the patterns of the oracles, before an input's time counts
    atheris.Setup(sys.argv, run)
    atheris.Fuzz()


def one(name: str, seconds: float, folder: Path, arguments: argparse.Namespace) -> bool:
    """Run one target for some seconds in a process of its own; tell whether it found no fault.

    Args:
        name: the target.
        seconds: how long.
        folder: the folder that holds the seeds.
        arguments: what the caller gave.
    """
    found = Path(arguments.corpus or folder / "found", name)
    artifacts = Path(arguments.artifacts)
    for made in (found, artifacts):
        made.mkdir(parents=True, exist_ok=True)
    command = [
        *(sys.executable, __file__, "--target", name, f"-max_total_time={max(round(seconds), 1)}"),
        *(f"-seed={arguments.seed}", f"-timeout={MAX_SECONDS}", f"-rss_limit_mb={MAX_MEBIBYTES}"),
        *(f"-max_len={MAX_BYTES}", f"-artifact_prefix={artifacts}/{name}-", "-print_final_stats=1"),
        *(str(found), str(folder / "seeds" / name)),
    ]
    if name in DICTIONARIES:
        command.append(f"-dict={HERE / 'dictionaries' / DICTIONARIES[name]}.dict")
    start = time.monotonic()
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    took = time.monotonic() - start
    executions = re.search(r"number_of_executed_units: (\d+)", run.stderr)
    state = "no fault" if run.returncode == 0 else f"FAULT, status {run.returncode}"
    print(
        f"{name}: {int(executions[1]) if executions else 0:,} executions, {took:.0f} s, seed {arguments.seed}, "
        f"{sum(1 for _ in found.iterdir()):,} inputs in the corpus: {state}",
        flush=True,
    )
    if run.returncode:
        said = [line for line in run.stderr.splitlines() if not line.startswith(("INFO: Instr", "0x"))]
        print(run.stdout[-3000:], *(line[:500] for line in said[-60:]), sep="\n", flush=True)
    return run.returncode == 0


def preloaded() -> dict[str, str]:
    """Return the variables that load AddressSanitizer, which atheris brings, before everything else."""
    import atheris

    library = Path(atheris.path(), "asan_with_fuzzer.so")
    options = "allocator_may_return_null=1,detect_leaks=0,abort_on_error=0"
    return {"LD_PRELOAD": str(library), "ASAN_OPTIONS": options, "PYTHONMALLOC": "malloc"}


def main() -> int:
    if sys.argv[1:2] == ["--target"]:
        name = sys.argv[2]
        del sys.argv[1:3]
        target(name)
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("--seconds", type=float, default=60, help="time for all targets together")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1 << 31))
    parser.add_argument("--sample", type=int, metavar="N", help="run N of the targets, which the seed chooses")
    parser.add_argument("--corpus", help="folder that keeps the inputs found; default: none")
    parser.add_argument("--artifacts", default="build/fuzz", help="folder for inputs that fail")
    parser.add_argument("--preload", action="store_true", help="load AddressSanitizer, for a core built under it")
    arguments = parser.parse_args()
    if arguments.preload and "LD_PRELOAD" not in os.environ:  # the core itself does not load without it
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | preloaded())
    chosen = arguments.targets or names()
    if len(chosen) == 2 and Path(chosen[1]).is_file():  # one input again
        from fuzz import parsers, twins

        {**parsers.TARGETS, **twins.TARGETS}[chosen[0]](Path(chosen[1]).read_bytes())
        return 0
    if unknown := set(chosen) - set(names()):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    if arguments.sample is not None:
        chosen = random.Random(arguments.seed).sample(chosen, min(arguments.sample, len(chosen)))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, HERE / "seeds.py", Path(folder, "seeds")], check=True)
        share = arguments.seconds / len(chosen)
        passed = [one(name, share, Path(folder), arguments) for name in chosen]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())

"""fastbpe beside its peers, on one machine in one run: `python benchmarks/compare.py split`.

    python benchmarks/compare.py split [--pattern cl100k] [--text FILE]... [--rounds 5] [--json FILE]

Results are compared before anything is timed; rounds are interleaved, so that a slow moment hits everybody; the
median counts. Peers come from the [bench] extra; one that is missing is named and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import fastbpe
from fastbpe._core.scanner import Scanner, paths
from fastbpe._core.splitter import RegexSplitter, Splitter
from fastbpe.splitting import engine_of
from fastbpe.splitting.recognise import recognise
from fastbpe.splitting.to_regex import compile_regex
from peers.splitters import peers

DATA = Path(os.environ.get("FASTBPE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "corpus"
MOST_BYTES = 20_000_000
SLOW_BYTES = 1_000_000  # what those below 100 MB/s get: their speed does not depend on it

Count = Callable[[str], int]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    split = commands.add_parser("split", help="finding the pieces of a text, one thread, boundaries only")
    names = [name for name, pattern in fastbpe.PATTERNS.items() if isinstance(pattern, str)]
    split.add_argument("--pattern", default="cl100k", choices=names)
    split.add_argument(
        "--text", action="append", type=Path, help="UTF-8 files; default: english, multilingual, code"
    )
    split.add_argument("--rounds", type=int, default=5)
    split.add_argument("--json", type=Path, help="write the figures there too")
    arguments = parser.parse_args()
    python = platform.python_version()
    print(f"fastbpe {fastbpe.__version__}, Python {python}, {_processor()}, {os.cpu_count()} cores")
    results = {name: compare_split(name, text, arguments) for name, text in _texts(arguments.text).items()}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


def compare_split(name: str, text: str, arguments: argparse.Namespace) -> dict[str, float]:
    """MB/s of every splitter on one text, printed as a table and returned by name."""
    slow = text[: SLOW_BYTES // 2]
    runs: dict[str, tuple[Count, str]] = {}
    for splitter, count in _ours(arguments.pattern).items():
        runs[splitter] = count, text if splitter.startswith("fastbpe scanner") else text[: len(text) // 4]
    wanted = runs["fastbpe regex tier"][0](slow)
    runs["fastbpe regex tier"] = runs["fastbpe regex tier"][0], slow
    for peer, count_of_peer, why_not in peers(arguments.pattern):
        if count_of_peer is None:
            print(f"left out: {peer}: {why_not}")
        else:
            runs[peer] = count_of_peer, slow
    for splitter, (count, _) in runs.items():
        # Peers have another Unicode; the first half megabyte of ordinary text shows no difference.
        if count(slow) != wanted:
            print(f"{splitter} finds {count(slow):,} pieces, not {wanted:,}: its speed is no comparison")
    seconds: dict[str, list[float]] = {splitter: [] for splitter in runs}
    for _ in range(arguments.rounds):
        for splitter, (count, part) in runs.items():
            seconds[splitter].append(_seconds(count, part))
            if splitter.startswith("fastbpe") and not splitter.endswith("regex tier"):
                # Boundaries only: without making the text UTF-8, which is all that "no splitting" does.
                seconds[splitter][-1] -= _seconds(Splitter().count, part)
    speeds = {
        splitter: len(runs[splitter][1].encode()) / statistics.median(times) / 1e6
        for splitter, times in seconds.items()
    }
    base = next(speed for splitter, speed in speeds.items() if splitter.startswith("regex "))
    print(f"\n{name}, {len(text.encode()):,} bytes, pattern {arguments.pattern}\n")
    print("| splitter | MB/s, median | × regex |\n|---|---:|---:|")
    for splitter, speed in speeds.items():
        print(f"| {splitter} | {speed:,.0f} | {speed / base:.1f} |")
    return speeds


def _seconds(count: Count, text: str) -> float:
    started = time.perf_counter()
    count(text)
    return time.perf_counter() - started


def _ours(pattern_name: str) -> dict[str, Count]:
    """Every tier of our own for a named pattern."""
    text = fastbpe.PATTERNS[pattern_name]
    assert isinstance(text, str)
    spec = recognise(text)
    assert spec is not None
    ours: dict[str, Count] = {
        f"fastbpe scanner, {path}": Scanner(**asdict(spec), path=path).count for path in paths()
    }
    engine = engine_of(text)
    assert engine is not None
    ours["fastbpe engine"] = engine.count
    ours["fastbpe regex tier"] = RegexSplitter(compile_regex(text)).count
    return ours


def _texts(files: list[Path] | None) -> dict[str, str]:
    """The texts to split, at most 20 MB each: those given, or corpora and the standard library."""
    chosen = files or [path for path in (DATA / "english.txt", DATA / "multilingual.txt") if path.exists()]
    texts = {path.name: path.read_bytes()[:MOST_BYTES].decode(errors="ignore") for path in chosen}
    if not files:
        if "english.txt" in texts:
            ascii_only = texts["english.txt"].encode("ascii", "ignore").decode()
            texts = {"english.txt without what is not ASCII": ascii_only, **texts}
        sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("**/*.py"))
        code = b"".join(path.read_bytes() for path in sources if "site-packages" not in path.parts)
        texts["the standard library"] = code[:MOST_BYTES].decode(errors="ignore")
    return texts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


if __name__ == "__main__":
    sys.exit(main())

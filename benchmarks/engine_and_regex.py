"""The pattern engine beside the `regex` package: MB/s of cutting a text, one thread, in turns on one text.

python benchmarks/engine_and_regex.py english.txt … [--pattern cl100k] [--megabytes 8]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from fastbpe import PATTERNS
from fastbpe.splitting import engine_of
from fastbpe.splitting.to_regex import compile_regex

ROUNDS = 5
REGEX_MEGABYTES = 1


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(text: str, pattern: str) -> tuple[float, float]:
    """The best MB/s of `regex` and of the engine."""
    engine, compiled = engine_of(pattern), compile_regex(pattern)
    assert engine is not None
    data, short = text.encode(), text[: REGEX_MEGABYTES * 1_000_000]
    n_short = len(short.encode())
    slow = fast = float("inf")
    for _ in range(ROUNDS):
        slow = min(slow, seconds(lambda: compiled.findall(short)))
        fast = min(fast, seconds(lambda: engine.count(data)))
    return n_short / slow / 1e6, len(data) / fast / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("--pattern", action="append", choices=[name for name, text in PATTERNS.items() if text])
    parser.add_argument("--megabytes", type=int, default=8)
    options = parser.parse_args()
    for path in options.texts:
        text = path.read_bytes()[: options.megabytes * 1_000_000].decode(errors="ignore")
        for name in options.pattern or ["cl100k", "o200k"]:
            slow, fast = compare(text, str(PATTERNS[name]))
            print(f"{path.name:20} {name:8} regex {slow:6.1f}   engine {fast:6.1f}   {fast / slow:5.1f} x")


if __name__ == "__main__":
    main()

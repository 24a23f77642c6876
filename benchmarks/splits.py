"""Splitting alone: every kind of splitter of fastbpe compared with other libraries."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import fastbpe
import texts
from fastbpe._core.split.scanner import Scanner, paths
from fastbpe._core.split.splitter import RegexSplitter, Splitter
from fastbpe.splitting import engine_of
from fastbpe.splitting.recognise import recognise
from fastbpe.splitting.to_regex import compile_regex
from peers.splitters import peers

MAX_TEXT_BYTES = 20_000_000
SLOW_TEXT_CHARACTERS = 500_000  # for splitters below 100 MB/s, whose speed does not depend on the size

Count = Callable[[str], int]


def compare_split(name: str, text: str, arguments: argparse.Namespace) -> dict[str, float]:
    """Time every splitter on one text, print a table, and return MB/s by name.

    Args:
        name: name of the text.
        text: text to split.
        arguments: parsed arguments: pattern and rounds.
    """
    slow = text[:SLOW_TEXT_CHARACTERS]
    parts = {"fastbpe engine": text[: len(text) // 4], "fastbpe regex tier": slow}
    ours = _ours(arguments.pattern)
    runs = {splitter: (count, parts.get(splitter, text)) for splitter, count in ours.items()}
    wanted = ours["fastbpe regex tier"](slow)
    for peer, count_of_peer, why_not in peers(arguments.pattern):
        if count_of_peer is None:
            print(f"left out: {peer}: {why_not}")
        else:
            runs[peer] = count_of_peer, slow
    for splitter, (count, _) in runs.items():
        # Peers use other Unicode versions; the first half megabyte of ordinary text shows no difference.
        if count(slow) != wanted:
            print(f"{splitter} finds {count(slow):,} pieces, not {wanted:,}: its speed is not a comparison")
    seconds: dict[str, list[float]] = {splitter: [] for splitter in runs}
    for _ in range(arguments.rounds):
        for splitter, (count, part) in runs.items():
            seconds[splitter].append(_seconds(count, part))
            if splitter.startswith("fastbpe") and not splitter.endswith("regex tier"):
                # Subtract the conversion to UTF-8, which is all that a Splitter without a pattern does.
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
    """Return fastbpe's splitters of every kind for a named pattern."""
    text = fastbpe.PATTERNS[pattern_name]
    assert isinstance(text, str)
    spec = recognise(text)
    assert spec is not None
    ours: dict[str, Count] = {
        f"fastbpe scanner, {path}": Scanner(**spec._asdict(), path=path).count for path in paths()
    }
    engine = engine_of(text)
    assert engine is not None
    ours["fastbpe engine"] = engine.count
    ours["fastbpe regex tier"] = RegexSplitter(compile_regex(text)).count
    return ours


def split_texts(names: list[str] | None) -> dict[str, str]:
    """Return the texts to split: the given ones, or the corpora, if there are any, and the standard library."""
    if names:
        return {name: texts.read(name, MAX_TEXT_BYTES) for name in names}
    if not (texts.DATA / "corpus").exists():
        return {"code": texts.read("code")}
    english = texts.read("english")
    ascii_only = english.encode("ascii", "ignore").decode()
    return {
        "english, ASCII only": ascii_only,
        "english": english,
        "multilingual": texts.read("multilingual", MAX_TEXT_BYTES),
        "code": texts.read("code"),
    }

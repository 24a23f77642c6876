"""Benchmarks of training, phase by phase: `pytest benchmarks/bench_train.py`."""

from __future__ import annotations

from typing import Any

import pytest
from data import data_file

import fastbpe
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.piece_counter import PieceCounter


def bench_count_pieces(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    """Count only, on one thread, into an empty table."""
    n_bytes = PieceCounter(tokenizer._splitter).add_text(text)
    benchmark(lambda: PieceCounter(tokenizer._splitter).add_text(text))
    benchmark.extra_info["MB/s"] = round(n_bytes / benchmark.stats.stats.min / 1e6)


@pytest.mark.parametrize("max_memory_bytes", [None, 1 << 22], ids=["in memory", "spilled"])
@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("kind", ["english.txt", "multilingual.txt", "english.jsonl"])
def bench_count_file(benchmark: Any, kind: str, num_threads: int, max_memory_bytes: int | None) -> None:
    """Read and count a file of the shared data. MB/s is the rate of all threads together."""
    path = data_file("corpus", kind)
    options: dict[str, Any] = {"num_threads": num_threads, "max_memory_bytes": max_memory_bytes, "progress": False}
    n_bytes = fastbpe.count_pieces(path, **options).n_bytes
    benchmark.pedantic(lambda: fastbpe.count_pieces(path, **options), rounds=5, warmup_rounds=1)
    benchmark.extra_info["MB/s"] = round(n_bytes / benchmark.stats.stats.min / 1e6)


@pytest.mark.parametrize("ties_first", [False, True], ids=["pair", "first"])
def bench_learn(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str, ties_first: bool) -> None:
    counter = PieceCounter(tokenizer._splitter)
    counter.add_text(text)
    benchmark(lambda: Learner(counter, max_ids=8192, ties_first=ties_first).learn())

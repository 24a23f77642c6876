"""Training, phase by phase: `pytest benchmarks/bench_train.py`."""

from __future__ import annotations

from typing import Any

import pytest

import fastbpe
from fastbpe._core.counter import PieceCounter
from fastbpe._core.learner import Learner


def bench_count_pieces(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(lambda: PieceCounter(tokenizer._splitter).add_text(text))


@pytest.mark.parametrize("ties_first", [False, True], ids=["pair", "first"])
def bench_learn(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str, ties_first: bool) -> None:
    counter = PieceCounter(tokenizer._splitter)
    counter.add_text(text)
    benchmark(lambda: Learner(counter, max_ids=8192, ties_first=ties_first).learn())

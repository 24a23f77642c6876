"""Surgery on vocabularies of 200,000 entries, timed: part of `compare.py tokens`."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import fastbpe
from vocabularies import Vocabulary, published_or

SURGERY_BAR = 2.0  # seconds at most for each change
N_MORE = 1000
MAX_ROUNDS = 3  # each takes about a second


def surgery_rows(text: str, vocabulary: Vocabulary, rounds: int) -> list[dict[str, Any]]:
    """Time each change of o200k_base, print a table, and return the rows.

    Args:
        text: corpus to prune by and to learn from.
        vocabulary: takes the place of o200k and cl100k where their files are missing.
        rounds: number of timed calls of each change; at most MAX_ROUNDS are made.
    """
    tokenizer, other = (published_or(vocabulary, name).load() for name in ("o200k", "cl100k"))
    print(f"\n| change of {tokenizer.name}, {tokenizer.vocab_size:,} tokens | ms, median | bar, ms |")
    print("|---|---:|---:|")
    n = min(rounds, MAX_ROUNDS)
    return [_timed(title, change, n) for title, change in _changes(tokenizer, other, text).items()]


def _changes(old: fastbpe.Tokenizer, other: fastbpe.Tokenizer, text: str) -> dict[str, Callable[[], Any]]:
    import numpy

    n_more = min(N_MORE, old.vocab_size // 8)
    names = [f"<name {i}>" for i in range(n_more)]
    gone = range(old.vocab_size // 2, old.vocab_size // 2 + n_more)
    small, id_map = old.prune(keep=old.vocab_size // 2)
    embedding = numpy.ones((old.n_vocab, 64), "float32")
    n_read = f"{len(text.encode()) / 1e6:.0f} MB"
    return {
        f"with_tokens, {n_more:,}": lambda: old.with_tokens(names),
        f"without_tokens, {n_more:,}": lambda: old.without_tokens(gone),
        f"without_tokens, {n_more:,}, keep_ids": lambda: old.without_tokens(gone, keep_ids=True),
        "prune(keep=) to half": lambda: old.prune(keep=old.vocab_size // 2),
        f"prune(corpus=) by {n_read}": lambda: old.prune(corpus=[text]),
        f"merge_vocabularies with {other.name}": lambda: fastbpe.merge_vocabularies(old, other),
        f"train(base=) by {n_read}, {n_more:,} more": lambda: fastbpe.train(
            [text], base=old, vocab_size=f"+{n_more}", progress=False, num_threads=1
        ),
        "id_map of the half": lambda: small.id_map(old),
        "IdMap.resize, 64 columns": lambda: id_map.resize(embedding),
    }


def _timed(title: str, change: Callable[[], Any], rounds: int) -> dict[str, Any]:
    times = []
    for _ in range(rounds):
        gc.collect()
        started = time.perf_counter()
        change()
        times.append(time.perf_counter() - started)
    median = statistics.median(times)
    print(f"| {title} | {1e3 * median:.0f} | {1e3 * SURGERY_BAR:.0f} |")
    return {"row": title, "bar": SURGERY_BAR, "met": median <= SURGERY_BAR, "seconds": times}

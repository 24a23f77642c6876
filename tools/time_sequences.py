"""Time training, encoding and decoding of sequences of integers: the figures of docs/symbols.md.

    python tools/time_sequences.py 1024 32000 [--n-symbols 100000000]

The sequence holds base_size * x**4, rounded down, for x drawn from 0 to 1. Each run should be a new process, since
the peak of memory counts the whole process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

import fastbpe
from fastbpe._utils.progress import peak_memory

T = TypeVar("T")
STEP = 1 << 22  # symbols that are drawn at a time, so that drawing them does not decide the peak


def main() -> None:
    """Read the arguments, run, print a line a step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base_size", type=int)
    parser.add_argument("vocab_size", type=int)
    parser.add_argument("--n-symbols", type=int, default=100_000_000)
    args = parser.parse_args()
    symbols = drawn(args.base_size, args.n_symbols)
    print(f"{symbols.nbytes / 1e6:,.0f} MB of {symbols.dtype}, peak {(peak_memory() or 0) / 1e9:.2f} GB")

    seconds, tokenizer = timed(
        lambda: fastbpe.train(symbols, mode="ids", base_size=args.base_size, vocab_size=args.vocab_size)
    )
    print(f"train to {tokenizer.vocab_size}: {seconds:.1f} s, peak {(peak_memory() or 0) / 1e9:.2f} GB")
    rows = symbols[: len(symbols) // 1000 * 1000].reshape(-1, 1000)
    for n in (1, 2):
        seconds, ids = timed(partial(tokenizer.encode_to_numpy, symbols, num_threads=n))
        print(f"encode, {n} threads: {len(symbols) / seconds / 1e6:.0f} M symbols/s, {len(ids):,} ids")
        seconds, _ = timed(partial(tokenizer.encode_batch_to_numpy, rows, num_threads=n))
        print(f"encode rows of 1000, {n} threads: {rows.size / seconds / 1e6:.0f} M symbols/s")
    seconds, decoded = timed(lambda: tokenizer.decode_to_numpy(ids))
    print(f"decode: {len(symbols) / seconds / 1e6:.0f} M symbols/s")
    assert np.array_equal(decoded, symbols)


def drawn(base_size: int, n: int) -> np.ndarray:
    """Draw n symbols, small ones more often."""
    rng = np.random.default_rng(1)
    symbols = np.empty(n, dtype=np.uint16 if base_size <= 1 << 16 else np.uint32)
    for start in range(0, n, STEP):
        part = symbols[start : start + STEP]
        part[:] = base_size * rng.random(len(part)) ** 4
    return symbols


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()

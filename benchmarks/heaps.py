"""Fit Heaps' law to the distinct pieces of a text, and measure what a distinct piece costs the learner.

    python benchmarks/heaps.py [--text english multilingual] [--n-pieces 1000000 4000000] [--vocab-size 100000]

n bytes of text have about K n^b distinct pieces. b is fitted by least squares to the logarithms of the last
doublings of the text (its first 1/16, 1/8, 1/4, 1/2, and all: the corpora are shuffled, so a beginning is a fair
sample). "of two" are pieces that occur twice or more: those that `PieceCounts.merge(min_count=2)` keeps. The
predictions apply the fitted law to far more text than was read.

Processor time of counting and encoding is measured on a text file, all threads together.

The learner's cost is measured in a process of its own: it loads counts of so many distinct pieces, made of two
rare pieces of the text each, and learns. Memory is the growth of the peak resident set since before it loads them,
which Linux alone tells.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import fastbpe
import texts
from memory import peak_above, reset_peak

DOUBLINGS = 5
TARGETS = {"1 TB": 1e12, "10 TB": 1e13}
MODES: dict[str, dict[str, object]] = {
    "bytes, o200k": {"pattern": "o200k"},
    "code points": {"mode": "codepoint", "normalization_rule_name": "identity"},
}

LEARNING: dict[str, dict[str, object]] = {
    "bytes, o200k": {},
    "code points": {"character_coverage": 0.9995, "hard_vocab_limit": False},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", nargs="*", default=["english", "multilingual"])
    parser.add_argument("--n-pieces", nargs="*", type=int, default=[1_000_000, 4_000_000])
    parser.add_argument("--vocab-size", type=int, default=100_000)
    parser.add_argument("--learn", help=argparse.SUPPRESS)  # in a process of its own
    args = parser.parse_args()
    if args.learn:
        print(json.dumps(learn(Path(args.learn), args.vocab_size)))
        return
    for name in args.text:
        for mode, options in MODES.items():
            print_growth(name, mode, options)
        print_costs(name, args.vocab_size)
    for n_pieces in args.n_pieces:
        print_learner(args.text[0], n_pieces, args.vocab_size)


def print_growth(name: str, mode: str, options: dict[str, object]) -> None:
    text = texts.read(name, texts.ALL)
    sizes, distinct, of_two = [], [], []
    for k in reversed(range(DOUBLINGS)):
        part = text[: len(text) >> k]
        counts = fastbpe.count_pieces(iter([part]), progress=False, **options)  # type: ignore[arg-type]
        sizes.append(len(part.encode()))
        distinct.append(len(counts))
        of_two.append(sum(count > 1 for count in counts.values()))
    n_stored = sum(map(len, counts)) / len(counts)
    print(f"{name}, {mode}: {n_stored:.1f} bytes per distinct piece")
    for row in zip(sizes, distinct, of_two, strict=True):
        print("{:>14,} bytes {:>10,} distinct {:>10,} of two".format(*row))
    for what, numbers in (("distinct", distinct), ("of two", of_two)):
        b = exponent(sizes, numbers)
        said = ", ".join(f"{numbers[-1] * (n / sizes[-1]) ** b / 1e6:,.0f} M at {at}" for at, n in TARGETS.items())
        print(f"  {what}: b = {b:.3f}; {said}")


def print_costs(name: str, vocab_size: int) -> None:
    """Print the processor time of counting and of encoding, which other load on the machine changes little."""
    text = texts.read(name, texts.ALL)
    n_bytes = len(text.encode())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.txt")
        path.write_text(text, encoding="utf-8")
        for mode, options in MODES.items():
            began = time.process_time()
            counts = fastbpe.count_pieces(path, progress=False, **options)  # type: ignore[arg-type]
            counted = time.process_time()
            tokenizer = fastbpe.train(
                counts, vocab_size=vocab_size, mode=options.get("mode", "byte"), progress=False, **LEARNING[mode]
            )  # type: ignore[call-overload]
            learned = time.process_time()
            out = Path(folder, "ids.bin")
            done = tokenizer.encode_files(path, out, separator="\n", progress=False, overwrite=True)
            encoded = time.process_time()
            print(
                f"{name}, {mode}: {(counted - began) * 1e9 / n_bytes:.1f} s of a processor a GB to count, "
                f"{(encoded - learned) * 1e9 / n_bytes:.1f} s to encode; {learned - counted:.1f} s to learn "
                f"{tokenizer.n_vocab:,}; {done.n_ids / n_bytes:.3f} ids a byte"
            )


def exponent(sizes: list[int], numbers: list[int]) -> float:
    """Fit b of Heaps' law by least squares."""
    xs, ys = [math.log(n) for n in sizes], [math.log(n) for n in numbers]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def print_learner(name: str, n_pieces: int, vocab_size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.pieces")
        made_counts(name, n_pieces).save(path)
        size = path.stat().st_size
        command = [sys.executable, __file__, "--learn", str(path), "--vocab-size", str(vocab_size)]
        done = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(
        f"{n_pieces:,} distinct pieces, {done['vocab_size']:,} tokens: {done['seconds']:.1f} s, "
        f"{done['bytes'] / n_pieces:.0f} bytes of memory and {size / n_pieces:.0f} of a file for each"
    )


def made_counts(name: str, n_pieces: int) -> fastbpe.PieceCounts:
    """Make counts: a text's, and new pieces of two rare ones each, with counts of a power law."""
    counts = dict(fastbpe.count_pieces(iter([texts.read(name, texts.ALL)]), pattern="o200k", progress=False))
    rare = [piece for piece, count in counts.items() if count <= 8]
    rng = random.Random(0)
    while len(counts) < n_pieces:
        one, other = rng.choice(rare), rng.choice(rare).strip()
        counts.setdefault(one[: len(one) // 2 + 1] + other[len(other) // 2 :], int(1 / (1 - rng.random())))
    return fastbpe.PieceCounts(dict(islice(counts.items(), n_pieces)), pattern="o200k")


def learn(path: Path, vocab_size: int) -> dict[str, float | None]:
    fastbpe.train(["low lower"], vocab_size=258, progress=False)  # loads modules that are loaded once
    resident = reset_peak()
    began = time.perf_counter()
    tokenizer = fastbpe.train(fastbpe.PieceCounts.load(path), vocab_size=vocab_size, progress=False)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "bytes": peak_above(resident), "vocab_size": tokenizer.n_vocab}


if __name__ == "__main__":
    main()

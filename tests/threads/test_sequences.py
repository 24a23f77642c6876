"""SequenceTokenizer and dropout with threads: one object shared by many threads, and Ctrl-C during calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import fastbpe
from fastbpe import SequenceTokenizer
from helpers.child_processes import run_python

pytestmark = pytest.mark.daily

BEGIN = """
import array, os, random, signal, threading
import fastbpe

signal.signal(signal.SIGALRM, signal.default_int_handler)
rng = random.Random(0)
codes = array.array("H", (int(64 * rng.random() ** 3) for _ in range(1_500_000)))
tokenizer = fastbpe.train(codes[:200_000], mode="ids", base_size=64, vocab_size=800, progress=False)
"""


def test_threads_that_share_a_tokenizer_get_the_same_ids() -> None:
    tokenizer = SequenceTokenizer.from_merges([(0, 1), (4, 4), (2, 0)], base_size=4)
    batch = [[0, 1, 0, 1, 2] * n for n in range(200)]
    wanted = tokenizer.encode_batch(batch, num_threads=1)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda i: tokenizer.encode_batch(batch, num_threads=1 + i % 3), range(60)):
            assert found == wanted


def test_dropout_ids_do_not_depend_on_other_threads() -> None:
    tokenizer = fastbpe.train(["the cat sat on the mat"], vocab_size=262, progress=False)
    texts = ["the cat sat"] * 2000
    wanted = [tokenizer.encode_batch(texts, dropout=0.5, seed=i, num_threads=1) for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for i, found in enumerate(
            pool.map(lambda i: tokenizer.encode_batch(texts, dropout=0.5, seed=i % 8, num_threads=3), range(40))
        ):
            assert found == wanted[i % 8]


def test_ctrl_c_interrupts_training_and_encoding_of_sequences() -> None:
    code = """
wanted = tokenizer.encode(codes, num_threads=1)
calls = [
    lambda: tokenizer.encode(codes, num_threads=1),
    lambda: tokenizer.encode(codes, num_threads=3),
    lambda: tokenizer.encode_batch([codes[:999]] * 1500, num_threads=2),
    lambda: tokenizer.encode([1] * 3_000_000),
    lambda: fastbpe.train(codes, mode="ids", base_size=64, vocab_size=50_000, progress=False),
]
for turn in range(15):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.004 * (turn + 1))
        while True:
            calls[turn % len(calls)]()
    except KeyboardInterrupt:
        print("interrupted")
assert tokenizer.encode(codes, num_threads=2) == wanted
"""
    assert run_python(BEGIN + code) == "interrupted\n" * 15


def test_ctrl_c_interrupts_dropout_in_a_very_long_piece() -> None:
    code = """
text = fastbpe.train(["ab"], vocab_size=257, pattern=None, progress=False)
long = "ab" * 3_000_000
for num_threads in (1, 3):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        while True:
            text.encode_batch([long] * 3, dropout=0.9999, seed=1, num_threads=num_threads)
    except KeyboardInterrupt:
        print("interrupted")
assert text.encode("ab") == [256]
"""
    assert run_python(BEGIN + code) == "interrupted\n" * 2

"""Completions of unstable tails: long ones against a slow twin, white space against tiktoken, and time limits."""

from __future__ import annotations

import random
import time
from itertools import product

import pytest
import tiktoken

import fastbpe.tiktoken
from fastbpe import PATTERNS, Tokenizer, train
from fastbpe._core.encode.completions import SortedTokens
from fastbpe.splitting.named import NAMED
from helpers.child_processes import run_python
from helpers.shared_data import BYTES, ranks_of, standard_library

#: Named patterns that are one pattern; tiktoken takes no more.
PATTERN_TEXTS = {name: text for name, text in PATTERNS.items() if name in NAMED and isinstance(text, str)}
#: A pattern that the engine splits by, not a scanner.
ENGINE = r"[a-z]+|\s+(?!\S)|[\s\S]"


def ascii_ranks(n: int = 600) -> dict[bytes, int]:
    text = [standard_library(100_000).encode("ascii", "ignore").decode(), " \n\t\r\n" * 50, "\n\n  \n" * 90]
    return ranks_of(train(text, vocab_size=n, pattern="cl100k", progress=False))


def encoding(pattern: str, ranks: dict[bytes, int]) -> fastbpe.tiktoken.Encoding:
    return fastbpe.tiktoken.Encoding("of a test", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def slow_completions(e: fastbpe.tiktoken.Encoding, tail: str) -> list[tuple[int, ...]]:
    """Find completions as tiktoken does: encode the tail with each text that may follow. ASCII only."""
    data = tail.encode()
    tokens = {token: e.encode_single_token(token) for token in e.token_byte_values()}
    out = {(number,) for token, number in tokens.items() if token.startswith(data)}
    for start in range(max(1, len(data) - max(map(len, tokens))), len(data)):
        for token in tokens:
            added = token[len(data) - start :]
            if token.startswith(data[start:]) and added.isascii():
                ids = e.encode_ordinary(tail + added.decode())
                n, covered = 0, 0
                while covered < len(data):
                    covered += len(e.decode_single_token_bytes(ids[n]))
                    n += 1
                out.add(tuple(ids[:n]))
    if tail[-1] in " \t\n\r" and len(tail) > 1:
        out.add((*e._encode_single_piece(data[:-1]), *e._encode_single_piece(data[-1:])))
    return sorted(out)


@pytest.mark.parametrize("name", PATTERN_TEXTS)
def test_completions_of_short_white_space_equal_tiktoken(name: str) -> None:
    """Scanners split a stand-in of the tail."""
    ranks = ascii_ranks(400)
    mine = encoding(PATTERN_TEXTS[name], ranks)
    peer = tiktoken.Encoding("peer", pat_str=PATTERN_TEXTS[name], mergeable_ranks=ranks, special_tokens={})
    tails = ["".join(tail) for n in range(1, 5) for tail in product(" \t\n\r", repeat=n)]
    random.Random(1).shuffle(tails)
    for tail in tails[:120]:
        for text in (tail, "x" + tail, "!" + tail):
            stable, completions = mine.encode_with_unstable(text)
            expected = peer.encode_with_unstable(text)
            assert (stable, sorted(completions)) == (expected[0], sorted(expected[1])), ascii(text)


@pytest.mark.parametrize("pattern", [*PATTERN_TEXTS.values(), ENGINE], ids=[*PATTERN_TEXTS, "engine"])
@pytest.mark.parametrize("unit", [" ", "\n", " \n", "\n ", "\t \n  ", "a", "ab", "the", "-", "=\n"])
def test_completions_of_long_tails_equal_the_slow_twin(pattern: str, unit: str) -> None:
    e = encoding(pattern, ascii_ranks(400))
    for n in (100, 301):
        run = (unit * n)[:n]
        for text in (run, "x" + run, run + "   ", run + "th"):
            stable, completions = e.encode_with_unstable(text)
            tail = e.decode(e.encode_ordinary(text)[len(stable) :])
            assert all(all(byte < 0x80 for byte in e.decode_bytes(each[:-1])) for each in completions)
            assert sorted(map(tuple, completions)) == slow_completions(e, tail), (text, tail)


def test_completions_are_separate_lists() -> None:
    _, completions = encoding(PATTERNS["gpt2"], ascii_ranks(400)).encode_with_unstable(" " * 200)  # type: ignore[arg-type]
    before = [list(each) for each in completions[1:]]
    completions[0].append(1)
    assert completions[1:] == before


@pytest.mark.daily
def test_completions_of_many_spaces_take_less_than_two_seconds() -> None:
    ranks = BYTES | {b" " * (2 << i): 256 + i for i in range(10)}
    words = map(bytes, product(b"abcdefghijklmnopqrstuvwxyz", repeat=3))
    ranks |= {b" " + word: 270 + i for i, word in enumerate(words)}
    e = encoding(PATTERNS["o200k"], ranks)  # type: ignore[arg-type]
    before = time.process_time()
    stable, completions = e.encode_with_unstable(" " * 200_000)
    assert time.process_time() - before < 2
    assert stable == []
    assert len(completions) > 26**3


@pytest.mark.daily
def test_ctrl_c_interrupts_encode_with_unstable() -> None:
    """The engine splits every completion from its start; without Ctrl-C, the call would take half a minute."""
    code = r"""
import signal, time
from fastbpe.tiktoken import Encoding
signal.alarm(60)
ranks = {bytes([i]): i for i in range(256)} | {b"a" * (2 << i): 256 + i for i in range(10)}
ranks |= {b"a%d" % i: 300 + i for i in range(30_000)}
e = Encoding("x", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={})
e.encode_with_unstable("ab")
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
start = time.monotonic()
try:
    e.encode_with_unstable("a" * 400_000)
    print("not interrupted")
except KeyboardInterrupt:
    print("soon" if time.monotonic() - start < 1.2 else time.monotonic() - start)
"""
    assert run_python(code) == "soon\n"


def test_only_the_given_tokens_are_completions() -> None:
    vocabulary = Tokenizer.from_ranks(BYTES, pattern=None)._family.vocabulary
    for ids in ([], [97], [97, 98]):
        assert SortedTokens(vocabulary, ids=ids).beginning_with(b"") == ids
    assert SortedTokens(vocabulary).beginning_with(b"") == [*range(256)]

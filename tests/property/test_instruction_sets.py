"""The slow twin and every instruction set give the same result as a peer."""

from __future__ import annotations

import random
import re
from functools import cache

import pytest
import regex

import fastbpe
from fastbpe.patterns import PATTERNS
from helpers import split_oracles
from helpers.instruction_sets import Engine
from helpers.sampling import n_rounds
from helpers.shared_data import BYTES

EMOJI = "\U0001f600".encode()
REPLACEMENT = "\ufffd".encode()


@cache
def missed_words(
    letters: str, vocab_size: int, pattern: str
) -> tuple[dict[bytes, int], list[str], list[list[int]]]:
    """Return the ranks of a vocabulary of short words, texts of longer words, and their ids by tiktoken."""
    rng = random.Random(3)
    words = ["".join(rng.choices(letters, k=rng.randint(1, 12))) for _ in range(4000)]
    trained = fastbpe.train([" ".join(words)], vocab_size=vocab_size, pattern=pattern, progress=False)
    ranks = {token: i for i, token in enumerate(trained.vocab)}
    sizes = (1, 2, 7, 31, 32, 33, 64, 127, 128, 129, 1000, 5000)
    texts = [
        " ".join("".join(rng.choices(letters, k=rng.randint(1, 70))) for _ in range(n_words)) for n_words in sizes
    ]
    expanded = PATTERNS[pattern]
    assert isinstance(expanded, str)
    tiktoken = pytest.importorskip("tiktoken")
    peer = tiktoken.Encoding("peer", pat_str=expanded, mergeable_ranks=ranks, special_tokens={})
    return ranks, texts, [peer.encode_ordinary(text) for text in texts]


@pytest.mark.parametrize("pattern", ["cl100k", "gpt2"])
@pytest.mark.parametrize(
    ("letters", "vocab_size"), [("ab", 280), ("abc", 400), ("abcdefgh", 3000), ("aeiou\xe9\u0416\u4e2d", 2000)]
)
def test_words_that_miss_the_cache_encode_as_in_tiktoken(
    engine: Engine, letters: str, vocab_size: int, pattern: str
) -> None:
    """Encode words of every length up to 70 characters, in batches of every size around 32, 64 and 128."""
    ranks, texts, expected = missed_words(letters, vocab_size, pattern)
    n = len(texts) - 2 if engine.name == "twin" else len(texts)
    assert engine.encode(ranks, pattern, texts[:n]) == expected[:n]


@pytest.mark.parametrize("line", [0, 7])
def test_full_cache_lines_of_pairs_overflow_into_the_next(engine: Engine, line: int) -> None:
    """Fill one of eight cache lines: pairs of a token and a byte all hash to it.

    The last line overflows into the first.
    """
    starts = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = starts.copy()
    for i, start in enumerate(starts):
        for c in letters:
            if (256 + i << 21 | ord(c)) * 0x9E3779B97F4A7C15 % 2**64 >> 61 == line:
                tokens.append(start + c)
    assert 21 < len(tokens) <= 42  # the table then has 64 slots
    words = [start + c + d for start in starts for c in letters for d in ("", "x", "ab")]
    ranks = {**BYTES, **{token.encode(): 256 + i for i, token in enumerate(tokens)}}
    text = " ".join(words) + " "
    expanded = PATTERNS["gpt2"]
    assert isinstance(expanded, str)
    tiktoken = pytest.importorskip("tiktoken")
    peer = tiktoken.Encoding("peer", pat_str=expanded, mergeable_ranks=ranks, special_tokens={})
    assert engine.encode(ranks, "gpt2", [text, *words]) == [peer.encode_ordinary(t) for t in (text, *words)]


UNITS = {
    **{c: c.encode() for c in "ab z\xe9\xff\x80\x7f\u07ff\u0400\u0800\uffff\U00010000\U0010ffff"},
    "\ud83d\ude00": EMOJI,  # a surrogate pair becomes its character
    "\ud800": REPLACEMENT,  # a lone surrogate becomes U+FFFD
}


@pytest.mark.parametrize(
    "units",
    ["ab z", "a\xe9\xff\x80\x7f", "a\u07ff\u0400 ", "\u0800\uffffa\xe9", "\U00010000\U0010ffff\uffff\xe9a", None],
)
def test_every_width_of_str_becomes_utf8(engine: Engine, units: str | None) -> None:
    """Convert blocks of sixteen characters, with each kind of character at each position among the others."""
    rng = random.Random(7)
    for length in range(200):
        chosen = rng.choices([*UNITS] if units is None else units, k=length)
        assert engine.to_utf8("".join(chosen)) == b"".join(UNITS[unit] for unit in chosen), chosen


@pytest.mark.daily
def test_special_tokens_are_found_as_by_re(engine: Engine) -> None:
    """Tokens have one to nine bytes and begin alike or differently; lengths of texts are near multiples of 32."""
    rng = random.Random(11)
    alphabets = [b" \t", b"<|>e", b"ab", bytes(range(256)), "é日本 😀".encode()]
    for _ in range(300 if engine.name == "twin" else n_rounds(1200, 1500)):
        alphabet = rng.choice(alphabets)
        longest = rng.choice([1, 2, 3, 4, 9])
        n_tokens = rng.choice([1, 2, 5, 20, 300])
        tokens = sorted({bytes(rng.choices(alphabet, k=rng.randint(1, longest))) for _ in range(n_tokens)})
        ids = [rng.randrange(1000) for _ in tokens]
        longest_first = sorted(tokens, key=len, reverse=True)
        pattern = re.compile(b"|".join(map(re.escape, longest_first)), re.DOTALL)
        for _ in range(8):
            parts = [rng.choice(tokens)[: rng.randint(0, 9)], bytes(rng.choices(alphabet, k=rng.randint(0, 40)))]
            parts += [b"some words " * rng.randint(0, 9), b"." * rng.choice([0, 29, 30, 31, 32, 33, 64, 65])]
            rng.shuffle(parts)
            text = b"".join(parts).decode(errors="ignore").encode()
            expected = [(*m.span(), ids[tokens.index(m[0])]) for m in pattern.finditer(text)]
            assert engine.find_all(tokens, ids, text) == expected, (tokens, text)


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k"])
def test_texts_are_split_as_by_regex(engine: Engine, pattern: str) -> None:
    """Split random texts. test_scanners.py tests exhaustively."""
    expanded = PATTERNS[pattern]
    assert isinstance(expanded, str)
    texts = split_oracles.random_texts(5)
    for _ in range(60 if engine.name == "twin" else 1000):
        text = next(texts)
        assert engine.split(pattern, text) == [piece.encode() for piece in regex.findall(expanded, text)], text

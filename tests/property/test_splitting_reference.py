"""Scanners, engine and `regex` splitter cut as the slow splitter of `_reference` does."""

from __future__ import annotations

import itertools
import os
import random

import pytest

import splits
from fastbpe._core.splitter import RegexSplitter, Splitter
from fastbpe._reference import split, stretches
from fastbpe.errors import PatternError
from fastbpe.patterns import PATTERNS
from fastbpe.splitting import engine_of
from fastbpe.splitting.charset import CharSet
from fastbpe.splitting.syntax import parse
from fastbpe.splitting.to_regex import compile_regex
from hard_patterns import ALPHABET, TEXTS, TRICKY, random_pattern

FULL = bool(os.environ.get("FASTBPE_FULL"))
WORD = CharSet.word()
BACK_REFERENCES = [
    r"(a|b)\1", r"(a+)b\1", r"(?:(a)|b)+\1c", r"(a*?)b\1c", r"(?=(ab?))\1\1[bc]", r"(?>(a|ab))\1", r"(é|漢)+\1",
    r"(?:(a)|(b))\1?c", "(a)?(b)?\\2c", r"(?P<x>ab?)(?P=x)+",
]  # fmt: skip
UNFIXED = ["(?<=a+)b", "(?<!ab*)c", r"(?<=^|a.*)b", "(?<=(?:ab|c)+)a"]


def ends(text: str, *patterns: str) -> list[int]:
    """The ends that the slow splitter finds, in bytes of UTF-8."""
    pieces = split(text, *map(parse, patterns), word=WORD)
    assert "".join(pieces) == text
    return list(itertools.accumulate(len(piece.encode()) for piece in pieces))


@pytest.mark.parametrize("name", splits.NAMES)
def test_named_patterns_on_random_texts(name: str) -> None:
    pattern = PATTERNS[name] or ""
    patterns = (pattern,) if isinstance(pattern, str) else pattern
    fast = [*splits.scanners(pattern), *splits.engines(pattern), splits.oracle(pattern)]
    seed = 200 + splits.NAMES.index(name)
    print("seed", seed)
    for whole in itertools.islice(splits.random_texts(seed), 3_000 if FULL else 60):
        text = whole[-150:]  # the slow splitter takes a level of calls for each character of a run
        wanted = ends(text, *patterns)
        for splitter in fast:
            assert (found := splits.difference(name, wanted, splitter, text)) is None, found


@pytest.mark.parametrize("name", splits.NAMES)
def test_named_patterns_on_every_short_string_of_hard_characters(name: str) -> None:
    pattern = PATTERNS[name] or ""
    patterns = (pattern,) if isinstance(pattern, str) else pattern
    fast = [*splits.scanners(pattern), *splits.engines(pattern)]
    letters = " \nas'1!é\u0301A"
    for text in ("".join(word) for n in range(5 if FULL else 4) for word in itertools.product(letters, repeat=n)):
        wanted = ends(text, *patterns)
        for splitter in fast:
            assert (found := splits.difference(name, wanted, splitter, text)) is None, found


#: The slow splitter takes 2**n steps for some patterns.
SHORT = [text for text in TEXTS if len(text) <= 8]


def check(pattern: str, texts: list[str]) -> None:
    fast: list[Splitter] = [RegexSplitter(compile_regex(pattern))]
    engine = engine_of(pattern)
    fast += [] if engine is None else [engine]
    for text in texts:
        wanted = ends(text, pattern)
        for splitter in fast:
            assert splitter.ends(text) == wanted, f"{splitter!r}, {pattern!r} on {text!r}"


@pytest.mark.parametrize("pattern", TRICKY)
def test_tricky_patterns(pattern: str) -> None:
    check(pattern, SHORT)


@pytest.mark.parametrize("pattern", BACK_REFERENCES + UNFIXED)
def test_what_the_engine_does_not_take(pattern: str) -> None:
    assert engine_of(pattern) is None
    words = ("".join(letters) for n in range(6) for letters in itertools.product("abc", repeat=n))
    check(pattern, [*SHORT, *words])


def test_random_patterns_on_random_texts() -> None:
    n_checked = 0
    for seed in range(1_000_000, 1_000_000 + (20_000 if FULL else 800)):
        generator = random.Random(seed)
        pattern = random_pattern(generator, generator.randrange(1, 4))
        try:
            compile_regex(pattern)
        except PatternError:
            continue  # it can match the empty string
        check(pattern, ["".join(generator.choices(ALPHABET, k=generator.randrange(9))) for _ in range(6)])
        n_checked += 1
    assert n_checked > 300


def test_stretches_tell_matches_from_what_lies_between() -> None:
    pattern = "[a-z]+"
    engine = engine_of(pattern, keep_gaps=False)
    assert engine is not None
    for text in ["", "a", " ", "a b", " ab  cd ", "é"]:
        matches = [(each.start, each.end) for each in stretches(text, parse(pattern)) if each.is_match]
        assert engine.pieces(text) == [
            (len(text[:start].encode()), len(text[:end].encode())) for start, end in matches
        ]

"""Scanners, engine and `regex` splitter split like the slow splitter of `tests/reference`."""

from __future__ import annotations

import itertools
import random

import pytest

from fastbpe._core.split.splitter import RegexSplitter, Splitter
from fastbpe.errors import PatternError
from fastbpe.patterns import PATTERNS
from fastbpe.splitting import engine_of
from fastbpe.splitting.charset import CharSet
from fastbpe.splitting.syntax import parse
from fastbpe.splitting.to_regex import compile_regex
from helpers import split_oracles
from helpers.hard_patterns import ALPHABET, TEXTS, TRICKY, random_pattern
from helpers.sampling import FULL, n_rounds, rounds, some
from reference import split, stretches

WORD = CharSet.word()
BACK_REFERENCES = [
    r"(a|b)\1", r"(a+)b\1", r"(?:(a)|b)+\1c", r"(a*?)b\1c", r"(é|漢)+\1", r"(?:(a)|(b))\1?c", "(a)?(b)?\\2c",
    r"(?P<x>ab?)(?P=x)+", r"(?:(a|b)\1?)+", r"(?:(a|ab)(c|bc?)\2?\1)+|.", r"(?:(a)\1b|a)+c", r"(a|b)(?>\1+)a?",
    r"(.)(?=\1)", r"(.)(?!\1).", r"((a|b)\2)\1", r"(a+?)\1+b", r"(?:(?:(a)|b)c?)+?\1\1", r"(a)(?:\1|b)*c",
]  # fmt: skip
#: The engine refuses these: it would have to undo a dropped state, or to know that a round was empty.
OTHER_BACK_REFERENCES = [
    r"(?=(ab?))\1\1[bc]", r"(?>(a|ab))\1", r"(?:(a)b)++\1", r"(?:(a?)b?)+\1c", r"(?!(a)b)a\1?",
]  # fmt: skip
UNFIXED = ["(?<=a+)b", "(?<!ab*)c", r"(?<=^|a.*)b", "(?<=(?:ab|c)+)a"]


def ends(text: str, *patterns: str) -> list[int]:
    """Return the piece ends that the slow splitter finds, as offsets in UTF-8 bytes."""
    pieces = split(text, *map(parse, patterns), word=WORD)
    assert "".join(pieces) == text
    return list(itertools.accumulate(len(piece.encode()) for piece in pieces))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", split_oracles.NAMES)
def test_named_patterns_split_random_texts_like_the_slow_twin(name: str) -> None:
    pattern = PATTERNS[name] or ""
    patterns = (pattern,) if isinstance(pattern, str) else pattern
    fast = [*split_oracles.scanners(pattern), *split_oracles.engines(pattern), split_oracles.oracle(pattern)]
    seed = 200 + split_oracles.NAMES.index(name)
    print("seed", seed)
    for whole in itertools.islice(split_oracles.random_texts(seed), n_rounds(60, 3_000)):
        text = whole[-150:]  # the slow splitter recurses for each character of a run
        wanted = ends(text, *patterns)
        for splitter in fast:
            assert (found := split_oracles.difference(name, wanted, splitter, text)) is None, found


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", split_oracles.NAMES)
def test_named_patterns_split_every_short_string_like_the_slow_twin(name: str) -> None:
    pattern = PATTERNS[name] or ""
    patterns = (pattern,) if isinstance(pattern, str) else pattern
    fast = [*split_oracles.scanners(pattern), *split_oracles.engines(pattern)]
    letters = " \nas'1!é\u0301A"
    words = ["".join(word) for n in range(5 if FULL else 4) for word in itertools.product(letters, repeat=n)]
    for text in some(words, len(words)):
        wanted = ends(text, *patterns)
        for splitter in fast:
            assert (found := split_oracles.difference(name, wanted, splitter, text)) is None, found


#: Texts short enough for patterns on which the slow splitter takes 2**n steps.
SHORT = [text for text in TEXTS if len(text) <= 8]


def check(pattern: str, texts: list[str]) -> None:
    fast: list[Splitter] = [RegexSplitter(compile_regex(pattern))]
    engine = engine_of(pattern)
    fast += [] if engine is None else [engine]
    for text in texts:
        wanted = ends(text, pattern)
        for splitter in fast:
            assert splitter.ends(text) == wanted, f"{splitter!r}, {pattern!r} on {text!r}"


@pytest.mark.sample(4)
@pytest.mark.parametrize("pattern", TRICKY)
def test_tricky_patterns_split_like_the_slow_twin(pattern: str) -> None:
    check(pattern, SHORT)


@pytest.mark.sample(6)
@pytest.mark.parametrize("pattern", BACK_REFERENCES + OTHER_BACK_REFERENCES + UNFIXED)
def test_back_references_and_look_behind_split_like_the_slow_twin(pattern: str) -> None:
    assert (engine_of(pattern) is not None) == (pattern in BACK_REFERENCES)
    words = ("".join(letters) for n in range(6) for letters in itertools.product("abc", repeat=n))
    check(pattern, [*SHORT, *words])


@pytest.mark.daily
def test_random_back_references_split_like_the_slow_twin() -> None:
    n_engines = 0
    seeds = rounds(50, 20_000)
    for seed in seeds:
        generator = random.Random(seed)
        a, b, c = (random_pattern(generator, generator.randrange(2)) for _ in range(3))
        count = generator.choice(["", "?", "+", "*", "+?", "{1,2}", "{2}"])
        pattern = generator.choice([
            rf"({a}){b}\1{count}", rf"(?:({a})|{b}){count}{c}\1", rf"({a}|{b})(?:\1{c}|{b}){count}",
            rf"(({a}){count}{b}\2)+\1?{c}", rf"(?:({a}){b}(\1|{c}))+\2{count}", rf"(?:({a})?{b}\1{count}{c}|{a})+",
        ])  # fmt: skip
        try:
            compile_regex(pattern)
        except PatternError:
            continue  # it can match the empty string
        if engine_of(pattern) is None:
            continue
        n_engines += 1
        check(pattern, ["".join(generator.choices(ALPHABET, k=generator.randrange(9))) for _ in range(20)])
    assert n_engines > len(seeds) // 4


def test_random_patterns_split_like_the_slow_twin() -> None:
    n_checked = 0
    seeds = rounds(200, 20_000)
    for seed in seeds:
        generator = random.Random(1_000_000 + seed)
        pattern = random_pattern(generator, generator.randrange(1, 4))
        try:
            compile_regex(pattern)
        except PatternError:
            continue  # it can match the empty string
        check(pattern, ["".join(generator.choices(ALPHABET, k=generator.randrange(9))) for _ in range(6)])
        n_checked += 1
    assert n_checked > len(seeds) // 3


def test_stretches_tell_matches_from_unmatched_text() -> None:
    pattern = "[a-z]+"
    engine = engine_of(pattern, keep_gaps=False)
    assert engine is not None
    for text in ["", "a", " ", "a b", " ab  cd ", "é"]:
        matches = [(each.start, each.end) for each in stretches(text, parse(pattern)) if each.is_match]
        assert engine.pieces(text) == [
            (len(text[:start].encode()), len(text[:end].encode())) for start, end in matches
        ]

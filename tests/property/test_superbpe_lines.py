"""The scanner of "superbpe_lines" splits like the `regex` package and like the engine."""

import itertools

import pytest

from fastbpe._core.split.splitter import RegexSplitter
from fastbpe._core.split.superbpe_lines import SuperbpeLines
from fastbpe.patterns import PATTERNS
from fastbpe.splitting import engine_of, make_splitter
from fastbpe.splitting.to_regex import compile_regex
from helpers import split_oracles
from helpers.sampling import FULL, n_rounds, some

PATTERN = PATTERNS["superbpe_lines"]
assert isinstance(PATTERN, str)


def check(texts: list[str]) -> None:
    scanner, engine = SuperbpeLines(), engine_of(PATTERN)  # type: ignore[arg-type]
    slow = RegexSplitter(compile_regex(PATTERN))  # type: ignore[arg-type]
    assert engine is not None
    for text in texts:
        wanted = slow.ends(text)
        assert scanner.ends(text) == wanted, text
        assert engine.ends(text) == wanted, text


def test_the_pattern_gets_the_scanner() -> None:
    assert isinstance(make_splitter(PATTERN), SuperbpeLines)
    assert not isinstance(make_splitter(PATTERN, drop_unmatched=True), SuperbpeLines)


@pytest.mark.sample(2)
def test_short_strings_are_split_like_regex() -> None:
    letters = " \n\ta'1é\u0301/"
    check(["".join(s) for n in range(7 if FULL else 5) for s in itertools.product(letters, repeat=n)])


@pytest.mark.sample(2)
def test_random_texts_are_split_like_regex() -> None:
    check(list(itertools.islice(split_oracles.random_texts(1), n_rounds(4_000, 100_000))))


def test_every_code_point_is_split_like_regex() -> None:
    characters = [chr(c) for c in some(range(0x110000), 60_000) if not 0xD800 <= c < 0xE000]
    check(["".join(f"{c}a {c}{c}." for c in characters[at : at + 200]) for at in range(0, len(characters), 200)])

"""The scanner of runs splits like the engine and the `regex` package, on every instruction set."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import regex

from fastbpe._core.split.scanner import RunScanner, paths
from fastbpe.splitting import engine_of, make_splitter
from fastbpe.splitting.nodes import runs_of
from fastbpe.splitting.syntax import parse
from helpers.sampling import n_rounds

PATTERNS = [
    r"\w+|[^\w\s]+",
    r"\S+",
    r"[!-/:-@\[-`{-~]|[^\s!-/:-@\[-`{-~]+",
    r"\p{N}",
    r"\p{N}+",
    r"[a-z]+|[A-Z]++|[0-9é漢]",
    r"[^\x00-\x7f]+",
    r"[\x00\x3f\x40\x7f]+|[ -/]",
    r"[\s\S]+",
    r"[\s\S]",
    r"[^\s\S]",
    r"[\U00020000-\U0010FFFF]|[\u0080-\u07ff]+",
]
ALPHABET = "aZz09 \t\n.,'@\x00\x7f\x3f\u0080é\u07ff\u0800漢\ud7ff\ue000\uffff\U00010000😀\U0010ffff"


def texts(seed: int, n: int) -> Iterator[str]:
    """Yield random texts: some of ASCII mostly, in pieces of up to 200 characters."""
    chosen = random.Random(seed)
    for _ in range(n):
        letters = chosen.choices(ALPHABET, k=chosen.randint(1, 6))
        parts = [
            chosen.choice(letters) * chosen.choice([1, 1, 2, 3, 9, 63, 64, 65])
            for _ in range(chosen.randint(0, 40))
        ]
        yield "".join(parts)[:3000]


def scanners(pattern: str, *, keep_gaps: bool) -> list[RunScanner]:
    sets = runs_of(parse(pattern))
    assert sets is not None
    ranges = [(one.ranges, single) for one, single in sets]
    return [RunScanner(ranges, keep_gaps=keep_gaps, path=path) for path in paths()]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_runs_are_those_of_the_engine_and_of_regex(pattern: str) -> None:
    compiled = regex.compile(pattern)
    for keep_gaps in (True, False):
        engine = engine_of(pattern, keep_gaps=keep_gaps)
        assert engine is not None
        for text in texts(PATTERNS.index(pattern), n_rounds(150, 20_000)):
            ends, pieces = engine.ends(text), engine.pieces(text)
            for scanner in scanners(pattern, keep_gaps=keep_gaps):
                assert (scanner.ends(text), scanner.pieces(text)) == (ends, pieces), (scanner, text)
            if not keep_gaps and pattern not in (r"[^\s\S]", r"\p{N}", r"\p{N}+"):  # `regex` reads them otherwise
                found = [
                    (len(text[: one.start()].encode()), len(text[: one.end()].encode()))
                    for one in compiled.finditer(text)
                ]
                assert pieces == found


@pytest.mark.daily
def test_every_code_point_has_the_class_of_the_engine() -> None:
    for pattern in PATTERNS:
        engine = engine_of(pattern)
        assert engine is not None
        text = "a".join(chr(c) for c in range(0, 0x110000, 7) if not 0xD800 <= c < 0xE000)
        wanted = engine.ends(text)
        for scanner in scanners(pattern, keep_gaps=True):
            assert scanner.ends(text) == wanted


@pytest.mark.parametrize("pattern", PATTERNS)
def test_quiet_bytes_make_one_piece(pattern: str) -> None:
    scanner = scanners(pattern, keep_gaps=True)[0]
    quiet = scanner.quiet_bytes()
    assert quiet is not None
    assert scanners(pattern, keep_gaps=False)[0].quiet_bytes() is None
    for c in range(0, 0x110000, 13):
        if not 0xD800 <= c < 0xE000:
            text = chr(c) * 2
            is_quiet = all(quiet[byte] for byte in text.encode())
            assert not is_quiet or scanner.ends(text) == [len(text.encode())]


@pytest.mark.daily
def test_bytes_that_are_not_utf8_are_split_alike_on_every_path() -> None:
    chosen = random.Random(5)
    for pattern in PATTERNS:
        for _ in range(n_rounds(200, 20_000)):
            data = bytes(
                chosen.choices([0x20, 0x61, 0x80, 0xBF, 0xC3, 0xE6, 0xF0, 0xF4, 0xFF], k=chosen.randint(0, 150))
            )
            found = [scanner.ends_in(data) for scanner in scanners(pattern, keep_gaps=False)]
            assert all(one == found[0] for one in found)


@pytest.mark.parametrize(
    "pattern", [r"[a-z]+|[a-c]", r"[a-z]+?", r"[a-z]{2,}", r"a|b|c|d", r"[a-z]+|x y", r"(?:a|b)|c+"]
)
def test_other_patterns_are_left_to_the_engine(pattern: str) -> None:
    assert runs_of(parse(pattern)) is None
    assert repr(make_splitter(pattern)) == "engine"


@pytest.mark.parametrize(
    ("sets", "complaint"),
    [
        ([], "0 sets"),
        ([([(1, 1)], True)] * 4, "4 sets"),
        ([([(2, 1)], True)], "not a range"),
        ([([(0, 0x110000)], True)], "not a range"),
    ],
)
def test_impossible_sets_are_refused(sets: list[tuple[list[tuple[int, int]], bool]], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        RunScanner(sets)  # type: ignore[arg-type]

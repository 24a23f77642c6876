"""A text cut at a safe place gives the pieces that the whole gives, by every pattern that has a scanner."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import splits
from data import standard_library
from fastbpe import PATTERNS
from fastbpe._core.cuts import cuts_are_safe, first_cut, last_cut
from fastbpe._core.splitter import Splitter
from fastbpe.splitting import make_splitter
from texts import sound_texts

SLOW = {name: splits.oracle(PATTERNS[name] or "") for name in splits.NAMES}


def cuts(data: bytes) -> list[int]:
    """All safe cuts of a text, found forward."""
    found, at = [], first_cut(data)
    while at < len(data):
        found.append(at)
        at = first_cut(data, at + 1)
    return found


def check(data: bytes, splitters: dict[str, Splitter] = SLOW) -> None:
    for name, splitter in splitters.items():
        whole = splitter.ends(data)
        for cut in cuts(data):
            parts = splitter.ends(data[:cut]) + [cut + end for end in splitter.ends(data[cut:])]
            assert parts == whole, f"{name}: {data!r} cut at {cut}"


@given(sound_texts)
@settings(max_examples=300)
def test_random_texts(text: str) -> None:
    check(text.encode())


@pytest.mark.parametrize("name", splits.NAMES)
def test_hard_texts(name: str) -> None:
    for text in itertools.islice(splits.random_texts(splits.NAMES.index(name)), 400):
        check(text[:120].encode(), {name: SLOW[name]})


def test_short_strings_of_hard_characters() -> None:
    """Every string of up to four: the places where a letter or a number ends, with all that can stand around."""
    made = {name: make_splitter(PATTERNS[name]) for name in splits.NAMES}
    for n in range(2, 5):
        for letters in itertools.product(" \n'as1é\u0301/か・\x01", repeat=n):
            check("".join(letters).encode(), made)


@given(sound_texts, st.integers(0, 100))
def test_backward_finds_the_last_that_forward_finds(text: str, at: int) -> None:
    data = text.encode()
    found = cuts(data)
    assert last_cut(data) == last_cut(text) == max(found, default=0)
    assert first_cut(data, at) == min((cut for cut in found if cut >= at), default=len(data))


def test_where_they_are() -> None:
    assert cuts("one two, it's naïve: 12.5%\n漢字。".encode()) == [3, 7, 13, 20, 24, 26, 34]
    assert cuts(b"") == cuts(b"a") == cuts(b"...") == cuts("e\u0301 é'".encode()) == []


def test_which_patterns_they_hold_for() -> None:
    named = {name for name, pattern in PATTERNS.items() if cuts_are_safe(make_splitter(pattern))}
    assert named == set(PATTERNS) - {"none"}
    other_spelling = r"'(?:ve|re|ll|[tmsd])| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    assert cuts_are_safe(make_splitter(other_spelling))
    assert not any(map(cuts_are_safe, (make_splitter(None), make_splitter(r"\w+ \w+"), make_splitter(r"(a)\1"))))


def test_ordinary_text_is_full_of_them() -> None:
    text = standard_library(100_000).encode()
    assert all(last_cut(text[:n]) > n - 100 for n in range(1_000, 100_000, 1_000))

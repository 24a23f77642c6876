"""Chunks and truncation at words, sentences and lines against their plain definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe import Tokenizer, train
from helpers.sampling import n_rounds
from helpers.shared_data import standard_library
from reference import longest_prefix, longest_suffix
from reference.boundaries import boundaries

KINDS = {"token": (), "word": ("word",), "sentence": ("sentence", "word"), "line": ("line", "sentence", "word")}
WORDS = [
    "a",
    " the",
    " cat",
    "  ",
    ". ",
    "? B",
    "\n",
    "\r\n",
    "。",
    "日本",
    "「x」",
    " def",
    "naïve",
    "👍",
    "12",
    "(",
    "\u2028",
]
texts = st.lists(st.sampled_from(WORDS), max_size=16).map("".join).filter(lambda text: len(text) <= 60)


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    text = [standard_library(40_000), "naïve café 日本語 " * 20]
    points: Any = {"mode": "codepoint", "vocab_size": 800, "byte_fallback": True, "character_coverage": 1.0}
    return {
        "byte": train(text, vocab_size=500, pattern="gpt2", progress=False),
        "byte, no pattern": train(text, vocab_size=500, pattern=None, progress=False),
        "code points": train(text, remove_extra_whitespaces=False, progress=False, **points),
        "code points, normalized": train(text, progress=False, **points),
    }


NAMES = ["byte", "byte, no pattern", "code points", "code points, normalized"]


def last_boundary(tokenizer: Tokenizer, text: str, start: int, low: int, high: int, n: int, kind: str) -> int:
    """Return the last boundary in (low, high] up to which text fits, of the first kind that has one, else high."""
    for each in KINDS[kind] if high < len(text) else ():
        for at in reversed(boundaries(text, each)):
            if low < at <= high and tokenizer.count(text[start:at]) <= n:
                return at
    return high


def first_boundary(tokenizer: Tokenizer, text: str, low: int, end: int, n: int, kind: str) -> int:
    for each in KINDS[kind] if low else ():
        for at in boundaries(text, each):
            if low <= at < end and tokenizer.count(text[at:end]) <= n:
                return at
    return low


def plain_chunks(tokenizer: Tokenizer, text: str, n: int, overlap: int, kind: str) -> Iterator[tuple[int, int]]:
    start = end = 0
    while end < len(text):
        most = overlap
        while True:
            back = len(longest_suffix(text[start:end], tokenizer.count, most)) if most else 0
            begin = first_boundary(tokenizer, text, end - back, end, most, kind) if most else end
            reach = begin + len(longest_prefix(text[begin:], tokenizer.count, n))
            if reach > end:
                break
            assert most, "a character does not fit"
            most //= 2
        start, end = begin, last_boundary(tokenizer, text, begin, end, reach, n, kind)
        yield start, end


@given(text=texts, kind=st.sampled_from(sorted(KINDS)), n=st.integers(6, 20), overlap=st.integers(0, 5))
@settings(max_examples=n_rounds(100, 300))
def test_chunks_equal_the_plain_definition(
    tokenizers: dict[str, Tokenizer], text: str, kind: str, n: int, overlap: int
) -> None:
    """The texts are short, because there truncation gives the longest part."""
    tokenizer = tokenizers["byte"]
    chunks = tokenizer.chunk(text, n, overlap=overlap, boundary=kind, with_spans=True)
    assert [(c.start, c.end) for c in chunks] == list(plain_chunks(tokenizer, text, n, overlap, kind))


@given(
    text=texts,
    times=st.integers(1, 30),
    name=st.sampled_from(NAMES),
    kind=st.sampled_from(sorted(KINDS)),
    n=st.integers(6, 60),
    overlap=st.integers(0, 40),
)
@settings(max_examples=n_rounds(133, 400), deadline=None)
def test_chunks_cover_the_text_within_their_limits(
    tokenizers: dict[str, Tokenizer], text: str, times: int, name: str, kind: str, n: int, overlap: int
) -> None:
    tokenizer, text, overlap = tokenizers[name], text * times, min(overlap, n - 1)
    chunks = list(tokenizer.chunk(text, n, overlap=overlap, boundary=kind, with_spans=True))
    end = 0
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.n_tokens == tokenizer.count(chunk.text) <= n
        assert chunk.start <= end < chunk.end
        assert tokenizer.count(text[chunk.start : end]) <= overlap
        end = chunk.end
    assert end == len(text)
    assert [c.text for c in chunks] == list(tokenizer.chunk(text, n, overlap=overlap, boundary=kind))
    assert list(tokenizer.chunk(text.encode(), n, overlap=overlap, boundary=kind, with_spans=True)) == chunks
    if kind != "token":
        check_cuts(text, chunks, kind)


def check_cuts(text: str, chunks: list[tuple[str, int, int, int]], kind: str) -> None:
    """A chunk ends at a boundary of the first kind that has one within its new text."""
    ends = [set(boundaries(text, each)) for each in KINDS[kind]]
    before = 0
    for _, _, end, _ in chunks[:-1]:
        inside = next((found for found in ends if any(before < at <= end for at in found)), {end})
        assert end in inside
        before = end


@given(text=texts, name=st.sampled_from(NAMES), kind=st.sampled_from(sorted(KINDS)), n=st.integers(0, 20))
@settings(max_examples=n_rounds(133, 400))
def test_truncation_at_boundaries_fits_on_both_sides(
    tokenizers: dict[str, Tokenizer], text: str, name: str, kind: str, n: int
) -> None:
    tokenizer = tokenizers[name]
    right, total = tokenizer.truncate(text, n, boundary=kind, with_total=True)
    left, also_total = tokenizer.truncate(text, n, side="left", boundary=kind, with_total=True)
    assert total == also_total == tokenizer.count(text)
    assert text.startswith(right)
    assert text.endswith(left)
    assert max(tokenizer.count(right), tokenizer.count(left)) <= n
    whole = tokenizer.truncate(text, n)
    assert len(right) == last_boundary(tokenizer, text, 0, 0, len(whole), n, kind)
    whole = tokenizer.truncate(text, n, side="left")
    begin = len(text) - len(whole)
    assert len(text) - len(left) == first_boundary(tokenizer, text, begin, len(text), n, kind)
    for side, part in (("right", right), ("left", left)):
        assert tokenizer.truncate_batch([text, "", text], n, side=side, boundary=kind) == [part, "", part]


def test_total_of_a_long_text_is_its_count(tokenizers: dict[str, Tokenizer]) -> None:
    text = standard_library(300_000)
    for tokenizer in tokenizers.values():
        for side in ("right", "left"):
            part, total = tokenizer.truncate(text, 1000, side=side, with_total=True)
            assert (part, total) == (tokenizer.truncate(text, 1000, side=side), tokenizer.count(text))

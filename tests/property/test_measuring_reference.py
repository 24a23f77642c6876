"""Offsets, pieces, truncation and chunks beside the slow twin, on texts of every kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import standard_library
from fastbpe import PATTERNS, Tokenizer, train
from fastbpe._core.limits import window
from fastbpe._core.text import to_utf8
from fastbpe._reference import longest_prefix, longest_suffix, offsets
from fastbpe.measuring import TRIED
from texts import sound_texts, texts

NAMES = [name for name, pattern in PATTERNS.items() if pattern is not None]
SIDES = {"right": longest_prefix, "left": longest_suffix}


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    """A small vocabulary for each scanner, for the engine, for the regex package and for no pattern."""
    text = [standard_library(40_000), "naïve café日本語안녕 " * 20]
    patterns: dict[str, str | None] = {name: name for name in NAMES}
    patterns |= {"engine": r"\p{L}{1,7}|\s+(?!\S)|.\b|[\s\S]", "regex": r"(\S)\1|\w+|[\s\S]", "none": None}
    special = ["<|endoftext|>", "<|sep|>"]
    return {
        name: train(text, vocab_size=500, pattern=pattern, special_tokens=special, progress=False)
        for name, pattern in patterns.items()
    }


@given(text=texts, name=st.sampled_from([*NAMES, "engine", "regex", "none"]), special=st.booleans())
@settings(max_examples=200)
def test_offsets(tokenizers: dict[str, Tokenizer], text: str, name: str, special: bool) -> None:
    tokenizer = tokenizers[name]
    choice = {"allowed_special": "all"} if special else {"disallowed_special": ()}
    ids, places = tokenizer.encode_with_offsets(text, **choice)  # type: ignore[arg-type]
    assert ids == tokenizer.encode(text, **choice)  # type: ignore[arg-type]
    assert places == offsets(text, [tokenizer.id_to_token(i) for i in ids])
    joined = to_utf8(text).decode()
    assert tokenizer.encode_with_offsets(to_utf8(text), **choice) == tokenizer.encode_with_offsets(
        joined, **choice
    )  # type: ignore[arg-type]


@given(text=texts, name=st.sampled_from([*NAMES, "engine", "regex", "none"]))
@settings(max_examples=200)
def test_pieces(tokenizers: dict[str, Tokenizer], text: str, name: str) -> None:
    tokenizer = tokenizers[name]
    data = to_utf8(text)
    ends = tokenizer._splitter.ends(text)
    tokens = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert tokenizer.pieces(text) == offsets(text, tokens)
    assert tokenizer.pieces(data) == tokenizer.pieces(data.decode())


@given(text=texts, name=st.sampled_from(NAMES), n=st.integers(0, 25), side=st.sampled_from(sorted(SIDES)))
@settings(max_examples=400)
def test_truncating_with_a_scanner_leaves_the_longest(
    tokenizers: dict[str, Tokenizer], text: str, name: str, n: int, side: str
) -> None:
    """But where there is no safe cut for long."""
    tokenizer = tokenizers[name]
    near, _, far = window(tokenizer._pipeline, text, 0, len(text), n, side == "left")
    if abs(far - near) <= TRIED:
        assert tokenizer.truncate(text, n, side=side) == whole_characters(tokenizer, text, n, side)


def whole_characters(tokenizer: Tokenizer, text: str, n: int, side: str) -> str:
    """The longest part, by trying all of them; a surrogate pair counts as one character."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    part = SIDES[side](joined, tokenizer.count, n)
    size = len(part.encode("utf-16-le", "surrogatepass")) - len(part)  # pairs, of which text may have some
    for length in range(len(part), len(part) + size + 1):
        own = text[:length] if side == "right" else text[len(text) - length :]
        if own.encode("utf-16-le", "surrogatepass") == part.encode("utf-16-le", "surrogatepass"):
            return own
    raise AssertionError((text, part))


@given(
    text=texts,
    name=st.sampled_from(["engine", "regex", "none"]),
    n=st.integers(0, 25),
    side=st.sampled_from(sorted(SIDES)),
)
@settings(max_examples=300)
def test_truncating_without_a_scanner(
    tokenizers: dict[str, Tokenizer], text: str, name: str, n: int, side: str
) -> None:
    """Short texts are tried at every place."""
    tokenizer = tokenizers[name]
    if len(text) <= TRIED:
        assert tokenizer.truncate(text, n, side=side) == whole_characters(tokenizer, text, n, side)


@given(
    text=st.one_of(sound_texts, st.builds(lambda text, n: text * n, sound_texts, st.integers(1, 60))),
    name=st.sampled_from([*NAMES, "engine", "regex", "none"]),
    n=st.integers(4, 300),
    overlap=st.integers(0, 40),
    side=st.sampled_from(sorted(SIDES)),
)
@settings(max_examples=100)
def test_parts_fit_and_cover_the_text(
    tokenizers: dict[str, Tokenizer], text: str, name: str, n: int, overlap: int, side: str
) -> None:
    tokenizer = tokenizers[name]
    part = tokenizer.truncate(text, n, side=side)
    count = tokenizer.count(text)
    assert tokenizer.count(part) <= n
    assert text.startswith(part) if side == "right" else text.endswith(part)
    assert part == text if count <= n else len(part) * 4 + 4 > n  # no character has more than four ids
    parts = list(tokenizer.chunk(text, n))
    assert "".join(parts) == text
    assert max(map(tokenizer.count, parts), default=0) <= n
    overlap = min(overlap, n - 1)
    ends = {0}  # of the chunks so far, wherever in the text they may have been cut out
    for chunk in tokenizer.chunk(text, n, overlap=overlap):
        assert tokenizer.count(chunk) <= n
        ends = {
            start + len(chunk)
            for end in ends
            for start in range(max(end - len(chunk) + 1, 0), end + 1)
            if text.startswith(chunk, start) and tokenizer.count(text[start:end]) <= overlap
        }
    assert len(text) in ends


@given(text=texts, name=st.sampled_from([*NAMES, "none"]), limit=st.integers(0, 60))
@settings(max_examples=150)
def test_counting_up_to_a_limit(tokenizers: dict[str, Tokenizer], text: str, name: str, limit: int) -> None:
    tokenizer = tokenizers[name]
    count = tokenizer.count(text)
    assert count == len(tokenizer.encode_ordinary(text))
    assert tokenizer.count(text, limit=limit) == min(count, limit + 1)
    assert tokenizer.fits(text, limit) is (count <= limit)

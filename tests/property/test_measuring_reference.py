"""Offsets, pieces, truncation and chunks against the slow twin, on texts of every kind."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe import PATTERNS, Tokenizer, TrainingWarning, train
from fastbpe._core.encode.count_limits import count_part, cut_range, furthest_place
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe.model import AddedToken, Model
from fastbpe.tokenizer.cutting import truncation
from fastbpe.tokenizer.cutting.truncation import TRIED
from helpers.longest_parts import longest_part
from helpers.sampling import n_rounds
from helpers.shared_data import standard_library
from helpers.text_strategies import sound_texts, texts
from reference import offsets

NAMES = [name for name, pattern in PATTERNS.items() if pattern is not None]


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    """Tokenizers with a small vocabulary: one for each scanner, for the engine, for the regex package, and
    without a pattern."""
    text = [standard_library(40_000), "naïve café日本語안녕 " * 20]
    patterns: dict[str, str | None] = {name: name for name in NAMES}
    patterns |= {"engine": r"\p{L}{1,7}|\s+(?!\S)|.\b|[\s\S]", "regex": r"(?>(\S))\1|\w+|[\s\S]", "none": None}
    special = ["<|endoftext|>", "<|sep|>"]
    return {
        name: train(text, vocab_size=500, pattern=pattern, special_tokens=special, progress=False)
        for name, pattern in patterns.items()
    }


@pytest.mark.daily
@given(text=texts, name=st.sampled_from([*NAMES, "engine", "regex", "none"]), special=st.booleans())
@settings(max_examples=200)
def test_offsets_equal_the_slow_twin(
    tokenizers: dict[str, Tokenizer], text: str, name: str, special: bool
) -> None:
    tokenizer = tokenizers[name]
    choice = {"allowed_special": "all"} if special else {"disallowed_special": ()}
    ids, places = tokenizer.encode_with_offsets(text, **choice)  # type: ignore[arg-type]
    assert ids == tokenizer.encode(text, **choice)  # type: ignore[arg-type]
    assert places == offsets(text, [tokenizer.id_to_token(i) for i in ids])
    joined = to_utf8(text).decode()
    assert tokenizer.encode_with_offsets(to_utf8(text), **choice) == tokenizer.encode_with_offsets(
        joined, **choice
    )  # type: ignore[arg-type]


@pytest.mark.daily
@given(text=texts, name=st.sampled_from([*NAMES, "engine", "regex", "none"]))
@settings(max_examples=200)
def test_pieces_equal_the_slow_twin(tokenizers: dict[str, Tokenizer], text: str, name: str) -> None:
    tokenizer = tokenizers[name]
    data = to_utf8(text)
    ends = tokenizer._family.splitter.ends(text)
    tokens = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert tokenizer.pieces(text) == offsets(text, tokens)
    assert tokenizer.pieces(data) == tokenizer.pieces(data.decode())


@pytest.mark.daily
@given(text=texts, name=st.sampled_from(NAMES), n=st.integers(0, 25), side=st.sampled_from(["left", "right"]))
@settings(max_examples=n_rounds(133, 400))
def test_truncation_with_a_scanner_returns_the_longest_part(
    tokenizers: dict[str, Tokenizer], text: str, name: str, n: int, side: str
) -> None:
    """Except over long stretches without a safe cut."""
    tokenizer = tokenizers[name]
    near, _, far = cut_range(tokenizer._pipeline, text, 0, len(text), n, side == "left")
    if abs(far - near) <= TRIED:
        assert tokenizer.truncate(text, n, side=side) == longest_part(tokenizer, text, n, side)


units = st.sampled_from(["\ud83d", "\ude00", "\ud83d\ude00", "a", " the", "é", "日本"])


@given(
    text=st.lists(units, min_size=1, max_size=20).map("".join),
    end=st.sampled_from(["", "é", "日", "😀"]),
    name=st.sampled_from(["gpt2", "none"]),
    n=st.integers(0, 12),
    backward=st.booleans(),
)
@settings(max_examples=n_rounds(100, 300))
def test_furthest_place_never_splits_a_surrogate_pair(
    tokenizers: dict[str, Tokenizer], text: str, end: str, name: str, n: int, backward: bool
) -> None:
    """A str may have one, two or four bytes per character."""
    text += end
    pipeline = tokenizers[name]._pipeline
    origin, far = (len(text), 0) if backward else (0, len(text))
    places = range(far, origin, -1 if far > origin else 1)
    halves = {match.start() + 1 for match in re.finditer("[\ud800-\udbff][\udc00-\udfff]", text)}
    fitting = (p for p in places if p not in halves and count_part(pipeline, text, origin, origin, p, n) <= n)
    assert furthest_place(pipeline, text, origin, origin, far, n) == next(fitting, origin)


@given(
    text=texts,
    name=st.sampled_from(["engine", "regex", "none"]),
    n=st.integers(0, 25),
    side=st.sampled_from(["left", "right"]),
)
@settings(max_examples=n_rounds(100, 300))
def test_truncation_without_a_scanner_returns_the_longest_part(
    tokenizers: dict[str, Tokenizer], text: str, name: str, n: int, side: str
) -> None:
    """Short texts are tried at every position."""
    tokenizer = tokenizers[name]
    if len(text) <= TRIED:
        assert tokenizer.truncate(text, n, side=side) == longest_part(tokenizer, text, n, side)


@pytest.mark.daily
@given(
    text=st.one_of(sound_texts, st.builds(lambda text, n: text * n, sound_texts, st.integers(1, 60))),
    name=st.sampled_from([*NAMES, "engine", "regex", "none"]),
    n=st.integers(4, 300),
    overlap=st.integers(0, 40),
    side=st.sampled_from(["left", "right"]),
)
@settings(max_examples=100)
def test_parts_and_chunks_fit_and_cover_the_text(
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
    check_overlapping(tokenizer, text, n, min(overlap, n - 1))


@pytest.mark.daily
@given(
    text=st.builds(lambda text, n: text * n, texts, st.integers(1, 30)),
    name=st.sampled_from([*NAMES, "engine", "regex", "none"]),
    n=st.integers(4, 60),
)
@settings(max_examples=100)
def test_chunks_equal_repeated_truncation(tokenizers: dict[str, Tokenizer], text: str, name: str, n: int) -> None:
    tokenizer = tokenizers[name]
    for chunk in tokenizer.chunk(text, n):
        assert chunk == tokenizer.truncate(text, n)
        text = text[len(chunk) :]
    assert not text


def check_overlapping(tokenizer: Tokenizer, text: str, n: int, overlap: int) -> None:
    ends = {0}  # possible ends in the text of the chunks so far
    for chunk in tokenizer.chunk(text, n, overlap=overlap):
        assert tokenizer.count(chunk) <= n
        ends = {
            start + len(chunk)
            for end in ends
            for start in range(max(end - len(chunk) + 1, 0), end + 1)
            if text.startswith(chunk, start) and tokenizer.count(text[start:end]) <= overlap
        }
    assert len(text) in ends


#: Texts that normalization lengthens, shortens, removes, changes only together, or leaves unchanged.
CHANGED = [
    "ﬁ",
    "\ufdfa",
    "\u0301",
    "\u0316",
    "e\u0301",
    "İ",
    "\u1e9b\u0323",
    "\xa0",
    " ",
    "\n",
    "ab",
    "aaaa",
    "<x>",
    "的",
    "👍",
]


@pytest.fixture(scope="module")
def normalizing_tokenizers() -> dict[str, Tokenizer]:
    """Tokenizers that normalize texts before they split them."""
    base = train([standard_library(40_000), "naïve café fi fifi " * 20], vocab_size=500, progress=False)
    tokens = base.vocab
    lower, strip = {"type": "Lowercase"}, {"type": "StripAccents"}
    options: dict[str, dict[str, Any]] = {
        "NFKC": {"normalizers": [{"type": "NFKC"}]},
        "NFKC, lower case, a space before": {"normalizers": [{"type": "NFKC"}, lower], "prefix_space": True},
        "no accents": {"normalizers": [{"type": "NFD"}, strip], "pattern": None},
        "stripped": {"normalizers": [{"type": "Strip", "strip_left": True, "strip_right": True}]},
        "without some bytes": {
            "tokens": [b"" if t in (b"\xcc", b"a") else t for t in tokens],
            "drops_bytes": True,
        },
        "added": {"added_tokens": [AddedToken("<x>", 600, rstrip=True), AddedToken("aaaa", 601)]},
    }
    return {
        name: Tokenizer(Model(**{"tokens": tokens, "pattern": "gpt2", "special_tokens": {}} | option))
        for name, option in options.items()
    }


changed_texts = st.builds(
    lambda runs: "".join(unit * n for unit, n in runs),
    st.lists(st.tuples(st.sampled_from(CHANGED), st.sampled_from([1, 1, 2, 3, 9, 40])), max_size=12),
)


@given(
    text=changed_texts,
    number=st.integers(0, 5),
    n=st.integers(0, 30),
    side=st.sampled_from(["left", "right"]),
    by_end=st.booleans(),
)
@settings(max_examples=n_rounds(100, 300))
def test_truncated_normalized_text_fits_and_is_long(
    normalizing_tokenizers: dict[str, Tokenizer], text: str, number: int, n: int, side: str, by_end: bool
) -> None:
    """The result fits; it is as long as the first that cannot be extended, or the longest if none longer fits."""
    tokenizer = [*normalizing_tokenizers.values()][number]
    parts = [text[:size] if side == "right" else text[len(text) - size :] for size in range(len(text) + 1)]
    fitting = [tokenizer.count(part) <= n for part in parts]
    first = (fitting.index(False) if False in fitting else len(parts)) - 1
    with pytest.MonkeyPatch.context() as patch:
        if by_end:  # the path for many ids
            patch.setattr(truncation, "_END_SEARCH_IDS", 1)
            patch.setattr(truncation, "_END_MARGIN", 9)
        size = len(tokenizer.truncate(text, n, side=side))
    assert fitting[size]
    assert size >= first
    assert any(fitting[first + 1 :]) or size == first


@pytest.mark.daily
@given(text=changed_texts, number=st.integers(0, 5), n=st.integers(40, 200), overlap=st.integers(0, 39))
@settings(max_examples=50)
def test_chunks_of_normalized_text_fit_and_cover_it(
    normalizing_tokenizers: dict[str, Tokenizer], text: str, number: int, n: int, overlap: int
) -> None:
    tokenizer = [*normalizing_tokenizers.values()][number]
    parts = list(tokenizer.chunk(text * 5, n))
    assert "".join(parts) == text * 5
    assert all(tokenizer.fits(part, n) for part in parts)
    check_overlapping(tokenizer, text, n, overlap)


WORDS = ["a", "the", "cat", " ", "  ", " the", "é", "日本", "'s", "12", ".", "<sep>", "ﬁ", "的", "x\u0301", "\n"]


@pytest.fixture(scope="module")
def code_point_tokenizers() -> dict[str, Tokenizer]:
    """Models that add a prefix to a text, drop some of it, or change it."""
    options: dict[str, dict[str, Any]] = {
        "plain": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "byte_fallback": True},
        "no prefix": {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "byte_fallback": True},
        "trims": {"normalization_rule_name": "nmt_nfkc", "character_coverage": 0.98},
        "suffix": {"treat_whitespace_as_suffix": True, "byte_fallback": True},
        "symbols": {"user_defined_symbols": ["<sep>", "the c"], "byte_fallback": True},
        "symbols alone": {
            "normalization_rule_name": "identity",
            "remove_extra_whitespaces": False,
            "user_defined_symbols": ["<sep>"],
            "byte_fallback": True,
        },
        "across words": {"split_by_whitespace": False, "byte_fallback": True},
    }
    text = [standard_library(20_000), "the cat's 日本 é a ﬁ " * 20]
    made = {}
    for name, of_model in options.items():
        size = 120 + 256 * ("byte_fallback" in of_model)
        with pytest.warns(TrainingWarning, match="left out of the vocabulary"):
            tokenizer = train(text, mode="codepoint", vocab_size=size, progress=False, **of_model)
        assert tokenizer.mode == "codepoint"
        made[name] = tokenizer
    return made


@pytest.mark.daily
@given(
    words=st.lists(st.sampled_from(WORDS), max_size=30),
    times=st.integers(1, 20),
    number=st.integers(0, 6),
    n=st.integers(0, 40),
    side=st.sampled_from(["left", "right"]),
)
@settings(max_examples=200)
def test_truncated_code_point_text_fits_and_is_long(
    code_point_tokenizers: dict[str, Tokenizer],
    words: list[str],
    times: int,
    number: int,
    n: int,
    side: str,
) -> None:
    """The result fits, and one more character would not, even if some longer text fits."""
    tokenizer = [*code_point_tokenizers.values()][number]
    text = "".join(words) * times
    size = len(tokenizer.truncate(text, n, side=side))
    parts = (text[:i] if side == "right" else text[len(text) - i :] for i in range(size, len(text) + 1))
    fitting = [tokenizer.fits(part, n) for part in parts]
    assert fitting[0]
    assert len(fitting) == 1 or not fitting[1]
    for overlap in {0, n // 3}:
        if n >= 10:
            chunks = list(tokenizer.chunk(text, n, overlap=overlap))
            assert all(tokenizer.fits(chunk, n) for chunk in chunks)
            assert sum(map(len, chunks)) >= len(text)
            assert overlap or "".join(chunks) == text


@pytest.mark.daily
@given(
    words=st.lists(st.sampled_from([*WORDS, " žluť", " дом"]), min_size=1, max_size=30),
    times=st.integers(1, 20),
    name=st.sampled_from(["plain", "symbols alone", "trims"]),
    n=st.integers(1, 60),
)
def test_counts_before_and_after_a_safe_cut_add_up(
    code_point_tokenizers: dict[str, Tokenizer], words: list[str], times: int, name: str, n: int
) -> None:
    tokenizer, text = code_point_tokenizers[name], "".join(words) * times
    count = tokenizer.count(text)
    near, n_near, _ = cut_range(tokenizer._pipeline, text, 0, len(text), n, False)
    assert n_near + count_part(tokenizer._pipeline, text, 0, near, len(text), count) == count


@pytest.mark.parametrize("name", ["symbols alone", "trims"])
def test_non_ascii_letters_are_followed_by_safe_cuts(
    code_point_tokenizers: dict[str, Tokenizer], name: str
) -> None:
    text = "дом žluť " * 200
    code_point_tokenizers[name].count(text)
    near, _, far = cut_range(code_point_tokenizers[name]._pipeline, text, 0, len(text), 100, False)
    assert far - near <= 5


@pytest.mark.daily
@given(text=texts, name=st.sampled_from([*NAMES, "none"]), limit=st.integers(0, 60))
@settings(max_examples=150)
def test_count_stops_one_above_the_limit(
    tokenizers: dict[str, Tokenizer], text: str, name: str, limit: int
) -> None:
    tokenizer = tokenizers[name]
    count = tokenizer.count(text)
    assert count == len(tokenizer.encode_ordinary(text))
    assert tokenizer.count(text, max_tokens=limit) == min(count, limit + 1)
    assert tokenizer.fits(text, limit) is (count <= limit)

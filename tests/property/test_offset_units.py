"""Offsets in characters, bytes and UTF-16 units, as lists and arrays, of one text and of batches."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import Tokenizer, train
from fastbpe._core.encode.codepoint_pieces import TokenEncoder
from fastbpe.model import AddedToken, Model
from fastbpe.tokenizer.families.trim_offsets import trimmer_of
from helpers.sampling import n_rounds
from helpers.shared_data import standard_library
from helpers.text_strategies import texts
from helpers.tokenizer_json import added, dumped, small
from reference import offsets
from reference.measuring import in_unit, trimmed

UNITS = ["char", "byte", "utf16"]
PARTS = [
    "ab",
    " a",
    "  ",
    "é",
    "日本",
    "👍",
    "\ud83d",
    "\ude00",
    "<m>",
    "<x>",
    "ﬁ",
    "e\u0301",
    "\xa0",
    "\n",
    "\u2581",
    "a" * 9,
]
mixed = st.one_of(texts, st.lists(st.sampled_from(PARTS), max_size=30).map("".join))


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    text = [standard_library(40_000), "naïve café 日本語안녕 ﬁ " * 20]
    base = train(text, vocab_size=500, pattern="gpt2", special_tokens=["<x>"], progress=False)
    trims = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    tokens = [added(262, "<m>", lstrip=True, rstrip=True, special=True), added(263, "<x>", special=True)]
    options: dict[str, Any] = {
        "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}],
        "prefix_space": True,
        "added_tokens": [AddedToken("<m>", 600, rstrip=True), AddedToken("aaaa", 601)],
    }
    points = {
        "mode": "codepoint",
        "vocab_size": 800,
        "byte_fallback": True,
        "character_coverage": 1.0,
        "progress": False,
    }
    return {
        "byte": base,
        "no pattern": train(text, vocab_size=500, pattern=None, progress=False),
        "unmatched": Tokenizer(Model(tokens=base.vocab[:500], pattern=r"\w+|b+", special_tokens={})),
        "normalized": Tokenizer(Model(tokens=base.vocab[:500], pattern="gpt2", special_tokens={}, **options)),
        "trimmed": fastbpe.load(dumped(small(tokens, post_processor=trims))),
        "trimmed, normalized": fastbpe.load(
            dumped(small(tokens, post_processor=trims, normalizer={"type": "NFKC"}))
        ),
        "code points": train(text, **points, normalization_rule_name="identity", remove_extra_whitespaces=False),
        "code points, normalized": train(text, **points, user_defined_symbols=["<m>"]),
        "code points, special": train(text, **points).with_special_tokens(["<x>", "<m>"]),
    }


NAMES = [
    "byte", "no pattern", "unmatched", "normalized", "trimmed", "trimmed, normalized", "code points",
    "code points, normalized", "code points, special",
]  # fmt: skip


@given(text=mixed, name=st.sampled_from(NAMES), unit=st.sampled_from(UNITS), special=st.booleans())
@settings(max_examples=n_rounds(200, 600))
def test_units_convert_into_each_other(
    tokenizers: dict[str, Tokenizer], text: str, name: str, unit: str, special: bool
) -> None:
    tokenizer = tokenizers[name]
    allowed: Any = {"allowed_special": "all"} if special else {"disallowed_special": ()}
    ids, spans = tokenizer.encode_with_offsets(text, **allowed)
    assert ids == tokenizer.encode(text, **allowed)
    converted = spans if unit == "char" else in_unit(text, spans, unit)
    assert tokenizer.encode_with_offsets(text, unit=unit, **allowed) == (ids, converted)
    array, places = tokenizer.encode_with_offsets(text, unit=unit, as_numpy=True, **allowed)
    assert (array.dtype, places.dtype, places.shape) == (numpy.uint32, numpy.int64, (len(ids), 2))
    assert (array.tolist(), [*map(tuple, places.tolist())]) == (ids, converted)


@pytest.mark.daily
@given(text=mixed, name=st.sampled_from(NAMES), unit=st.sampled_from(UNITS))
@settings(max_examples=200)
def test_bytes_have_the_offsets_of_their_str(
    tokenizers: dict[str, Tokenizer], text: str, name: str, unit: str
) -> None:
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    tokenizer = tokenizers[name]
    expected = tokenizer.encode_with_offsets(text, unit=unit, disallowed_special=())
    for given_text in (text.encode(), bytearray(text.encode()), memoryview(text.encode())):
        assert tokenizer.encode_with_offsets(given_text, unit=unit, disallowed_special=()) == expected


@given(batch=st.lists(mixed, max_size=6), name=st.sampled_from(NAMES), unit=st.sampled_from(UNITS))
@settings(max_examples=n_rounds(100, 300))
def test_batches_equal_single_texts(
    tokenizers: dict[str, Tokenizer], batch: list[str], name: str, unit: str
) -> None:
    tokenizer = tokenizers[name]
    singles = [tokenizer.encode_with_offsets(text, unit=unit, disallowed_special=()) for text in batch]
    assert tokenizer.encode_batch_with_offsets(iter(batch), unit=unit, disallowed_special=()) == singles
    ids, spans, ends = tokenizer.encode_batch_with_offsets(batch, unit=unit, as_numpy=True, disallowed_special=())
    assert ids.tolist() == [token_id for one, _ in singles for token_id in one]
    assert [*map(tuple, spans.tolist())] == [span for _, one in singles for span in one]
    assert ends.tolist() == [sum(len(one) for one, _ in singles[:i]) for i in range(len(batch) + 1)]


@pytest.mark.daily
@pytest.mark.sample(12)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("end", ["", "é", "日👍", "\ud83d"])
def test_offsets_of_long_texts_equal_their_lines(tokenizers: dict[str, Tokenizer], name: str, end: str) -> None:
    """A text of several stretches: in byte mode, and with the same units for every width of the str."""
    tokenizer = tokenizers[name]
    text = standard_library(140_000) + end
    ids, spans = tokenizer.encode_with_offsets(text, disallowed_special=())
    assert ids == tokenizer.encode(text, disallowed_special=())
    if name in ("byte", "no pattern"):
        assert spans == offsets(text, tokenizer.decode_tokens_bytes(ids))
    for unit in UNITS[1:]:
        _, in_units = tokenizer.encode_with_offsets(text, unit=unit, as_numpy=True, disallowed_special=())
        at = {position: None for span in spans for position in span}
        sizes = dict(zip(sorted(at), lengths(text, sorted(at), unit), strict=True))
        assert in_units.tolist() == [[sizes[start], sizes[stop]] for start, stop in spans]


def lengths(text: str, positions: list[int], unit: str) -> list[int]:
    """Return the length of the text before each of the ascending positions."""
    out, last, total = [], 0, 0
    for position in positions:
        total += in_unit(text[last:position], [(0, position - last)], unit)[0][1]
        last = position
        out.append(total)
    return out


@pytest.mark.daily
@given(
    tokens=st.lists(
        st.sampled_from([(b"a", (0, 0)), (b" a", (1, 0)), (b"a  ", (0, 2)), (b"  a ", (2, 1)), (b"   ", (3, 3))]),
        max_size=9,
    ),
    prefixed=st.lists(st.booleans(), min_size=1, max_size=3),
    data=st.data(),
)
def test_trimming_equals_the_slow_twin(
    tokens: list[tuple[bytes, tuple[int, int]]], prefixed: list[bool], data: st.DataObject
) -> None:
    starts = st.tuples(st.integers(0, 3), st.integers(0, 5)).map(lambda span: (span[0], span[0] + span[1]))
    spans = [data.draw(starts) for _ in tokens]
    trim = trimmer_of(prefixed, lambda: [token for token, _ in tokens])
    assert trim(range(len(tokens)), spans, []) == trimmed(spans, [blanks for _, blanks in tokens], prefixed)


@given(text=mixed, name=st.sampled_from(NAMES[6:]))
@settings(max_examples=n_rounds(100, 300))
def test_offsets_of_code_points_equal_those_measured_along_the_normalized_text(
    tokenizers: dict[str, Tokenizer], text: str, name: str
) -> None:
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    tokenizer: Any = tokenizers[name]
    measured = TokenEncoder(tokenizer, tokenizer._family.normalizer).encode(text.encode(), offsets=True)
    expected = measured.ids(), measured.offsets(in_characters=True)
    assert tokenizer.encode_with_offsets(text, allowed_special=(), disallowed_special=()) == expected


def test_errors_name_the_unit_and_the_text(tokenizers: dict[str, Tokenizer]) -> None:
    for name in ("byte", "code points, special"):
        tokenizer = tokenizers[name]
        with pytest.raises(ValueError, match="unit='word': choose one of 'char'"):
            tokenizer.encode_with_offsets("a", unit="word")
        with pytest.raises(ValueError, match="disallowed special token"):
            tokenizer.encode_with_offsets("a<x>")
        for batch, kind in (
            (["a", "b<x>"], ValueError),
            (("a", "b<x>"), ValueError),
            (["a", b"\xff"], ValueError),
            (["a", 3], TypeError),
        ):
            for as_numpy in (False, True):
                with pytest.raises(kind) as caught:
                    tokenizer.encode_batch_with_offsets(batch, as_numpy=as_numpy)  # type: ignore[arg-type, call-overload]
                assert "texts[1]" in "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
        with pytest.raises(TypeError, match="pass \\[text\\]"):
            tokenizer.encode_batch_with_offsets("a")

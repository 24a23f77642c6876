"""Origins of normalized characters against the slow twin; the conformance tests ask tokenizers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import Tokenizer
from fastbpe.normalization import huggingface_tables
from fastbpe.normalization.huggingface import FORMS, _characters, other_case
from helpers.tokenizer_json import LETTERS, dumped, random_text, small
from reference import offsets
from reference.alignment import Put, put_before, put_each, put_form, put_replaced, sources

HARD = [*LETTERS, "\u1100", "\u1161", "\u11a8", "각", "ǭ", "\u0323", "ṩ", "\u0344", "İ", "ﷺ", "क़", "\u0334", "aa"]
_Twin = Callable[[str], list[Put]]


def each(table: Any) -> _Twin:
    return lambda text: put_each(text, lambda character: character.translate(table))


def stripped(text: str) -> list[Put]:
    return [("", len(text) - len(text.lstrip())), *((character, 1) for character in text.strip())]


def replaced(pattern: str, content: str) -> _Twin:
    return lambda text: put_replaced(text, [match.span() for match in re.finditer(pattern, text)], content)


TWINS: dict[str, tuple[dict[str, Any], _Twin]] = {
    **{name: ({"type": name}, lambda text, name=name: put_form(text, name)) for name in FORMS},
    "Lowercase": ({"type": "Lowercase"}, each(other_case("LOWER"))),
    "StripAccents": ({"type": "StripAccents"}, each(dict.fromkeys(_characters(huggingface_tables.ACCENTS)))),
    "Strip": ({"type": "Strip", "strip_left": True, "strip_right": True}, stripped),
    "Prepend": ({"type": "Prepend", "prepend": "éb"}, lambda text: put_before(text, "éb") if text else []),
    "shorter": (
        {"type": "Replace", "pattern": {"String": "aa"}, "content": "é"},
        replaced("aa", "é"),
    ),
    "longer": (
        {"type": "Replace", "pattern": {"Regex": "[é漢]+"}, "content": "a bc"},
        replaced("[é漢]+", "a bc"),
    ),
    "nothing": ({"type": "Replace", "pattern": {"String": " "}, "content": ""}, replaced(" ", "")),
}


def twin(names: list[str], text: str) -> tuple[str, list[int]]:
    """Return the text after all normalizers, and for each character the position that it comes from."""
    came_from = list(range(len(text)))
    for name in names:
        put = TWINS[name][1](text)
        came_from = [came_from[at] for at in sources(put)]
        text = "".join(character for character, _ in put)
    return text, came_from


def loaded(names: list[str]) -> Tokenizer:
    described = [TWINS[name][0] for name in names]
    normalizer = described[0] if len(described) == 1 else {"type": "Sequence", "normalizers": described}
    return fastbpe.load(dumped(small(normalizer=normalizer)))


def assert_same(tokenizer: Tokenizer, names: list[str], text: str, context: str = "") -> None:
    made, came_from = twin(names, text)
    ids, places = tokenizer.encode_with_offsets(text)
    assert ids == tokenizer.encode(text), context
    tokens = [tokenizer.id_to_token(token_id) for token_id in ids]
    assert b"".join(tokens) == made.encode(), context
    assert places == offsets(text, tokens, came_from), context
    assert tokenizer.encode_with_offsets(text.encode()) == (ids, places), context


@pytest.mark.parametrize("first", TWINS)
def test_offsets_of_one_and_two_normalizers_equal_the_slow_twin(first: str) -> None:
    rng = random.Random(f"7-{first}")
    for names in [[first], *([first, second] for second in TWINS)]:
        tokenizer = loaded(names)
        for text in ["", " ", "aa", *("".join(rng.choices(HARD, k=rng.randint(1, 12))) for _ in range(25))]:
            assert_same(tokenizer, names, text, f"{names}: {text!a}")


_LOADED: dict[str, Tokenizer] = {}


@pytest.mark.daily
@given(names=st.lists(st.sampled_from(sorted(TWINS)), min_size=1, max_size=3), seed=st.integers(0, 1 << 30))
@settings(max_examples=150)
def test_offsets_of_normalizer_sequences_equal_the_slow_twin(names: list[str], seed: int) -> None:
    key = " ".join(names)
    tokenizer = _LOADED.setdefault(key, loaded(names)) if key not in _LOADED else _LOADED[key]
    assert_same(tokenizer, names, random_text(random.Random(seed)), f"{names}, {seed}")


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FORMS)
def test_offsets_of_long_texts_equal_the_slow_twin(name: str) -> None:
    """Segments of any length and many of them; mixed runs of marks, on which unicodedata would take hours."""
    tokenizer = loaded([name])
    parts = ["e\u0301", "\u0301", "각", "ﬁx", "plain ", "\u1161", "e\u0323\u0301 漢 "]
    for part in [*parts, "\u0301\u0316", "\u0f73\uff9e"]:
        assert_same(tokenizer, [name], part * (600 // len(part)), ascii(part))
        text = part * 10_000
        ids, places = tokenizer.encode_with_offsets(text)
        assert ids == tokenizer.encode(text)
        assert [start for start, _ in places] == sorted(start for start, _ in places)
        assert places[-1][1] <= len(text)

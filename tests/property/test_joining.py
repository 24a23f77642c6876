"""`joins` agrees with encoding both texts and their sum."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe._core.encode.text_cuts import encode_part
from helpers.sampling import n_rounds
from helpers.streaming import BITS, NAMES, made
from helpers.text_strategies import texts

some_texts = st.one_of(st.lists(st.sampled_from([*BITS, "\udc4d"]), max_size=8).map("".join), texts)


@pytest.mark.daily
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=n_rounds(80, 80), deadline=None)
@given(a=some_texts, b=some_texts, allowed=st.sampled_from(["all", ()]))
def test_joins_tells_whether_ids_of_parts_equal_the_sum(
    name: str, a: str, b: str, allowed: str | tuple[()]
) -> None:
    tokenizer = made(name)

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, allowed_special=allowed, disallowed_special=())

    assert fastbpe.joins(tokenizer, a, b, allowed_special=allowed) == (encode(a) + encode(b) == encode(a + b))


@pytest.mark.parametrize("name", ["gpt2", "added", "codepoint", "codepoint unknown", "NFC"])
def test_joins_agrees_at_every_position_of_a_text(name: str) -> None:
    tokenizer = made(name)
    rng = random.Random(7)
    answers = set()
    for _ in range(40):
        text = "".join(rng.choices(BITS, k=9))
        for at in range(len(text) + 1):
            a, b = text[:at], text[at:]
            expected = tokenizer.encode_ordinary(a) + tokenizer.encode_ordinary(b) == tokenizer.encode_ordinary(
                text
            )
            assert fastbpe.joins(tokenizer, a, b) == expected, (a, b)
            answers.add(expected)
    assert answers == {False, True}


@pytest.mark.parametrize("name", ["gpt2", "steps", "codepoint", "codepoint trimming", "codepoint unknown"])
def test_only_the_text_around_the_joint_is_encoded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    n_read = []

    def counting(pipeline: Any, text: str, start: int, end: int, *rest: Any) -> Any:
        n_read.append(end - start)
        return encode_part(pipeline, text, start, end, *rest)

    monkeypatch.setattr("fastbpe.tokenizer.streams.joints.encode_part", counting)
    tokenizer = made(name)
    text = "ab abc ab, " * 500
    for a, b in [(text, text), (text, text[3:]), (text[:-1], text)]:
        expected = tokenizer.encode_ordinary(a) + tokenizer.encode_ordinary(b) == tokenizer.encode_ordinary(a + b)
        assert fastbpe.joins(tokenizer, a, b) == expected
    assert sum(n_read) < 300


def test_bytes_join_as_text_does() -> None:
    tokenizer = made("gpt2")
    assert fastbpe.joins(tokenizer, b"a", "b") is fastbpe.joins(tokenizer, "a", b"b") is False
    with pytest.raises(ValueError, match="not UTF-8"):
        fastbpe.joins(tokenizer, b"\xff", "")
    with pytest.raises(TypeError, match="UTF-8, not int"):
        fastbpe.joins(tokenizer, "a", 5)  # type: ignore[arg-type]

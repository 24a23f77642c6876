"""truncate_batch and truncate equal the plain definition, whether one pass or a search finds the parts."""

from __future__ import annotations

import random
import signal
from typing import Any

import pytest

from fastbpe import Tokenizer
from fastbpe._core.encode.count_limits import parts_within, takes_plain_text
from fastbpe._core.encode.text_cuts import may_cut
from helpers.longest_parts import longest_part
from helpers.sampling import SEED, rounds
from helpers.streaming import BITS, NAMES, TEXT, made


def is_passed_over(tokenizer: Tokenizer) -> bool:
    tokenizer.encode("")
    return takes_plain_text(tokenizer._pipeline) and may_cut(tokenizer._pipeline, None, None)


def texts(rng: random.Random, n: int) -> list[str]:
    found = ["".join(rng.choices(BITS, k=rng.randrange(30))) for _ in range(n)]
    return [*found, *(text + "\udc4d" for text in found[:3]), "", "ab" * 9, " ".join(["é👍"] * 8), TEXT]


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", NAMES)
def test_parts_are_the_longest_that_fit(name: str, side: str) -> None:
    tokenizer = made(name)
    rng = random.Random(f"{SEED} {name}")
    for _ in rounds(2, 100):
        batch = texts(rng, 10)
        n = rng.randrange(14)
        parts = tokenizer.truncate_batch(batch, n, side=side)
        assert parts == [tokenizer.truncate(text, n, side=side) for text in batch]
        for text, part in zip(batch, parts, strict=True):
            if is_passed_over(tokenizer):
                assert part == longest_part(tokenizer, text, n, side), (SEED, text, n)
            else:
                assert tokenizer.count(part) <= n, (SEED, text, n)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "llama3"])
def test_long_texts_are_cut_where_the_search_cuts_them(name: str, side: str) -> None:
    """Compare with the search that other tokenizers need: `with_total` takes it."""
    tokenizer = made(name)
    assert is_passed_over(tokenizer)
    rng = random.Random(f"{SEED} long {name}")
    for _ in rounds(12, 400):
        bits = rng.choice([BITS, BITS[:2], ["ab ", "é"], ["漢。", "👍 "], ["\ud83d", "\udc4d", " a"]])
        text = "".join(rng.choices(bits, k=rng.choice([60, 900, 9_000])))
        for n in (0, 1, rng.randrange(1, 400), rng.randrange(1, 9_000), len(text) * 4):
            expected, total = tokenizer.truncate(text, n, side=side, with_total=True)
            assert tokenizer.truncate(text, n, side=side) == expected, (SEED, n)
            assert tokenizer.truncate_batch([TEXT, text, text, ""], n, side=side)[1:3] == [expected] * 2
            assert total == tokenizer.count(text)


def test_estimates_from_other_texts_change_no_part() -> None:
    tokenizer = made("cl100k")
    rng = random.Random(SEED)
    batch: list[str] = [rng.choice([" ab" * 200, "👍" * 90, "a" * 300, "1 " * 99, "x", ""]) for _ in range(80)]
    for n in (1, 7, 100):
        assert tokenizer.truncate_batch(batch, n) == [tokenizer.truncate(text, n) for text in batch], SEED


def test_far_away_cuts_are_left_to_the_search() -> None:
    tokenizer = made("gpt2")
    text = "ab " * 5 + "ab" * 300
    assert parts_within(tokenizer._pipeline, [text, b"ab"], 20, False, 64) == [None, None]
    assert tokenizer.truncate_batch([text, text], 20) == [tokenizer.truncate(text, 20, with_total=True)[0]] * 2


def test_bytes_and_subclasses_of_str_are_cut_as_str() -> None:
    class Name(str):
        __slots__ = ()

    tokenizer = made("gpt2")
    batch: list[Any] = [Name("ab ab ab"), b"ab ab ab", "ab ab ab"]
    parts = tokenizer.truncate_batch(batch, 2)
    assert parts == [tokenizer.truncate("ab ab ab", 2)] * 3
    assert {type(part) for part in parts} == {str}


@pytest.mark.parametrize(("bad", "error"), [(5, TypeError), (b"\xff", ValueError), (None, TypeError)])
def test_bad_text_raises_an_error_that_names_its_place(bad: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"texts\[1\]"):
        made("gpt2").truncate_batch(["ab", bad], 5)


def test_ctrl_c_ends_a_batch_between_its_texts() -> None:
    tokenizer = made("gpt2")
    batch = ["ab ab ab " * 20] * 400_000
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt) as raised:
            tokenizer.truncate_batch(batch, 50)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert str(raised.traceback[-1].path).endswith("count_limits.pyx")

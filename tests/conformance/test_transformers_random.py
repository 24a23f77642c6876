"""Random calls and changes of accelerated tokenizers of transformers, each compared with a stock twin."""

from __future__ import annotations

import logging
import random
from functools import lru_cache
from typing import Any

import pytest

pytest.importorskip("transformers")

from fastbpe.transformers import accelerate
from helpers.sampling import SEED, rounds
from helpers.transformers_grid import FILES, MADE, TRAINED, answer, difference, make
from helpers.transformers_random import (
    CHOICES,
    draw_change,
    draw_decoding,
    draw_encoding,
    draw_options,
    draw_other,
    draw_text,
    looked_at,
)

SIDES = {"padding_side": "right", "truncation_side": "right", "split_special_tokens": False}


@lru_cache
def twins(name: str) -> tuple[Any, Any]:
    return accelerate(make(name)), make(name)


def state(tokenizer: Any) -> Any:
    """Return the settings that a call leaves behind."""
    backend = tokenizer._tokenizer
    return backend.truncation, backend.padding, backend.encode_special_tokens


def observe(call: Any, tokenizer: Any, caplog: pytest.LogCaptureFixture) -> tuple[Any, list[str]]:
    """Return the answer and transformers' messages, except messages that it gives once in a process."""
    caplog.clear()
    found = answer(call, tokenizer)
    messages = [record.getMessage() for record in caplog.records]
    return found, [text for text in messages if not text.startswith("Ignoring clean_up")]


def compare(call: Any, ours: Any, stock: Any, caplog: pytest.LogCaptureFixture) -> str:
    """Tell the first difference of answers, texts of errors, messages, or settings left; "" if all are equal."""
    expected, messages = observe(call, stock, caplog)
    found, told = observe(call, ours, caplog)
    if told != messages:
        return f"messages {told} are not {messages}"
    if isinstance(expected, Exception) and str(found).replace("._fastbpe_accelerated", "") != str(expected):
        return f"{found!r:.300} is not {expected!r:.300}"
    return difference(found, expected) or difference(state(ours), state(stock), "settings")


@pytest.mark.daily
@pytest.mark.parametrize("name", [*TRAINED, *FILES, *MADE])
@pytest.mark.sample(5)
def test_random_calls_answer_like_stock(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "transformers")
    caplog.handler.setLevel(logging.WARNING)
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    rng = random.Random(f"{SEED} {name} calls")
    ours, stock = twins(name)
    failed = []
    try:
        for number in rounds(100, 20_000):
            if number % 50 == 0:
                for side, value in SIDES.items():
                    setattr(ours, side, value)
                    setattr(stock, side, value)
            draw = rng.choices([draw_encoding, draw_decoding, draw_other], [6, 2, 1])[0]
            told, call = draw(rng)
            if found := compare(call, ours, stock, caplog):
                failed.append(f"{told}:\n    {found}")
    finally:
        logger.removeHandler(caplog.handler)
    assert not failed, "\n".join(failed)[:6000]


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("seed", rounds(3, 1000))
def test_random_calls_after_random_changes_answer_like_stock(
    name: str, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random(f"{SEED} {name} {seed} changes")
    ours, stock = accelerate(make(name)), make(name)
    done: list[str] = []
    for _ in range(30):
        draw = rng.choices([draw_encoding, draw_decoding, draw_other, draw_change], [5, 2, 1, 2])[0]
        told, call = draw(rng)
        done.append(told[:300])
        found = compare(call, ours, stock, caplog)
        assert not found, f"{found}\nafter\n" + "\n".join(done)


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("seed", rounds(4, 1000))
def test_options_of_earlier_calls_answer_like_stock(
    name: str, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A call with one text keeps what its options mean; settings and tokenizer may change before the next call."""
    caplog.set_level(logging.WARNING, "transformers")
    rng = random.Random(f"{SEED} {name} {seed} again")
    ours, stock = accelerate(make(name)), make(name)
    names, failed = [*CHOICES][:-3], []
    kinds = [draw_options(rng, rng.sample(names, len(names)), rng.choice([1, 2, 3, 5])) for _ in range(3)]
    for _ in range(60):
        if rng.random() < 0.1:
            told, call = draw_change(rng)
        else:
            text, options = draw_text(rng), rng.choice(kinds)
            method, uses = rng.choice(["__call__", "__call__", "encode", "tokenize"]), rng.random() < 0.2
            told = f"{method}({text!r}, **{options!r})"

            def call(
                t: Any, text: str = text, options: Any = options, method: str = method, uses: bool = uses
            ) -> Any:
                made = getattr(t, method)(text, **options)
                return (made, looked_at(made)) if uses else made

        if found := compare(call, ours, stock, caplog):
            failed.append(f"{told}:\n    {found}")
    assert not failed, "\n".join(failed)[:6000]

"""`aencode` and `aencode_batch`: the ids of `encode`, while the event loop runs on."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import fastbpe
from fastbpe import SpecialTokenError
from helpers.streaming import TEXT, made

LONG = TEXT * 20_000


async def with_turns(work: Awaitable[Any]) -> tuple[Any, int]:
    """Await work, and count the turns of the event loop during it."""
    task = asyncio.ensure_future(work)
    turns = 0
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    return task.result(), turns


@pytest.mark.parametrize("name", ["gpt2", "codepoint", "none", r"\w+ ?|\W"])
def test_aencode_has_the_ids_of_encode(name: str) -> None:
    tokenizer = made(name)
    for text in ("", "ab", TEXT, TEXT * 100, "ab" * 40_000, TEXT.encode()):
        assert asyncio.run(fastbpe.aencode(tokenizer, text)) == tokenizer.encode(text)
    texts = ["", TEXT, "ab"] * 1000
    assert asyncio.run(fastbpe.aencode_batch(tokenizer, iter(texts))) == tokenizer.encode_batch(texts)
    assert asyncio.run(fastbpe.aencode_batch(tokenizer, [])) == []


def test_event_loop_runs_while_a_long_text_is_encoded() -> None:
    tokenizer = made("gpt2")
    ids, turns = asyncio.run(with_turns(fastbpe.aencode(tokenizer, LONG)))
    assert turns > 10
    assert ids == tokenizer.encode(LONG)
    lists, turns = asyncio.run(with_turns(fastbpe.aencode_batch(tokenizer, [TEXT] * 20_000)))
    assert turns > 10
    assert lists == [tokenizer.encode(TEXT)] * 20_000


def test_lists_are_seen_by_the_garbage_collector() -> None:
    tokenizer = made("gpt2")
    long = asyncio.run(fastbpe.aencode(tokenizer, LONG))
    lists = asyncio.run(fastbpe.aencode_batch(tokenizer, [TEXT, LONG]))
    assert all(map(gc.is_tracked, [long, lists, *lists]))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda t: fastbpe.aencode(t, "<e>"), SpecialTokenError),
        (lambda t: fastbpe.aencode(t, "<e>" * 2000), SpecialTokenError),
        (lambda t: fastbpe.aencode(t, 5), TypeError),
        (lambda t: fastbpe.aencode(t, b"\xff"), ValueError),
        (lambda t: fastbpe.aencode(t, "ab", num_threads=0), ValueError),
        (lambda t: fastbpe.aencode_batch(t, "ab"), TypeError),
        (lambda t: fastbpe.aencode_batch(t, ["ab", "<e>"]), SpecialTokenError),
        (lambda t: fastbpe.aencode_batch(t, ["ab"], num_threads=0), ValueError),
    ],
)
def test_errors_equal_encode(call: Callable[[Any], Awaitable[Any]], error: type[Exception]) -> None:
    async def run() -> None:
        await call(made("gpt2"))

    with pytest.raises(error):
        asyncio.run(run())


def test_many_tasks_share_a_tokenizer() -> None:
    tokenizer = made("codepoint")
    texts = [TEXT * n for n in range(60)]

    async def run() -> list[list[int]]:
        return await asyncio.gather(*(fastbpe.aencode(tokenizer, text) for text in texts))

    assert asyncio.run(run()) == tokenizer.encode_batch(texts)

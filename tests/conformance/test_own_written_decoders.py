"""Decoders written in Python, in fastbpe.tokenizers by itself, beside tokenizers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

from fastbpe.tokenizers import own
from helpers.tokenizer_json import added, dumped, llama_document, small
from helpers.tokenizers_twins import OwnTwins, outcome


class Dotted:
    def decode_chain(self, tokens: list[str]) -> Any:
        return [f"{token}." for token in tokens]


class Pair:
    def decode_chain(self, tokens: list[str]) -> Any:
        return "a", "b"


class Number:
    def decode_chain(self, tokens: list[str]) -> Any:
        return 5


class Numbers:
    def decode_chain(self, tokens: list[str]) -> Any:
        return [5]


class Text:
    def decode_chain(self, tokens: list[str]) -> Any:
        return "ab"


class Failing:
    def decode_chain(self, tokens: list[str]) -> Any:
        raise KeyError("no")


WRITTEN = [Dotted, Pair, Number, Numbers, Text, Failing, object]


@pytest.mark.parametrize("written", WRITTEN)
def test_decoders_written_in_python_decode_like_the_original(written: Any) -> None:
    twins = OwnTwins(*[module.decoders.Decoder.custom(written()) for module in (own, stock)])
    for tokens in (["a", "b"], [], ["é"], "ab", [5], None):
        twins.check(lambda d, t=tokens: d.decode(t), tokens)


@pytest.mark.parametrize("text", [dumped(small([added(262, "<s>", special=True)])).decode(), None])
@pytest.mark.parametrize("written", WRITTEN)
def test_tokenizers_decode_by_them_like_the_original(written: Any, text: str | None) -> None:
    if text is None:
        text = dumped(llama_document({t: i for i, t in enumerate(["<unk>", "▁", "a", "▁a"])}, ["▁ a"])).decode()
    twins = OwnTwins.of(text)
    for module, tokenizer in ((own, twins.ours), (stock, twins.theirs)):
        tokenizer.decoder = module.decoders.Decoder.custom(written())
    for ids in ([1, 2], [], [0, 3], [500], [262, 2]):
        twins.check(lambda t, i=ids: t.decode(i, False), ids)
        twins.check(lambda t, i=ids: t.decode_batch([i, [1]]), ids)
    twins.check(lambda t: t.encode("a"))

    def streamed(tokenizer: Any) -> Any:
        module: Any = own if isinstance(tokenizer, own.Tokenizer) else stock
        stream = module.decoders.DecodeStream()
        return [stream.step(tokenizer, i) for i in (1, 2, 3)]

    twins.check(streamed)
    for tokenizer in (twins.ours, twins.theirs):
        tokenizer.decoder = None
    twins.check(lambda t: (t.decode([1, 2]), t.to_str()))


def test_they_are_neither_saved_nor_pickled_nor_copied(tmp_path: Path) -> None:
    calls: list[Callable[[Any, Any], Any]] = [
        lambda t, d: t.to_str(),
        lambda t, d: t.save(str(tmp_path / "tokenizer.json")),
        lambda t, d: pickle.dumps(t),
        lambda t, d: copy.deepcopy(t),
        lambda t, d: repr(t),
        lambda t, d: str(t),
        lambda t, d: pickle.dumps(d),
        lambda t, d: copy.copy(d),
        lambda t, d: copy.deepcopy(d),
        lambda t, d: d.__getstate__(),
        lambda t, d: repr(d),
        lambda t, d: str(d),
    ]
    twins = OwnTwins.of(dumped(small()).decode())
    for module, tokenizer in ((own, twins.ours), (stock, twins.theirs)):
        tokenizer.decoder = module.decoders.Decoder.custom(Dotted())
    for call in calls:
        twins.check(lambda t, c=call: c(t, t.decoder))
        assert issubclass(outcome(lambda c=call: c(twins.ours, twins.ours.decoder)), TypeError)
    with pytest.raises(ValueError, match="step of a Sequence"):
        own.decoders.Sequence([own.decoders.Fuse(), twins.ours.decoder])

"""Tokenizers are freed with their last reference; streams are copied, referenced weakly, and not pickled."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe

TEXTS = ["hello world of words"] * 3


def byte_level(folder: Path) -> Any:
    return fastbpe.train(TEXTS, vocab_size=262, special_tokens=["<x>"])


def code_points(folder: Path) -> Any:
    return fastbpe.train(TEXTS, mode="codepoint", vocab_size=22)


def sequences(folder: Path) -> Any:
    return fastbpe.train([[1, 2, 1, 2]], mode="ids", base_size=3, vocab_size=4)


def loaded(make: Callable[[Path], Any], name: str) -> Callable[[Path], Any]:
    def load(folder: Path) -> Any:
        if not (folder / name).exists():
            make(folder).save(folder / name) if name.endswith(".fbpe") else make(folder).export(folder / name)
        return fastbpe.load(folder / name)

    return load


MAKERS = {
    "byte": byte_level,
    "byte fbpe": loaded(byte_level, "byte.fbpe"),
    "byte json": loaded(byte_level, "tokenizer.json"),
    "codepoint": code_points,
    "codepoint fbpe": loaded(code_points, "codepoint.fbpe"),
    "codepoint model": loaded(code_points, "codepoint.model"),
    "ids": sequences,
    "ids fbpe": loaded(sequences, "ids.fbpe"),
}


def use(tokenizer: Any) -> None:
    """Call what builds tables and keeps objects."""
    text: Any = [1, 2, 1] if isinstance(tokenizer, fastbpe.SequenceTokenizer) else "hello"
    tokenizer.decode(tokenizer.encode(text))
    pickle.loads(pickle.dumps(tokenizer))
    if isinstance(text, str):
        tokenizer.encode_with_offsets(text)
        tokenizer.explain(text)
        tokenizer.encoder().push(text)
        tokenizer.decoder().push(5)
        tokenizer.conversation().append(text)
        tokenizer.interval_counter(text)(0, 2)
        assert tokenizer.token_to_id("h") is not None


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.daily
@pytest.mark.parametrize("is_used", [False, True])
@pytest.mark.parametrize("kind", MAKERS)
def test_tokenizer_is_freed_without_the_collector(
    kind: str, is_used: bool, tmp_path: Path, no_collector: None
) -> None:
    MAKERS[kind](tmp_path)  # what the first of its kind imports and keeps
    tokenizer = MAKERS[kind](tmp_path)
    if is_used:
        use(tokenizer)
    reference = weakref.ref(tokenizer)
    del tokenizer
    assert reference() is None


STREAMS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "decoder": (lambda tokenizer: tokenizer.decoder(), "a StreamDecoder cannot be pickled: .* new decoder"),
    "encoder": (lambda tokenizer: tokenizer.encoder(), "a StreamEncoder cannot be pickled: .* new encoder"),
    "conversation": (
        lambda tokenizer: tokenizer.conversation(),
        "a Conversation cannot be pickled: .* new conversation",
    ),
}


@pytest.mark.parametrize("make", [byte_level, code_points])
@pytest.mark.parametrize("name", STREAMS)
def test_pickling_a_stream_says_what_to_pickle(name: str, make: Callable[[Path], Any], tmp_path: Path) -> None:
    call, message = STREAMS[name]
    with pytest.raises(TypeError, match=message):
        pickle.dumps(call(make(tmp_path)))


@pytest.mark.parametrize("name", STREAMS)
def test_stream_can_be_referenced_weakly(name: str, tmp_path: Path) -> None:
    stream = STREAMS[name][0](byte_level(tmp_path))
    reference = weakref.ref(stream)
    assert reference() is stream
    del stream
    assert reference() is None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("make", [byte_level, code_points])
def test_copy_of_a_stream_goes_on_by_itself(
    copied: Callable[[Any], Any], make: Callable[[Path], Any], tmp_path: Path
) -> None:
    tokenizer = make(tmp_path)
    one = tokenizer.encoder()
    ids = one.push("hel")
    other = copied(one)
    assert ids + one.push("lo") + one.finish() == tokenizer.encode("hello")
    assert ids + other.push("d") + other.finish() == tokenizer.encode("held")
    first = tokenizer.conversation()
    first.append("hel")
    second = copied(first)
    first.append("lo")
    second.append("d")
    assert (first.ids, second.ids) == (tokenizer.encode("hello"), tokenizer.encode("held"))

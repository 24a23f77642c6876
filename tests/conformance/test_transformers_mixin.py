"""Behaviours that transformers' own tests of tokenizers check: the same with stock and with accelerated ones."""

from __future__ import annotations

import json
import logging
import random
import tempfile
import warnings
from collections import Counter
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import transformers

import fastbpe.transformers as door
from helpers import transformers_chats, transformers_places
from helpers.sampling import SEED, n_rounds
from helpers.transformers_behaviours import BEHAVIOURS
from helpers.transformers_grid import difference, json_of

assert transformers_chats  # importing them lists their behaviours
assert transformers_places

#: Kinds of tokenizers: a local model, and the class that loads it.
KINDS = {
    "byte level": ("small_bytes", "PreTrainedTokenizerFast"),
    "byte level of a class": ("small_bytes", "GPT2Tokenizer"),
    "with bos and eos": ("small_bytes", "RobertaTokenizer"),
    "llama": ("small_llama", "PreTrainedTokenizerFast"),
    "llama of a class": ("small_llama", "LlamaTokenizer"),
    "whisper": ("whisper", "WhisperTokenizer"),
    "phi-3": ("phi3", "PreTrainedTokenizerFast"),
    "qwen2": ("qwen2", "Qwen2Tokenizer"),
    "llama 3": ("llama3", "PreTrainedTokenizerFast"),
    "mistral": ("mistral", "LlamaTokenizer"),
}
LOCAL = [kind for kind, (name, _) in KINDS.items() if name.startswith("small")]
#: Behaviours with large vocabularies: loading takes a second each time.
LARGE = [*product(BEHAVIOURS, (kind for kind in KINDS if kind not in LOCAL))]


class Messages(logging.Handler):
    """Messages that transformers logs."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append((record.levelname, record.getMessage()))


@lru_cache
def folder_of(kind: str) -> tempfile.TemporaryDirectory[str]:
    """Write the files of a tokenizer as the hub has them."""
    name, class_name = KINDS[kind]
    text = json_of(name)  # first: it skips the test where data is missing
    made = tempfile.TemporaryDirectory()
    Path(made.name, "tokenizer.json").write_text(text, encoding="utf-8")
    vocabulary = json.loads(text)["model"]["vocab"]
    config: dict[str, Any] = {"tokenizer_class": class_name}
    if class_name == "PreTrainedTokenizerFast":
        names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
        config |= {role: token for role, token in names.items() if token in vocabulary}
    Path(made.name, "tokenizer_config.json").write_text(json.dumps(config))
    return made


def observe(name: str, kind: str, way: str) -> tuple[Any, list[tuple[str, str]], Counter[str]]:
    """Run a behaviour.

    Returns:
        What it saw, or its exception; transformers' messages; numbers of calls that were native and handed over.
    """
    loaded: list[Any] = []

    def load(**options: Any) -> Any:
        made = transformers.AutoTokenizer.from_pretrained(folder_of(kind).name, **options)
        loaded.append(door.accelerate(made) if way == "accelerate" else made)
        return loaded[-1]

    folder_of(kind)
    messages, logger = Messages(), logging.getLogger("transformers")
    logger.addHandler(messages)
    if way == "patch":
        door.patch()
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                seen = BEHAVIOURS[name](load, Path(folder))
            except Exception as error:
                seen = error
            seen = _without(seen, folder)
        told = [door.status(tokenizer) for tokenizer in loaded]
    finally:
        door.unpatch()
        logger.removeHandler(messages)
    assert all(one["accelerated"] != (way == "stock") for one in told)
    calls: Counter[str] = Counter()
    for one in told:
        calls["native"] += sum(one["native"].values())
        calls["handed over"] += sum(sum(reasons.values()) for reasons in one["handed_over"].values())
    return seen, messages.texts, calls


def _without(seen: Any, folder: str) -> Any:
    """Leave the name of a folder out of the texts that a behaviour saw."""
    if isinstance(seen, str):
        return seen.replace(folder, "FOLDER")
    if type(seen) in (list, tuple):
        return type(seen)(_without(one, folder) for one in seen)
    return seen


@lru_cache(maxsize=4)
def stock_of(name: str, kind: str) -> Any:
    return observe(name, kind, "stock")


@pytest.mark.parametrize("kind", LOCAL)
@pytest.mark.parametrize("name", BEHAVIOURS)
@pytest.mark.parametrize("way", ["accelerate", "patch"])
@pytest.mark.sample(50)
def test_behaviour_equals_stock(name: str, kind: str, way: str) -> None:
    expected, messages, _ = stock_of(name, kind)
    assert not isinstance(expected, Exception), "a check inside the behaviour fails with stock"
    seen, told, _ = observe(name, kind, way)
    assert not difference(seen, expected, name)
    assert told == messages


@pytest.mark.daily
@pytest.mark.parametrize(("name", "kind"), random.Random(SEED).sample(LARGE, n_rounds(3, len(LARGE))))
def test_behaviour_of_a_large_model_equals_stock(name: str, kind: str) -> None:
    expected, messages, _ = stock_of(name, kind)
    seen, told, _ = observe(name, kind, "patch")
    assert not difference(seen, expected, name)
    if isinstance(expected, Exception):
        assert str(seen) == str(expected)
    assert told == messages


@pytest.mark.daily
@pytest.mark.parametrize("kind", LOCAL)
@pytest.mark.sample(2)
def test_nearly_all_calls_of_the_behaviours_are_native(kind: str) -> None:
    calls: Counter[str] = Counter()
    for name in BEHAVIOURS:
        calls += observe(name, kind, "accelerate")[2]
    assert calls["native"] > 9 * calls["handed over"]

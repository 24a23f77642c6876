"""Folders of BertGeneration: fastbpe.load gives the ids and texts of AutoTokenizer.

test_table_folders.py has the models that a table can describe; here are the others.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

import sentencepiece

from helpers.codepoint_models import trained
from helpers.python_folders import check_random_folders

WORDS = [
    "The cat sat (on the mat), and the dog's 12,345 bones fit in the gardens of Zürich.",
    "a cat can count to 12 and 中国 人 is rare ß < >",
    "lower lowest newer wider",
]
MODELS: dict[str, dict[str, Any]] = {
    "symbols": {"user_defined_symbols": ["<::::>", "<ctl>", "é", "  "]},
    "published": {
        "user_defined_symbols": ["</s>", "<s>", "<::::>"],
        "bos_id": -1,
        "eos_id": -1,
        "pad_id": 0,
        "unk_id": 4,
    },
    "bytes": {"byte_fallback": True, "vocab_size": 340},
    "suffix": {"treat_whitespace_as_suffix": True},
}
PARTS = ["中", "ßß", "人人", "▁haus", "<::::>", "  ", "<0x0A>", "\u2028"]


@lru_cache
def model(name: str, kind: str) -> bytes:
    options = {"vocab_size": 90, "model_type": kind, "hard_vocab_limit": False, **MODELS[name]}
    return trained(WORDS * 9, **options)


def draw(rng: random.Random) -> dict[str, Any]:
    """Draw the files of a folder."""
    source = model(rng.choice([*MODELS]), rng.choice(["unigram", "bpe"]))
    processor = sentencepiece.SentencePieceProcessor(model_proto=source)
    n = processor.GetPieceSize()
    config: dict[str, Any] = {"tokenizer_class": "BertGenerationTokenizer"}
    files: dict[str, Any] = {"spiece.model": source, "tokenizer_config.json": config}
    options = {"pad_token": "</s>", "bos_token": None, "sep_token": "<::::>", "extra_special_tokens": ["<ctl>"]}
    config |= {key: value for key, value in options.items() if rng.random() < 0.2}
    if rng.random() < 0.3:
        config["added_tokens_decoder"] = {
            str(n): {"content": "<new>", **{flag: rng.random() < 0.5 for flag in ("special", "lstrip", "rstrip")}}
        }
    elif rng.random() < 0.3:
        files["added_tokens.json"] = {"<new>": n}
    return files


def test_random_folders_have_the_ids_of_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check_random_folders(draw, PARTS, refused=["is not special, but its piece"])

"""Folders of SigLIP: fastbpe.load gives the ids and texts of AutoTokenizer."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

import sentencepiece
from transformers.models.siglip import tokenization_siglip

from helpers.codepoint_models import trained
from helpers.python_folders import check_random_folders

WORDS = [
    "The cat sat (on the mat), and the dog's 12,345 bones fit in the gardens of zürich.",
    "a cat can count to 12 and 中国 人 is rare ß <unk> h>e u n k > <",
    "lower lowest newer wider σοφος σοφός ΣΟΦΟΣ",
]
MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "published": {"unk_id": 2, "eos_id": 1, "bos_id": -1, "pad_id": 0},
    "folds": {"normalization_rule_name": "nmt_nfkc_cf"},
    "identity": {"normalization_rule_name": "identity"},
    "no prefix": {"add_dummy_prefix": False},
    "across": {"split_by_whitespace": False, "vocab_size": 200},
    "short": {"vocab_size": 60, "max_sentencepiece_length": 3},
    "controls": {"control_symbols": ["<ctl>"], "bos_id": -1},
    "no signs": {"vocab_size": 60},  # whose unknown token consists of unknown characters
    "suffix": {"treat_whitespace_as_suffix": False, "split_by_unicode_script": False},
}
PARTS = ["a photo", "of", "CAT", "!", "'s", ".", "-", "new", "h>e", "Σ", "ΟΣ", "ς", "İ", "ẞ", "\u0345", "Ǆ", "Ω"]


@lru_cache
def model(name: str, kind: str) -> bytes:
    sentences = WORDS[:1] if name == "no signs" else WORDS
    return trained(sentences * 9, **{"model_type": kind, "vocab_size": 90, **MODELS[name]})


def draw(rng: random.Random) -> dict[str, Any]:
    """Draw the files of a folder."""
    source = model(rng.choice([*MODELS]), rng.choice(["unigram", "unigram", "bpe", "char"]))
    n = sentencepiece.SentencePieceProcessor(model_proto=source).GetPieceSize()
    config: dict[str, Any] = {"tokenizer_class": "SiglipTokenizer"}
    files: dict[str, Any] = {"spiece.model": source, "tokenizer_config.json": config}
    options = {
        "pad_token": "<pad>",
        "bos_token": "<x>",
        "additional_special_tokens": ["<x>"],
        "eos_token": "<eos>",
    }
    config |= {key: value for key, value in options.items() if rng.random() < 0.2}
    if rng.random() < 0.4:
        decoder = {n: "<new>", n + 1: "new"} if rng.random() < 0.5 else {n: "</s>", n + 1: "<new>"}
        decoder = {n: "<new>"} if rng.random() < 0.3 else decoder
        config["added_tokens_decoder"] = {
            str(i): {"content": content, **{flag: rng.random() < 0.5 for flag in ("lstrip", "rstrip", "special")}}
            for i, content in decoder.items()
        }
    elif rng.random() < 0.2:
        files["added_tokens.json"] = {"<new>": n}
    return files


@pytest.mark.filterwarnings("ignore:This sequence already has")
def test_random_folders_have_the_ids_of_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    # The class asks for protobuf, which it needs only without `legacy`.
    monkeypatch.setattr(tokenization_siglip, "requires_backends", lambda *_: None)
    check_random_folders(draw, PARTS)

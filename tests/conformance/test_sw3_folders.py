"""Folders of GPT-SW3: fastbpe.load gives the ids and texts of AutoTokenizer."""

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
    "Svenska är kul! Den katten (på mattan) hade 12,345 ben i Zürich.",
    "en katt kan räkna till 12 och 中国 人 är sällsynt ß",
    "låg lägre lägst nyare nyast\tvid\n",
]
MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "published": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "split_digits": True},
    "folds": {"normalization_rule_name": "nmt_nfkc_cf"},
    "no prefix": {"add_dummy_prefix": False},
    "no change": {
        "normalization_rule_name": "identity",
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
    },
    "symbols": {"user_defined_symbols": ["<|python|>", "  ", "é", "<new>"], "control_symbols": ["<ctl>"]},
    "roles": {"eos_id": 3, "eos_piece": "<|endoftext|>", "pad_id": 0, "pad_piece": "<pad>", "unk_id": 2},
    "suffix": {"treat_whitespace_as_suffix": True},
}
SPACES = "\u2002\u2003\u2005\u2008\u2009\u200a\u202f\u3000\ufffc\u2004\u1680\u2028"
GONE = "\0\x08\x0b\r\x1c\x1f\x7f\x84\x85\x9f\xa0\xad\u200b\u200c\ufeff"
MARKS = "\u0301\u0308\u0327\u0345\u05b0\u0f71\u09be\u1161\u11a8\u302a\U0001d165\u1b35\U00011930"
PARTS = [*SPACES, *GONE, *MARKS, *"aeouAEé中국각ガか한\u1100\u212b\u2126\u0958\u1b05\U00011935"]
PARTS += ["katt", "Svenska ", "\t", "<|endoftext|>", "<|python|>", "<|python\xad|>", "<y>", "<|", "|>"]
PARTS += ["e\u0301\u0327"]


@lru_cache
def model(name: str, kind: str) -> bytes:
    return trained(WORDS * 9, **{"model_type": kind, "vocab_size": 420, "byte_fallback": True, **MODELS[name]})


def draw(rng: random.Random) -> dict[str, Any]:
    """Draw the files of a folder."""
    source = model(rng.choice([*MODELS]), rng.choice(["bpe", "bpe", "unigram"]))
    processor = sentencepiece.SentencePieceProcessor(model_proto=source)
    n = processor.GetPieceSize()
    config: dict[str, Any] = {"tokenizer_class": "GPTSw3Tokenizer"}
    files: dict[str, Any] = {"spiece.model": source, "tokenizer_config.json": config}
    options = {
        "pad_token": rng.choice([None, "<unk>", "<x>"]),
        "bos_token": rng.choice([None, "<|endoftext|>"]),
        "unk_token": rng.choice([None, "<x>", "<|python|>"]),
        "mask_token": "<y>",
        "additional_special_tokens": rng.choice([["<y>"], ["<|python|>", "<0x41>"], ["<ctl>"]]),
        "do_lower_case": True,
    }
    config |= {key: value for key, value in options.items() if rng.random() < 0.2}
    if rng.random() < 0.3:
        names = ["<s>", "<|endoftext|>", "<pad>", "<new>", "katt"]
        places = {name: processor.PieceToId(name) for name in names}
        own = {name: i for name, i in places.items() if processor.IdToPiece(i) == name}
        new = [name for name in names if name not in own]
        ids = {**own, **{name: n + i for i, name in enumerate(new)}}
        config["added_tokens_decoder"] = {
            str(i): {"content": name, **{flag: rng.random() < 0.5 for flag in ("special", "lstrip", "rstrip")}}
            for name, i in ids.items()
        }
    elif rng.random() < 0.3:
        files["added_tokens.json"] = {"<new>": n}
    return files


def test_random_folders_have_the_ids_of_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    names = ["gpt-sw3-7b", "gpt-sw3-126m"]
    check_random_folders(draw, PARTS, refused=["is not special, but its piece"], names=names)

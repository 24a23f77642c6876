"""Folders with a vocab.txt of BERT's kind: fastbpe.load gives the ids and texts of AutoTokenizer."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

from transformers import AutoTokenizer

import fastbpe

TOKENS = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat ##s un ##able é e Cat cats 中 国 a b ##b . , x ##x E É <x> ' ##'"
TEXTS = [
    "the Cats unable é 中国 [MASK] <x>",
    "",
    "Éé cats. , <s> thecat uncats",
    "中x国 [CLS] a [SEP]",
    "the cat's e ' é.",
    "a\u0301b \x00 \ufffd x" * 3,
]
VALUES: dict[str, tuple[Any, ...]] = {
    "do_lower_case": (True, False),
    "strip_accents": (True, False, None),
    "tokenize_chinese_chars": (True, False),
    "mask_token": ("<x>", "<new>"),
    "unk_token": ("[UNK]", "x"),
    "clean_up_tokenization_spaces": (True, True, False, None),
    "pad_token": ("[PAD]", "<p>"),
    "additional_special_tokens": (["<s>"], ["cat"]),
}


def fill(folder: Path, rng: random.Random) -> None:
    """Write a vocabulary with its configuration."""
    tokens = TOKENS.split()
    if rng.random() < 0.2:
        tokens.remove("[MASK]")
    if rng.random() < 0.3:
        rng.shuffle(tokens)
    end = rng.choice(["\n", "\r\n"])
    (folder / "vocab.txt").write_bytes((end.join(tokens) + rng.choice(["", end])).encode())
    classes = ["BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "LayoutLMTokenizer"]
    config = {"tokenizer_class": rng.choice(classes)}
    config |= {name: rng.choice(values) for name, values in VALUES.items() if rng.random() < 0.4}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    if rng.random() < 0.2:
        added = {"<s>": len(tokens), "<y>": len(tokens) + 1}
        (folder / "added_tokens.json").write_text(json.dumps(added))


@pytest.mark.parametrize("seed", range(400))
def test_random_folders_have_the_ids_of_transformers(seed: int, tmp_path: Path) -> None:
    fill(tmp_path, random.Random(seed))
    stock = AutoTokenizer.from_pretrained(tmp_path)
    assert_equal(fastbpe.load(tmp_path), stock)


def assert_equal(loaded: fastbpe.Tokenizer, stock: Any) -> None:
    for text in TEXTS:
        ids = stock(text).input_ids
        assert loaded.encode(text, allowed_special="all", with_template=True) == ids
        assert loaded.decode(ids) == stock.decode(ids)
        assert loaded.decode(ids, skip_special_tokens=True) == stock.decode(ids, skip_special_tokens=True)
    assert loaded.encode_with_template("the", "cat") == stock("the", "cat").input_ids


def token(i: int, content: str, rng: random.Random) -> dict[str, Any]:
    flags = ("special", "normalized", "lstrip", "rstrip", "single_word")
    return {"id": i, "content": content, **{flag: rng.random() < 0.3 for flag in flags}}


def add_json(folder: Path, rng: random.Random) -> None:
    """Move the vocabulary into a tokenizer.json with steps that the class does not use."""
    tokens = (folder / "vocab.txt").read_text().split()
    (folder / "vocab.txt").unlink()
    lower = [name for name in tokens if name.lower() in (name, "[mask]", "[cls]") and name != "é"]
    chosen = rng.sample(lower, 6)  # two tokens that are equal without case and accents would be a tie
    added = [token(i, name, rng) for i, name in enumerate(tokens) if name in chosen]
    if rng.random() < 0.5:
        added.append(token(len(tokens), "<z>", rng))
    padding = {"strategy": "BatchLongest", "direction": "Right", "pad_id": 1, "pad_type_id": 0, "pad_token": "a"}
    described = {
        "version": "1.0",
        "truncation": None,
        "padding": padding if rng.random() < 0.2 else None,
        "added_tokens": added,
        "normalizer": rng.choice([None, {"type": "Lowercase"}, {"type": "NFC"}]),
        "pre_tokenizer": rng.choice([{"type": "Whitespace"}, {"type": "BertPreTokenizer"}]),
        "post_processor": None,
        "decoder": rng.choice([None, {"type": "WordPiece", "prefix": "@@", "cleanup": False}]),
        "model": {
            "type": "WordPiece",
            "unk_token": rng.choice(["[UNK]", "a"]),
            "continuing_subword_prefix": rng.choice(["##", "@@"]),
            "max_input_chars_per_word": rng.choice([2, 100]),
            "vocab": {name: i for i, name in enumerate(tokens)},
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(described))


@pytest.mark.filterwarnings("ignore::fastbpe.errors.FormatWarning")  # padding, and ids of added tokens
@pytest.mark.parametrize("seed", range(400))
def test_class_takes_only_the_vocabulary_from_a_tokenizer_json(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    fill(tmp_path, rng)
    add_json(tmp_path, rng)
    stock = AutoTokenizer.from_pretrained(tmp_path)
    assert_equal(fastbpe.load(tmp_path), stock)

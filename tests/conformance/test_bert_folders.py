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

TOKENS = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat ##s un ##able é e Cat cats 中 国 a b ##b . , x ##x E É <x>"
TEXTS = [
    "the Cats unable é 中国 [MASK] <x>",
    "",
    "Éé cats. , <s> thecat uncats",
    "中x国 [CLS] a [SEP]",
    "a\u0301b \x00 \ufffd x" * 3,
]
VALUES: dict[str, tuple[Any, ...]] = {
    "do_lower_case": (True, False),
    "strip_accents": (True, False, None),
    "tokenize_chinese_chars": (True, False),
    "mask_token": ("<x>", "<new>"),
    "unk_token": ("[UNK]", "x"),
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


@pytest.mark.parametrize("seed", range(40))
def test_random_folders_have_the_ids_of_transformers(seed: int, tmp_path: Path) -> None:
    fill(tmp_path, random.Random(seed))
    stock = AutoTokenizer.from_pretrained(tmp_path)
    loaded = fastbpe.load(tmp_path)
    for text in TEXTS:
        ids = stock(text).input_ids
        assert loaded.encode(text, allowed_special="all", with_template=True) == ids
        assert loaded.decode(ids) == stock.decode(ids)
    assert loaded.encode_with_template("the", "cat") == stock("the", "cat").input_ids

"""Folders of ByT5, Dia and Perceiver: fastbpe.load gives the ids and texts of AutoTokenizer."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

pytest.importorskip("transformers")

from fastbpe.formats import byte_folders
from helpers.python_folders import check_random_folders

PARTS = [
    "[S1]",
    "[S2]",
    "\x01\x02",
    "<extra_id_0>",
    "<extra_id_12>",
    "<extra_id_1",
    "[CLS]",
    "[EOS]",
    "end",
    "\ud7ff",
]


def definition(rng: random.Random, content: str) -> dict[str, Any]:
    flags = {flag: rng.random() < 0.5 for flag in ("lstrip", "rstrip", "normalized", "special")}
    return {"content": content, **flags}


def draw(rng: random.Random, name: str) -> dict[str, Any]:
    """Draw the files of a folder."""
    config: dict[str, Any] = {"tokenizer_class": f"{name}Tokenizer"}
    files: dict[str, Any] = {"tokenizer_config.json": config}
    n = rng.choice([125, 125, 3, 0]) if name == "ByT5" else 0
    if name == "ByT5" and (n != 125 or rng.random() < 0.5):
        config["extra_ids"] = n
    n_first = len(byte_folders.CLASSES[name].first) if name != "Dia" else rng.choice([0, 0, 1, 2, 3])
    if name == "Dia" and n_first:
        config["offset"] = n_first
    names = [f"<extra_id_{i}>" for i in range(n)]
    if rng.random() < 0.4:
        place = rng.choice([config, files.setdefault("special_tokens_map.json", {})])
        place["additional_special_tokens"] = [*names, *(["<x>"] if rng.random() < 0.5 else [])]
    elif rng.random() < 0.2:
        config["extra_special_tokens"] = ["<x>", *names[:2]]
    for role, texts in {
        "eos": ["</s>", "<eos>", "end"],
        "pad": ["<pad>", "[PAD]"],
        "bos": ["<s>"],
        "cls": ["<c>"],
    }.items():
        if rng.random() < 0.3:
            text = rng.choice(texts)
            config[f"{role}_token"] = rng.choice([text, {"__type": "AddedToken", **definition(rng, text)}])
    if rng.random() < 0.3:
        eos = config.get("eos_token", "</s>" if name == "ByT5" else "[EOS]")
        at = {"ByT5": 1, "Perceiver": 2, "Dia": 100}[name]
        decoder = {
            at: eos if isinstance(eos, str) else eos["content"],
            n_first + 256 + rng.choice([0, 1]): "<new>",
        }
        config["added_tokens_decoder"] = {str(i): definition(rng, content) for i, content in decoder.items()}
    elif rng.random() < 0.2:
        files["added_tokens.json"] = {"<new>": n_first + 256}
    return files


@pytest.mark.filterwarnings("ignore:This sequence already has")
@pytest.mark.parametrize("name", [*byte_folders.CLASSES, "Dia"])
def test_random_folders_have_the_ids_of_transformers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused = ["has the flag"] if name == "Dia" else []
    check_random_folders(partial(draw, name=name), PARTS, name=name, refused=refused)

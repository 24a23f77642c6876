"""Folders of models at random: which files there are, which tokens each names, and with which flags.

AutoTokenizer of transformers loads each kind by itself, or by the class that tokenizer_config.json names.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from helpers import tokenizer_json
from helpers.codepoint_models import trained

#: Tokens that the files name: new ones, added ones of the tokenizer.json, ordinary ones of every vocabulary.
NAMES = (
    "<s>",
    "</s>",
    "<t>",
    "<unk>",
    "<think>",
    "<|x|>",
    "<a b>",
    "<é>",
    "[Y]",
    "new",
    "ab",
    "abc",
    "b",
    "<|endoftext|>",
)
ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
CLASSES = (
    "GPT2Tokenizer",
    "CodeGenTokenizer",
    "GPTNeoXTokenizer",
    "Qwen2TokenizerFast",
    "RobertaTokenizerFast",
    "LukeTokenizer",
    "BlenderbotTokenizer",
    "CohereTokenizer",
)
OWN = [
    tokenizer_json.added(262, "<s>", special=True),
    tokenizer_json.added(263, "<t>"),
    tokenizer_json.added(264, "<|x|>", special=True, lstrip=True),
]
PIECES = (
    "<think>",
    "<s>",
    "<t>",
    "<|x|>",
    "<a b>",
    "<é>",
    "[Y]",
    "new",
    "ab",
    "abc",
    "</s>",
    "<unk>",
    " ",
    "  ",
    "a",
    "b",
)


def two_files() -> dict[str, bytes]:
    model = tokenizer_json.small()["model"]
    return {
        "vocab.json": json.dumps(model["vocab"]).encode(),
        "merges.txt": ("#version: 0.2\n" + "\n".join(model["merges"]) + "\n").encode(),
    }


def ranks() -> bytes:
    tokens = [*(bytes([i]) for i in range(256)), b"ab", b"abc", b" a"]
    return b"".join(base64.b64encode(token) + b" %d\n" % i for i, token in enumerate(tokens))


@lru_cache
def pieces(*, normalizes: bool = False) -> bytes:
    return trained(
        ["a b ab abc"] * 9,
        vocab_size=300,
        byte_fallback=True,
        normalization_rule_name="nmt_nfkc" if normalizes else "identity",
        remove_extra_whitespaces=normalizes,
        control_symbols=["[P]", "[Q]"],
    )


@lru_cache
def llama_json() -> bytes:
    names = [
        "<unk>",
        "<s>",
        "</s>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        "▁",
        "a",
        "b",
        "c",
        "ab",
        "▁a",
        "▁ab",
    ]
    names += ["abc", "▁b"]
    merges = ["a b", "▁ a", "▁a b", "▁ ab", "ab c", "▁ b"]
    return tokenizer_json.dumped(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [tokenizer_json.added(i, names[i], special=True) for i in range(3)],
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    {"type": "Prepend", "prepend": "▁"},
                    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
                ],
            },
            "pre_tokenizer": None,
            "post_processor": None,
            "decoder": {
                "type": "Sequence",
                "decoders": [
                    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                    {"type": "ByteFallback"},
                    {"type": "Fuse"},
                    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
                ],
            },
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": "<unk>",
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": True,
                "byte_fallback": True,
                "ignore_merges": False,
                "vocab": {name: i for i, name in enumerate(names)},
                "merges": merges,
            },
        }
    )


#: Kind → (its files, classes of transformers that read them; "": any).
KINDS: Mapping[str, tuple[Callable[[], dict[str, bytes]], tuple[str, ...]]] = {
    "tokenizer.json": (
        lambda: {"tokenizer.json": tokenizer_json.dumped(tokenizer_json.small(OWN))},
        ("", *CLASSES),
    ),
    "llama tokenizer.json": (lambda: {"tokenizer.json": llama_json()}, ("",)),
    "two files": (two_files, CLASSES),
    "ranks": (lambda: {"tokenizer.model": ranks()}, ("",)),
    "tiktoken.model": (lambda: {"tiktoken.model": ranks()}, ("",)),
    "sentencepiece, normalized": (lambda: {"tokenizer.model": pieces(normalizes=True)}, ("",)),
    "sentencepiece": (lambda: {"tokenizer.model": pieces()}, ("",)),
}


def draw(rng: random.Random, kind: str) -> dict[str, Any]:
    """Draw the files of a folder: name → bytes, or a JSON value."""
    make, classes = KINDS[kind]
    files: dict[str, Any] = dict(make())
    name = rng.choice(classes)
    # One object for each token: of two definitions, tokenizers takes some flags of the first.
    objects = rng.sample(NAMES, 5)
    texts = [name for name in NAMES if name not in objects]
    config: dict[str, Any] = {"tokenizer_class": name} if name else {}
    if rng.random() < 0.8:
        config |= _named(rng, objects, texts, typed=True)
    if rng.random() < 0.5:
        config["added_tokens_decoder"] = _decoder(rng, _ids(kind))
    if kind == "two files" and rng.random() < 0.2:
        config["add_prefix_space"] = True
    if config or rng.random() < 0.5:
        files["tokenizer_config.json"] = config
    if "tokenizer.json" in files and rng.random() < 0.2:
        padding = {"strategy": "BatchLongest", "direction": "Right", "pad_id": 0, "pad_type_id": 0}
        made = {**json.loads(files["tokenizer.json"]), "padding": {**padding, "pad_token": rng.choice(texts)}}
        files["tokenizer.json"] = tokenizer_json.dumped(made)
    if rng.random() < 0.4:
        files["special_tokens_map.json"] = _named(rng, objects, texts, typed=False)
    if rng.random() < 0.3:
        names = rng.sample(NAMES, rng.randrange(4))
        files["added_tokens.json"] = dict(zip(names, rng.sample(range(271, 290), len(names)), strict=True))
    return files


def write(files: Mapping[str, Any], folder: Path) -> None:
    for name, value in files.items():
        data = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
        (folder / name).write_bytes(data)


def text(rng: random.Random) -> str:
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(9)))


def _ids(kind: str) -> list[int]:
    """List ids for added tokens: next to the vocabulary's, and of sentencepiece's control symbols, [P] and [Q]."""
    if kind.startswith("sentencepiece"):
        return [3, 4, *range(271, 279)]
    return [*range(259 if kind in ("ranks", "tiktoken.model") else 262, 272)]


def _named(rng: random.Random, objects: list[str], texts: list[str], *, typed: bool) -> dict[str, Any]:
    token = partial(_token, rng, typed, objects, texts)
    found: dict[str, Any] = {f"{role}_token": token() for role in ROLES if rng.random() < 0.25}
    if rng.random() < 0.15:
        found[f"{rng.choice(ROLES)}_token"] = None
    if rng.random() < 0.25:
        found["additional_special_tokens"] = rng.choice([None, [token() for _ in range(rng.randrange(3))]])
    if rng.random() < 0.25:
        extra: Any = [token() for _ in range(rng.randrange(3))]
        if rng.random() < 0.4:
            extra = rng.choice([None, {f"{number}_token": token for number, token in enumerate(extra)}])
        found["extra_special_tokens"] = extra
    if rng.random() < 0.2:
        found["image_token"] = rng.choice(texts)
    return found


def _token(rng: random.Random, typed: bool, objects: list[str], texts: list[str]) -> Any:
    """A token as text, or as an object of `objects`; few are objects of a form that transformers refuses there."""
    if not objects or rng.random() < 0.6:
        return rng.choice(texts)
    flags = {flag: rng.random() < 0.3 for flag in FLAGS if rng.random() < 0.7}
    content = objects.pop()
    return {"content": content, **flags, **({"__type": "AddedToken"} if typed != (rng.random() < 0.04) else {})}


def _decoder(rng: random.Random, among: list[int]) -> dict[str, Any]:
    ids = rng.sample(among, rng.randrange(5))
    names = rng.sample(NAMES, len(ids))
    return {
        str(i): {"content": name, **{flag: rng.random() < 0.3 for flag in FLAGS if rng.random() < 0.7}}
        for i, name in zip(ids, names, strict=True)
    }


def check_refused_arguments(folder: Path) -> None:
    """Check that `load` refuses the arguments that the files or the class of a folder decide."""
    with pytest.raises(fastbpe.FormatError, match="contains its own split pattern"):
        fastbpe.load(folder, pattern="gpt2")
    with pytest.raises(fastbpe.FormatError, match="class in transformers set the special tokens"):
        fastbpe.load(folder, special_tokens={"<x>": 9})

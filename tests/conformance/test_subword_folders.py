"""Folders of BERTweet, Blenderbot Small, CTRL and PhoBERT: the ids and texts are those of AutoTokenizer."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

pytest.importorskip("transformers")

from fastbpe.formats import subword_folders
from helpers.python_folders import check_random_folders

WORDS = ["cat\n", "x\n", "ασ", "αβσ", "中国人", "ab.c", "ab'", "c'ab", "@@", "a@@", "@@@", "@@b", "__newln__"]
WORDS += ["the", "cat", "sat", "the", "cats", "low", "lower", "lowest", "__start__"]
PARTS = ["@@", "@@ ", "a@@", "a@@ b", "@", "__", "__start__", "__END__", "__newln__", "</w>", "a</w>", "CAT"]
PARTS += ["ΑΒΣ", "ΑΣ.Α", "Σ", "İ", "ασ", "don't", "'", "'\n", ".\n", "cat\n", "!?", "(a, b)", "aaaaaaa", "abab"]
PARTS += ["\x1c\n", "a\x1f", "\r", "\u2028", "Lower", "lowerlowest" * 9, "the cats sat lower", "中国人", "<|x|>"]


def learn(rng: random.Random) -> tuple[list[str], list[str]]:
    """Merge random pairs of words; return most of the tokens that occur, and the merges."""
    words = [*WORDS, *("".join(rng.choices("ab@'.\n中", k=rng.randint(1, 6))) for _ in range(9))]
    split = [[*word[:-1], f"{word[-1]}</w>"] for word in words]
    symbols = dict.fromkeys(symbol for word in split for symbol in word)
    merges: dict[str, None] = {}
    for _ in range(rng.randint(0, 90)):
        word = rng.choice(split)
        at = rng.randrange(len(word))
        pair = word[at : at + 2]
        if len(pair) == 2:
            merges[" ".join(pair)] = symbols["".join(pair)] = None
            split = [merged(word, pair) for word in split]
    listed = [*merges]
    if rng.random() < 0.2:
        rng.shuffle(listed)
    if rng.random() < 0.1:
        listed += [*rng.choices(listed or ["a b"], k=5), "a", "a b c", "x y z 5", "a</w> b"]
    tokens = [symbol[:-4] if symbol.endswith("</w>") else f"{symbol}@@" for symbol in symbols]
    return [*(token for token in tokens if rng.random() < 0.9), *rng.choices(PARTS, k=3)], listed


def merged(word: list[str], pair: list[str]) -> list[str]:
    made: list[str] = []
    while word:
        n = 2 if word[:2] == pair else 1
        made.append("".join(word[:n]))
        word = word[n:]
    return made


def draw(rng: random.Random, name: str) -> dict[str, Any]:
    """Draw the files of a folder."""
    tokens, merges = learn(rng)
    options = {f"{role}_token": "<|x|>" for role in ("bos", "pad", "unk")}
    options |= {"mask_token": "cat", "sep_token": "cat", "additional_special_tokens": ["<x>", "at"]}
    config: dict[str, Any] = {key: value for key, value in options.items() if rng.random() < 0.1}
    kind, end = subword_folders.CLASSES[name], rng.choice(["\n", "\n", "\r\n", "\r"])
    files: dict[str, Any] = {}
    roles = {role: config.get(f"{role}_token", token) for role, token in kind.roles.items()}
    if kind.files[0] == "vocab.txt":
        known = {roles[role] for role in ("bos", "pad", "eos", "unk")} | {""}
        tokens = [token for token in dict.fromkeys(map(str.strip, tokens)) if token not in known]
        tokens = [token for token in tokens if {"\n", "\r"}.isdisjoint(token)]
        lines = [f"{token} {rng.randint(1, 99)}" for token in tokens]
        files["vocab.txt"] = (end.join(lines) + rng.choice(["", end])).encode()
        merges = [f"{pair} {rng.randint(1, 99)}" if rng.random() < 0.99 else pair for pair in merges]
        n_known = 4 + len(tokens)
    else:
        tokens += [token for role, token in roles.items() if role == "unk" or rng.random() < 0.7]
        tokens = [*dict.fromkeys(tokens)]
        rng.shuffle(tokens)
        files["vocab.json"] = {token: i for i, token in enumerate(tokens)}
        merges = ["#version: 0.2", *merges]
        n_known = len(tokens)
    files[kind.files[1]] = (end.join(merges) + rng.choice(["", end, end])).encode()
    if rng.random() < 0.15:
        strips = ("lstrip", "rstrip") if "vocab.txt" in files else ()
        flags = {flag: rng.random() < 0.5 for flag in ("special", *strips)}
        config["added_tokens_decoder"] = {str(n_known): {"content": "<new>", **flags}}
    elif rng.random() < 0.1:
        files["added_tokens.json"] = {"<new>": n_known}
    return {**files, "tokenizer_config.json": {"tokenizer_class": f"{name}Tokenizer", **config}}


@pytest.mark.parametrize("name", subword_folders.CLASSES)
def test_random_folders_have_the_ids_of_transformers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check_random_folders(partial(draw, name=name), PARTS, name=name, refused=["two are the same"])

"""Tokenizers of every kind, and bits of text, for tests of streams, conversations and interval counts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import fastbpe
from fastbpe import PATTERNS, AddedToken, Tokenizer
from fastbpe.splitting.named import NAMED
from helpers.tokenizer_json import BYTE_LEVEL, GPT2, added, dumped, sequence, small, split

BITS = [
    "ab",
    "Ab",
    " ",
    "  ",
    "\n",
    "1",
    "23",
    "'s",
    "é",
    "e\u0301",
    "漢。",
    "<e>",
    "👍",
    "a b",
    "\ud83d",
    "▁",
    "-",
]
TEXT = "ab ab abc Ab's 123 é 漢字。 ab\n\nab  ab"
#: Parts of a tokenizer.json, by name: added tokens with each flag, normalizers, pre-tokenizers in several steps.
FILES: dict[str, dict[str, Any]] = {
    "NFC": {"normalizer": {"type": "NFC"}},
    "NFKC lower": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}},
    "prefix space": {"pre_tokenizer": {**GPT2, "add_prefix_space": True}},
    "NFC, prefix space": {"normalizer": {"type": "NFC"}, "pre_tokenizer": {**GPT2, "add_prefix_space": True}},
    "steps of a file": {
        "pre_tokenizer": sequence({"type": "Digits", "individual_digits": True}, split(r"\s?\w+|\W"), BYTE_LEVEL)
    },
    "steps, then gpt2": {
        "pre_tokenizer": sequence({"type": "Digits", "individual_digits": False}, GPT2),
    },
    "added with a cut inside": {"added_tokens": [added(263, "b a"), added(45, "-"), added(264, "23")]},
    "added": {"added_tokens": [added(45, "-"), added(263, "23"), added(264, "<e", lstrip=True)]},
    "added with flags": {
        "added_tokens": [
            added(45, "-", lstrip=True, rstrip=True),
            added(263, "Ab", single_word=True),
            added(264, "漢。", normalized=True),
        ],
        "normalizer": {"type": "NFD"},
    },
}
#: Patterns with a scanner, patterns for the engine, and the other names that `made` knows.
NAMES = [
    *NAMED,
    "kimi",
    "deepseek-llm",
    r"\w+ ?|\W",
    "none",
    "steps",
    "with_tokens",
    *FILES,
    "codepoint",
    "codepoint trimming",
    "codepoint unknown",
]


@lru_cache
def made(name: str) -> Tokenizer:
    """Make the tokenizer of a name in NAMES."""
    if name.startswith("codepoint"):
        return fastbpe.train(
            [TEXT] * 9 if name != "codepoint unknown" else ["ab ab abc 23"] * 9,
            mode="codepoint",
            vocab_size=400,
            hard_vocab_limit=False,
            byte_fallback=name == "codepoint",
            remove_extra_whitespaces=name == "codepoint trimming",
            control_symbols=["<e>"],
            progress=False,
        )
    if name in FILES:
        parts = dict(FILES[name])
        tokens = [added(262, "<e>", special=True), *parts.pop("added_tokens", [])]
        return fastbpe.load(dumped(small(tokens, **parts)))
    pattern = {"none": None, "steps": [r"\d", "gpt2"], "with_tokens": "gpt2"}.get(name, PATTERNS.get(name, name))
    tokenizer = fastbpe.train([TEXT] * 9, vocab_size=270, pattern=pattern, special_tokens=["<e>"], progress=False)
    if name == "with_tokens":
        return tokenizer.with_tokens(["-1", AddedToken("23-", lstrip=True), AddedToken("b\n", rstrip=True)])
    return tokenizer

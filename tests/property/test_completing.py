"""Completions equal brute force over the vocabulary, and tiktoken's for a text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import PATTERNS
from fastbpe.splitting.named import NAMED
from helpers.streaming import BITS, NAMES, made
from helpers.text_strategies import sound_texts


@pytest.mark.parametrize("name", NAMES)
def test_completions_are_the_tokens_with_the_prefix(name: str) -> None:
    tokenizer = made(name)
    apart = {*tokenizer.special_tokens.values(), *(token.id for token in tokenizer.added_tokens)}
    apart.discard(ord("-"))  # an ordinary token, too
    tokens = {i: token for i, token in enumerate(tokenizer.vocab) if token and i not in apart}
    if tokenizer.mode == "codepoint":
        tokens.pop(tokenizer.unk_token_id or 0, None)
    prefixes = {token[:n] for token in tokens.values() for n in range(len(token) + 1)} | {b"ab?", "é".encode()}
    for prefix in prefixes:
        expected = [i for i, token in tokens.items() if token.startswith(prefix)]
        found = tokenizer.completions(prefix)
        assert sorted(found) == expected, prefix
        assert [tokens[i] for i in found] == sorted(tokens[i] for i in found)
    assert tokenizer.completions("ab") == tokenizer.completions(b"ab")
    with pytest.raises(TypeError, match="bytes or str, not int"):
        tokenizer.completions(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in PATTERNS if name in NAMED and isinstance(PATTERNS[name], str)])
@settings(max_examples=60, deadline=None)
@given(text=st.one_of(sound_texts, st.lists(st.sampled_from(BITS[:-3]), max_size=6).map("".join)))
def test_byte_level_completions_equal_tiktoken(name: str, text: str) -> None:
    ours, peer = encoding(fastbpe.tiktoken, name), encoding(tiktoken, name)
    text = text.encode("utf-8", "replace").decode()
    stable, completions = ours.encode_with_unstable(text, allowed_special="all")
    expected = peer.encode_with_unstable(text, allowed_special="all")
    assert (stable, sorted(completions)) == (expected[0], sorted(expected[1]))


@lru_cache
def encoding(module: Any, name: str) -> Any:
    tokenizer = made(name)
    ranks = {token: i for i, token in enumerate(tokenizer.vocab) if i not in tokenizer.special_tokens.values()}
    return module.Encoding(
        name, pat_str=str(PATTERNS[name]), mergeable_ranks=ranks, special_tokens=tokenizer.special_tokens
    )

"""Completions equal brute force over the vocabulary, and tiktoken's; what follows a text is among them."""

from __future__ import annotations

import random
from functools import lru_cache

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import PATTERNS, Tokenizer
from fastbpe.splitting.named import NAMED
from helpers.streaming import BITS, NAMES, made
from helpers.text_strategies import sound_texts

CHARACTERS = [name for name in NAMES if name.startswith("codepoint")]
ALL = {"allowed_special": "all"}
#: Texts that no rule of sentencepiece changes.
plain = st.lists(st.sampled_from(["a", "b", "c", "ab", " ", "  ", "1", "23", "z"]), max_size=9).map("".join)


@lru_cache
def letters() -> Tokenizer:
    """A code-point model that changes nothing but the space before a text, with tokens of several spaces."""
    return fastbpe.train(
        ["ab ab abc  ab   abcab 123 bca  1 "] * 9,
        mode="codepoint",
        vocab_size=60,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        progress=False,
    )


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
    tokenizer, peer = made(name), peer_of(name)
    text = text.encode("utf-8", "replace").decode()
    stable, completions = tokenizer.encode_with_unstable(text, **ALL)
    expected = peer.encode_with_unstable(text, allowed_special="all")
    assert (stable, sorted(completions)) == (expected[0], sorted(expected[1]))


@lru_cache
def peer_of(name: str) -> tiktoken.Encoding:
    tokenizer = made(name)
    ranks = {token: i for i, token in enumerate(tokenizer.vocab) if i not in tokenizer.special_tokens.values()}
    return tiktoken.Encoding(
        name, pat_str=str(PATTERNS[name]), mergeable_ranks=ranks, special_tokens=tokenizer.special_tokens
    )


def brute(tokenizer: Tokenizer, text: str, stable: list[int]) -> set[tuple[int, ...]]:
    """Encode the text with all that a piece would add to it, up to the id that covers its end."""
    out = set()
    start = sum(len(tokenizer.decode_single_token_bytes(i)) for i in stable) - (1 if stable else 0)
    tail = text[start:] if stable else " " + text  # of letters, digits and spaces only
    ordinary = [token.decode() for i, token in enumerate(tokenizer.vocab) if i > 2 and token]
    for at in range(len(tail)):
        for token in ordinary:
            if token.startswith(tail[at:]):
                if at == 0:
                    out.add((tokenizer.token_to_id(token),))
                    continue
                ids, spans = tokenizer.encode_with_offsets(text + token[len(tail) - at :])
                n = next(n for n, (_, end) in enumerate(spans) if end >= len(text)) + 1
                assert ids[: len(stable)] == stable
                out.add(tuple(ids[len(stable) : n]))
    return out


@settings(max_examples=60, deadline=None)
@given(text=plain)
def test_code_point_completions_equal_brute_force(text: str) -> None:
    text = text.replace("z", "")  # unknown
    stable, completions = letters().encode_with_unstable(text)
    if not text:
        assert (stable, completions) == ([], [])
        return
    assert {tuple(each) for each in completions} == brute(letters(), text, stable)


@pytest.mark.parametrize("name", ["letters", *CHARACTERS])
@settings(max_examples=100, deadline=None)
@given(text=plain, more=plain)
def test_ids_of_a_longer_text_are_the_stable_ids_and_a_completion_first(name: str, text: str, more: str) -> None:
    tokenizer = letters() if name == "letters" else made(name)
    stable, completions = tokenizer.encode_with_unstable(text)
    longer = tokenizer.encode(text + more)
    if name == "codepoint trimming" and text.endswith(" "):
        return  # the space is not in the ids of `text`
    assert longer[: len(stable)] == stable or (not completions and stable[:-1] == longer[: len(stable) - 1])
    rest = longer[len(stable) :]
    assert not completions or any(rest[: len(each)] == each for each in completions), (text, more)


@pytest.mark.parametrize(
    "name", ["NFC", "added", "with_tokens", r"\w+ ?|\W", "none", "steps of a file", "prefix space"]
)
def test_bytes_of_completions_begin_with_the_rest_of_the_text(name: str) -> None:
    tokenizer = made(name)
    rng = random.Random(3)
    for _ in range(60):
        text = "".join(rng.choices([bit for bit in BITS if bit.isprintable()], k=rng.randrange(5)))
        ids = tokenizer.encode(text, **ALL)
        stable, completions = tokenizer.encode_with_unstable(text, **ALL)
        assert ids[: len(stable)] == stable
        rest = tokenizer.decode_bytes(ids[len(stable) :])
        assert bool(completions) == bool(rest)
        assert not completions or ids[len(stable) :] in completions
        for each in completions:
            assert tokenizer.decode_bytes(each).startswith(rest)
            assert len(tokenizer.decode_bytes(each[:-1])) < len(rest)

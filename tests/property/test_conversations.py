"""Conversations equal encoding the whole text after every edit."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import SpecialTokenError, Tokenizer
from helpers import tokenizer_json
from helpers.sampling import n_rounds
from helpers.streaming import BITS, NAMES, made
from helpers.text_strategies import texts

ALL = {"allowed_special": "all", "disallowed_special": ()}
pieces_of_text = st.one_of(st.lists(st.sampled_from(BITS), max_size=8).map("".join), texts)
edits = st.lists(
    st.tuples(
        st.sampled_from(["append", "replace", "right", "left"]),
        st.integers(0, 60),
        st.integers(0, 12),
        pieces_of_text,
    ),
    max_size=8,
)


def fits(tokenizer: Tokenizer, text: str, n: int) -> bool:
    return len(tokenizer.encode(text, **ALL)) <= n


@pytest.mark.daily
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=n_rounds(50, 50), deadline=None)
@given(changes=edits, size=st.sampled_from([1, 4, 256]))
def test_conversation_equals_the_whole_after_every_edit(
    name: str, changes: list[tuple[str, int, int, str]], size: int
) -> None:
    tokenizer = made(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastbpe.tokenizer.streams.conversation._SEGMENT_CHARACTERS", size)
        conversation = tokenizer.conversation(**ALL)
        text = ""
        ids: list[int] = []
        for kind, start, n, new in changes:
            if kind == "append":
                text += new
                replace_from, added = conversation.append(new)
                assert not added or replace_from >= len(ids) or ids[replace_from] != added[0]
                ids[replace_from:] = added
            elif kind == "replace":
                text = text[:start] + new + text[start + n :]
                begin, end, added = conversation.replace(start, start + n, new)
                ids[begin:end] = added
            else:
                begin, end, added = conversation.truncate_to(n, side=kind)
                ids[begin:end] = added
                text = text[: len(conversation)] if kind == "right" else text[len(text) - len(conversation) :]
            assert conversation.text == text
            assert len(conversation) == len(text)
            assert conversation.ids == ids == tokenizer.encode(text, **ALL)
            assert conversation.n_tokens == len(ids)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("side", ["right", "left"])
def test_truncation_keeps_what_one_more_character_would_exceed(
    name: str, side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastbpe.tokenizer.streams.conversation._SEGMENT_CHARACTERS", 3)
    tokenizer = made(name)
    rng = random.Random(5)
    for _ in range(30):
        text = "".join(rng.choices(BITS, k=rng.randrange(20)))
        conversation = tokenizer.conversation(**ALL)
        conversation.append(text)
        limit = rng.randrange(12)
        conversation.truncate_to(limit, side=side)
        kept = conversation.text
        assert fits(tokenizer, kept, limit)
        if kept == text:
            continue
        sizes = [size for bit in ["\ud83d", *BITS] for size in (1, len(bit)) if bit in text]
        if side == "right":
            longer = [text[: len(kept) + size] for size in sizes]
        else:
            longer = [text[len(text) - len(kept) - size :] for size in sizes]
        assert any(not fits(tokenizer, one, limit) for one in longer), (text, kept, limit)


def test_truncation_cuts_no_special_token_in_two() -> None:
    tokenizer = made("gpt2")
    conversation = tokenizer.conversation(**ALL)
    for side, kept in (("right", "ab<e>"), ("left", "<e>ab")):
        for limit in range(1, 4):
            conversation.replace(0, len(conversation), "ab<e>ab<e>ab")
            conversation.truncate_to(limit, side=side)
            assert conversation.text.count("<") == conversation.text.count(">") == limit // 2
        conversation.replace(0, len(conversation), "ab<e>ab<e>ab")
        conversation.truncate_to(2, side=side)
        assert conversation.text == kept


@pytest.mark.parametrize("name", ["gpt2", "codepoint", r"\w+ ?|\W"])
def test_errors_leave_the_conversation_as_it_was(name: str) -> None:
    tokenizer = made(name)
    conversation = tokenizer.conversation()
    conversation.append("ab ab<> e")
    before = conversation.ids
    with pytest.raises(SpecialTokenError):
        conversation.replace(6, 6, "e")
    with pytest.raises(ValueError, match="not UTF-8"):
        conversation.append(b"\xff")
    with pytest.raises(TypeError, match="UTF-8, not int"):
        conversation.append(5)  # type: ignore[arg-type]
    for arguments in ({"max_tokens": -1}, {"max_tokens": 1, "side": "middle"}):
        with pytest.raises(ValueError, match=r"-1|middle"):
            conversation.truncate_to(**arguments)
    assert conversation.ids == before == tokenizer.encode("ab ab<> e")


def test_truncating_skips_texts_that_end_within_a_token_and_have_no_ids() -> None:
    model = {"type": "BPE", "unk_token": "[UNK]", "vocab": {"a": 0}, "merges": []}
    token = tokenizer_json.added(1, "xyz", normalized=True)  # found in lower case, where "x" alone is unknown
    described = {"added_tokens": [token], "normalizer": {"type": "Lowercase"}, "model": model}
    tokenizer = fastbpe.load(json.dumps(described).encode())
    for side, kept in (("right", "a"), ("left", "")):
        conversation = tokenizer.conversation()
        conversation.append("aXYZ")
        conversation.truncate_to(1, side=side)  # type: ignore[arg-type]
        assert conversation.text == kept

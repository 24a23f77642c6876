"""Offsets of tokenizers that change texts: where nothing is changed they are tokenizers', else there are none."""

from __future__ import annotations

import pytest
import tokenizers
from tokenizers import AddedToken, normalizers, pre_tokenizers

import fastbpe
import fastbpe.formats.gpt2
from fastbpe import Tokenizer


def made(code_tokenizer: Tokenizer, *, normalizer: object, add_prefix_space: bool) -> tokenizers.Tokenizer:
    peer = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            {fastbpe.formats.gpt2.text_of(token): i for i, token in enumerate(code_tokenizer.vocab[:990])},
            [
                tuple(fastbpe.formats.gpt2.text_of(code_tokenizer.vocab[i]) for i in pair)
                for pair in code_tokenizer.merges[: 990 - 256]
            ],
        )
    )
    if normalizer is not None:
        peer.normalizer = normalizer
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    peer.add_special_tokens(["<|endoftext|>"])
    peer.add_tokens([AddedToken("NEW", normalized=False), AddedToken("STRIP", lstrip=True, rstrip=True)])
    return peer


@pytest.mark.parametrize("normalizer", [None, normalizers.NFC()])
@pytest.mark.parametrize("add_prefix_space", [False, True])
def test_unchanged_texts(code_tokenizer: Tokenizer, normalizer: object, add_prefix_space: bool) -> None:
    peer = made(code_tokenizer, normalizer=normalizer, add_prefix_space=add_prefix_space)
    tokenizer = fastbpe.load(peer.to_str().encode())
    for text in (
        "abc def",
        " abc",
        "def naïve(self): ⭢ 👍",
        "aNEWb STRIP c",
        "x<|endoftext|> y",
        "",
        "NEW",
        "\n\n  a",
    ):
        theirs = peer.encode(text)
        ids, places = tokenizer.encode_with_offsets(text, allowed_special="all")
        assert ids == tokenizer.encode(text, allowed_special="all") == theirs.ids
        assert places == theirs.offsets, text
        assert tokenizer.count(tokenizer.truncate(text, 3)) <= 3
        assert tokenizer.count(tokenizer.truncate(text, 3, side="left")) <= 3
        assert "".join(tokenizer.chunk(text, 5)) == text


def test_changed_texts(code_tokenizer: Tokenizer) -> None:
    peer = made(code_tokenizer, normalizer=normalizers.NFC(), add_prefix_space=False)
    tokenizer = fastbpe.load(peer.to_str().encode())
    text = "cafe\u0301 au lait, " * 40
    with pytest.raises(ValueError, match="changes the text behind byte 0"):
        tokenizer.encode_with_offsets(text)
    for n in (0, 5, 50, 500, 5000):
        for side in ("right", "left"):
            part = tokenizer.truncate(text, n, side=side)
            assert tokenizer.count(part) <= n
            assert part == text if tokenizer.count(text) <= n else tokenizer.count(part) >= n - 3
        assert tokenizer.fits(text, n) is (tokenizer.count(text) <= n)
    parts = list(tokenizer.chunk(text, 20, overlap=4))
    assert max(map(tokenizer.count, parts)) <= 20

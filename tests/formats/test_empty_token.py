"""The empty token of Whisper's vocabularies: no text gives it, and it decodes to nothing."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer
from helpers.shared_data import BYTES

RANKS = {**BYTES, b"ab": 256, b"": 257, b"abc": 258}
SPLIT = "\u00e9".encode()


def with_empty_token() -> Tokenizer:
    return Tokenizer.from_ranks(RANKS, pattern="gpt2", special_tokens={"<s>": 259})


def check(tokenizer: Tokenizer) -> None:
    assert tokenizer.token_to_id(b"") == tokenizer.token_to_id("") == 257
    assert tokenizer.id_to_token(257) == tokenizer.decode_tokens_bytes([257])[0] == b""
    assert tokenizer.decode([257]) == ""
    assert tokenizer.decode([97, 257, 258, 257]) == "aabc"
    assert tokenizer.decode([SPLIT[0], 257, SPLIT[1]]) == "\u00e9"  # the halves of a character meet
    assert tokenizer.decode([257, 258, 259], skip_special_tokens=True) == "abc"
    assert tokenizer.encode("") == []
    assert tokenizer.encode("abab abc") == [256, 256, 32, 258]
    assert tokenizer.vocab[257] == b""
    assert (tokenizer.n_vocab, tokenizer.vocab_size) == (260, 260)
    assert 257 not in tokenizer.special_tokens.values()


@pytest.mark.daily
def test_ranks_with_the_empty_token() -> None:
    check(with_empty_token())
    check(pickle.loads(pickle.dumps(with_empty_token())))
    assert with_empty_token().with_special_tokens(["<x>"]).special_tokens == {"<s>": 259, "<x>": 260}
    assert fastbpe.vocabulary_report(with_empty_token())


@pytest.mark.parametrize("format", ["native", "tiktoken", "huggingface", "gpt2"])
def test_empty_token_survives_export(format: str, tmp_path: Path) -> None:
    tokenizer = with_empty_token()
    path = tmp_path / {"native": "a.fbpe", "tiktoken": "a.tiktoken", "huggingface": "a.json", "gpt2": ""}[format]
    tokenizer.export(path, format=format)
    if format == "tiktoken":
        assert b"\n= 257\n" in path.read_bytes()
    options: dict[str, Any] = {"pattern": "gpt2"} if format in ("tiktoken", "gpt2") else {}
    if format == "tiktoken":
        options["special_tokens"] = {"<s>": 259}
    check(fastbpe.load(path, **options))


def test_two_files_with_the_empty_token_load_as_a_folder(tmp_path: Path) -> None:
    """As Whisper's vocab.json: transformers' next free id counts the empty token."""
    with_empty_token().export(tmp_path, format="gpt2")
    config = {"tokenizer_class": "GPT2Tokenizer", "extra_special_tokens": ["<s>", "<x>"]}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    loaded = fastbpe.load(tmp_path)
    assert loaded.special_tokens == {"<s>": 259, "<|endoftext|>": 260, "<x>": 261}
    assert loaded.token_to_id("") == 257


@pytest.mark.parametrize("base_special", ["keep", "end"])
@pytest.mark.parametrize("ranks", [RANKS, {**BYTES, b"": 256}], ids=["inside", "last"])
@pytest.mark.parametrize("special_tokens", [[], ["<s>"]])
def test_empty_token_keeps_its_id_when_training_adds_tokens(
    ranks: dict[bytes, int], special_tokens: list[str], base_special: Any, tmp_path: Path
) -> None:
    base = Tokenizer.from_ranks(ranks, pattern=None, special_tokens={n: len(ranks) for n in special_tokens})
    extended = fastbpe.train(["xyz xyz"], vocab_size="+2", base=base, base_special=base_special, progress=False)
    assert extended.vocab[: len(ranks)] == base.vocab[: len(ranks)]
    assert extended.token_to_id("") == base.token_to_id("") == ranks[b""]
    assert extended.vocab_size == extended.n_vocab == base.vocab_size + 2
    extended.export(tmp_path / "a.json", format="huggingface")  # there are no gaps between the ids


def test_empty_token_with_the_rank_of_another_is_refused() -> None:
    with pytest.raises(fastbpe.VocabularyError, match="the same rank 256"):
        Tokenizer.from_ranks({**BYTES, b"ab": 256, b"": 256}, pattern=None)
    with pytest.raises(
        fastbpe.VocabularyError, match="the empty token has the rank 256, which is negative or ano"
    ):
        fastbpe.tiktoken.Encoding(
            "x", pat_str=".+", mergeable_ranks={**BYTES, b"ab": 256, b"": 256}, special_tokens={}
        )


def test_empty_token_is_not_the_unknown_token_of_a_file_without_one(tmp_path: Path) -> None:
    model = {"type": "BPE", "unk_token": None, "vocab": {"a": 0, "": 1}, "merges": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model}))
    loaded = fastbpe.load(tmp_path / "tokenizer.json")
    assert (loaded.roles, loaded.unk_token_id, loaded.encode("ax")) == ({}, None, [0])


@pytest.mark.parametrize("merge", [["", "a"], ["a", ""], ["", ""]])
def test_merges_of_the_empty_token_of_a_file_change_no_ids(merge: list[str]) -> None:
    """tokenizers reads such merges, too."""
    model = {"type": "BPE", "vocab": {"": 0, "a": 1, "b": 2, "ab": 3}, "merges": [merge, ["a", "b"]]}
    assert fastbpe.load(json.dumps({"model": model}).encode()).encode("aab") == [1, 3]

"""Vocabularies of characters: the core merges as the slow twin, piece by piece and in long texts."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import pytest

import fastbpe
from fastbpe import VocabularyError
from helpers.character_merging import SlowMerger
from helpers.sampling import n_rounds, rounds

LETTERS = "abcé日🙂 ▁#"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def random_model(rng: random.Random) -> dict[str, Any]:
    """Make the model of a tokenizer.json: characters with prefix and suffix, and merges of what there is."""
    prefix, suffix = rng.choice(["", "", "##", "é"]), rng.choice(["", "", "</w>", "_"])
    vocab = [one for one in LETTERS if rng.random() < 0.8]
    vocab += [prefix + one for one in LETTERS if prefix and rng.random() < 0.8]
    vocab += [before + one + suffix for before in {"", prefix} for one in LETTERS if suffix and rng.random() < 0.8]
    vocab += rng.choice([[], BYTES, BYTES[:100] + BYTES[150:], BYTES[97:100]])
    vocab = [*dict.fromkeys([*vocab, "[UNK]"])]
    merges = []
    for _ in range(rng.choice([0, 3, 20, 80])):
        left, right = rng.choice(vocab), rng.choice(vocab)
        data = right.encode()
        if not left.encode().startswith(prefix.encode()) and len(data) < len(prefix.encode()):
            continue
        try:
            merged = left + data[len(prefix.encode()) :].decode()
        except UnicodeDecodeError:
            continue
        if len(data) >= len(prefix.encode()) and merged and [left, right] not in merges:
            merges.append([left, right])
            if merged not in vocab:
                vocab.append(merged)
    rng.shuffle(vocab)
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": rng.choice([None, "[UNK]", "[UNK]", "[NONE]"]),
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": suffix or None,
        "fuse_unk": rng.random() < 0.5,
        "byte_fallback": rng.random() < 0.5,
        "ignore_merges": rng.random() < 0.3,
        "vocab": {token: i for i, token in enumerate(vocab)},
        "merges": merges,
    }


def load(model: Mapping[str, Any]) -> Any:
    document = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "BPEDecoder", "suffix": "</w>"},
        "model": model,
    }
    return fastbpe.load(json.dumps(document).encode())


def random_text(rng: random.Random) -> str:
    n = rng.choice([0, 1, 2, 5, 15, 16, 40, 64, 70, 300])
    return "".join(rng.choices(LETTERS + "xyz\x00", k=n))


@pytest.mark.parametrize("seed", rounds(12, 600))
def test_pieces_merge_like_the_slow_twin(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        model = random_model(rng)
        twin, tokenizer = SlowMerger(model), load(model)
        for _ in range(15):
            text = random_text(rng)
            if not text:
                assert tokenizer.encode(text) == []
                continue
            try:
                wanted = twin.merge(text)
            except KeyError:
                with pytest.raises(VocabularyError, match="has no token, and the model's unk_token is not"):
                    tokenizer.encode(text)
                continue
            shown = f"{json.dumps(model)} on {text!r}"
            assert tokenizer.encode(text) == [one for one, _ in wanted], shown
            ids, spans = tokenizer.encode_with_offsets(text)
            assert ids == [one for one, _ in wanted], shown
            ends = [*accumulate(length for _, length in wanted)]
            if ends and ends[-1] <= len(text.encode()):
                places = [at for at, one in enumerate(text) for _ in one.encode()]
                starts = [0, *ends[:-1]]
                assert spans == [(places[a], places[b - 1] + 1) for a, b in zip(starts, ends, strict=True)], shown
            assert tokenizer.count(text) == len(ids)


@pytest.mark.parametrize("seed", rounds(4, 100))
def test_dropout_of_all_merges_gives_base_symbols(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        model = {**random_model(rng), "unk_token": "[UNK]"}
        twin, tokenizer = SlowMerger(model), load(model)
        for _ in range(10):
            text = random_text(rng)
            wanted = [one for one, _ in twin.symbols(text)]
            assert tokenizer.encode(text, dropout=1.0, seed=seed) == wanted


def test_tiny_dropout_changes_nothing() -> None:
    rng = random.Random(7)
    for _ in range(n_rounds(20, 500)):
        model = {**random_model(rng), "unk_token": "[UNK]", "ignore_merges": False}
        tokenizer = load(model)
        text = random_text(rng)
        assert tokenizer.encode(text, dropout=1e-300, seed=1) == tokenizer.encode(text)

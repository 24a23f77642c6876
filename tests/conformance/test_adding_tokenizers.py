"""Tokens added with flags give the ids that tokenizers gives after its own add_tokens and add_special_tokens."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import fastbpe
from fastbpe import AddedToken, SpecialTokenError, Tokenizer
from helpers.sampling import rounds
from helpers.shared_data import data_file

tokenizers = pytest.importorskip("tokenizers")
spm = pytest.importorskip("sentencepiece")

TEXT = ["low lower lowest new newer newest wide wider widest über <a> <b> 12 " * 3]
NAMES = ["<a>", "<a>b", "b<", "new", "<|x|>", " <y>", "er", "wer lo", "über", "12", "\u2581low", "lower", "a b"]
FRAGMENTS = [*NAMES, " ", "  ", "low", "er", "<", ">", "a", "_", "1", "\n", "é", "\u2581", "x"]


def exported(tokenizer: Tokenizer, folder: Any) -> Any:
    """Write a tokenizer.json and open it with tokenizers."""
    path = f"{folder}/{random.randrange(1 << 60)}.json"
    tokenizer.export(path, format="huggingface", verify=False)
    return tokenizers.Tokenizer.from_file(path), path


def base(kind: str, folder: Any) -> tuple[Tokenizer, Any]:
    """Make a tokenizer that comes from a tokenizer.json, and the same in tokenizers."""
    if kind.startswith("byte"):
        made = fastbpe.train(TEXT, vocab_size=280, special_tokens=["<s>"], pattern="gpt2", progress=False)
    else:
        made = fastbpe.train(
            TEXT,
            mode="codepoint",
            vocab_size=320,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            progress=False,
            hard_vocab_limit=False,
            add_dummy_prefix=kind == "prefixed",
        )
    _, path = exported(made, folder)
    if kind == "byte NFC":
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        document["normalizer"] = {"type": "Lowercase"}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
    return fastbpe.load(path), tokenizers.Tokenizer.from_file(path)


def theirs(token: AddedToken) -> Any:
    return tokenizers.AddedToken(
        token.content,
        single_word=token.single_word,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        normalized=token.normalized,
        special=token.special,
    )


@pytest.mark.parametrize("kind", ["byte", "byte NFC", "code points", "prefixed"])
def test_added_tokens_give_the_ids_of_tokenizers(kind: str, tmp_path: Any) -> None:
    rng = random.Random(f"{kind} 3")
    n_done = 0
    for _ in rounds(20, 200):
        mine, peer = base(kind, tmp_path)
        tokens = [
            AddedToken(
                name,
                special=rng.random() < 0.3,
                normalized=rng.random() < 0.4,
                lstrip=rng.random() < 0.2,
                rstrip=rng.random() < 0.2,
                single_word=rng.random() < 0.2,
            )
            for name in rng.sample(NAMES, 3)
            if peer.token_to_id(name) is None and mine.token_to_id(name) is None
        ]
        as_special = rng.random() < 0.5
        try:
            if as_special:
                extended = mine.with_special_tokens(tokens)
                peer.add_special_tokens([theirs(token) for token in tokens])
            else:
                extended = mine.with_tokens(tokens)
                peer.add_tokens([theirs(token) for token in tokens])
        except SpecialTokenError:
            continue  # an ordinary token in other letters, or flags that a Llama-kind tokenizer.json may not have
        again, _ = exported(extended, tmp_path)
        for name in [token.content for token in tokens]:
            assert peer.token_to_id(name) == again.token_to_id(name), name
        for _ in range(20):
            text = "".join(rng.choices(FRAGMENTS, k=8))
            ids = peer.encode(text, add_special_tokens=False).ids
            assert extended.encode(text, allowed_special="all") == ids, (tokens, text)
            assert again.encode(text, add_special_tokens=False).ids == ids, (tokens, text)
            n_done += 1
            if "über" not in extended.special_tokens:  # which tokenizers decodes to a single byte
                assert extended.decode(ids) == peer.decode(ids, skip_special_tokens=False)
    assert n_done >= len(rounds(20, 200))


def test_texts_are_tokens_without_flags(tmp_path: Any) -> None:
    mine, peer = base("byte", tmp_path)
    peer.add_tokens([tokenizers.AddedToken("<a>", normalized=False)])
    peer.add_special_tokens(["<b>"])
    extended = mine.with_tokens(["<a>"]).with_special_tokens(["<b>"])
    text = "x <a> <b>"
    assert extended.encode(text, allowed_special="all") == peer.encode(text).ids
    assert {**extended.special_tokens} == {"<s>": mine.n_vocab - 1, "<b>": mine.n_vocab + 1}


def test_added_pieces_of_a_model_give_the_ids_of_sentencepiece() -> None:
    rng = random.Random(3)
    for options in ({}, {"normalization_rule_name": "identity"}, {"remove_extra_whitespaces": False}):
        model = fastbpe.train(
            TEXT, mode="codepoint", vocab_size=40, hard_vocab_limit=False, progress=False, **options
        )
        names = [
            name for name in ("<a>", "<a>b", "wer lo", "\u00e9", "ew n", "12") if model.token_to_id(name) is None
        ]
        extended = model.with_tokens(names).with_special_tokens(["<pad>"])
        peer = spm.SentencePieceProcessor(model_proto=extended._family.dump(extended, "sentencepiece"))
        assert [peer.id_to_piece(model.n_vocab + i) for i in range(len(names))] == [
            name.replace(" ", "\u2581") for name in names
        ]
        for _ in rounds(200, 3000):
            text = "".join(rng.choices(FRAGMENTS, k=8))
            assert extended.encode_ordinary(text) == peer.encode(text), text
            assert extended.decode(peer.encode(text)) == peer.decode(peer.encode(text))


@pytest.mark.daily
@pytest.mark.parametrize("name", ["llama2_tokenizer.model", "phi3_mini_tokenizer.json", "falcon_tokenizer.json"])
def test_published_vocabularies_take_tokens(name: str, tmp_path: Any) -> None:
    old = fastbpe.load(data_file("vocab", name))
    new = old.with_tokens(["<extra_1>", "<extra_2>"]).with_special_tokens(["<|im_start|>"], pad_to_multiple_of=64)
    assert new.n_vocab % 64 == 0
    assert new.id_map(old).new_to_old.tolist()[: old.n_vocab] == list(range(old.n_vocab))
    assert new.encode("a<extra_2>b")[-2] == old.n_vocab + 1
    peer, _ = exported(new, tmp_path)
    text = "Hello <extra_1>world<extra_2> <|im_start|>user"
    assert peer.encode(text, add_special_tokens=False).ids == new.encode(text, allowed_special="all")
    assert fastbpe.load(new._family.dump(new, "native")) == new

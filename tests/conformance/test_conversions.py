"""Conversion between all formats: the library that owns the target format gives the ids of the source's library.

FASTBPE_FULL=1 converts published vocabularies too, and encodes more of the corpora.
"""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tiktoken
import tokenizers
from tiktoken.load import load_tiktoken_bpe
from tokenizers import AddedToken, models, pre_tokenizers

import fastbpe
from fastbpe import PATTERNS, Tokenizer
from helpers.codepoint_models import published_bytes
from helpers.sampling import FULL, n_rounds
from helpers.shared_data import OPENAI, corpus, data_file, published, standard_library

N_BYTES = n_rounds(8_000, 200_000)
Encode = Callable[[list[str]], list[list[int]]]


@lru_cache
def lines() -> list[str]:
    names = ("english.txt", "multilingual.txt", "emoji_mixed.txt", "json_yaml.txt")
    out = [line for name in names for line in corpus(name, N_BYTES).splitlines(keepends=True)]
    return [line.replace("\0", "") for line in out]  # sentencepiece and tokenizers treat NUL differently


# Byte-level models.

SPECIAL = ("<|endoftext|>", "<|sep|>")
BYTE_FORMATS = ("native", "tiktoken", "gpt2", "huggingface", "minbpe")
FILES = {
    "native": "a.fbpe",
    "tiktoken": "a.tiktoken",
    "gpt2": "folder",
    "huggingface": "tokenizer.json",
    "minbpe": "a.model",
}


@lru_cache
def learned() -> Tokenizer:
    """Return a tokenizer trained by minbpe's rule, since its files always have the bytes in order."""
    text = [standard_library(60_000), "naïve café 日本語 안녕하세요 Привет 😀 " * 20]
    return fastbpe.train(text, vocab_size=1200, pattern="gpt2", special_tokens=[*SPECIAL], progress=False)


def load_bytes(path: Path, special: dict[str, int]) -> Tokenizer:
    if path.name in (FILES["tiktoken"], FILES["gpt2"]):  # these files name neither pattern nor special tokens
        return fastbpe.load(path, pattern="gpt2", special_tokens=special)
    return fastbpe.load(path)


def original_encoder_of_bytes(path: Path, special: dict[str, int]) -> Encode | None:
    """Return the encode function of the library that owns a file's format, with special tokens allowed, or None
    for fastbpe."""
    if path.name == FILES["tiktoken"]:
        peer = tiktoken.Encoding(
            "peer",
            pat_str=str(PATTERNS["gpt2"]),
            mergeable_ranks=load_tiktoken_bpe(str(path)),
            special_tokens=special,
        )
        return lambda texts: peer.encode_batch(texts, num_threads=1, allowed_special="all")
    if path.name == FILES["huggingface"]:
        return with_tokenizers(tokenizers.Tokenizer.from_file(str(path)))
    if path.name == FILES["gpt2"]:
        files = str(path / "vocab.json"), str(path / "merges.txt")
        made = tokenizers.Tokenizer(models.BPE.from_file(*files))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.add_special_tokens([AddedToken(name, normalized=False) for name in special])
        return with_tokenizers(made)
    return None


def with_tokenizers(peer: tokenizers.Tokenizer) -> Encode:
    return lambda texts: [encoding.ids for encoding in peer.encode_batch(texts, add_special_tokens=False)]


def ours(tokenizer: Tokenizer) -> Encode:
    return lambda texts: tokenizer.encode_batch(texts, allowed_special="all")


def lines_with_special_tokens(special: dict[str, int]) -> list[str]:
    """Return the lines, some with special tokens appended."""
    rng = random.Random(7)
    names = [*special]
    return [line + rng.choice(names) + " x" if names and rng.random() < 0.2 else line for line in lines()]


def check_bytes(tokenizer: Tokenizer, source: str, target: str, folder: Path) -> None:
    special = tokenizer.special_tokens
    (folder / "from").mkdir()
    (folder / "to").mkdir()
    tokenizer.export(folder / "from" / FILES[source], format=source)
    first = load_bytes(folder / "from" / FILES[source], special)
    first.export(folder / "to" / FILES[target], format=target)
    again = load_bytes(folder / "to" / FILES[target], special)
    texts = lines_with_special_tokens(special)
    expected = (original_encoder_of_bytes(folder / "from" / FILES[source], special) or ours(tokenizer))(texts)
    assert ours(first)(texts) == expected
    assert ours(again)(texts) == expected
    owner = original_encoder_of_bytes(folder / "to" / FILES[target], special)
    if owner is not None:
        assert owner(texts) == expected
    assert again.special_tokens == special


@pytest.mark.sample(6)
@pytest.mark.parametrize(("source", "target"), [*itertools.product(BYTE_FORMATS, BYTE_FORMATS)])
def test_byte_level_conversions_keep_all_ids(source: str, target: str, tmp_path: Path) -> None:
    check_bytes(learned(), source, target, tmp_path)


PUBLISHED = OPENAI if FULL else OPENAI[:1]
#: minbpe's files need the bytes in order, which OpenAI's vocabularies do not have.
WITHOUT_ORDER = [name for name in BYTE_FORMATS if name != "minbpe"]
ALL_PAIRS = [*itertools.product(WITHOUT_ORDER, WITHOUT_ORDER)]
SOME_PAIRS = [("tiktoken", "huggingface"), ("huggingface", "gpt2"), ("gpt2", "tiktoken")]


@pytest.mark.daily
@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize(("source", "target"), ALL_PAIRS if FULL else SOME_PAIRS)
def test_published_conversions_keep_all_ids(name: str, source: str, target: str, tmp_path: Path) -> None:
    ranks = load_tiktoken_bpe(str(data_file("vocab", f"{name}.tiktoken")))
    special = {"<|endoftext|>": max(ranks.values()) + 1}
    check_bytes(Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens=special), source, target, tmp_path)


# Code-point models.

POINT_FORMATS = ("native", "sentencepiece", "huggingface")
POINT_FILES = {"native": "a.fbpe", "sentencepiece": "a.model", "huggingface": "tokenizer.json"}


@lru_cache
def trained(**options: Any) -> bytes:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*standard_library(40_000).splitlines(), "naïve café 日本語 안녕하세요 Привет 😀"]),
        model_writer=out,
        model_type="bpe",
        vocab_size=900,
        character_coverage=0.999,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
        **options,
    )
    return out.getvalue()


def original_encoder_of_points(path: Path) -> Encode | None:
    """Return the encode function of the library that owns a file's format; special tokens are plain text, as in
    sentencepiece."""
    if path.name == POINT_FILES["sentencepiece"]:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        return lambda texts: processor.encode(texts)  # type: ignore[no-any-return]
    if path.name == POINT_FILES["huggingface"]:
        peer = tokenizers.Tokenizer.from_file(str(path))
        peer.encode_special_tokens = True
        return with_tokenizers(peer)
    return None


MODELS: dict[str, Callable[[], bytes]] = {
    "trained": trained,
    "without a prefix": lambda: trained(add_dummy_prefix=False),
    "llama2": lambda: published_bytes("llama2"),
    "mistral_v1": lambda: published_bytes("mistral_v1"),
}


def cases() -> list[tuple[str, str, str]]:
    pairs = [*itertools.product(POINT_FORMATS, POINT_FORMATS)]
    if FULL:
        return [(name, *pair) for name in MODELS for pair in pairs]
    some = [("llama2", "sentencepiece", "huggingface"), ("mistral_v1", "huggingface", "sentencepiece")]
    return some + [(name, *pair) for name in ("trained", "without a prefix") for pair in pairs]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("name", "source", "target"), cases())
def test_code_point_conversions_keep_all_ids(name: str, source: str, target: str, tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    (tmp_path / "a.model").write_bytes(MODELS[name]())
    start, end = tmp_path / "from" / POINT_FILES[source], tmp_path / "to" / POINT_FILES[target]
    fastbpe.load(tmp_path / "a.model").export(start, format=source)
    first = fastbpe.load(start)
    first.export(end, format=target)
    again = fastbpe.load(end)
    expected = (original_encoder_of_points(tmp_path / "a.model") or ours(first))(lines())
    for path, tokenizer in ((start, first), (end, again)):
        assert tokenizer.encode_ordinary_batch(lines()) == expected
        owner = original_encoder_of_points(path)
        if owner is not None:
            assert owner(lines()) == expected


@pytest.mark.daily
def test_llama3_as_tokenizer_json_keeps_all_ids(tmp_path: Path) -> None:
    """In Llama 3, 90 tokens are merged from a token with a greater id, and 588 appear only as whole pieces."""
    tokenizer = published("llama3")
    tokenizer.export(tmp_path / "tokenizer.json", format="huggingface")
    again = fastbpe.load(tmp_path / "tokenizer.json")
    assert again == tokenizer
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    peer.encode_special_tokens = True
    texts = [" документацію", *corpus("multilingual.txt", 10 * N_BYTES).splitlines(keepends=True)]
    expected = tokenizer.encode_ordinary_batch(texts)
    assert expected[0] == [113916, 103781]
    assert again.encode_ordinary_batch(texts) == expected
    assert with_tokenizers(peer)(texts) == expected

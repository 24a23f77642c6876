"""Models whose charsmap or symbols are not UTF-8: the ids of sentencepiece, and no byte read past a text."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

import fastbpe
import fastbpe.sentencepiece
from fastbpe.formats import native
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import AddedToken, Conventions
from helpers.sampling import n_rounds

TEXTS = ["the quick brown fox finds fish in five fine files"] * 5 + [
    "abc def abc def abc def",
    "ก ข ค กขค",
    "zqz あqz",
]
BYTES = [0xE3, 0x81, 0x66, 0xF0, 0xFF, 0x20, 0xC3, 0xE2, 0x96, 0x61]
PARTS = ["\ufb01", "\ufb01", "a", "b", "c", "fish", " ", "  ", "あ", "ก", "fin", "😀", "zqz", "ก" * 70, "▁"]
KINDS: list[dict[str, Any]] = [
    {"byte_fallback": True, "vocab_size": 340},
    {"byte_fallback": True, "vocab_size": 340, "user_defined_symbols": ["zqz", "fi", "あ"]},
    {"byte_fallback": False, "vocab_size": 64, "user_defined_symbols": ["zqz"], "remove_extra_whitespaces": False},
    {"byte_fallback": False, "vocab_size": 64, "treat_whitespace_as_suffix": True},
    {"byte_fallback": False, "vocab_size": 64, "user_defined_symbols": ["zqz"], "add_dummy_prefix": False},
]
WITHOUT_PREFIX = 4


@cache
def trained(kind: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trained.model"
        fastbpe.train(TEXTS, mode="codepoint", character_coverage=1.0, **KINDS[kind]).export(path)
        return path.read_bytes()


def damaged(target: bytes, kind: int = 0, symbol: bytes = b"zqz") -> bytes:
    """A model that replaces U+FB01 by two bytes, and has three bytes in the place of the symbol zqz."""
    model = trained(kind)
    assert model.count(b"\0fi\0") == 1
    return model.replace(b"\0fi\0", b"\0" + target + b"\0").replace(b"\n\x03zqz", b"\n\x03" + symbol)


def owner(model: bytes) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def test_lone_byte_of_a_replacement_keeps_its_id() -> None:
    model = damaged(b"f\xe3")
    assert fastbpe.load(model).encode("\ufb01") == owner(model).encode("\ufb01")
    assert len(owner(model).encode("\ufb01")) == 2


def test_cut_character_at_the_end_of_a_long_word_ends_the_text() -> None:
    """The word scanner once read past the end of the text, and asked for memory for 800 million ids."""
    model, text = damaged(b"f\xe3"), "\u0e01" * 3000 + "\ufb01"
    tokenizer = fastbpe.load(model)
    assert tokenizer.encode(text) == owner(model).encode(text)
    assert tokenizer.count(text) == len(owner(model).encode(text))


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_every_call_gives_the_ids_of_sentencepiece(kind: int, tmp_path: Path) -> None:
    generator = random.Random(kind)
    for _ in range(n_rounds(4, 200)):
        target = bytes(generator.choices(BYTES, k=2))
        symbol = bytes(generator.choices(BYTES, k=3)) if generator.random() < 0.5 else b"zqz"
        model = damaged(target, kind, symbol)
        fastbpe.load(model).save(tmp_path / "saved.fbpe")
        texts = ["".join(generator.choices(PARTS, k=generator.randrange(9))) for _ in range(15)]
        wanted = owner(model).encode(texts)
        face = fastbpe.sentencepiece.SentencePieceProcessor(model_proto=model)
        assert face.encode(texts) == wanted
        for tokenizer in (fastbpe.load(model), fastbpe.load(tmp_path / "saved.fbpe")):
            for text, ids in zip(texts, wanted, strict=True):
                check(tokenizer, text, ids, f"{target!r} {symbol!r} {text!a}")


def check(tokenizer: fastbpe.Tokenizer, text: str, wanted: list[int], what: str) -> None:
    stream, conversation = tokenizer.encoder(), tokenizer.conversation()
    conversation.append(text[:3])
    conversation.append(text[3:])
    calls: dict[str, Callable[[], object]] = {
        "encode": lambda: tokenizer.encode_ordinary(text),
        "batch": lambda: tokenizer.encode_ordinary_batch([text, text])[1],
        "numpy": lambda: tokenizer.encode_to_numpy(text).tolist(),
        "offsets": lambda: list(tokenizer.encode_with_offsets(text)[0]),
        "encoder": lambda: stream.push(text[:3]) + stream.push(text[3:]) + stream.finish(),
        "conversation": lambda: list(conversation.ids),
    }
    for name, call in calls.items():
        assert call() == wanted, f"{name}: {what}"
    assert tokenizer.count(text) == len(wanted) == tokenizer.interval_counter(text)(0, len(text)), what
    tokenizer.explain(text)


@pytest.mark.parametrize("target", [b"\xe3\0", b"\x81\x81"])
def test_white_space_beside_a_token_is_searched_for_within_the_text(target: bytes) -> None:
    """E3 is the first byte of U+3000, whose others an earlier text has left in memory. It once crashed."""
    model = model_file.parse(damaged(target, WITHOUT_PREFIX), "damaged")
    token = AddedToken(content="zqz", id=3, normalized=True, lstrip=True, rstrip=True)
    model = model._replace(added_tokens=(token,), conventions=Conventions())
    tokenizer = fastbpe.load(native.dump_code_points(model))
    assert tokenizer.encode("zqz\u4000") == [3, 0]
    assert tokenizer.encode("zqz\ufb01") == [3, 0]
    assert tokenizer.encode("\ufb01zqz") == [0, 3]


def test_words_say_what_such_a_model_cannot_do(tmp_path: Path) -> None:
    tokenizer = fastbpe.load(damaged(b"f\xe3"))
    with pytest.raises(fastbpe.FormatError, match="normalization"):
        tokenizer.export(tmp_path / "tokenizer.json")
    assert not [*tmp_path.iterdir()]
    with pytest.raises(fastbpe.TrainingError, match=r"bytes that are not UTF-8.*train without base="):
        fastbpe.train(["a\ufb01b"], base=tokenizer, mode="codepoint", vocab_size=345)

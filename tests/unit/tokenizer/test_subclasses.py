"""Texts, patterns and numbers of subclasses (numpy scalars, enums) count by their content."""

from __future__ import annotations

import copy
import ctypes
import enum
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import fastbpe
from fastbpe import SequenceTokenizer, Tokenizer
from fastbpe._core.text.utf8_text import plain
from fastbpe.model import PieceType
from fastbpe.sentencepiece import SentencePieceProcessor
from fastbpe.tiktoken import Encoding
from helpers.codepoint_models import model_of
from helpers.shared_data import BYTES

PIECES = [
    (b"<unk>", 0.0, PieceType.UNKNOWN),
    *((c.encode(), -float(i), PieceType.NORMAL) for i, c in enumerate("▁ab日é")),
]
MODEL = model_of(PIECES, {}, {})
ENCODING = Encoding("x", pat_str=r"a+|[^a]", mergeable_ranks={**BYTES, b"ab": 256}, special_tokens={"<|x|>": 300})


class Shouted(str):
    """A str with another `__str__` and `encode`."""

    def __str__(self) -> str:
        return self.upper()

    def encode(self, *_: Any, **__: Any) -> bytes:
        return b"?"


class Word(str, enum.Enum):
    ONE = "ab 日é"


class Data(bytes):
    def __bytes__(self) -> bytes:
        return b"?"


TEXTS = [Shouted("ab 日é"), Word.ONE, numpy.str_("ab 日é"), numpy.array(["ab 日é"])[0]]
DATA = [Data("ab 日é".encode()), numpy.bytes_("ab 日é".encode())]


def byte_tokenizer() -> Tokenizer:
    return Tokenizer.from_ranks({**BYTES, b"ab": 256}, pattern="cl100k", special_tokens={"<|x|>": 300})


@pytest.mark.parametrize("text", [*TEXTS, *DATA])
def test_plain_returns_the_builtin_type_with_the_same_content(text: str | bytes) -> None:
    expected = "ab 日é" if isinstance(text, str) else "ab 日é".encode()
    assert plain(text) == expected
    assert type(plain(text)) is type(expected)
    assert plain(expected) is expected


@pytest.mark.parametrize("name", TEXTS)
def test_special_tokens_of_subclasses_count_by_content(name: str, tmp_path: Path) -> None:
    one, plain_one = (
        Tokenizer.from_ranks(BYTES, pattern="cl100k", special_tokens={text: 300}) for text in (name, "ab 日é")
    )
    assert [*map(type, one.special_tokens)] == [str]
    assert one.fingerprint == plain_one.fingerprint
    assert pickle.loads(pickle.dumps(one)) == one
    one.save(tmp_path / "one.fbpe")
    plain_one.save(tmp_path / "plain.fbpe")
    assert (tmp_path / "one.fbpe").read_bytes() == (tmp_path / "plain.fbpe").read_bytes()


@pytest.mark.parametrize("name", TEXTS)
def test_special_tokens_of_sequences_count_by_content(name: str) -> None:
    one, plain_one = (
        SequenceTokenizer.from_merges([(0, 1)], base_size=4, special_tokens=[text]) for text in (name, "ab 日é")
    )
    assert [*map(type, one.special_tokens)] == [str]
    assert one.fingerprint == plain_one.fingerprint
    assert pickle.loads(pickle.dumps(one)) == one


class Codes(SequenceTokenizer):
    pass


def test_subclass_of_a_sequence_tokenizer_stays_one() -> None:
    made = Codes.from_merges([(0, 1)], base_size=4, special_tokens=["<end>"])
    assert type(made) is Codes
    assert type(pickle.loads(pickle.dumps(made))) is Codes


@pytest.mark.parametrize("tokenizer", [byte_tokenizer(), fastbpe.load(MODEL)], ids=["byte", "codepoint"])
@pytest.mark.parametrize("text", [*TEXTS, *DATA])
def test_texts_of_subclasses_are_encoded_by_content(tokenizer: Tokenizer, text: str | bytes) -> None:
    expected = "ab 日é"
    ids = tokenizer.encode(expected)
    assert tokenizer.encode(text) == tokenizer.encode_batch([text])[0] == ids
    assert tokenizer.count(text) == len(ids)
    assert tokenizer.token_to_id(text) == tokenizer.token_to_id(expected)
    assert tokenizer.pieces(text) == tokenizer.pieces(expected)
    assert tokenizer.encode_with_offsets(text) == tokenizer.encode_with_offsets(expected)
    for n in range(8):
        for side in ("left", "right"):
            assert tokenizer.truncate(text, n, side=side) == tokenizer.truncate(expected, n, side=side)
    assert type(tokenizer.truncate(text, 100)) is str
    assert [*tokenizer.chunk(text, 3)] == [*tokenizer.chunk(expected, 3)]
    assert tokenizer.explain(text) == tokenizer.explain(expected)
    assert tokenizer.is_lossless(text) == tokenizer.is_lossless(expected)
    assert fastbpe.joins(tokenizer, text, text) == fastbpe.joins(tokenizer, expected, expected)
    for stream in (tokenizer.encoder(), copy.copy(tokenizer.encoder())):
        assert [*stream.push(text), *stream.finish()] == ids
    assert tokenizer.conversation().append(text) == (0, ids)
    if isinstance(text, str):
        assert tokenizer.interval_counter(text)(1, 4) == tokenizer.count(expected[1:4])
        assert fastbpe.align(text, tokenizer, tokenizer) == fastbpe.align(expected, tokenizer, tokenizer)


@pytest.mark.parametrize("text", [*TEXTS, *DATA])
def test_sentencepiece_drop_in_accepts_subclasses(text: str | bytes) -> None:
    ours = SentencePieceProcessor(model_proto=MODEL)
    expected = "ab 日é" if isinstance(text, str) else "ab 日é".encode()
    for out_type in (int, str, bytes, "offset_mapping"):
        assert ours.encode(text, out_type=out_type) == ours.encode(expected, out_type=out_type)
        assert ours.encode([text], out_type=out_type) == ours.encode([expected], out_type=out_type)
    assert ours.normalize(text) == ours.normalize(expected)
    assert ours.normalize(text, with_offsets=True) == ours.normalize(expected, with_offsets=True)


def test_sentencepiece_drop_in_accepts_numpy_ids() -> None:
    """As in sentencepiece 0.2.3: an array without dimensions is one id, and bytes are refused."""
    ours = SentencePieceProcessor(model_proto=MODEL)
    assert ours.id_to_piece(numpy.array(2)) == ours.id_to_piece(2) == "a"
    assert ours.id_to_piece(numpy.array([2, 3])) == ["a", "b"]
    with pytest.raises(TypeError):
        ours.id_to_piece(b"\1\2")
    with pytest.raises(IndexError):
        ours.id_to_piece(numpy.array([2**40]))
    with pytest.raises(TypeError):
        ours.id_to_piece([2**40])


@pytest.mark.parametrize("kind", [Shouted, numpy.str_])
def test_patterns_and_error_handlers_may_be_subclasses(kind: Callable[[str], str]) -> None:
    for pattern in ("gpt2", "a+|b", r"(?>(\S))\1|[\s\S]"):
        given = Tokenizer.from_ranks(BYTES, pattern=kind(pattern))
        assert given == Tokenizer.from_ranks(BYTES, pattern=pattern)
        assert type(given.pattern) is str
        assert Tokenizer.from_ranks(BYTES, pattern=[kind(pattern), "b"]).pieces("aab") == [(0, 2), (2, 3)]
    tokenizer = byte_tokenizer()
    assert tokenizer.decode([97, 200], errors=kind("replace")) == "a\ufffd"
    assert tokenizer.decode_batch([[97]], errors=kind("strict")) == ["a"]
    with pytest.raises(TypeError):
        tokenizer.decode([97], errors=5)  # type: ignore[arg-type]


def test_tiktoken_drop_in_accepts_subclasses() -> None:
    encoding = Encoding("x", pat_str=numpy.str_(".+"), mergeable_ranks=BYTES, special_tokens={})
    assert encoding.encode(numpy.str_("aé")) == [97, 195, 169]
    assert ENCODING.encode_single_token(numpy.bytes_(b"ab")) == 256
    assert ENCODING.encode_single_token(numpy.str_("<|x|>")) == 300
    assert ENCODING._encode_bytes(numpy.bytes_(b"ab\xff")) == ENCODING._encode_bytes(b"ab\xff")
    assert ENCODING.decode([97, 200], Shouted("replace")) == "a\ufffd"
    assert ENCODING.decode_with_offsets(numpy.array([])) == ("", [])


# Ids in arrays.


def test_empty_and_object_arrays_are_decoded() -> None:
    """numpy.array([]) has floats, and pandas gives arrays of objects."""
    tokenizer = byte_tokenizer()
    assert tokenizer.decode(numpy.array([])) == ENCODING.decode(numpy.array([])) == ""
    assert tokenizer.decode_bytes(numpy.array([97, 98], dtype=object)) == b"ab"
    assert tokenizer.decode_batch([numpy.array([]), numpy.array([97], dtype=object)]) == ["", "a"]
    for dtype in ("m8[s]", "M8[s]", "f4", "U1"):
        ids = numpy.array([1, 2]).astype(dtype)
        with pytest.raises(TypeError):
            tokenizer.decode(ids)
        with pytest.raises(TypeError):
            tokenizer.decode_batch(ids)
        with pytest.raises(TypeError):
            tokenizer.decode(ids.astype(object))
    with pytest.raises(TypeError):
        tokenizer.decode(numpy.array([[1, 2]], dtype=object))


def test_unknown_ids_in_an_array_of_any_layout_are_skipped_or_replaced() -> None:
    tokenizer = byte_tokenizer()
    swapped = numpy.array([999, 97, -1, 98, 999], dtype=numpy.dtype("i4").newbyteorder())
    for ids in (swapped, memoryview(swapped), memoryview(swapped.repeat(2))[::2], (ctypes.c_int * 5)(*swapped)):
        assert tokenizer.decode(ids, unknown_ids="skip") == "ab"
        assert tokenizer.decode(ids, unknown_ids="replace") == "\ufffda\ufffdb\ufffd"
    assert tokenizer.decode(memoryview(swapped[:0])) == ""


# Numbers.


@pytest.mark.parametrize("bad", [1.5, "3", None, float("nan"), [1]])
def test_number_that_is_not_an_integer_is_refused(bad: Any) -> None:
    tokenizer = byte_tokenizer()
    calls: list[Callable[[], Any]] = [
        lambda: tokenizer.fits("abc", bad),
        lambda: tokenizer.truncate("abc", bad),
        lambda: tokenizer.chunk("abc", bad),
        lambda: tokenizer.chunk("abc", 3, overlap=bad),
    ]
    if bad is not None:
        calls += [
            lambda: tokenizer.count("abc", max_tokens=bad),
            lambda: tokenizer.encode("abc", num_threads=bad),
            lambda: tokenizer.decode_batch([[97]], num_threads=bad),
        ]
    for call in calls:
        with pytest.raises(TypeError, match="must be an integer, not"):
            call()


def test_numpy_integers_are_accepted() -> None:
    tokenizer, three = byte_tokenizer(), numpy.int64(3)
    assert tokenizer.fits("abcd", three) is True
    assert tokenizer.count("abcdefgh", max_tokens=three) == 4
    assert tokenizer.truncate("abcdefgh", three) == "abcd"
    assert tokenizer.encode("abc", num_threads=three) == [256, 99]


@pytest.mark.parametrize("tokenizer", [byte_tokenizer(), fastbpe.load(MODEL)], ids=["byte", "codepoint"])
@pytest.mark.parametrize("bad", [3, None, [1, 2], numpy.array(["a"]), 1.5])
def test_text_of_wrong_type_or_encoding_is_refused(tokenizer: Tokenizer, bad: Any) -> None:
    for call in (tokenizer.pieces, tokenizer.encode_with_offsets, tokenizer.encode, tokenizer.count):
        with pytest.raises(TypeError, match="text must be str, or bytes of UTF-8"):
            call(bad)
    for call in (tokenizer.pieces, tokenizer.encode_with_offsets):
        with pytest.raises(ValueError, match="invalid byte 0xff at offset 1"):
            call(b"a\xff")

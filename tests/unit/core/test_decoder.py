"""Decoding ids: unknown ids, invalid UTF-8, every kind of sequence, and round trips."""

import array
import ctypes
import random
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from fastbpe import FastbpeError, InvalidTokenError, Tokenizer
from helpers.child_processes import run_python
from helpers.sampling import n_rounds
from helpers.shared_data import BYTES, published, published_peer
from helpers.text_strategies import as_utf8, texts

EMOJI = "😉".encode()


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.from_ranks({**BYTES, EMOJI[:2]: 256, b"ab": 258}, pattern=None, special_tokens={"<s>": 260})


def test_decoding_joins_the_bytes_of_tokens(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode_bytes([258, 97, 260]) == b"aba<s>"
    assert tokenizer.decode([258, 97, 260]) == "aba<s>"
    assert tokenizer.decode_batch([[97], [], [258]]) == ["a", "", "ab"]
    assert tokenizer.decode_tokens_bytes([256])[0] == EMOJI[:2]
    assert tokenizer.decode([]) == ""
    assert tokenizer.decode_bytes([]) == b""


def test_errors_option_decides_about_half_a_character(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([256]) == tokenizer.decode([256], errors="replace") == "\ufffd"
    assert tokenizer.decode([97, 256, 98], errors="ignore") == "ab"
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode([256], errors="strict")
    assert tokenizer.decode([256, *EMOJI[2:]], errors="strict") == "😉"


def test_character_may_span_tokens_but_not_entries_of_a_batch(
    tokenizer: Tokenizer,
) -> None:
    assert tokenizer.decode_batch([list(EMOJI), list(EMOJI[:2]), list(EMOJI[2:])]) == [
        "😉",
        "\ufffd",
        "\ufffd\ufffd",
    ]


@pytest.mark.parametrize(
    "token_id", [257, 259, 261, 10**7, 2**31, 2**32, 2**32 + 97, 2**40, 2**64 + 97, 10**30, -1]
)
@pytest.mark.parametrize("errors", ["strict", "replace", "ignore"])
def test_unknown_id_raises_invalid_token_error(tokenizer: Tokenizer, token_id: int, errors: str) -> None:
    for call in (
        lambda: tokenizer.decode([97, token_id], errors=errors),
        lambda: tokenizer.decode_bytes([97, token_id]),
        lambda: tokenizer.decode_batch([[97, token_id]], errors=errors),
    ):
        with pytest.raises(
            InvalidTokenError, match=f"^id {token_id} at position 1 is not a token .*between 0 and 260"
        ):
            call()
    with pytest.raises(KeyError):
        tokenizer.id_to_token(token_id)
    with pytest.raises(FastbpeError):
        tokenizer.decode_tokens_bytes([token_id])[0]


@pytest.mark.parametrize(
    "ids",
    [
        (97, 98),
        range(97, 99),
        array.array("I", [97, 98]),
        memoryview(array.array("Q", [97, 98])),
        np.array([97, 98]),
        (ctypes.c_uint32 * 2)(97, 98),  # its buffer has no strides
        (ctypes.c_int16.__ctype_be__ * 2)(97, 98),
        [np.uint32(97), np.int8(98)],
        {97: None, 98: None},
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_ids_may_come_in_any_sequence_or_buffer(tokenizer: Tokenizer, ids: Any) -> None:
    assert tokenizer.decode(ids) == "ab"
    assert tokenizer.decode(iter(ids)) == "ab"


@pytest.mark.parametrize("dtype", ["u1", "i2", "<u2", ">u2", "<u4", ">u4", "i4", "<i8", ">i8", "u8"])
def test_arrays_of_every_integer_type_and_stride_are_decoded(tokenizer: Tokenizer, dtype: str) -> None:
    ids = np.array([97, 98, 99, 100], dtype=dtype)
    assert tokenizer.decode(ids) == "abcd"
    assert tokenizer.decode(ids[::2]) == "ac"
    assert tokenizer.decode(ids[::-1]) == "dcba"
    assert tokenizer.decode(list(ids)) == "abcd"


def test_batch_takes_few_large_arrays_from_a_generator_at_once(tokenizer: Tokenizer) -> None:
    refs: list[weakref.ref[Any]] = []
    n_alive = []

    def new() -> Any:
        made = np.full(1 << 20, 97, dtype="u4")
        refs.append(weakref.ref(made))
        return made

    def arrays() -> Iterator[Any]:
        for _ in range(8):
            n_alive.append(sum(ref() is not None for ref in refs))
            yield new()

    assert [len(text) for text in tokenizer.decode_batch(arrays())] == [1 << 20] * 8
    assert max(n_alive) <= 4


def test_id_without_a_sequence_has_no_position_in_the_error(tokenizer: Tokenizer) -> None:
    for call in (tokenizer.id_to_token, tokenizer.decoder().push):
        with pytest.raises(InvalidTokenError, match=r"^id 300 is not a token of this vocabulary"):
            call(300)


def test_negative_id_in_array_raises_invalid_token_error(tokenizer: Tokenizer) -> None:
    with pytest.raises(InvalidTokenError, match="id -1 at position 0"):
        tokenizer.decode(np.array([-1], dtype="i4"))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([97, 1.0], "1.0 at position 1 is float"),
        ([None], "None at position 0 is NoneType"),
        (["97"], "'97' at position 0 is str"),
        ("97", "not str"),
        (b"97", "not bytes"),
        (97, "not int"),
        (np.int64(97), "not (numpy.)?int64"),
        (np.array([97.0]), "integers in one dimension"),
        (np.array([[97]]), "with ndim=2"),
        (np.array(97), "with ndim=0"),
    ],
)
def test_ids_that_are_not_integers_raise_type_error(tokenizer: Tokenizer, ids: Any, message: str) -> None:
    for call in (tokenizer.decode, tokenizer.decode_bytes):
        with pytest.raises(TypeError, match=message):
            call(ids)


@pytest.mark.daily
def test_list_that_shrinks_during_decoding_does_not_crash() -> None:
    printed = run_python(
        """
from fastbpe import Tokenizer

class Shrinks:
    def __index__(self):
        del ids[1:]
        return 97

tokenizer = Tokenizer.from_ranks({bytes([byte]): byte for byte in range(256)}, pattern=None)
ids = [Shrinks(), *[98] * 1_000_000]
try:
    tokenizer.decode(ids)
except (RuntimeError, IndexError, ValueError, KeyError):
    pass
print("alive")
"""
    )
    assert printed == "alive\n"


@settings(max_examples=n_rounds(166, 500))
@given(texts)
def test_decoding_returns_the_encoded_text(
    code_tokenizer: Tokenizer, unsplit_tokenizer: Tokenizer, text: str
) -> None:
    for tokenizer in (code_tokenizer, unsplit_tokenizer):
        ids = tokenizer.encode_ordinary(text)
        assert tokenizer.decode_bytes(ids) == as_utf8(text)
        assert tokenizer.decode(ids, errors="strict") == as_utf8(text).decode()


def test_random_valid_ids_decode_to_their_tokens(code_tokenizer: Tokenizer) -> None:
    rng = random.Random(1)
    vocab = code_tokenizer.vocab
    for _ in range(500):
        ids = rng.choices(range(code_tokenizer.n_vocab), k=rng.randint(0, 50))
        data = code_tokenizer.decode_bytes(ids)
        assert data == b"".join(vocab[i] for i in ids)
        assert code_tokenizer.decode(ids) == data.decode(errors="replace")
        assert code_tokenizer.decode(ids, errors="ignore") == data.decode(errors="ignore")


@pytest.mark.parametrize(
    "text",
    [
        "hello !",
        "x != y",
        "the party . . . in other proceedings , he said .",
        "123 fdsafsfa ~_! ./",
        "La Société\u202f……………….dont",
        "T\x10his \x10\t \n \n    \x10",
        *(f"hello{' ' * n}world" for n in range(1, 101)),
    ],
)
def test_texts_that_broke_other_tokenizers_round_trip(code_tokenizer: Tokenizer, text: str) -> None:
    assert code_tokenizer.decode(code_tokenizer.encode(text)) == text


def test_text_not_matched_by_the_pattern_is_kept() -> None:
    tokenizer = Tokenizer.from_ranks(BYTES, pattern="a+")
    assert tokenizer.decode(tokenizer.encode("aabaa")) == "aabaa"


def test_unused_ids_of_published_vocabulary_raise_invalid_token_error() -> None:
    tokenizer = published("cl100k_base")
    for token_id in (100256, 100261, 100275, 100277, 10**7, 2**31, 2**32, 2**40, -1):
        with pytest.raises(InvalidTokenError, match=f"id {token_id} "):
            tokenizer.decode([token_id])
    assert tokenizer.decode([100276]) == "<|endofprompt|>"


def test_half_characters_decode_as_in_tiktoken() -> None:
    tokenizer, peer = published("cl100k_base"), published_peer("cl100k_base")
    assert tokenizer.decode_tokens_bytes([9468])[0] == b"\xf0\x9f"
    assert tokenizer.decode([9468]) == peer.decode([9468]) == "\ufffd"
    assert tokenizer.decode([9468], errors="ignore") == ""
    rng = random.Random(2)
    for _ in range(2000):
        ids = rng.choices(range(100256), k=rng.randint(1, 12))
        assert tokenizer.decode(ids) == peer.decode(ids), ids
        assert tokenizer.decode_bytes(ids) == peer.decode_bytes(ids), ids

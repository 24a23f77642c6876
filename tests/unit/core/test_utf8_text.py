"""Text input: surrogates, bytes, and validation of UTF-8."""

import random
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from fastbpe import Tokenizer
from fastbpe._core.text.utf8_text import to_utf8, utf8_size
from helpers.sampling import n_rounds
from helpers.shared_data import BYTES, peer_of
from helpers.text_strategies import as_utf8, texts

BYTE_TOKENIZER = Tokenizer.from_ranks(BYTES, pattern=None, special_tokens={"<s>": 256})

ENTRY_POINTS: dict[str, Callable[..., list[int]]] = {
    "encode": BYTE_TOKENIZER.encode,
    "encode_ordinary": BYTE_TOKENIZER.encode_ordinary,
    "encode_batch": lambda text: BYTE_TOKENIZER.encode_batch([text])[0],
    "encode_batch in threads": lambda text: BYTE_TOKENIZER.encode_batch(["", text], num_threads=2)[1],
    "encode_ordinary_batch": lambda text: BYTE_TOKENIZER.encode_ordinary_batch([text])[0],
    "encode_to_numpy": lambda text: BYTE_TOKENIZER.encode_to_numpy(text).tolist(),
    "encode_batch_to_numpy": lambda text: BYTE_TOKENIZER.encode_batch_to_numpy([text])[0].tolist(),
    "encode_parts trusted": lambda text: BYTE_TOKENIZER.encode_parts([(text, True)]),
    "encode_parts": lambda text: BYTE_TOKENIZER.encode_parts([(text, False)]),
    "count": lambda text: [0] * BYTE_TOKENIZER.count(text),
}

SURROGATES = [
    "\ud83d",
    "\udc4d",
    "\ud83d\udc4d",
    "\udc4d\ud83d",
    "\ud83d\ud83d\udc4d",
    "\ud83d\udc4d\udc4d",
    "a\ud83db\udc4dc",
    "\ud800\udc00\udbff\udfff",
    "\ud7ff\ud800\ue000\udfff",
    "é\ud83d\udc4d",
    "😀\ud83d\udc4d😀\ud83d",
    "\U0010ffff\udbff\udfff\udbff",
    "\ud83d" * 5000 + "\udc4d" * 5000,
]


@pytest.mark.parametrize("name", ENTRY_POINTS)
@pytest.mark.parametrize("text", SURROGATES, ids=ascii)
def test_every_entry_point_joins_or_replaces_surrogates(name: str, text: str) -> None:
    """Surrogate pairs become one character, lone surrogates U+FFFD; `count` is compared by length."""
    expected = list(as_utf8(text))
    found = ENTRY_POINTS[name](text)
    assert found == expected or (name == "count" and len(found) == len(expected))


def test_surrogates_are_encoded_as_in_tiktoken() -> None:
    peer = peer_of(BYTE_TOKENIZER)
    for text in SURROGATES:
        assert peer.encode(text) == BYTE_TOKENIZER.encode(text), ascii(text)
        assert peer.encode_ordinary(text) == BYTE_TOKENIZER.encode_ordinary(text), ascii(text)


@pytest.mark.parametrize("name", ENTRY_POINTS)
@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_every_entry_point_accepts_utf8_bytes(name: str, make: Callable[[bytes], bytes]) -> None:
    text = "naïve 日本 😀\0".encode()
    assert len(ENTRY_POINTS[name](make(text))) == len(text)
    if name != "count":
        assert ENTRY_POINTS[name](make(text)) == list(text)


def test_strided_memoryviews_are_read_in_their_order() -> None:
    assert BYTE_TOKENIZER.encode(memoryview(b"aXbXcX")[::2]) == [97, 98, 99]
    assert BYTE_TOKENIZER.encode(memoryview(b"abc")[::-1]) == [99, 98, 97]


@pytest.mark.parametrize("text", ["ab", "é", "日", "😀", "\ud83d"], ids=ascii)
def test_subclasses_of_str_and_bytes_are_text(text: str) -> None:
    class Name(str):
        __slots__ = ()

    class Data(bytes):
        __slots__ = ()

    assert BYTE_TOKENIZER.encode(Name(text)) == list(as_utf8(text))
    assert BYTE_TOKENIZER.encode(np.str_(text)) == list(as_utf8(text))
    assert BYTE_TOKENIZER.encode(Data(as_utf8(text))) == list(as_utf8(text))


@pytest.mark.parametrize("name", ENTRY_POINTS)
@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
@pytest.mark.parametrize(
    ("text", "offset"), [(b"\xff", 0), (b"abc\xe2\x82", 3), ("é".encode() * 9 + b"\x80x", 18)]
)
def test_every_entry_point_refuses_invalid_utf8(
    name: str, make: Callable[[bytes], bytes], text: bytes, offset: int
) -> None:
    message = f"not UTF-8: invalid byte 0x{text[offset]:02x} at offset {offset} .*decode it first"
    with pytest.raises(ValueError, match=message):
        ENTRY_POINTS[name](make(text))


@pytest.mark.parametrize("name", ENTRY_POINTS)
@pytest.mark.parametrize("wrong", [None, 5, 1.5, ["a"], object()])
def test_every_entry_point_raises_type_error_for_other_types(name: str, wrong: object) -> None:
    with pytest.raises(TypeError, match=f"text must be str, or bytes of UTF-8, not {type(wrong).__name__}"):
        ENTRY_POINTS[name](wrong)


@pytest.mark.daily
@settings(max_examples=n_rounds(500, 2000))
@given(texts)
def test_str_is_converted_to_utf8_as_via_utf16(text: str) -> None:
    assert to_utf8(text) == as_utf8(text)
    assert utf8_size([text]) == len(as_utf8(text))


def test_every_code_point_becomes_its_utf8() -> None:
    for start in range(0, 0x110000, 0x400):  # no block holds both halves of a surrogate pair
        text = "".join(map(chr, range(start, start + 0x400)))
        expected = "\ufffd" * 0x400 if 0xD800 <= start < 0xE000 else text
        assert to_utf8(text) == expected.encode()
        assert to_utf8(text[0]) == expected[0].encode()


@pytest.mark.parametrize("widest", ["a", "é", "日", "😀"])
def test_every_storage_width_of_str_becomes_utf8(widest: str) -> None:
    for n in (1, 7, 8, 9, 15, 16, 17, 1000):
        text = ("ab" * n)[:n] + widest
        assert to_utf8(text) == text.encode()
        assert to_utf8(widest * n) == (widest * n).encode()
        assert utf8_size([widest * n]) == len((widest * n).encode())


def verdict(text: bytes) -> int | None:
    """Return the offset at which Python's decoder fails, or None for valid UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def our_verdict(text: bytes) -> int | None:
    try:
        assert to_utf8(text) == text
    except ValueError as error:
        return int(str(error).split("at offset ")[1].split(" ")[0])
    return None


BORDERS = bytes([
    0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF,
    0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
])  # fmt: skip


def test_all_two_byte_sequences_are_validated_as_by_python() -> None:
    for pair in product(range(256), repeat=2):
        assert our_verdict(bytes(pair)) == verdict(bytes(pair)), pair


@pytest.mark.daily
def test_boundary_byte_sequences_are_validated_as_by_python() -> None:
    for length in (1, 3, 4):
        for sequence in product(BORDERS, repeat=length):
            assert our_verdict(bytes(sequence)) == verdict(bytes(sequence)), sequence


def test_invalid_bytes_are_found_at_every_offset_in_a_block() -> None:
    troubles = [
        b"\x80",
        b"\xc3",
        b"\xc3\xa9",
        b"\xed\xa0\x80",
        b"\xed\x9f\xbf",
        b"\xf0\x9f\x98",
        b"\xf4\x90\x80\x80",
        b"\xf0\x9f\x98\x80",
    ]
    for trouble, before, after in product(troubles, range(36), range(36)):
        text = b"a" * before + trouble + b"b" * after
        assert our_verdict(text) == verdict(text), text
        assert our_verdict(text * 2) == verdict(text * 2), text * 2


def test_random_bytes_are_validated_as_by_python() -> None:
    rng = random.Random(3)
    sound = [
        "a",
        "é",
        "日",
        "😀",
        "\0",
        "\u07ff",
        "\u0800",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "\U00010000",
        "\U0010ffff",
    ]
    for number in range(20_000):
        text = bytearray("".join(rng.choices(sound, k=rng.randint(1, 12))).encode())
        for _ in range(rng.choice([0, 1, 1, 2])):
            text[rng.randrange(len(text))] = rng.choice(BORDERS)
        if rng.random() < 0.2:
            del text[rng.randrange(len(text)) :]
        assert our_verdict(bytes(text)) == verdict(bytes(text)), (number, bytes(text))

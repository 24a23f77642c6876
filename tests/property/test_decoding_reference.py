"""Decoding against the slow twin: every kind of token, every kind of sequence, every `errors` option."""

import array
import random
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe import InvalidTokenError, Tokenizer
from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.merge.vocabulary import NO_SLOTS, Vocabulary
from helpers.sampling import n_rounds
from helpers.shared_data import BYTES, corpus, published
from reference import decode

# Lengths around the 14 bytes of a slot and the 16 KB of a block. TEXTS and BROKEN: whole and partial
# characters of each width, and invalid bytes.
LENGTHS = (2, 13, 14, 15, 16, 17, 40, 300, 20_000)
TEXTS = ("a", "é", "ÿ", "Ā", "日", "😉", "aé", "é日", "日😉a", "a\0")
BROKEN = (
    b"\xc3",
    b"\xe6\x97",
    b"\xf0\x9f",
    b"\x97\xa5",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xf4\x90\x80\x80",
    b"\xff",
)


def _tokens() -> dict[bytes, int]:
    tokens = dict(BYTES)
    made = [(text.encode() * n)[:n] for text in TEXTS for n in LENGTHS]
    for token in (*made, *(text.encode() for text in TEXTS), *BROKEN):
        tokens.setdefault(token, len(tokens) * 2 - 256)  # from 256 on every other id is unused
    return tokens


RANKS = _tokens()
SPECIAL = {"<|end|>": 257, "<|日本語|>": 259, "<|" + "long" * 9 + "é|>": 100_000}
TOKENS = {i: token for token, i in RANKS.items()} | {i: name.encode() for name, i in SPECIAL.items()}
DTYPES = ("u1", "i1", "<u2", ">u2", "<i2", ">i2", "<u4", ">u4", "<i4", ">i4", "<u8", ">u8", "<i8", ">i8")
ERRORS = ("replace", "strict", "ignore", "backslashreplace")
WAYS: tuple[Callable[[list[int]], Any], ...] = (
    list,
    tuple,
    iter,
    lambda ids: array.array("Q", ids),
    lambda ids: memoryview(array.array("i", ids)),
    lambda ids: [np.int32(i) for i in ids],
    lambda ids: np.repeat(np.array(ids, dtype="u4"), 3)[::3],
    lambda ids: np.array(ids[::-1], dtype="i8")[::-1],
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_ranks(RANKS, pattern=None, special_tokens=SPECIAL)


def outcome(make: Callable[[], str]) -> tuple[object, ...]:
    """Return a text with its width in memory and its hash, or an error with its arguments.

    The width comes from a copy twice as long: a str may cache its UTF-8, which counts too, and CPython shares
    one-character strings.
    """
    try:
        text = make()
    except UnicodeDecodeError as error:
        return type(error), error.start, error.end, error.reason, error.object
    return text, sys.getsizeof(text + text), hash(text)


@settings(max_examples=n_rounds(133, 400))
@given(st.lists(st.sampled_from(sorted(TOKENS)), max_size=40), st.sampled_from(ERRORS), st.sampled_from(WAYS))
def test_any_tokens_decode_as_the_slow_twin(
    tokenizer: Tokenizer, ids: list[int], errors: str, way: Callable[[list[int]], Any]
) -> None:
    data = decode(ids, TOKENS)
    assert tokenizer.decode_bytes(way(ids)) == data
    assert outcome(lambda: tokenizer.decode(way(ids), errors=errors)) == outcome(
        lambda: data.decode(errors=errors)
    )


def character_starts(data: bytes) -> list[int]:
    """Return the starts of the characters that errors="replace" makes of bytes."""
    starts, at = [], 0
    while at < len(data):
        starts.append(at)
        try:
            at += next(n for n in range(1, 5) if is_text(data[at : at + n]))
        except StopIteration:
            with pytest.raises(UnicodeDecodeError) as raised:
                data[at : at + 8].decode()
            at += raised.value.end
    return starts


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@settings(max_examples=n_rounds(100, 300))
@given(st.lists(st.sampled_from([i for i in sorted(TOKENS) if len(TOKENS[i]) < 50]), max_size=30))
def test_offsets_and_token_bytes_equal_the_slow_twin(tokenizer: Tokenizer, ids: list[int]) -> None:
    tokens = [TOKENS[i] for i in ids]
    assert tokenizer.decode_tokens_bytes(ids) == tokens
    starts, at, expected = character_starts(b"".join(tokens)), 0, []
    for token in tokens:
        expected.append(sum(start <= at for start in starts) - 1)
        at += len(token)
    text, offsets = tokenizer._family.surfaces.decode_with_offsets(ids)
    assert text == tokenizer.decode(ids)
    assert offsets == expected


def test_offsets_of_half_characters_point_at_their_replacement(tokenizer: Tokenizer) -> None:
    assert tokenizer._family.surfaces.decode_with_offsets([97, *"👍".encode()[:2]]) == ("a\ufffd", [0, 1, 1])
    assert tokenizer._family.surfaces.decode_with_offsets([*"👍".encode()[2:], 97]) == ("\ufffd\ufffda", [0, 1, 2])
    for method in (tokenizer._family.surfaces.decode_with_offsets, tokenizer.decode_tokens_bytes):
        with pytest.raises(InvalidTokenError, match="id 261 at position 1"):
            method([97, 261])


def test_offset_of_an_empty_token_at_the_end_is_the_end_of_the_text() -> None:
    tokens = [b"ab", "é".encode()[:1], "é".encode()[1:]]
    ends = array.array("I", [2, 3, 4]).tobytes()
    vocabulary = Vocabulary(
        token_bytes=b"".join(tokens), token_ends=ends, pieces=NO_SLOTS, pairs=NO_SLOTS, drops_bytes=True
    )
    decoder = Decoder(vocabulary, [(3, b"")], joins=True)
    assert decoder.decode_with_offsets([3]) == ("", [0])
    assert decoder.decode_with_offsets([3, 0, 3, 3]) == ("ab", [0, 0, 2, 2])
    assert decoder.decode_with_offsets([1, 3, 2, 3]) == ("é", [0, 0, 0, 1])


@pytest.mark.daily
@settings(max_examples=200)
@given(st.lists(st.lists(st.sampled_from(sorted(TOKENS)), max_size=6), max_size=6), st.sampled_from(ERRORS[::2]))
def test_batches_decode_as_the_slow_twin(tokenizer: Tokenizer, batch: list[list[int]], errors: str) -> None:
    expected = [decode(ids, TOKENS).decode(errors=errors) for ids in batch]
    assert tokenizer.decode_batch(batch, errors=errors) == expected
    assert tokenizer.decode_batch([np.array(ids, dtype="u4") for ids in batch], errors=errors) == expected
    assert tokenizer.decode_batch(iter(batch), errors=errors) == expected


@pytest.mark.parametrize("alphabet", ["a", "aé", "a日", "aé日😉", "😉", "日", "é"])
def test_texts_of_every_width_and_length_are_decoded(tokenizer: Tokenizer, alphabet: str) -> None:
    """The text is spelled in bytes and in longer tokens, so that characters span the ends of tokens and blocks."""
    rng = random.Random(len(alphabet))
    for n in (0, 1, 7, 8, 9, 100, 2000, 2_600, 5_500, 17_000, 70_000):
        text = "".join(rng.choices(alphabet, k=n))
        for ids in (list(text.encode()), tokenizer.encode_ordinary(text)):
            for errors in ERRORS:
                assert outcome(lambda: tokenizer.decode(ids, errors=errors)) == outcome(lambda: text)  # noqa: B023
            assert tokenizer.decode_bytes(ids) == text.encode()


def test_invalid_bytes_anywhere_are_treated_as_by_python(tokenizer: Tokenizer) -> None:
    rng = random.Random(3)
    for n in (5, 3_000, 40_000):
        for broken in BROKEN:
            ids = rng.choices([97, *"é日😉".encode()], k=n)
            ids.insert(rng.randrange(n), RANKS[broken])
            data = decode(ids, TOKENS)
            for errors in ERRORS:
                found = outcome(lambda: tokenizer.decode(ids, errors=errors))  # noqa: B023
                assert found == outcome(lambda: data.decode(errors=errors))  # noqa: B023


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_type_and_stride_are_decoded(tokenizer: Tokenizer, dtype: str) -> None:
    greatest = min(np.iinfo(dtype).max, 100_000)
    known = [i for i in sorted(TOKENS) if i <= greatest]
    ids = np.array(random.Random(4).choices(known, k=300), dtype=dtype)
    unaligned = np.frombuffer(b"x" + ids.tobytes(), dtype=np.uint8)[1:].view(dtype)
    for part in (ids, ids[::7], ids[::-1], ids[5:6], ids[:0], unaligned, np.broadcast_to(ids[3], 20)):
        assert tokenizer.decode_bytes(part) == decode(part.tolist(), TOKENS)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unknown_id_in_an_array_is_named_with_its_position(tokenizer: Tokenizer, dtype: str) -> None:
    info = np.iinfo(dtype)
    bad_ids = {int(info.max), int(info.min), 261, -1, 100_001, 2**32, 2**32 + 97} - set(TOKENS)
    for bad in sorted(i for i in bad_ids if info.min <= i <= info.max):
        for position in range(20):
            ids = np.full(20, 97, dtype=dtype)
            ids[position] = bad
            with pytest.raises(InvalidTokenError, match=f"^id {bad} at position {position} is not a token"):
                tokenizer.decode(ids)


@pytest.mark.parametrize("make", [list, tuple, lambda ids: [np.int64(i) if i < 2**63 else i for i in ids]])
@pytest.mark.parametrize("bad", [-1, 261, 100_001, 2**24, 2**30, 2**31, 2**32 + 97, 2**60, 2**64 + 97, -(2**70)])
def test_unknown_id_in_a_list_is_named_with_its_position(
    tokenizer: Tokenizer, bad: int, make: Callable[[Sequence[int]], Sequence[int]]
) -> None:
    for position in range(20):
        ids = [97] * 20
        ids[position] = bad
        if make not in (list, tuple) and not -(2**63) <= bad < 2**63:
            continue
        for call in (tokenizer.decode, tokenizer.decode_bytes):
            with pytest.raises(InvalidTokenError, match=f"^id {bad} at position {position} is not a token"):
                call(make(ids))
    with pytest.raises(InvalidTokenError, match=f"^id {bad} at position 0 is not a token"):
        tokenizer.decode_tokens_bytes([bad])[0]


def test_every_single_token_is_decoded(tokenizer: Tokenizer) -> None:
    for token_id, token in TOKENS.items():
        assert tokenizer.decode_tokens_bytes([token_id])[0] == token
        assert tokenizer.id_to_token(np.uint32(token_id)) == token  # type: ignore[arg-type]
        assert tokenizer.decode_bytes([token_id]) == token
        assert outcome(lambda: tokenizer.decode([token_id])) == outcome(lambda: token.decode(errors="replace"))  # noqa: B023
    for no_id in (1.0, None, "97", b"a"):
        with pytest.raises(TypeError, match="ids must be integers"):
            tokenizer.decode_tokens_bytes([no_id])[0]  # type: ignore[arg-type]


def test_objects_with_index_are_accepted_as_ids(tokenizer: Tokenizer) -> None:
    class Index:
        def __index__(self) -> int:
            return 98

    class Int(int):
        pass

    ids: list[Any] = [97, 1, Index(), Int(99), np.uint8(100), Index(), 2**30 - 2**30]
    assert tokenizer.decode_bytes(ids) == b"a\x01bcdb\0"
    for call in (tokenizer.decode_bytes, tokenizer.decode, tokenizer.decode_tokens_bytes):
        with pytest.raises(TypeError, match="True at position 1 is bool"):
            call([97, True])


def test_list_changed_by_another_thread_never_crashes(tokenizer: Tokenizer) -> None:
    """The result may be any mixture of old and new ids, but never a crash or a wrong token."""
    ids: list[Any] = [97] * 30_000
    done, refused = threading.Event(), set()

    def change() -> None:
        rng = random.Random(5)
        while not done.is_set():
            at = rng.randrange(len(ids) or 1)
            ids[at:] = [rng.choice([97, 98, 10**40, RANKS["日".encode()]])] * (rng.randrange(30_000))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            try:
                assert set(tokenizer.decode(ids)) <= set("ab日")
            except InvalidTokenError as error:
                refused.add(str(error).split()[1])
    finally:
        done.set()
        thread.join()
    assert refused <= {str(10**40)}


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@pytest.mark.parametrize("text", ["english.txt", "multilingual.txt", "emoji_mixed.txt"])
def test_published_vocabularies_decode_real_texts(name: str, text: str) -> None:
    tokenizer, expected = published(name), corpus(text, 400_000)
    ids = tokenizer.encode_ordinary(expected)
    for sequence in (ids, np.array(ids, dtype="u4")):
        assert outcome(lambda: tokenizer.decode(sequence, errors="strict")) == outcome(lambda: expected)  # noqa: B023

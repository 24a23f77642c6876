"""Shared int objects of ids, made once per process: they behave like any other ints."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
from copy import deepcopy

import pytest

from fastbpe import InvalidTokenError, Tokenizer
from helpers.child_processes import HAS_ASAN, run_python

#: Ids around the ends of blocks, of Python's cached ints, of one-digit ints, and of the table.
IDS = [256, 257, 383, 384, 511, 512, 65_535, 65_536, 2**20 - 129, 2**20 - 1, 2**20, 2**20 + 1, 2**24 - 1]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    ranks = {bytes([byte]): byte for byte in range(256)}
    return Tokenizer.from_ranks(ranks, pattern=None, special_tokens={f"<{i}>": i for i in IDS})


MANY_AND_FEW = """
from itertools import product
from fastbpe import Tokenizer

beyond = [600, 70_000, 2**20 - 1, 2**20, 2**24 - 1]
names = {f"<{i}>": i for i in beyond}
ranks = {bytes([byte]): byte for byte in range(256)}
tokenizer = Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens=names)

def check():
    for n, place, other in product(range(14), range(14), beyond):
        ids = [(31 * i + n) % 128 for i in range(n)]
        ids[place:place] = [other][: place <= n]
        text = "".join(f"<{i}>" if i in beyond else chr(i) for i in ids)
        for found in tokenizer.encode_batch([text, text], allowed_special="all"):
            assert found == ids, (found, ids)
    for place in (0, 1, 1020, 1023, 1024, 1025, 2047, 2048):
        ids = [i % 100 for i in range(2050)]
        ids[place] = 2**20
        text = "".join(f"<{i}>" if i > 99 else chr(i) for i in ids)
        assert tokenizer.encode(text, allowed_special="all") == ids

check()
text = bytes(range(128)).decode() * 100
for _ in range(12):
    assert tokenizer.encode(text) == [*range(128)] * 100
check()
assert tokenizer.encode("".join(names) * 20_000, allowed_special="all") == beyond * 20_000
check()
"""

ROW = """
import ctypes
from fastbpe import Tokenizer

last = 33_000
names = {f"<{i}>": i for i in range(256, last, 64)}
tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern=None, special_tokens=names)
for _ in range(400):
    tokenizer.encode("".join(names), allowed_special="all")
[first] = {id(number) for number in tokenizer.encode("\\0" * 3)}
size = ctypes.sizeof(ctypes.c_size_t) * 4
made = [ctypes.c_size_t.from_address(first + size * i + 8).value == id(int) for i in range(2**20)]
print(made[0] and made[last - 1000], sum(made))
"""


def encoded(tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    return tokenizer.encode("".join(f"<{i}>" for i in ids), allowed_special="all")


def test_shared_ints_have_type_value_and_hash_of_ints(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(bytes(range(128)).decode()) + encoded(tokenizer, IDS)
    expected = [*range(128), *IDS]
    assert ids == expected
    assert [*map(type, ids)] == [int] * len(expected)
    assert [*map(hash, ids)] == [*map(hash, expected)]
    assert [*map(str, ids)] == [*map(str, expected)]
    assert [-i for i in ids] == [-i for i in expected]
    assert [i * i - 1 for i in ids] == [i * i - 1 for i in expected]
    assert [i.bit_length() for i in ids] == [i.bit_length() for i in expected]
    assert [*map(bool, ids)] == [*map(bool, expected)]
    assert [*map(float, ids)] == [*map(float, expected)]
    assert dict.fromkeys(ids) == dict.fromkeys(expected)
    assert sorted(ids, reverse=True) == sorted(expected, reverse=True)
    assert expected[ids[1]] == 1
    assert [*range(ids[3])] == [0, 1, 2]
    assert pickle.loads(pickle.dumps(ids)) == deepcopy(ids) == expected


@pytest.mark.daily
def test_shared_ints_outlive_every_list(tokenizer: Tokenizer) -> None:
    text = bytes(range(1, 128)).decode() * 10
    kept = tokenizer.encode(text)
    for _ in range(2000):
        tokenizer.encode(text)
        [*map(str, tokenizer.encode(text))]
    assert kept == [*range(1, 128)] * 10


@pytest.mark.daily
def test_shared_ints_outlive_their_tokenizer() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    ids = [Tokenizer.from_ranks(ranks, pattern=None).encode("some text") for _ in range(100)]
    gc.collect()
    assert ids == [[*b"some text"]] * 100


def test_shared_and_other_ints_decode_alike(tokenizer: Tokenizer) -> None:
    """The decoder recognises table ints by address; mix them with other ints in every order."""
    text = "abc" * 9 + "".join(f"<{i}>" for i in IDS)
    own = tokenizer.encode(text, allowed_special="all")
    others = [int(str(i)) for i in own]
    for ids in (
        own,
        others,
        own + others,
        others + own,
        [x for pair in zip(own, others, strict=True) for x in pair],
    ):
        expected = b"".join(map(tokenizer.id_to_token, ids))
        assert tokenizer.decode_bytes(ids) == tokenizer.decode_bytes(tuple(ids)) == expected
        many = ids * (200_000 // len(ids))
        assert tokenizer.decode(many, num_threads=2).encode() == expected * (200_000 // len(ids))
        assert tokenizer.decode_batch([ids] * 9) == [expected.decode()] * 9


def test_shared_ints_beyond_the_vocabulary_raise_invalid_token_error(tokenizer: Tokenizer) -> None:
    small = Tokenizer.from_ranks({bytes([byte]): byte for byte in range(256)}, pattern=None)
    ids = encoded(tokenizer, [256])
    with pytest.raises(InvalidTokenError, match="id 256 at position 3 is not a token"):
        small.decode(small.encode("abc") + ids)
    with pytest.raises(InvalidTokenError, match="id 256 at position 0 is not a token"):
        small.decode_batch([small.encode("abc"), ids])


def test_tokenizers_share_int_objects(tokenizer: Tokenizer) -> None:
    other = Tokenizer.from_ranks({bytes([255 - byte]): byte for byte in range(256)}, pattern=None)
    (one,), (two,) = tokenizer.encode("\x41"), other.encode(b"\x7f")  # ids 65 and 128
    assert (one, two) == (65, 128)
    assert tokenizer.encode("A")[0] is one
    assert other.encode("~") == [129]


def test_repeated_encoding_allocates_no_new_ints(tokenizer: Tokenizer) -> None:
    text = "".join(f"<{i}>" for i in IDS) + "many bytes" * 10
    tokenizer.encode(text, allowed_special="all")
    before = sys.getallocatedblocks()
    for _ in range(1000):
        tokenizer.encode(text, allowed_special="all")
    assert sys.getallocatedblocks() - before < 100


def test_lists_of_every_length_are_correct_before_and_after_long_ones() -> None:
    """Runs in a new process: long runs of ids take a path that does not check whether each id has its int."""
    run_python(MANY_AND_FEW)


@pytest.mark.daily
def test_threads_may_create_shared_ints_at_once() -> None:
    n_ids = 40_000
    ranks = {bytes([byte]): byte for byte in range(256)}
    names = {f"<{i}>": i for i in range(700_000, 700_000 + n_ids)}
    tokenizer = Tokenizer.from_ranks(ranks, pattern=None, special_tokens=names)
    text = "".join(names)
    out: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: out.append(tokenizer.encode(text, allowed_special="all")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert out == [[*names.values()]] * 8


@pytest.mark.daily
@pytest.mark.skipif(
    HAS_ASAN or not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="no table, or memory that is not zeros"
)
def test_ints_are_made_up_to_the_greatest_id_only() -> None:
    are_made, n_made = run_python(ROW).split()
    assert are_made == "True"
    assert 33_000 - 128 <= int(n_made) <= 33_000 + 128

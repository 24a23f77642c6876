"""Ids of long texts become list items during encoding, in a list that grows."""

import sys

import pytest

from fastbpe import SpecialTokenError, Tokenizer
from helpers.child_processes import run_python
from helpers.shared_data import BYTES

LONG = 1 << 13  # code units: length from which a list grows during encoding


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    words = {b"wo": 256, b"rd": 257, b"word": 258, b" word": 259, b"aa": 260, b"aaaa": 261, b"aaaaaaaa": 262}
    return Tokenizer.from_ranks({**BYTES, **words}, pattern="cl100k", special_tokens={"<e>": 999})


#: Texts with fewer ids than the expected third of their length, about as many, and up to twelve times as many.
TEXTS = {
    "few": "a" * 8 * LONG,
    "words": "a word, " * LONG,
    "bytes": "xyz; " * LONG,
    "many": "漢字かな " * LONG,
    "without a cut": "漢字" * 70_000,  # three ids per character, space for two is allocated
    "emoji without a cut": "😀" * 200_000,  # four ids per character, space for four is allocated
    "beyond one stretch": "word " * 100_000 + "😀 " * 50_000,
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("num_threads", [1, 2])
def test_grown_lists_equal_arrays(tokenizer: Tokenizer, name: str, num_threads: int) -> None:
    text = TEXTS[name]
    ids = tokenizer.encode(text, num_threads=num_threads)
    assert ids == tokenizer.encode_to_numpy(text, num_threads=1).tolist()
    assert tokenizer.encode(text.encode(), num_threads=num_threads) == ids
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("n", [LONG - 1, LONG, LONG + 1, 3 * LONG])
def test_lists_equal_arrays_around_the_growing_length(tokenizer: Tokenizer, n: int) -> None:
    for text in ("word " * n, "é" * n, "漢" * n):
        assert tokenizer.encode(text[:n], num_threads=1) == tokenizer.encode_to_numpy(text[:n]).tolist()


@pytest.mark.parametrize("name", TEXTS)
def test_grown_lists_waste_at_most_an_eighth(tokenizer: Tokenizer, name: str) -> None:
    ids = tokenizer.encode(TEXTS[name], num_threads=1)
    assert sys.getsizeof(ids) <= sys.getsizeof([]) + 8 * (len(ids) + len(ids) // 8)


def test_special_tokens_keep_their_positions_in_grown_lists(tokenizer: Tokenizer) -> None:
    text = "<e>" + "漢字<e>word " * LONG + "<e><e>"
    ids = tokenizer.encode(text, allowed_special="all", num_threads=1)
    assert ids == tokenizer.encode_to_numpy(text, allowed_special="all").tolist()
    assert ids.count(999) == LONG + 3
    with pytest.raises(SpecialTokenError):
        tokenizer.encode("word " * LONG + "<e>", num_threads=1)
    assert tokenizer.encode("word " * LONG, num_threads=1) == tokenizer.encode("word " * LONG, num_threads=2)


def test_grown_lists_can_be_changed_like_any_list(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("漢字かな " * LONG, num_threads=1)
    copy = [*ids]
    ids += copy
    ids.append(-1)
    ids.insert(0, -1)
    assert ids == [-1, *copy, *copy, -1]
    ids.clear()
    assert tokenizer.encode("漢字かな " * LONG, num_threads=1) == copy


WAITS = """
import sys, threading, time
import fastbpe
sys.setswitchinterval(0.02)  # a wait for the GIL takes this long
words = {b"wo": 256, b"rd": 257, b"word": 258, b" word": int(sys.argv[1])}
bytes_ = {bytes([byte]): byte for byte in range(256)}
tokenizer = fastbpe.Tokenizer.from_ranks({**bytes_, **words}, pattern="cl100k", special_tokens={"<e>": 999})
text = "word <e> word" * 40_000
threading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()  # never gives it up by itself
start = time.perf_counter()
tokenizer.encode(text, allowed_special="all", num_threads=1)
print((time.perf_counter() - start) / 0.02 < 20)
sys.stdout.flush()
import os
os._exit(0)
"""


@pytest.mark.daily
@pytest.mark.parametrize("number", [259, 2**20 + 1])  # from the int table, and beyond it
def test_many_special_tokens_cause_few_waits_for_the_gil(number: int) -> None:
    """A new process, with no ints made yet, encodes 40,000 stretches between special tokens with few waits."""
    assert run_python(WAITS, str(number)) == "True\n"

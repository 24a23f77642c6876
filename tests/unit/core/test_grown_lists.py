"""Lists of long texts: ids become items while the text is encoded, in a list that grows."""

import sys

import pytest

from fastbpe import SpecialTokenError, Tokenizer
from helpers.child_processes import run_python
from helpers.shared_data import BYTES, own_ints

LONG = 1 << 13  # units: from here on


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    words = {b"wo": 256, b"rd": 257, b"word": 258, b" word": 259, b"aa": 260, b"aaaa": 261, b"aaaaaaaa": 262}
    return Tokenizer.from_ranks({**BYTES, **words}, pattern="cl100k", special_tokens={"<e>": 999})


#: Fewer ids than the third of a text that is expected, about as many, and up to twelve times as many.
TEXTS = {
    "few": "a" * 8 * LONG,
    "words": "a word, " * LONG,
    "bytes": "xyz; " * LONG,
    "many": "漢字かな " * LONG,
    "without a cut": "漢字" * 70_000,  # three ids where room for two is asked for
    "emoji without a cut": "😀" * 200_000,  # four, and room for four
    "beyond one stretch": "word " * 100_000 + "😀 " * 50_000,
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("num_threads", [1, 2])
def test_ids_are_those_of_arrays(tokenizer: Tokenizer, name: str, num_threads: int) -> None:
    text = TEXTS[name]
    ids = tokenizer.encode(text, num_threads=num_threads)
    assert ids == tokenizer.encode_to_numpy(text, num_threads=1).tolist()
    assert tokenizer.encode(text.encode(), num_threads=num_threads) == ids
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("n", [LONG - 1, LONG, LONG + 1, 3 * LONG])
def test_around_the_length_from_which_they_grow(tokenizer: Tokenizer, n: int) -> None:
    for text in ("word " * n, "é" * n, "漢" * n):
        assert tokenizer.encode(text[:n], num_threads=1) == tokenizer.encode_to_numpy(text[:n]).tolist()


@pytest.mark.parametrize("name", TEXTS)
def test_little_more_memory_than_for_the_items(tokenizer: Tokenizer, name: str) -> None:
    ids = tokenizer.encode(TEXTS[name], num_threads=1)
    assert sys.getsizeof(ids) <= sys.getsizeof([]) + 8 * (len(ids) + len(ids) // 8)


def test_special_tokens_have_their_places(tokenizer: Tokenizer) -> None:
    text = "<e>" + "漢字<e>word " * LONG + "<e><e>"
    ids = tokenizer.encode(text, allowed_special="all", num_threads=1)
    assert ids == tokenizer.encode_to_numpy(text, allowed_special="all").tolist()
    assert ids.count(999) == LONG + 3
    with pytest.raises(SpecialTokenError):
        tokenizer.encode("word " * LONG + "<e>", num_threads=1)
    assert tokenizer.encode("word " * LONG, num_threads=1) == tokenizer.encode("word " * LONG, num_threads=2)


def test_lists_go_on_growing(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("漢字かな " * LONG, num_threads=1)
    copy = [*ids]
    ids += copy
    ids.append(-1)
    ids.insert(0, -1)
    assert ids == [-1, *copy, *copy, -1]
    ids.clear()
    assert tokenizer.encode("漢字かな " * LONG, num_threads=1) == copy


def test_without_memory() -> None:
    """MemoryError or the ids, whichever of Python's allocations is refused; then all works as before."""
    testing = pytest.importorskip("_testcapi")
    ranks = {token: i if i != ord("x") else 2**20 + 7 for token, i in BYTES.items()}  # an int of its own each time
    tokenizer = Tokenizer.from_ranks(ranks, pattern="cl100k")
    for text in ("漢字かな " * LONG, "漢" * (LONG - 50) + "x" * 50, TEXTS["without a cut"]):
        expected = tokenizer.encode(text, num_threads=1)
        own_ints()  # dropped: the free list is full now, and will be at the end
        before = sys.getallocatedblocks()
        n_refused = 0
        for nth in range(70):
            ids = None
            kept = own_ints()
            testing.set_nomemory(nth, nth + 1)
            try:
                ids = tokenizer.encode(text, num_threads=1)
            except MemoryError:
                n_refused += 1
            finally:
                testing.remove_mem_hooks()
            assert ids is None or ids == expected
            del kept
        assert tokenizer.encode(text, num_threads=1) == expected
        assert n_refused > 10 or "x" not in text  # room may be refused without harm, ints may not
        del ids
        assert sys.getallocatedblocks() - before < 50


WAITS = """
import sys, threading, time
import fastbpe
sys.setswitchinterval(0.02)  # a wait for the GIL takes as long
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


@pytest.mark.parametrize("number", [259, 2**20 + 1])  # whose int is made later on, and made anew each time
def test_the_gil_is_not_asked_for_again_and_again(number: int) -> None:
    """In a new process, where no int was made: 40,000 stretches between special tokens, and few waits."""
    assert run_python(WAITS, str(number)) == "True\n"

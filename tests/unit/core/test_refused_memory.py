"""Allocations that fail, and memory that must not grow."""

import sys
import sysconfig
from pathlib import Path

import pytest

from helpers import refusing_malloc
from helpers.child_processes import HAS_ASAN, run_python

pytestmark = pytest.mark.daily
HAS_NO_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Build the allocator that refuses memory; skip the test where no program can use it."""
    if HAS_NO_GIL:
        pytest.skip("its objects do not come from malloc, which refuses here")
    if HAS_ASAN:
        pytest.skip("AddressSanitizer replaces malloc, too")
    if not sys.platform.startswith("linux"):
        pytest.skip("the allocator is replaced as glibc lets one")
    built = refusing_malloc.build(tmp_path)
    if built is None:
        pytest.skip("needs a C compiler and glibc")
    return built


REFUSED = """
import ctypes, resource, sys
import numpy
import fastbpe
library = ctypes.CDLL(sys.argv[1])
ranks = {**{bytes([i]): i for i in range(256)}, b" t": 256, b"th": 257, b"the": 258, b"er": 259}
tokens = list(ranks)
text = "".join(f"the other wörd {i * 7919 % 10007} of a long{'er' * (i % 40)} text, " for i in range(2000))
texts = [text[:5], text[:50_000].encode(), bytearray(text[:9000].encode()), text[50_000:] + text, "", "a" * 3000]
def fresh():
    made = fastbpe.Tokenizer.from_ranks(ranks, pattern="cl100k", special_tokens={"<|end|>": 260})
    made._pipeline, made.special_tokens
    return made
short, n_first = "the other of a long text, the other", 0
for n in range(1, 100):  # until the first list of the process is made, its ints too
    t = fresh()
    library.arm(n)
    try:
        ids = t.encode(short)
    except MemoryError:
        n_first += 1
    ended = library.still_left() > 0
    library.arm(0)
    if ended:
        break
ids_of_short = t.encode(short.encode())
assert ids == ids_of_short and n_first > 4, n_first
tokenizer = fresh()
ids = tokenizer.encode(text, num_threads=1)
ids_of_texts = [tokenizer.encode(t, num_threads=1) for t in texts]
flat = [i for one in ids_of_texts for i in one]
n_ids = [len(one) for one in ids_of_texts]
array = numpy.array(ids, dtype="u4")
class Encoder:
    def short(t, n): assert t.encode(short) == ids_of_short
    def encode(t, n): assert t.encode(text, num_threads=n) == ids
    def allowed(t, n): assert t.encode(text + "<|end|>", allowed_special="all", num_threads=n) == [*ids, 260]
    def batch(t, n): assert t.encode_batch(texts, num_threads=n) == ids_of_texts
    def numpy(t, n): assert t.encode_batch_to_numpy(texts, num_threads=n)[0].tolist() == flat
    def count(t, n): assert t.count(text, num_threads=n) == len(ids)
    def counts(t, n): assert t.count_batch(texts, num_threads=n).tolist() == n_ids
    def parts(t, n): assert t.encode_parts([(text, True), (text, False)]) == ids * 2
    def decode(t, n): assert t.decode(ids) == text == t.decode(array)
    def bytes(t, n): assert t.decode_bytes(array) == text.encode()
    def decode_batch(t, n): assert t.decode_batch([ids, array]) == [text, text]
calls = {name: call for name, call in vars(Encoder).items() if callable(call)}
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
def all_calls(n_threads, is_new):
    n_refused = 0
    for call in calls.values():
        for n in range(1, 200):
            t = fresh() if is_new else tokenizer
            library.arm(n)
            try:
                call(t, n_threads)
            except MemoryError:
                n_refused += 1
            ended = library.still_left() > 0  # fewer calls than that
            library.arm(0)
            call(t, n_threads)
            if ended:
                break
        else:
            raise AssertionError("no end of allocations")
    return n_refused
n_refused = all_calls(1, True) + all_calls(2, True)
before = peak()
all_calls(2, False)
assert n_refused > 100, n_refused
assert peak() < before + 30, (before, peak())
print("done")
"""


def test_refused_allocation_raises_memory_error_and_leaks_nothing(library: Path) -> None:
    """Each call raises MemoryError or gives the right answer; later calls work as before, and nothing leaks."""
    assert run_python(REFUSED, str(library), **refusing_malloc.loaded(library)) == "done\n"


COUNTS = """
import ctypes, sys
import fastbpe
library = ctypes.CDLL(sys.argv[1])
n_refused = 0
for n in range(1, 50):
    counts = fastbpe.PieceCounts({b"%d" % i * (1 + i % 9): i + 1 for i in range(200)})
    library.arm(n)
    try:
        counts[b"7" * 8]  # builds the tables
    except MemoryError:
        n_refused += 1
    ended = library.still_left() > 0
    library.arm(0)
    assert counts[b"7" * 8] == 8 and counts[b"17" * 9] == 18, n
    if ended:
        break
assert n_refused > 1, n_refused  # there are two tables
print("done")
"""


def test_call_after_a_refused_table_of_pieces_builds_it(library: Path) -> None:
    assert run_python(COUNTS, str(library), **refusing_malloc.loaded(library)) == "done\n"


OBJECTS = """
import _testcapi, gc, sys
import fastbpe
gc.disable()  # what the collector destroys would change the number of blocks
# Ids that no table of ints has, so each needs memory.
short = {bytes([i]): i if i < 128 else i + 2**20 for i in range(256)}
for word in (b"th", b"the", b"sh", b"or", b"te", b"ex", b" t", b" the"):
    short[word] = 2**20 + len(short)
long = {bytes([i]): i if i != ord("x") else 2**20 + 7 for i in range(256)}
N = 1 << 13  # code units: from this length, a list grows during encoding
CASES = [  # the last number: the fewest refusals that must raise MemoryError; a buffer that may not grow need not
    *((short, text, 2) for text in ("the short texts", "qzjx~~ " * 20, "\x7f" * 256, "the short texts " * 200)),
    (long, "漢字かな " * N, 0),
    (long, "漢" * (N - 50) + "x" * 50, 11),
    (long, "漢字" * 70_000, 0),
]
def own_ints():  # takes every int out of the free list (CPython 3.14 keeps up to 100 of one digit)
    return list(range(2**29, 2**29 + 1000))
for ranks, text, n_least in CASES:
    tokenizer = fastbpe.Tokenizer.from_ranks(ranks, pattern="cl100k")
    expected = tokenizer.encode(text, num_threads=1)
    own_ints()  # fills the free list, so that it is equally full at the end
    before = sys.getallocatedblocks()
    n_refused = 0
    for nth in range(min(len(expected) + 10, 70)):
        ids = None
        kept = own_ints()
        _testcapi.set_nomemory(nth, nth + 1)
        try:
            ids = tokenizer.encode(text, num_threads=1)
        except MemoryError:
            n_refused += 1
        finally:
            _testcapi.remove_mem_hooks()
        assert ids is None or ids == expected
        del kept
    assert tokenizer.encode(text, num_threads=1) == expected
    assert n_refused >= n_least, (n_refused, text[:20])
    del ids
    gc.collect()
    assert sys.getallocatedblocks() - before < 50, (sys.getallocatedblocks() - before, text[:20])
print("done")
"""


def test_refused_object_raises_memory_error_or_gives_correct_ids() -> None:
    """MemoryError or the correct ids, whichever Python allocation fails; later calls work as before.

    A program of its own: `_testcapi` refuses memory to every thread, also to those of pytest-xdist.
    """
    pytest.importorskip("_testcapi")
    assert run_python(OBJECTS) == "done\n"


FLAT = """
import random, resource, sys
import fastbpe
tokenizer = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="cl100k")
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
def words(first, n):
    return " ".join([f"w{i * 2654435761 % 4294967291:x}" for i in range(first, first + n)])
def many(n):
    for first in range(0, n, 20_000):
        text = words(first, 20_000)
        tokenizer.count_batch([text, text.replace("w", "wwwwwwwwwww")], num_threads=2)
        tokenizer.encode(text)
many(int(sys.argv[1]))
before = peak()
many(2 * int(sys.argv[1]))
assert peak() < before + 60, (before, peak())
assert tokenizer._pipeline.used_bytes <= 64 << 20
print("done")
"""


def test_memory_stays_flat_over_a_million_new_words() -> None:
    assert run_python(FLAT, "1000000") == "done\n"  # tools/faults.py tries ten million


BOUNDED = """
import resource
import fastbpe
tokenizer = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="cl100k")
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
line = b"some words and more " * 50_000
tokenizer.count_batch([line] * 40, num_threads=2)
before = peak()
for kind in (bytes, bytearray, lambda line: memoryview(bytearray(line)), lambda line: line.decode()):
    tokenizer.count_batch((kind(line) for _ in range(150)), num_threads=2)  # 150 MB, 16 at a time
assert peak() < before + 70, (before, peak())
print("done")
"""


def test_generator_of_long_texts_is_read_in_batches() -> None:
    # The allocator of a Python without a GIL returns pages only after a delay, unless this sets it to 0.
    assert run_python(BOUNDED, MIMALLOC_PURGE_DELAY="0") == "done\n"


TOUCHED = """
import resource
import fastbpe
ranks = {bytes([i]): i for i in range(256)} | {b"th": 256, b"the": 257, b"the ": 258}
t = fastbpe.Tokenizer.from_ranks(ranks, pattern=None)
def touched(call):
    call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    n_bytes = call()
    pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert pages < 1.25 * n_bytes / resource.getpagesize() + 500, (pages, n_bytes)
documents = ["the " * 500] * 20_000
touched(lambda: t.encode_batch_to_numpy(documents, num_threads=2)[0].nbytes)
touched(lambda: t.encode_batch_to_numpy(documents, num_threads=1)[0].nbytes)
print("done")
"""


@pytest.mark.skipif(HAS_ASAN, reason="AddressSanitizer has memory of its own")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="page faults are counted as Linux does")
def test_growing_buffers_touch_each_page_once() -> None:
    """A batch of several rounds: realloc copies a buffer that it cannot move, and each call would touch new
    memory."""
    assert run_python(TOUCHED) == "done\n"


TRAINED = """
import random, resource
import fastbpe
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
draw = random.Random(0)
counts = fastbpe.PieceCounts({bytes(draw.choices(range(97, 105), k=25)): 1 for _ in range(160_000)})
before = peak()
tokenizer = fastbpe.train(counts, vocab_size=20_000, progress=False)
n_bytes = peak() - before
assert n_bytes < 22 * 25 * 160_000, n_bytes
half = fastbpe.train(counts, vocab_size=2_000, progress=False)
assert fastbpe.train(counts, base=half, vocab_size=20_000, progress=False).vocab == tokenizer.vocab
print("done")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="large arrays have pages of their own on Linux")
def test_training_gives_the_occurrences_of_merged_pairs_back() -> None:
    """If no occurrence were dropped, training would take 34 bytes per symbol instead of 15. A run that continues
    another one drops other occurrences, and learns the same."""
    assert run_python(TRAINED) == "done\n"


DROPPED = """
import resource
import fastbpe
t = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="cl100k")
long = "some more words " * 60_000
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 20
t.pieces(long)
before = resident()
for _ in range(3):  # the allocator may keep an arena for one object that a round put there
    pieces = [t.pieces(long) for _ in range(20)]
    held = resident()
    del pieces
    assert held > before + 200, (before, held)
    if resident() < before + 40:
        break
else:
    raise AssertionError((before, held, resident()))
print("done")
"""


@pytest.mark.skipif(HAS_NO_GIL, reason="CPython 3.14 without a GIL keeps the memory of any small objects")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_of_small_objects_is_returned_when_they_are_dropped() -> None:
    assert run_python(DROPPED) == "done\n"


#: Without a GIL, Python has one allocator, and its debug hooks.
ALLOCATORS = ["debug"] if HAS_NO_GIL else ["malloc", "debug", "pymalloc_debug"]


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_other_python_allocators_work(allocator: str) -> None:
    code = """
import fastbpe
t = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="cl100k")
text = "some more words " * 10_000
assert t.pieces(text)[-2:] == [(159_993, 159_999), (159_999, 160_000)]
assert all(t.decode(t.encode(word)) == word for word in text.split())
print("done")
"""
    assert run_python(code, PYTHONMALLOC=allocator) == "done\n"

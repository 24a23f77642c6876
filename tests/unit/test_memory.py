"""release_memory frees caches, blocks and threads, and everything works afterwards."""

from __future__ import annotations

import importlib
import pkgutil
import random
import sys
import sysconfig
import threading
import time
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe._compiled import MODULES
from fastbpe.memory import CACHES
from helpers.child_processes import run_python

RANKS = {bytes([i]): i for i in range(256)} | {b"th": 256, b"the": 257, b" w": 258}
TEXT = "the words of a text, thé others " * 20_000


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.from_ranks(RANKS, pattern="cl100k")


def test_release_memory_frees_caches_of_all_tokenizers(tokenizer: Tokenizer) -> None:
    others = [Tokenizer.from_ranks(RANKS, pattern=pattern) for pattern in ("gpt2", "o200k", None)]
    others.append(
        fastbpe.train([TEXT[:999]], mode="codepoint", vocab_size=40, hard_vocab_limit=False, progress=False)
    )
    expected = [one.encode(TEXT, num_threads=1) for one in (tokenizer, *others)]
    used = sum(one._pipeline.used_bytes for one in (tokenizer, *others))
    assert used > 0
    assert fastbpe.release_memory() >= used
    assert [one._pipeline.used_bytes for one in (tokenizer, *others)] == [0] * 5
    assert fastbpe.release_memory() == 0
    assert [one.encode(TEXT, num_threads=1) for one in (tokenizer, *others)] == expected


def test_release_memory_counts_copies_of_ids_behind_a_new_piece(tokenizer: Tokenizer) -> None:
    pytest.importorskip("numpy")
    fastbpe.release_memory()
    n_bytes = []
    for text in (TEXT, "zq " + TEXT):  # the pieces of TEXT are known then
        ids = [tokenizer.encode_to_numpy(one, num_threads=1) for one in (TEXT, text)]
        n_bytes.append(fastbpe.release_memory())
    assert n_bytes[1] - n_bytes[0] > 3 * len(ids[0])


def test_release_memory_ignores_dropped_tokenizers() -> None:
    """Drop them in several orders: the first, the last, one in between, until none is left."""
    fastbpe.release_memory()
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]):
        some: list[Tokenizer | None] = [Tokenizer.from_ranks(RANKS, pattern="gpt2") for _ in order]
        for i in order:
            for one in some:
                assert one is None or one.encode("the words")
            some[i] = one = None
            n_left = sum(one is not None for one in some)
            assert (fastbpe.release_memory() > 0) == (n_left > 0)


def test_release_memory_frees_block_of_dropped_array(tokenizer: Tokenizer) -> None:
    pytest.importorskip("numpy")
    fastbpe.release_memory()
    array = tokenizer.encode_batch_to_numpy([TEXT])[0]
    n_bytes = array.nbytes
    assert n_bytes > 1 << 20
    fastbpe.release_memory()
    del array
    assert fastbpe.release_memory() >= n_bytes
    assert tokenizer.encode_batch_to_numpy([TEXT])[0].nbytes == n_bytes


def test_release_memory_frees_blocks_of_all_dropped_arrays(tokenizer: Tokenizer) -> None:
    pytest.importorskip("numpy")
    arrays = [tokenizer.encode_batch_to_numpy([TEXT])[0] for _ in range(3)]
    n_bytes = sum(array.nbytes for array in arrays)
    fastbpe.release_memory()
    arrays.clear()
    assert fastbpe.release_memory() >= n_bytes


@pytest.mark.parametrize(("text", "n_arrays"), [(TEXT[:160_000], 60), (TEXT * 4, 12)], ids=["many", "large"])
def test_dropped_arrays_keep_at_most_32_of_them_and_32_mb(tokenizer: Tokenizer, text: str, n_arrays: int) -> None:
    pytest.importorskip("numpy")
    arrays = [tokenizer.encode_batch_to_numpy([text])[0] for _ in range(n_arrays)]
    n_bytes = arrays[0].nbytes
    fastbpe.release_memory()
    arrays.clear()
    kept = fastbpe.release_memory()
    assert n_bytes < kept <= min(32 << 20, 32 * n_bytes * 5 // 4) < n_arrays * n_bytes


@pytest.mark.daily
def test_memory_of_dropped_arrays_is_used_once(tokenizer: Tokenizer) -> None:
    """Arrays that live at the same time never share memory, in whatever order earlier ones were dropped."""
    numpy = pytest.importorskip("numpy")
    rng = random.Random(1)
    texts = [TEXT[: rng.randrange(200_000, len(TEXT))] + str(i) for i in range(40)]
    expected = [tokenizer.encode(text) for text in texts]
    kept: dict[int, Any] = {}
    for _ in range(4):
        for i in rng.sample(range(40), 40):
            if len(kept) > 9:
                kept.pop(rng.choice([*kept]))
            kept[i] = tokenizer.encode_batch_to_numpy([texts[i]])[0]
        for i, array in kept.items():
            assert numpy.array_equal(array, expected[i])


def test_release_memory_frees_block_shared_by_threads(tokenizer: Tokenizer) -> None:
    tokenizer.encode_batch([TEXT] * 4, num_threads=2)
    used = tokenizer._pipeline.used_bytes
    assert fastbpe.release_memory() > used + 4 * len(TEXT)  # at least an int of 32 bits for each byte


IDLE = """
import _thread, time
import fastbpe
ranks = {bytes([i]): i for i in range(256)} | {b"th": 256, b"the": 257, b" w": 258}
tokenizer = fastbpe.Tokenizer.from_ranks(ranks, pattern="cl100k")
text = "the words of a text, thé others " * 20_000
before = tokenizer.encode(text, num_threads=1)
assert tokenizer.encode(text, num_threads=3) == before
deadline = time.monotonic() + 30
while not _thread._count() and time.monotonic() < deadline:
    time.sleep(0.01)  # on a busy machine the threads begin when the work is done
while _thread._count() and time.monotonic() < deadline:
    fastbpe.release_memory()  # a thread that was still at work is idle only now
    time.sleep(0.01)
assert time.monotonic() < deadline
assert tokenizer.encode(text, num_threads=3) == before
print("done")
"""


def test_release_memory_ends_idle_threads_and_new_ones_start() -> None:
    """Runs in a separate process, where no other threads are counted."""
    assert run_python(IDLE) == "done\n"


@pytest.mark.daily
def test_other_threads_encode_correctly_during_release_memory(tokenizer: Tokenizer) -> None:
    text, shorts = TEXT[:300_000], ["the words", "of a text"] * 500
    expected, expected_batch = tokenizer.encode(text, num_threads=1), tokenizer.encode_batch(shorts)
    wrong: list[object] = []
    over = threading.Event()

    def work() -> None:
        try:
            while not over.is_set():
                if (
                    tokenizer.encode(text, num_threads=2) != expected
                    or tokenizer.encode_batch(shorts) != expected_batch
                ):
                    wrong.append("other ids")
                if tokenizer.decode(expected) != text:
                    wrong.append("another text")
        except BaseException as error:
            wrong.append(error)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    end = time.monotonic() + 1
    n_bytes = 0
    try:
        while time.monotonic() < end:
            n_bytes += fastbpe.release_memory()
            time.sleep(0.001)
    finally:  # the process could not end while the threads run
        over.set()
        for worker in workers:
            worker.join()
    assert not wrong
    assert n_bytes > 0


def make_late_caches() -> None:
    """Make the caches that do not exist before their first use."""
    from fastbpe.tokenizers import Tokenizer, models, normalizers

    tokenizer = Tokenizer(models.BPE({"\u00e1": 0}, []))
    tokenizer.normalizer = normalizers.NFC()
    assert tokenizer.encode("a\u0301").offsets == [(0, 1)]


def test_every_growing_cache_is_listed_for_release() -> None:
    """Find all functions in all modules with a bounded cache and arguments."""
    pytest.importorskip("transformers", reason="all modules are imported")
    import fastbpe.sentencepiece

    make_late_caches()
    found = set()
    names = {info.name for info in pkgutil.walk_packages(fastbpe.__path__, "fastbpe.")} | MODULES
    for module_name in sorted(names):
        if module_name.endswith(("__main__", "hook-fastbpe")):
            continue
        module = importlib.import_module(module_name)
        for name, value in vars(module).items():
            if not hasattr(value, "cache_parameters") or value.cache_parameters()["maxsize"] is None:
                continue
            wrapped = value.__wrapped__
            takes_any = not hasattr(wrapped, "__code__") or wrapped.__code__.co_argcount > 0
            if wrapped.__module__ == module_name and takes_any:
                found.add((module_name, name))
    assert found == {(module, name) for module, names in CACHES.items() for name in names}


def test_release_memory_empties_function_caches() -> None:
    fastbpe.release_memory()  # before some caches exist
    make_late_caches()
    Tokenizer.from_ranks(RANKS, pattern=r"(\w)\1+|\s+|[a-m]").encode("the words")
    fastbpe.release_memory()
    for module, names in CACHES.items():
        for name in names:
            if module in sys.modules:
                assert getattr(sys.modules[module], name).cache_info().currsize == 0


RESIDENT = """
import resource
import fastbpe
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 20
t = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="cl100k")
t.encode_batch(["a word"], num_threads=2), t.encode_ordinary("some words " * 40_000, num_threads=2)
fastbpe.release_memory()
before = resident()
text = " ".join([f"w{i * 2654435761 % 4294967291:x}" for i in range(300_000)])
ids = t.encode_batch([text] * 2, num_threads=2)
n = len(ids[0])
del ids
t.encode(text, num_threads=1)
held = resident()
n_bytes = fastbpe.release_memory()
after = resident()
assert n_bytes > 20 << 20 and held - after > 20 and after < before + 24, (before, held, after, n_bytes)
assert len(t.encode(text)) == n
print("done")
"""


@pytest.mark.daily
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_release_memory_shrinks_the_process() -> None:
    # The allocator of a Python without a GIL returns pages only after a delay, unless this sets it to 0.
    assert run_python(RESIDENT, MIMALLOC_PURGE_DELAY="0") == "done\n"


FORKED = """
import os
import fastbpe
t = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="cl100k")
text = "some words " * 40_000
ids = t.encode(text, num_threads=2)
child = os.fork()
if child == 0:
    fine = fastbpe.release_memory() > 0 and t.encode(text, num_threads=2) == ids
    os._exit(0 if fine else 1)
assert os.waitpid(child, 0)[1] == 0 and t.encode(text, num_threads=2) == ids
print("done")
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")
def test_forked_child_releases_its_own_memory() -> None:
    assert run_python(FORKED) == "done\n"


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="without a GIL each is a new tuple")
def test_release_memory_frees_shared_tuples_that_no_list_has(tokenizer: Tokenizer) -> None:
    fastbpe.release_memory()
    _, spans = tokenizer.encode_with_offsets(TEXT[:5000])
    expected = [(start, end) for start, end in spans]
    assert tokenizer.encode_with_offsets(TEXT[:5000])[1][7] is spans[7]
    held = sys.getrefcount(spans[7])
    assert fastbpe.release_memory() >= 1 << 20
    left = sys.getrefcount(spans[7])  # not in an assert, which holds what it compares
    assert left == held - 1
    assert spans == expected == tokenizer.encode_with_offsets(TEXT[:5000])[1]


RELEASED = """
import gc, sys
import fastbpe
t = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)} | {b"th": 256, b"the": 257}, pattern="cl100k")
text = ("the words of a text, th\\xe9 others " * 200)[:6000]
expected = t.encode_with_offsets(text)
calls = []
gc.callbacks.append(lambda *_: calls.append(fastbpe.release_memory()))
gc.set_threshold(1)
for _ in range(3):
    assert t.encode_with_offsets(text) == expected
assert calls or sys.version_info >= (3, 12)
print("done")
"""


@pytest.mark.daily
@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="collects garbage less often")
def test_release_memory_may_run_while_offsets_are_made() -> None:
    """A collection starts while a tuple is made, before Python 3.12, and runs callbacks."""
    assert run_python(RELEASED) == "done\n"

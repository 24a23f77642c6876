"""Threads inside a call and around it: the same ids, the error of the first bad text, no unrequested threads."""

from __future__ import annotations

import _thread
import random
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from fastbpe import SpecialTokenError, Tokenizer
from fastbpe._utils import threads
from helpers.child_processes import HAS_ASAN, run_python
from helpers.shared_data import BYTES, standard_library

THREADS = (1, 2, 3, 8)
LONG = 700_000  # characters: too long for one thread, and cut into several jobs


def ids_of_batch(tokenizer: Tokenizer, texts: list[Any], **options: Any) -> list[list[int]]:
    ids, offsets = tokenizer.encode_batch_to_numpy(texts, **options)
    return [ids[start:end].tolist() for start, end in pairwise(offsets)]


#: Special tokens where long texts are cut: around the cut, or ending or beginning at it.
STRADDLING = ["a b", "x\n", " <b>", "<e> ", "wo", "e\n\ndef", "あ、い", "。", "、う", "<|plain|>"]
PARTS = [
    "a b ",
    "x\n",
    "word <b> ",
    "<e> word ",
    "w ",
    "some text\n\ndef f",
    "あ、い、う。え",
    "plain, ",
    "<|plain|>",
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "names", [STRADDLING, STRADDLING[2:5], ["<|plain|>"], ["あ、い"], ["。"], ["a b"], ["x\n"]]
)
@pytest.mark.parametrize("parts", [PARTS, [part for part in PARTS if part.isascii()]])
def test_special_tokens_at_cuts_of_long_texts_are_found(names: list[str], parts: list[str]) -> None:
    tokenizer = Tokenizer.from_ranks(
        {**BYTES, b"or": 256, b"ord": 257, b" t": 258},
        pattern="o200k",
        special_tokens={name: 300 + i for i, name in enumerate(names)},
    )
    text = "".join(random.Random(1).choices(parts, k=LONG // 8))
    expected = by_parts(tokenizer, text, names)
    for num_threads in THREADS:
        assert tokenizer.encode(text, allowed_special="all", num_threads=num_threads) == expected
        options = {"allowed_special": "all", "num_threads": num_threads}
        assert tokenizer.encode_batch([text, "a b", text], **options) == [
            expected, tokenizer.encode("a b", allowed_special="all"), expected
        ]  # fmt: skip
        assert ids_of_batch(tokenizer, [text, "wo"], **options)[0] == expected
        if any(name in text for name in names):
            with pytest.raises(SpecialTokenError):
                tokenizer.encode(text, num_threads=num_threads)


def by_parts(tokenizer: Tokenizer, text: str, names: list[str]) -> list[int]:
    """Split at special tokens with the regex package, leftmost and longest, and encode the text between them."""
    import regex

    ids: list[int] = []
    start = 0
    for match in regex.finditer("|".join(map(regex.escape, sorted(names, key=len, reverse=True))), text):
        ids += tokenizer.encode_ordinary(text[start : match.start()], num_threads=1)
        ids.append(tokenizer.special_tokens[match[0]])
        start = match.end()
    return ids + tokenizer.encode_ordinary(text[start:], num_threads=1)


@pytest.mark.parametrize("num_threads", THREADS)
def test_error_of_the_first_bad_text_is_raised(code_tokenizer: Tokenizer, num_threads: int) -> None:
    wrong: dict[Any, type[Exception]] = {b"bad \xff": ValueError, 5: TypeError, "a<|sep|>": SpecialTokenError}
    good = [standard_library(10_000)] * 60
    for first, error in wrong.items():
        for second in wrong:
            for at in (0, 30, 60):
                texts: list[Any] = [*good]
                texts[at:at] = [first]
                texts += [second]
                for call in (code_tokenizer.encode_batch, code_tokenizer.encode_batch_to_numpy):
                    with pytest.raises(error) as caught:
                        call(texts, num_threads=num_threads)
                    assert type(caught.value) is error, (first, second, at)


@pytest.mark.parametrize("num_threads", THREADS)
def test_first_error_in_a_long_text_is_raised(code_tokenizer: Tokenizer, num_threads: int) -> None:
    text = standard_library(LONG)
    for first, second in (("<|sep|>", "<|endoftext|>"), ("<|endoftext|>", "<|sep|>")):
        with pytest.raises(SpecialTokenError, match=first.replace("|", r"\|")):
            code_tokenizer.encode(text + first + text + second, num_threads=num_threads)


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("num_threads", THREADS)
def test_generators_may_fail_or_encode(code_tokenizer: Tokenizer, num_threads: int) -> None:
    text = standard_library(400_000)
    expected = code_tokenizer.encode_ordinary(text, num_threads=1)

    def texts(fail: bool) -> Iterator[str]:
        for _ in range(50):  # more than one batch
            yield text
            assert code_tokenizer.encode_batch(["a", "b"], num_threads=num_threads) == [[97], [98]]
        if fail:
            raise OSError("the disk is gone")

    assert all(ids == expected for ids in code_tokenizer.encode_batch(texts(False), num_threads=num_threads))
    for call in (code_tokenizer.encode_batch, code_tokenizer.encode_batch_to_numpy):
        with pytest.raises(OSError, match="the disk is gone"):
            call(texts(True), num_threads=num_threads)


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("num_threads", THREADS)
def test_huge_text_among_100_000_tiny_ones_keeps_its_position(code_tokenizer: Tokenizer, num_threads: int) -> None:
    huge = standard_library(LONG)
    expected = [[120], code_tokenizer.encode_ordinary(huge, num_threads=1), *[[121]] * 100_000, []]
    texts = ["x", huge, *["y"] * 100_000, ""]
    assert code_tokenizer.encode_batch(texts, num_threads=num_threads) == expected
    assert ids_of_batch(code_tokenizer, texts, num_threads=num_threads) == expected
    counts = code_tokenizer.count_batch(texts, num_threads=num_threads).tolist()
    assert counts == [len(ids) for ids in expected]


@pytest.mark.daily
def test_million_empty_texts_give_empty_results(code_tokenizer: Tokenizer) -> None:
    texts = [""] * 1_000_000
    assert not any(code_tokenizer.encode_batch(texts))
    assert not code_tokenizer.count_batch(texts).any()


@pytest.mark.daily
def test_eight_threads_encode_different_texts_correctly(code_tokenizer: Tokenizer) -> None:
    """Runs for three seconds; tools/faults.py runs the same for thirty."""
    text = standard_library(300_000)
    parts = [[text[at : at + 40 * (number + 1) ** 4] for at in range(0, 300_000, 7000)] for number in range(8)]
    expected = [[code_tokenizer.encode_ordinary(part, num_threads=1) for part in of_one] for of_one in parts]
    wrong: list[int] = []
    until = time.monotonic() + 3

    def work(number: int) -> None:
        while time.monotonic() < until and not wrong:
            if code_tokenizer.encode_ordinary_batch(parts[number], num_threads=number % 3 + 1) != expected[number]:
                wrong.append(number)
            if code_tokenizer.count(text) != code_tokenizer.count(text, num_threads=1):
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize("what", ["long text", "short texts", "short texts as arrays"])
@pytest.mark.parametrize("num_threads", [1, 2])
def test_other_python_threads_keep_running(code_tokenizer: Tokenizer, what: str, num_threads: int) -> None:
    calls = {
        "long text": lambda n: code_tokenizer.count(text * n, num_threads=num_threads),
        "short texts": lambda n: code_tokenizer.encode_batch(lines * n, num_threads=num_threads),
        "short texts as arrays": lambda n: code_tokenizer.encode_batch_to_numpy(
            lines * n, num_threads=num_threads
        ),
    }
    text = standard_library(LONG)
    lines = text.splitlines()
    during = 0
    with Turns(0.001) as turns:
        while not turns.n:
            time.sleep(0.001)
        for n in (4, 16, 64, 256):  # a fast machine finishes a few before any other thread gets a turn
            before = turns.n
            calls[what](n)
            during = turns.n - before
            if during >= 2:
                break
    assert during >= 2


class Turns:
    """Count the turns of another thread, which sleeps for some seconds after each."""

    def __init__(self, seconds: float) -> None:
        self.n, self._seconds, self._done = 0, seconds, threading.Event()
        self._thread = threading.Thread(target=self._count)

    def _count(self) -> None:
        while not self._done.is_set():
            self.n += 1
            time.sleep(self._seconds)

    def __enter__(self) -> Turns:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "what", ["encode", "count", "encode_batch", "encode_batch_to_numpy", "count_batch", "decode", "decode_batch"]
)
def test_other_threads_get_the_gil_regularly(code_tokenizer: Tokenizer, what: str) -> None:
    """If the GIL is released too often, no other thread gets it, and all wait while short texts are encoded."""
    texts = ["import os, sys  # and more"] * 20_000
    ids = [code_tokenizer.encode(text) for text in texts]
    call = getattr(code_tokenizer, what)
    given = ids if what.startswith("decode") else texts
    options = {"num_threads": 1} if "batch" in what else {}
    end = time.monotonic() + 0.5
    with Turns(0.0005) as turns:
        while time.monotonic() < end:
            if options:
                call(given, **options)
            else:
                for item in given:
                    call(item)
    assert turns.n >= 10  # about 70 on an idle machine


@pytest.mark.daily
@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_changed_by_another_thread_give_old_ids_or_an_error(code_tokenizer: Tokenizer, kind: type) -> None:
    """The result is some earlier content or an error; no other object uses the buffer that was read."""
    shared, done = bytearray(b"import os\n" * 1000), threading.Event()

    def resize() -> None:
        while not done.is_set():
            try:
                shared[:] = b"import os\n" * random.randint(1, 60_000)
            except BufferError:  # a view of it is being read
                time.sleep(0)

    other = threading.Thread(target=resize)
    other.start()
    ten = code_tokenizer.encode_ordinary("import os\n")
    try:
        for _ in range(60):
            for ids in code_tokenizer.encode_ordinary_batch([kind(shared) for _ in range(3)]):  # type: ignore[misc]
                assert ids[: len(ten)] == ten
                assert len(code_tokenizer.decode(ids)) % 10 == 0
    finally:
        done.set()
        other.join()


STARTS_NONE = """
import _thread
import fastbpe
tokenizer = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="cl100k")
text = "some words " * 30_000
started = []
start = _thread.start_new_thread
_thread.start_new_thread = lambda *arguments: (started.append(arguments), start(*arguments))
def check(num_threads):
    tokenizer.encode(text, num_threads=num_threads)
    tokenizer.encode_ordinary(text, num_threads=num_threads)
    tokenizer.encode_to_numpy(text, num_threads=num_threads)
    tokenizer.count(text, num_threads=num_threads)
    for call in (tokenizer.encode_batch, tokenizer.encode_ordinary_batch, tokenizer.encode_batch_to_numpy,
                 tokenizer.count_batch):
        call([text, text], num_threads=num_threads)
check(1)
assert not started
tokenizer.encode_batch(["short"] * 1000, num_threads=8)
assert not started, "too little text for two"
for _ in range(10):
    check(3)
assert 2 <= len(started) < 40, "160 are asked for: they are kept, but for those that are a moment late"
print("done")
"""


@pytest.mark.daily
def test_one_thread_starts_no_threads_and_more_are_reused() -> None:
    assert run_python(STARTS_NONE, FASTBPE_NUM_THREADS="8") == "done\n"
    assert run_python(STARTS_NONE.replace("check(1)", "check(None)"), FASTBPE_NUM_THREADS="1") == "done\n"


IMPORTS_NOTHING = """
import sys
import fastbpe
tokenizer = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="cl100k")
texts, before = ["some words " * 30_000] * 4, set(sys.modules)
for call in (tokenizer.encode_batch, tokenizer.encode_ordinary_batch):
    call(texts, num_threads=3)
print(sorted(set(sys.modules) - before))
"""


@pytest.mark.daily
def test_starting_threads_imports_nothing() -> None:
    """An import would be part of the first call, and take as long as encoding half a megabyte."""
    assert run_python(IMPORTS_NOTHING) == "[]\n"


SMALL_STACK = """
import random
import threading
import fastbpe
rng = random.Random(1)
text = " ".join("".join(rng.choices("abcdefgh", k=rng.randint(1, 60))) for _ in range(20_000))
ranks = {bytes([i]): i for i in range(256)}
ranks |= {bytes(pair): 256 + i for i, pair in enumerate((a, b) for a in b"abcdefgh" for b in b"abcdefgh")}
tokenizer, found = fastbpe.Tokenizer.from_ranks(ranks, pattern="cl100k"), []
wanted = tokenizer.encode(text, num_threads=1)
threading.stack_size(64 << 10)
other = fastbpe.Tokenizer.from_ranks(ranks, pattern="cl100k")
thread = threading.Thread(target=lambda: found.append(other.encode(text, num_threads=1)))
thread.start()
thread.join()
print(found == [wanted])
"""


@pytest.mark.daily
@pytest.mark.skipif(HAS_ASAN, reason="AddressSanitizer needs more stack")
def test_threads_with_small_stacks_can_encode() -> None:
    """New pieces of all widths are merged at once within a stack of 64 KB."""
    assert run_python(SMALL_STACK) == "True\n"


def test_default_is_at_most_256_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FASTBPE_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "usable_cores", lambda: 384)
    assert threads.usable_threads(None) == 256


def test_failure_to_start_threads_gives_the_same_ids(
    code_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = standard_library(LONG)
    expected = code_tokenizer.encode_ordinary(text, num_threads=1)

    def refuse(*arguments: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_kept_threads", threads._KeptThreads())
    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    assert code_tokenizer.encode_ordinary(text, num_threads=4) == expected
    assert ids_of_batch(code_tokenizer, [text, text], num_threads=4) == [expected, expected]
    monkeypatch.undo()
    monkeypatch.setattr(threads, "_kept_threads", threads._KeptThreads())
    start, started = _thread.start_new_thread, []

    def start_one(*arguments: Any) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(start(*arguments))

    monkeypatch.setattr(_thread, "start_new_thread", start_one)
    for _ in range(5):
        assert code_tokenizer.encode_ordinary(text, num_threads=4) == expected
        assert ids_of_batch(code_tokenizer, [text, text], num_threads=4) == [expected, expected]

"""Batches give the same results as encoding their texts one after another."""

import gc
import random
import sys
import threading
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest

from fastbpe import SpecialTokenError, Tokenizer
from helpers.shared_data import BYTES, standard_library

THREADS = (None, 1, 2, 7)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    lines = standard_library(100_000).splitlines(keepends=True)
    return [*lines[:500], "", "é" * 1000, "\ud83d", "日本語 " * 5000, "".join(lines), "", "a<|sep|>b", ""]


@pytest.mark.parametrize("num_threads", THREADS)
def test_batches_equal_a_loop_over_the_texts(
    code_tokenizer: Tokenizer, texts: list[str], num_threads: int | None
) -> None:
    ordinary = [code_tokenizer.encode_ordinary(text) for text in texts]
    assert code_tokenizer.encode_ordinary_batch(texts, num_threads=num_threads) == ordinary
    for options in ({"allowed_special": "all"}, {"disallowed_special": ()}, {"allowed_special": {"<|sep|>"}}):
        expected = [code_tokenizer.encode(text, **options) for text in texts]  # type: ignore[arg-type]
        found = code_tokenizer.encode_batch(texts, num_threads=num_threads, **options)  # type: ignore[arg-type]
        assert found == expected


def test_numpy_results_equal_lists(code_tokenizer: Tokenizer, texts: list[str]) -> None:
    expected = code_tokenizer.encode_batch(texts, allowed_special="all")
    ids, offsets = code_tokenizer.encode_batch_to_numpy(texts, allowed_special="all")
    assert ids.dtype == np.uint32
    assert offsets.dtype == np.int64
    assert offsets.shape == (len(texts) + 1,)
    assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == expected
    for text, wanted in zip(texts, expected, strict=True):
        one = code_tokenizer.encode_to_numpy(text, allowed_special="all")
        assert (one.dtype, one.shape, one.tolist()) == (np.uint32, (len(wanted),), wanted)


@pytest.mark.parametrize("texts", [[], ["a"], ["a"] * 300_000], ids=["none", "one", "many"])
@pytest.mark.parametrize(
    "method",
    [
        Tokenizer.encode_batch,
        Tokenizer.encode_ordinary_batch,
        Tokenizer.encode_batch_to_numpy,
        Tokenizer.count_batch,
    ],
)
def test_invalid_num_threads_raises_whatever_the_texts_are(
    code_tokenizer: Tokenizer, method: Any, texts: list[str]
) -> None:
    with pytest.raises(ValueError, match="num_threads=0: must be at least 1, or None"):
        method(code_tokenizer, texts, num_threads=0)


@pytest.mark.daily
@pytest.mark.sample(5)
@pytest.mark.parametrize("num_threads", [2, 3, 8])
@pytest.mark.parametrize(
    "characters", ["a", "\xe9", "\u8a9e", "\U0001f44d", "a\xe9", "\xe9\u8a9e", "aaa\u8a9e\U0001f44d"]
)
def test_threads_keep_ids_in_order_when_buffers_grow(characters: str, num_threads: int) -> None:
    """Every byte is an id, so some texts need more space than is allocated at first."""
    tokenizer = Tokenizer.from_ranks(BYTES, pattern="gpt2")
    rng = random.Random(num_threads)
    texts = ["".join(rng.choices(characters, k=rng.randrange(60_000))) + " \n" for _ in range(60)]
    texts[20:20] = ["x y " * 200_000, ""]  # a text long enough to be encoded in parts
    ids, offsets = tokenizer.encode_batch_to_numpy(texts, num_threads=num_threads)
    expected, ends = tokenizer.encode_batch_to_numpy(texts, num_threads=1)
    assert ids.astype(np.uint8).tobytes() == "".join(texts).encode()
    assert (ids.tobytes(), offsets.tobytes()) == (expected.tobytes(), ends.tobytes())


def test_arrays_are_independent_and_writeable(code_tokenizer: Tokenizer) -> None:
    first = code_tokenizer.encode_to_numpy("import os")
    second = code_tokenizer.encode_to_numpy("import os")
    first[:] = 0
    assert second.tolist() == code_tokenizer.encode("import os")
    assert first.flags.writeable


@pytest.mark.daily
@pytest.mark.parametrize("num_threads", [1, 2])
def test_reusing_memory_of_dropped_arrays_keeps_ids_correct(num_threads: int) -> None:
    """Later texts may need fewer ids, as many or far more; arrays still in use stay unchanged."""
    tokenizer = Tokenizer.from_ranks(
        {**BYTES, **{b"  " * 2**i: 256 + i for i in range(8)}}, pattern="gpt2", special_tokens={}
    )
    rng = random.Random(num_threads)
    kept: list[tuple[np.ndarray, bytes]] = []
    for turn in range(15):
        spaces = rng.choice((0, 0, 1, 400_000, 1_000_000))
        text = " " * spaces + "x" * (1_100_000 + rng.randrange(200_000) - spaces)
        ids, offsets = tokenizer.encode_batch_to_numpy([text, text[::-1]], num_threads=num_threads)
        assert tokenizer.decode(ids[: offsets[1]]) == text
        assert tokenizer.decode(ids[offsets[1] :]) == text[::-1]
        if turn % 5 == 0:
            kept.append((ids, ids.tobytes()))
    for ids, contents in kept:
        assert ids.tobytes() == contents


def test_next_array_reuses_the_block_of_a_dropped_array() -> None:
    """The next array has the same address, even if other objects of its size were allocated in between."""
    tokenizer = Tokenizer.from_ranks(BYTES, pattern="gpt2", special_tokens={})
    texts = ["x" * 600_000] * 2
    ids, _ = tokenizer.encode_batch_to_numpy(texts, num_threads=1)
    place, size = ids.ctypes.data, ids.nbytes
    del ids
    others = [np.ones(size + i, np.uint8) for i in (-4096, 0, 4096, 65536)]
    ids, _ = tokenizer.encode_batch_to_numpy(texts, num_threads=1)
    assert ids.ctypes.data == place
    assert all(other.all() for other in others)


def test_arrays_outlive_their_tokenizer() -> None:
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=None)
    ids, _ = tokenizer.encode_batch_to_numpy(["abc"] * 1000)
    view = ids[1000:]
    del tokenizer, ids
    assert bytes(view.astype("u1")) == b"bca" * 666 + b"bc"


@pytest.mark.parametrize("num_threads", THREADS)
def test_batch_of_100_000_empty_texts_gives_empty_lists(
    code_tokenizer: Tokenizer, num_threads: int | None
) -> None:
    texts = [""] * 100_000
    assert code_tokenizer.encode_batch(texts, num_threads=num_threads) == [[]] * 100_000
    assert code_tokenizer.encode_ordinary_batch(texts, num_threads=num_threads) == [[]] * 100_000


def test_batch_of_100_000_empty_texts_gives_empty_array(code_tokenizer: Tokenizer) -> None:
    ids, offsets = code_tokenizer.encode_batch_to_numpy([""] * 100_000)
    assert ids.shape == (0,)
    assert not offsets.any()


def test_empty_texts_get_separate_lists(code_tokenizer: Tokenizer) -> None:
    a, b = code_tokenizer.encode_batch(["", ""])
    assert a is not b


@pytest.mark.parametrize("num_threads", [*THREADS, 1000])
def test_batch_may_have_fewer_texts_than_threads(code_tokenizer: Tokenizer, num_threads: int | None) -> None:
    assert code_tokenizer.encode_batch([], num_threads=num_threads) == []
    assert code_tokenizer.encode_ordinary_batch(iter(["a", b"b"]), num_threads=num_threads) == [[97], [98]]


def test_empty_batch_gives_empty_array_and_one_offset(code_tokenizer: Tokenizer) -> None:
    ids, offsets = code_tokenizer.encode_batch_to_numpy([])
    assert ids.tolist() == []
    assert offsets.tolist() == [0]


def test_huge_text_among_tiny_ones_keeps_its_position(code_tokenizer: Tokenizer) -> None:
    huge = standard_library(300_000)
    texts = ["x", huge, *["y"] * 10_000]
    batch = code_tokenizer.encode_ordinary_batch(texts, num_threads=2)
    assert batch[0] == [120]
    assert batch[1] == code_tokenizer.encode_ordinary(huge)
    assert batch[2:] == [[121]] * 10_000


def test_generator_of_texts_may_use_the_same_tokenizer(code_tokenizer: Tokenizer) -> None:
    def texts() -> Iterator[str]:
        for text in ("import os", "", "def f():"):
            assert code_tokenizer.decode(code_tokenizer.encode("nested " * 100)) == "nested " * 100
            yield text

    expected = [code_tokenizer.encode(text) for text in ("import os", "", "def f():")]
    assert code_tokenizer.encode_batch(texts()) == expected
    assert code_tokenizer.encode_batch_to_numpy(texts())[0].tolist() == [*chain(*expected)]


def test_many_threads_may_share_one_tokenizer(code_tokenizer: Tokenizer, texts: list[str]) -> None:
    expected = [code_tokenizer.encode_ordinary(text) for text in texts]
    wrong: list[int] = []

    def work(number: int) -> None:
        for turn in range(5):
            for at in range(number, len(texts), 8):
                if code_tokenizer.encode_ordinary(texts[at]) != expected[at]:
                    wrong.append(at)
            code_tokenizer.with_special_tokens({f"<{number} {turn}>": 5000})
            if code_tokenizer.decode_batch(expected[number:40:8]) != texts[number:40:8]:
                wrong.append(-1)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("num_threads", THREADS)
def test_bad_text_in_a_batch_raises_and_leaves_the_tokenizer_usable(
    code_tokenizer: Tokenizer, num_threads: int | None
) -> None:
    for wrong, error in (
        (None, TypeError),
        (5, TypeError),
        (b"a\xff", ValueError),
        ("<|sep|>", SpecialTokenError),
    ):
        with pytest.raises(error):
            code_tokenizer.encode_batch(["a"] * 20 + [wrong] + ["b"] * 20, num_threads=num_threads)  # type: ignore[list-item]
    assert code_tokenizer.encode_batch(["a"], num_threads=num_threads) == [[97]]


def test_error_of_the_text_generator_is_passed_on(code_tokenizer: Tokenizer) -> None:
    def texts() -> Iterator[str]:
        yield "a"
        raise OSError("the disk is gone")

    for call in (code_tokenizer.encode_batch, code_tokenizer.encode_batch_to_numpy):
        with pytest.raises(OSError, match="the disk is gone"):
            call(texts())


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("collecting", [True, False])
def test_batches_leave_the_garbage_collector_as_it_was(
    code_tokenizer: Tokenizer, texts: list[str], collecting: bool, num_threads: int
) -> None:
    def collects_while_iterating() -> Iterator[str]:
        for text in texts:
            seen.add(gc.isenabled())
            yield text

    seen: set[bool] = set()
    was_on = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        code_tokenizer.encode_ordinary_batch(collects_while_iterating(), num_threads=num_threads)
        assert gc.isenabled() is collecting
        with pytest.raises(SpecialTokenError):
            code_tokenizer.encode_batch([*texts, "<|sep|>"], num_threads=num_threads)
        assert gc.isenabled() is collecting
        assert seen == {collecting}
    finally:
        (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize(
    "method",
    ["encode_batch", "encode_ordinary_batch", "encode_batch_to_numpy", "encode_batch_with_offsets", "count_batch"],
)
def test_single_text_as_batch_raises_type_error(code_tokenizer: Tokenizer, method: str) -> None:
    for text in ("abc", b"abc"):
        with pytest.raises(TypeError, match="a list of texts, not one text: pass \\[text\\]"):
            getattr(code_tokenizer, method)(text)
    for wrong in (None, 5):
        with pytest.raises(TypeError):
            getattr(code_tokenizer, method)(wrong)


@pytest.mark.parametrize("num_threads", [0, -1])
def test_num_threads_below_one_raises_value_error(code_tokenizer: Tokenizer, num_threads: Any) -> None:
    for call in (code_tokenizer.encode_batch, code_tokenizer.encode_ordinary_batch):
        with pytest.raises(ValueError, match=f"num_threads={num_threads}: must be at least 1, or None"):
            call(["a", "b"], num_threads=num_threads)


@pytest.mark.parametrize("method", ["encode_to_numpy", "encode_batch_to_numpy"])
def test_missing_numpy_error_names_the_package_to_install(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    tokenizer = Tokenizer.from_ranks(dict(zip(BYTES, range(256), strict=True)), pattern=None)
    with pytest.raises(ImportError, match=rf"{method} needs numpy: pip install numpy$"):
        getattr(tokenizer, method)("ab")


@pytest.mark.parametrize("num_threads", [1000, 2**31, 2**40])
def test_excessive_num_threads_gives_the_same_ids(code_tokenizer: Tokenizer, num_threads: int) -> None:
    texts = [standard_library(3000)] * 100
    expected = code_tokenizer.encode_ordinary_batch(texts, num_threads=1)
    assert code_tokenizer.encode_ordinary_batch(texts, num_threads=num_threads) == expected
    assert code_tokenizer.decode_batch(expected, num_threads=num_threads) == texts

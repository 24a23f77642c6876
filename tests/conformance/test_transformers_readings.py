"""Methods of a BatchEncoding that only read it: fastbpe computes what they return, equal to stock's."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("transformers")

from transformers import BatchEncoding

from fastbpe.transformers import accelerate, encodings, handled_call
from helpers.transformers_behaviours import outcome
from helpers.transformers_grid import FILES, TEXTS, TRAINED, WORDS, make
from helpers.transformers_random import looked_at

TEXT = "Some words, some more words and a last one."
CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "text": ((TEXT,), {}),
    "texts": ((TEXTS,), {}),
    "pairs": ((TEXTS, TEXTS[::-1]), {}),
    "words": ((WORDS,), {"is_split_into_words": True}),
    "lists of words": (([WORDS, WORDS[:1], []],), {"is_split_into_words": True}),
    "pairs of lists of words": (([WORDS, WORDS[:1]], [["x"], WORDS]), {"is_split_into_words": True}),
    "truncated": ((TEXTS,), {"truncation": True, "max_length": 7}),
    "truncated words": (([WORDS, WORDS[:1]],), {"truncation": True, "max_length": 5, "is_split_into_words": True}),
    "parts": ((TEXTS,), {"truncation": True, "max_length": 9, "stride": 2, "return_overflowing_tokens": True}),
    "parts of pairs": (
        ([TEXT] * 2, [TEXT * 2] * 2),
        {"truncation": "longest_first", "max_length": 20, "stride": 2, "return_overflowing_tokens": True},
    ),
    "without special tokens": ((TEXTS,), {"add_special_tokens": False}),
    "special tokens split": ((TEXTS,), {"split_special_tokens": True}),
    "offsets": ((TEXT,), {"return_offsets_mapping": True}),
}


def refuse(*args: Any) -> Any:
    raise AssertionError("tokenizers encodes again")


@pytest.mark.parametrize("name", [*TRAINED, *FILES])
@pytest.mark.parametrize("case", CALLS)
def test_methods_that_read_do_not_encode_with_tokenizers(
    name: str, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args, options = CALLS[case]
    ours, stock = accelerate(make(name)), make(name)
    expected = looked_at(stock(*args, **options))
    if not (name == "small_bytes" and "parts" in case):  # its offsets of parts are trimmed after truncation
        monkeypatch.setattr(handled_call.Call, "encode", refuse)
    for _ in range(2):  # the second call may take another path
        made = ours(*args, **options)
        assert looked_at(made) == expected


def test_threads_that_need_the_encodings_at_once_fill_the_list_once(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    class Made(list[str]):
        def __iter__(self) -> Iterator[str]:  # while one thread fills the list, another one comes
            if not threads:
                threads.append(threading.Thread(target=repr, args=(lazy,)))
                threads[0].start()
                threads[0].join(0.3)
            return super().__iter__()

    class Handled:
        def encode(self) -> list[str]:
            return Made(["a", "b"])

    monkeypatch.setattr(encodings, "_whole", lambda call: call)
    lazy = encodings.LazyEncodings(Handled(), 2)  # type: ignore[arg-type]
    assert [*lazy] == ["a", "b"]
    threads[0].join()
    assert [*lazy] == ["a", "b"]


def test_methods_follow_encodings_that_a_program_changed() -> None:
    made = accelerate(make("small_bytes"))(TEXT)
    assert len(made.tokens()) > 2
    made.encodings[0].truncate(2)
    assert len(made.tokens()) == len(made.word_ids()) == 2
    made.encodings.clear()
    with pytest.raises(ValueError, match="not available"):
        made.tokens()


def test_methods_tell_of_the_tokenizer_at_the_call() -> None:
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    made, expected = ours(TEXT), stock(TEXT)
    read = ours(TEXT)
    assert read.word_ids() == expected.word_ids()
    ours.add_tokens(["some", "words"])
    assert made.tokens() == read.tokens() == expected.tokens()
    assert made.word_ids() == read.word_ids() == expected.word_ids()


@pytest.mark.parametrize("transfer", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_results_are_copied_and_pickled_as_transformers_class(transfer: Any) -> None:
    made = accelerate(make("small_bytes"))(TEXT)
    assert isinstance(made, BatchEncoding)
    copied = transfer(made)
    assert type(copied) is BatchEncoding
    assert copied.data == made.data
    assert copied.tokens() == made.tokens()


def test_errors_of_methods_are_stocks() -> None:
    ours, stock = accelerate(make("small_bytes"))(TEXT), make("small_bytes")(TEXT)
    for call in (
        lambda made: made.tokens(5),
        lambda made: made.tokens("a"),
        lambda made: made.char_to_token("x"),
        lambda made: made.char_to_token(-1),
        lambda made: made.token_to_chars(10_000),
        lambda made: made.word_to_chars(10_000),
        lambda made: made.token_to_word(1 << 70),
    ):
        expected = outcome(lambda: call(stock))  # noqa: B023  # called at once
        assert outcome(lambda: call(ours)) == expected  # noqa: B023


def test_methods_may_be_called_in_any_order() -> None:
    ours, stock = accelerate(make("small_bytes"))(TEXT), make("small_bytes")(TEXT)
    for name, *args in (("char_to_token", 3), ("tokens",), ("word_ids",), ("sequence_ids",), ("token_to_word", 2)):
        assert getattr(ours, name)(*args) == getattr(stock, name)(*args)

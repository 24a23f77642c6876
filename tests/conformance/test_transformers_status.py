"""Results of `status`, classes with hot methods of their own, and panics of tokenizers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

pytest.importorskip("transformers")

import tokenizers
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers

import fastbpe
from fastbpe.transformers import accelerate, decode_stream, encodings, engine, patch, status, unpatch
from fastbpe.transformers.classes import OWN_METHOD
from fastbpe.transformers.panics import BackendPanic, as_errors
from helpers.transformers_grid import TEXTS, make


def backend_of_bytes(normalizer: Any = None) -> Any:
    """A byte-level tokenizer with one merge."""
    letters = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = tokenizers.Tokenizer(models.BPE({**letters, "ab": 256}, [("a", "b")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    return made


def fast(backend: Any) -> Any:
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend)


def panic(*args: Any, **options: Any) -> Any:
    """Make tokenizers panic: it does for an empty pattern in text with several bytes per character."""
    return backend_of_bytes(normalizers.Replace("", "x")).encode("ab\u00e9")


# status


def test_status_tells_why_accelerate_left_a_tokenizer() -> None:
    backend = backend_of_bytes()
    backend.model.dropout = 0.5
    left = fast(backend)
    assert status(left)["reason"] == "accelerate was not called"
    assert accelerate(left) is left
    told = status(left)
    assert not told["accelerated"]
    assert told["reason"] == "FastbpeError: its model has dropout=0.5"
    left.backend_tokenizer.model.dropout = None
    assert status(accelerate(left))["reason"] is None


def test_status_tells_the_same_after_patch() -> None:
    backend = backend_of_bytes()
    backend.model.dropout = 0.5
    patch()
    try:
        told = status(fast(backend))
    finally:
        unpatch()
    assert told["model"] is None
    assert "dropout" in told["reason"]


# Classes with hot methods of their own


class Quoted(transformers.PreTrainedTokenizerFast):
    """A class whose methods call `super()`, as Whisper's `_decode` does."""

    def _encode_plus(self, text: Any, *args: Any, **options: Any) -> Any:
        return super()._encode_plus(text.upper() if isinstance(text, str) else text, *args, **options)

    def _decode(self, *args: Any, quoted: bool = True, **options: Any) -> str:
        return f"<{super()._decode(*args, **options)}>" if quoted else super()._decode(*args, **options)


class Alone(transformers.PreTrainedTokenizerFast):
    """A class whose methods never call `super()`."""

    def _encode_plus(self, text: Any, *args: Any, **options: Any) -> Any:
        return transformers.BatchEncoding({"input_ids": [len(text)]})

    def _decode(self, token_ids: Any, *args: Any, **options: Any) -> str:
        return f"{token_ids}"


def pair_of(cls: Any) -> tuple[Any, Any]:
    return accelerate(cls(tokenizer_object=backend_of_bytes())), cls(tokenizer_object=backend_of_bytes())


def test_own_methods_that_ask_super_are_answered_natively() -> None:
    ours, stock = pair_of(Quoted)
    for text in ("ab c", "\u00e9"):
        assert dict(ours(text)) == dict(stock(text))
        assert ours.encode(text) == stock.encode(text)
    ids = stock("ab ab")["input_ids"]
    for call in (
        lambda t: t.decode(ids),
        lambda t: t.decode(ids, quoted=False),
        lambda t: t.batch_decode([ids, ids]),
        lambda t: t.decode(5),
        lambda t: t.decode([ids, [256]]),
    ):
        assert call(ours) == call(stock)
    assert status(ours)["native"] == {"decode": 7, "encode": 4}
    assert not status(ours)["handed_over"]


def test_own_methods_that_do_not_ask_super_are_shown() -> None:
    ours, stock = pair_of(Alone)
    assert dict(ours("ab")) == dict(stock("ab"))
    assert ours.decode([1, 2]) == stock.decode([1, 2])
    told = status(ours)
    assert told["native"] == {}
    assert told["handed_over"] == {"encode": {OWN_METHOD: 1}, "decode": {OWN_METHOD: 1}}


def test_copies_of_such_classes_stay_accelerated() -> None:
    ours, stock = pair_of(Quoted)
    for one in (copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert isinstance(one, Quoted)
        assert one.decode([256]) == stock.decode([256])
        assert status(one)["native"]["decode"] >= 1


class Restored(transformers.PreTrainedTokenizerFast):
    """A class that changes its state when it is restored, as RoFormerTokenizer does."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "own": "restored"}


class Slotted(transformers.PreTrainedTokenizerFast):
    __slots__ = ("own",)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.own = "slot"


class Copied(transformers.PreTrainedTokenizerFast):
    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = type(self)(tokenizer_object=copy.deepcopy(self._tokenizer, memo))
        made.own = "copied"
        return made


class Remade(transformers.PreTrainedTokenizerFast):
    def __init__(self, tokenizer_object: Any = None) -> None:
        super().__init__(tokenizer_object=tokenizer_object or backend_of_bytes())

    def __reduce__(self) -> Any:
        return type(self), (), {"own": "remade"}


@pytest.mark.parametrize("cls", [Restored, Slotted, Copied, Remade])
def test_own_ways_to_copy_and_pickle_run(cls: Any) -> None:
    pair = pair_of(cls)
    assert b"_fastbpe_accelerated" not in pickle.dumps(pair[0])  # a new process would not find it
    for copied in (copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))):
        ours, stock = map(copied, pair)
        assert getattr(ours, "own", None) == getattr(stock, "own", None)
        assert ours.encode("ab") == stock.encode("ab")
        assert status(ours)["accelerated"]


def test_deep_copy_of_a_tokenizer_that_refers_to_itself_does_so_too() -> None:
    ours = fast(backend_of_bytes())
    ours.itself = ours
    accelerate(ours)
    copied = copy.deepcopy(ours)
    assert copied.itself is copied is not ours


def test_decode_of_whisper_is_native() -> None:
    ours, stock = (transformers.WhisperTokenizer(tokenizer_object=backend_of_bytes()) for _ in range(2))
    accelerate(ours)
    ids = stock("Mister ab, ab.")["input_ids"]
    for options in ({}, {"skip_special_tokens": True}, {"basic_normalize": True}, {"remove_diacritics": True}):
        assert ours.decode(ids, **options) == stock.decode(ids, **options)
        assert ours.batch_decode([ids, [256]], **options) == stock.batch_decode([ids, [256]], **options)
    assert status(ours)["native"]["decode"] == 12
    assert "decode" not in status(ours)["handed_over"]


# Panics: of a class that derives from BaseException


def test_panics_become_errors_where_fastbpe_calls_by_itself() -> None:
    with pytest.raises(BackendPanic, match=r"^tokenizers panicked: ") as caught, as_errors():
        panic()
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, fastbpe.FastbpeError)
    with pytest.raises(KeyboardInterrupt), as_errors():
        raise KeyboardInterrupt


def test_encodings_read_later_raise_an_error_that_can_be_caught() -> None:
    """The call has its ids; stock panics at once. Encodings are made by tokenizers, which panics."""
    backend = backend_of_bytes(normalizers.Replace("", "x"))
    with pytest.raises(BaseException) as stock:  # noqa: PT011
        fast(backend)("ab\u00e9")
    assert not isinstance(stock.value, Exception)
    ours = accelerate(fast(backend))
    batch = ours("ab\u00e9")
    assert len(batch["input_ids"])
    with pytest.raises(BackendPanic, match="tokenizers panicked"):
        batch.encodings[0]


def test_panic_while_a_tokenizer_is_read_leaves_it_stock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "remembered_specials", panic)
    left = accelerate(make("small_bytes"))
    assert not status(left)["accelerated"]
    assert status(left)["reason"].startswith("BackendPanic: tokenizers panicked")
    assert left("ab")["input_ids"] == make("small_bytes")("ab")["input_ids"]


def test_panic_while_a_post_processor_is_tried_hands_the_call_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_frame", panic)
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    assert ours(TEXTS)["input_ids"] == stock(TEXTS)["input_ids"]
    assert ours.encode("ab") == stock.encode("ab")
    assert status(ours)["handed_over"]["encode"]


def test_panic_while_a_copy_is_made_can_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = accelerate(make("small_bytes"))
    monkeypatch.setattr(encodings.Twin, "get", panic)
    with pytest.raises(BackendPanic):
        ours("ab").encodings[0]


def test_panic_while_a_stream_looks_ahead_goes_to_the_stock_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, stock = accelerate(make("small_bytes")), make("small_bytes")
    ids = stock("some text of a stream")["input_ids"]
    ours("makes the tables")
    streams_of = [(decode_stream.STOCK(), stock._tokenizer), (decode_stream.DecodeStream(), ours._tokenizer)]
    monkeypatch.setattr(tokenizers.Tokenizer, "decode_batch", panic)
    found = [[stream.step(backend, i) for i in ids] for stream, backend in streams_of]
    assert found[0] == found[1]

"""numpy's texts in fastbpe.tokenizers by itself against tokenizers, and methods of classes that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face

A = np.array
WORDS = {"is_pretokenized": True}
BATCHES: list[tuple[Any, dict[str, Any]]] = [
    (A(["a", "b"]), {}),
    (A(["a", "bc"], dtype=object), {}),
    (A([["a", "b"], ["b", "a"]]), {}),
    (A([["a", "b"], ["b", "a"]]), WORDS),
    (A([["a", "b"], ["b", "a"]], dtype=object), WORDS),
    ([A(["a", "b"]), A(["c"])], WORDS),
    (A([A(["a", "b"]), A(["c"])], dtype=object), WORDS),
    ([A(["a", "b"])], {}),
    ([("a", A(["b"]))], {}),
    ([(A(["a"]), A(["b"]))], WORDS),
    (A([[["a"], ["b"]]]), WORDS),
    (A(["a", "b"]).reshape(1, 2)[:, ::-1], {}),
    (A([]), {}),
    ([np.str_("ab")], {}),
    ([[np.str_("ab")]], WORDS),
    (A([1, 2]), {}),
    (A(["a", 3], dtype=object), {}),
    (A([None], dtype=object), {}),
    (A([b"a"]), {}),
    (A("ab"), {}),
    (A(["a", "b"]), WORDS),
    (A([["a", "b", "c"]]), {}),
]
TEXTS: list[tuple[Any, dict[str, Any]]] = [
    (np.str_("ab"), {}),
    ("a", {"pair": np.str_("b")}),
    (A(["a", "b"]), WORDS),
    (A(["a", "b"], dtype=object), WORDS),
    (A(["a"]), {"pair": A(["b"]), **WORDS}),
    (A(["a", "b"]), {}),
    (A("ab"), {}),
    (A("ab"), WORDS),
    (A([1]), WORDS),
]


def tokenizer(library: Any) -> Any:
    return library.Tokenizer(library.models.BPE({"a": 0, "b": 1, "c": 2}, []))


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("method", ["encode_batch", "encode_batch_fast"])
@pytest.mark.parametrize("at", range(len(BATCHES)))
def test_batches_of_arrays_give_the_ids_of_tokenizers(at: int, method: str) -> None:
    batch, options = BATCHES[at]
    ours, theirs = (
        outcome(lambda one=one: [row.ids for row in getattr(tokenizer(one), method)(batch, **options)])  # type: ignore[misc]
        for one in (face, stock)
    )
    assert ours == theirs


@pytest.mark.parametrize("at", range(len(TEXTS)))
def test_texts_of_numpy_give_the_ids_of_tokenizers(at: int) -> None:
    text, options = TEXTS[at]
    ours, theirs = (
        outcome(lambda one=one: tokenizer(one).encode(text, **options).ids)  # type: ignore[misc]
        for one in (face, stock)
    )
    assert ours == theirs

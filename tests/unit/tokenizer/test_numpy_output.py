"""Ids in the dtype and memory of the caller, and flat ids with offsets decoded."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe import Tokenizer, train

TEXTS = ["ab abc", "", "é👍", "cab " * 40]


@pytest.fixture(scope="module", params=["byte", "codepoint"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    text = ["ab abc cab " * 9]
    if request.param == "codepoint":
        return train(text, mode="codepoint", vocab_size=268, byte_fallback=True, progress=False)
    return train(text, vocab_size=260, pattern="gpt2", progress=False)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int16", "int64", numpy.int32, numpy.dtype("u8")])
def test_out_equals_a_fresh_array_of_any_dtype(tokenizer: Tokenizer, dtype: Any) -> None:
    for text in TEXTS:
        fresh = tokenizer.encode_to_numpy(text, dtype=dtype)
        assert fresh.dtype == numpy.dtype(dtype)
        assert fresh.tolist() == tokenizer.encode(text)
        out = numpy.full(len(fresh) + 3, 7, dtype)
        filled = tokenizer.encode_to_numpy(text, out=out)
        assert numpy.shares_memory(filled, out) or not len(fresh)
        assert filled.tolist() == fresh.tolist()
        assert out.tolist() == [*fresh.tolist(), 7, 7, 7]
        every_other = numpy.zeros(2 * len(fresh), dtype)[::2]
        assert tokenizer.encode_to_numpy(text, dtype=dtype, out=every_other).tolist() == fresh.tolist()
    ids, offsets = tokenizer.encode_batch_to_numpy(TEXTS)
    out = numpy.zeros(len(ids), dtype)
    filled, same_offsets = tokenizer.encode_batch_to_numpy(TEXTS, out=out)
    assert filled.tolist() == out.tolist() == ids.tolist()
    assert same_offsets.tolist() == offsets.tolist()
    assert tokenizer.encode_batch_to_numpy(TEXTS, dtype=dtype)[0].dtype == numpy.dtype(dtype)


def test_bad_output_is_refused_and_stays_as_it_was(tokenizer: Tokenizer) -> None:
    small, read_only = numpy.zeros(2, "uint32"), numpy.zeros(9, "uint32")
    read_only.flags.writeable = False
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, "out has the length 2, but needs 4", {"out": small}),
        (ValueError, "out has the dtype uint32, not uint16", {"out": small, "dtype": "uint16"}),
        (ValueError, "writable .*; it is read-only", {"out": read_only}),
        (ValueError, r"one dimension; it has the shape \(3, 3\)", {"out": numpy.zeros((3, 3), "uint32")}),
        (ValueError, "integer dtype", {"out": numpy.zeros(9)}),
        (ValueError, "integer dtype", {"dtype": "float32"}),
        (ValueError, "integer dtype", {"dtype": bool}),
        (ValueError, "in the byte order of this machine", {"dtype": numpy.dtype("u4").newbyteorder()}),
        (ValueError, "is not a dtype", {"dtype": "uint17"}),
        (TypeError, "numpy array, not list", {"out": [0] * 9}),
    ]
    text = "".join(f"{c} " for c in "éü")
    text = text if len(tokenizer.encode(text)) == 4 else "ééé"[:2]
    for kind, message, options in cases:
        n = len(tokenizer.encode(text))
        with pytest.raises(kind, match=message.replace("needs 4", f"needs {n}")):
            tokenizer.encode_to_numpy(text, **options)
        with pytest.raises(kind, match=message.replace("needs 4", f"needs {n}")):
            tokenizer.encode_batch_to_numpy([text], **options)
    assert not small.any()


def test_id_above_the_dtype_is_named_before_anything_is_written() -> None:
    tokenizer = Tokenizer.from_merges([(97, 98)], pattern=None, special_tokens={"<x>": 70_000})
    out = numpy.zeros(4, "uint16")
    assert tokenizer.encode_to_numpy("cab", out=out).tolist() == [99, 256]
    out[:] = 0
    with pytest.raises(
        ValueError, match=r"uint16 is too small for id 70000 at position 1: .* array of uint32 as out="
    ):
        tokenizer.encode_to_numpy("a<x>", out=out, allowed_special="all")
    with pytest.raises(ValueError, match=r"uint8 is too small for id 256 at position 0: .* 255; choose dtype="):
        tokenizer.encode_batch_to_numpy(["ab"], dtype="uint8")
    assert not out.any()


@given(texts=st.lists(st.text(max_size=12), max_size=6))
def test_flat_ids_and_offsets_decode_as_their_lists(tokenizer: Tokenizer, texts: list[str]) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    ids, offsets = tokenizer.encode_batch_to_numpy(texts, dtype="int64")
    expected = tokenizer.decode_batch(tokenizer.encode_batch(texts))
    for flat in (
        (ids, offsets),
        (ids.astype("uint16"), offsets.astype("int32")),
        (memoryview(ids), memoryview(offsets)),
        (ids.astype(">u4"), offsets.astype(">i8")),
    ):
        assert tokenizer.decode_batch(flat) == expected
        assert tokenizer.decode_batch(flat, num_threads=1, skip_special_tokens=True) == expected


def test_offsets_of_other_ids_are_refused(tokenizer: Tokenizer) -> None:
    ids = numpy.array(tokenizer.encode("ab abc cab"), "uint32")
    n = len(ids)
    for bad, message in (
        ([0, n + 1], f"from 0 to {n}, the number of ids; they go from 0 to {n + 1}"),
        ([0, n - 1], f"they go from 0 to {n - 1}"),
        ([1, n], "they go from 1"),
        ([-1, n], "they go from -1"),
        ([0, n, 0, n], f"must not decrease: offsets\\[1\\] is {n} and offsets\\[2\\] is 0"),
        ([], "they are empty"),
    ):
        with pytest.raises(ValueError, match=message):
            tokenizer.decode_batch((ids, numpy.array(bad, "int64")))
    for ids_, offsets in ((ids, numpy.array([0.0, n])), (ids.reshape(-1, 1), numpy.array([0, n]))):
        with pytest.raises(TypeError, match="integers in one dimension"):
            tokenizer.decode_batch((ids_, offsets))


def test_sequences_of_other_kinds_decode_each(tokenizer: Tokenizer) -> None:
    ids = numpy.array(tokenizer.encode("ab abc"), "uint32")
    text = tokenizer.decode(ids)
    assert tokenizer.decode_batch([ids, ids]) == [text, text]
    assert tokenizer.decode_batch((ids.tolist(), ids.tolist())) == [text, text]
    assert tokenizer.decode_batch((ids, ids, ids)) == [text] * 3


def test_pair_is_ids_and_offsets_only_if_both_are_arrays_in_one_dimension() -> None:
    tokenizer = Tokenizer.from_merges([], pattern=None)
    for pair in (([97, 98], [99]), ((97, 98), (99,))):
        assert tokenizer.decode_batch(pair) == ["ab", "c"]  # type: ignore[arg-type]
    for pair in ((b"ab", b"c"), (bytearray(b"ab"), b"c")):
        with pytest.raises(TypeError, match="ids must be a sequence of integers, not byte"):
            tokenizer.decode_batch(pair)  # type: ignore[arg-type]
    assert tokenizer.decode_batch((numpy.array([]), numpy.array([0]))) == []  # of floats, but empty
    with pytest.raises(TypeError, match=r"ids must be integers in one dimension: got an array with ndim=2"):
        tokenizer.decode_batch((numpy.zeros((2, 2), int), numpy.array([0, 2])))

"""Arrow arrays of texts to lists of ids, and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe import Tokenizer, train
from fastbpe.tokenizer import arrow

pyarrow = pytest.importorskip("pyarrow")

rows = st.lists(st.one_of(st.none(), st.text(st.sampled_from("ab cé日👍"), max_size=9)), max_size=12)


@pytest.fixture(scope="module", params=["byte", "codepoint"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    text = ["ab abc cab é" * 9]
    if request.param == "codepoint":
        return train(
            text, mode="codepoint", vocab_size=280, byte_fallback=True, hard_vocab_limit=False, progress=False
        )
    return train(text, vocab_size=260, pattern="gpt2", special_tokens=["<x>"], progress=False)


def arrays(texts: list[str | None]) -> list[Any]:
    """Return Arrow arrays with these rows, of every type and layout."""
    plain = pyarrow.array(texts, pyarrow.string())
    padded = pyarrow.array(["x", None, *texts, "y"], pyarrow.string())
    return [
        plain,
        plain.cast(pyarrow.large_string()),
        plain.cast(pyarrow.binary()),
        plain.cast(pyarrow.large_binary()),
        plain.cast(pyarrow.string_view()),
        plain.dictionary_encode(),
        padded[2 : 2 + len(texts)],
        pyarrow.chunked_array([plain, padded[2 : 2 + len(texts)]])[: len(texts)],
        texts,
        iter([text if text is None else text.encode() for text in texts]),
    ]


@pytest.mark.daily
@given(texts=rows)
@settings(max_examples=60)
def test_lists_equal_encode_with_nulls_kept(tokenizer: Tokenizer, texts: list[str | None]) -> None:
    expected = [None if text is None else tokenizer.encode(text) for text in texts]
    for array in arrays(texts):
        made = tokenizer.to_arrow(array)
        made.validate(full=True)
        assert made.to_pylist() == expected
        assert made.type == pyarrow.list_(pyarrow.uint32())


def test_arrow_lists_have_the_given_dtype_and_are_large_if_needed(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tokenizer.to_arrow(["ab", None], dtype="uint16")
    assert made.type == pyarrow.list_(pyarrow.uint16())
    assert tokenizer.to_arrow([]).type == pyarrow.list_(pyarrow.uint32())
    assert tokenizer.to_arrow(pyarrow.chunked_array([], pyarrow.string())).to_pylist() == []
    assert tokenizer.to_arrow(pyarrow.nulls(2)).to_pylist() == [None, None]
    monkeypatch.setattr(arrow, "_MAX_NARROW", 3)
    texts = pyarrow.chunked_array([["ab"], ["éééé", None]])
    made = tokenizer.to_arrow(texts)
    assert made.type == pyarrow.large_list(pyarrow.uint32())
    assert made.to_pylist() == [tokenizer.encode("ab"), tokenizer.encode("éééé"), None]


@pytest.mark.daily
@pytest.mark.parametrize("num_threads", [1, 2])
def test_long_arrays_are_encoded_in_batches(tokenizer: Tokenizer, num_threads: int) -> None:
    texts = ["ab abc", None, "é", ""] * 40_000
    made = tokenizer.to_arrow(pyarrow.array(texts), num_threads=num_threads)
    ids = {text: tokenizer.encode(text) for text in texts if text is not None}
    assert made.to_pylist() == [text if text is None else ids[text] for text in texts]


@given(texts=rows)
@settings(max_examples=40)
def test_arrow_lists_decode(tokenizer: Tokenizer, texts: list[str | None]) -> None:
    sound = [text for text in texts if text is not None]
    expected = tokenizer.decode_batch(tokenizer.encode_batch(sound))
    made = tokenizer.to_arrow(sound)
    assert tokenizer.decode_batch(made) == expected
    assert tokenizer.decode_batch(made[1:]) == expected[1:]
    assert tokenizer.decode_batch(pyarrow.chunked_array([made, made[:1]])) == expected + expected[:1]
    assert tokenizer.decode_batch(made.cast(pyarrow.large_list(pyarrow.int64()))) == expected


def test_errors_name_the_row(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="row 2 is not UTF-8") as caught:
        tokenizer.to_arrow(pyarrow.array([b"a", None, b"\xff"]))
    assert caught.value.__notes__ == ["for texts[2]"]
    if tokenizer.special_tokens.get("<x>"):
        with pytest.raises(ValueError, match="disallowed special token") as caught:
            tokenizer.to_arrow(pyarrow.array(["a", "<x>"]))
        assert caught.value.__notes__ == ["for texts[1]"]
        with pytest.raises(ValueError, match="disallowed special token") as caught:
            tokenizer.to_arrow(pyarrow.chunked_array([["a", "b"], ["<x>"]]))
        assert caught.value.__notes__ == ["for texts[2]"]
        assert len(tokenizer.to_arrow(["<x>"], allowed_special="all")[0]) == 1
    with pytest.raises(ValueError, match="uint8 is too small for id"):
        tokenizer.to_arrow([" ab ab"], dtype="uint8")
    with pytest.raises(TypeError, match="not of int64"):
        tokenizer.to_arrow(pyarrow.array([1]))
    with pytest.raises(TypeError, match="pass \\[text\\]"):
        tokenizer.to_arrow("ab")
    with pytest.raises(ValueError, match="batch\\[1\\] is null"):
        tokenizer.decode_batch(pyarrow.array([[97], None]))
    with pytest.raises(ValueError, match="batch\\[1\\] is null or contains null"):
        tokenizer.decode_batch(pyarrow.array([[97], [97, None]]))
    with pytest.raises(ValueError, match="batch\\[2\\] is null"):
        tokenizer.decode_batch(pyarrow.chunked_array([[[97], [98]], [None]], pyarrow.list_(pyarrow.int64())))
    with pytest.raises(TypeError, match="lists of integers"):
        tokenizer.decode_batch(pyarrow.array(["a"]))

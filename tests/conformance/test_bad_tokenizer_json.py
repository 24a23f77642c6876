"""Damaged and odd tokenizer.json files: the verdict is that of tokenizers, and an error names the place."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers

import fastbpe
from fastbpe import FormatError
from fastbpe import tokenizers as face

BASE: dict[str, Any] = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": None,
    "decoder": None,
}
MODEL: dict[str, Any] = {
    "type": "BPE",
    "dropout": None,
    "unk_token": "?",
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
    "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3, " ": 4, "_": 5},
    "merges": ["a b"],
}
BOTH = {"?": 0, "a": 1, "b</w>": 2, "##b": 3, "ab</w>": 4, "##b</w>": 5, "a</w>": 6, "ab": 7, "#": 8}
MARKS = {"vocab": BOTH, "end_of_word_suffix": "</w>", "continuing_subword_prefix": "##"}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
TEXTS = ("ab a b", "", "ab\nab", "xyz", "  a  ")
#: Changed members of the model or the file → part of the message.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"merges": ["x b"]}, r"model\.merges\[0\]: 'x' and 'b': 'x' is not a token"),
    ({"merges": ["a b", "b a"]}, r"model\.merges\[1\]: 'b' and 'a': 'ba' is not a token"),
    ({"merges": ["ab"]}, r"model\.merges\[0\]: must be two tokens, not 'ab'"),
    ({"merges": [["a", "b", "a"]]}, r"model\.merges\[0\]: must be two tokens, not \['a', 'b', 'a'\]"),
    ({"merges": [3]}, r"model\.merges\[0\]: must be two tokens, not 3"),
    ({"merges": ["a b", ["a", "b"]]}, r"model\.merges\[1\]: must be two tokens, not \['a', 'b'\]"),
    ({**MARKS, "merges": ["a ##c"]}, r"model\.merges\[0\]: 'a' and '##c'"),
    ({**MARKS, "merges": ["a #"]}, r"model\.merges\[0\]: .*'#'.* continuing_subword_prefix"),
    ({"type": "Nope"}, "'Nope' is unknown; fastbpe knows BPE, Unigram, WordPiece"),
    ({"normalizer": {"type": "Nope"}}, "normalizer: the normalizer 'Nope' is"),
    (
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Nope"}]}},
        r"normalizer\.normalizers\[1\]: the normalizer 'Nope' is",
    ),
    (
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTES, {"type": "Nope"}]}},
        r"pre_tokenizer\.pretokenizers\[1\]: the pre-tokenizer 'Nope' is",
    ),
    ({"pre_tokenizer": {"type": "Split"}}, "pre_tokenizer: .*'pattern'"),
    ({"post_processor": {"type": "Nope"}}, "post_processor: the post-processor 'Nope' is unknown"),
    (
        {"decoder": {"type": "Sequence", "decoders": [BYTES, {"type": "Nope"}]}},
        r"decoder\.decoders\[1\]: the decoder 'Nope' is unknown",
    ),
]
NOTHING = ("(?!)", "a(?<!a)", "(*FAIL)")
EVERYTHING = ("", ".*", "(?m:.*)", ".*?", ".", "^", "$", "a|", r"\b", "(?=a)", r"[\s\S]+")


def file_with(changes: dict[str, Any]) -> str:
    model = {**MODEL, **{key: value for key, value in changes.items() if key in MODEL}}
    return json.dumps({**BASE, **{key: value for key, value in changes.items() if key in BASE}, "model": model})


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_damaged_file_is_refused_with_the_place(changes: dict[str, Any], message: str) -> None:
    text = file_with(changes)
    with pytest.raises(BaseException, match=r"."):  # a panic is no Exception
        tokenizers.Tokenizer.from_str(text)
    for load in (lambda: fastbpe.load(text.encode()), lambda: face.Tokenizer.from_str(text)):
        with pytest.raises(FormatError, match=message):
            load()


def assert_equal(text: str) -> None:
    theirs, ours, dropped_in = (
        tokenizers.Tokenizer.from_str(text),
        fastbpe.load(text.encode()),
        face.Tokenizer.from_str(text),
    )
    for one in TEXTS:
        expected = theirs.encode(one)
        assert ours.encode_with_offsets(one) == (expected.ids, expected.offsets)
        found = dropped_in.encode(one)
        assert (found.ids, found.offsets) == (expected.ids, expected.offsets)
        assert ours.decode(expected.ids) == theirs.decode(expected.ids) == dropped_in.decode(expected.ids)


@pytest.mark.parametrize("pattern", [*NOTHING, *EVERYTHING])
@pytest.mark.parametrize("behavior", ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
@pytest.mark.parametrize("inverts", [False, True])
def test_regex_that_matches_nothing_or_everything_splits_as_in_tokenizers(
    pattern: str, behavior: str, inverts: bool
) -> None:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": inverts}
    assert_equal(file_with({"pre_tokenizer": split}))


@pytest.mark.parametrize("pattern", [*NOTHING, *EVERYTHING])
@pytest.mark.parametrize("content", ["_", ""])
def test_regex_that_matches_nothing_or_everything_replaces_as_in_tokenizers(pattern: str, content: str) -> None:
    replace = {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
    assert_equal(file_with({"normalizer": replace, "decoder": replace}))


@pytest.mark.parametrize("behavior", ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
def test_split_by_an_empty_text_is_that_by_an_empty_regex(behavior: str) -> None:
    split = {"type": "Split", "pattern": {"String": ""}, "behavior": behavior, "invert": False}
    assert_equal(file_with({"pre_tokenizer": split}))
    assert_equal(file_with({"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "_"}}))


def test_word_end_and_continuing_prefix_together_are_as_in_tokenizers() -> None:
    assert_equal(file_with({**MARKS, "merges": ["a ##b</w>"]}))

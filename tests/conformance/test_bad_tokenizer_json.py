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


#: Part of a tokenizer.json → the key of its steps, and a step.
STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "normalizer": ("normalizers", {"type": "NFC"}),
    "pre_tokenizer": ("pretokenizers", {"type": "Whitespace"}),
    "post_processor": ("processors", {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}),
    "decoder": ("decoders", {"type": "Fuse"}),
}


@pytest.mark.parametrize("part", STEPS)
@pytest.mark.parametrize("depth", [63, 400])
def test_place_of_an_error_in_nested_sequences_is_short(part: str, depth: int) -> None:
    """tokenizers reads 62 levels."""
    key, step = STEPS[part]

    def nested(n: int, inner: dict[str, Any]) -> str:
        for _ in range(n):
            inner = {"type": "Sequence", key: [inner]}
        return file_with({part: inner})

    assert_equal(nested(62, step))
    for text in (nested(depth, step), nested(40, {"type": "other"})):
        with pytest.raises(Exception, match=r"recursion limit|did not match"):
            tokenizers.Tokenizer.from_str(text)
        for load in (
            lambda text=text: fastbpe.load(text.encode()),
            lambda text=text: face.Tokenizer.from_str(text),
        ):
            with pytest.raises(FormatError, match=f"{part}.*(nested|not more than|other)") as raised:
                load()
            assert len(str(raised.value)) < 350  # with the names of all steps


@pytest.mark.parametrize("part", STEPS)
@pytest.mark.parametrize("at", [0, 1])
def test_error_names_the_place_in_nested_sequences(part: str, at: int) -> None:
    key, step = STEPS[part]
    inner = {"type": "Sequence", key: [*[step] * at, {"type": "other"}]}
    text = file_with({part: {"type": "Sequence", key: [inner]}})
    for load in (lambda: fastbpe.load(text.encode()), lambda: face.Tokenizer.from_str(text)):
        with pytest.raises(FormatError, match=rf"{part}\.{key}\[0\]\.{key}\[{at}\]: .*'other'"):
            load()


@pytest.mark.parametrize("depth", [62, 63, 900, 3000])
def test_decoders_nested_deeper_than_in_a_file_run(depth: int) -> None:
    def decoded(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.WordLevel({"a": 0, "b": 1}, "b"))
        decoder = module.decoders.Replace("a", "c")
        for _ in range(depth):
            decoder = module.decoders.Sequence([decoder, module.decoders.Fuse()])
        tokenizer.decoder = decoder
        return tokenizer.encode("a").ids, tokenizer.decode([0, 1, 0]), tokenizer.decoder.decode(["a", "b"])

    assert decoded(face) == decoded(tokenizers)


@pytest.mark.parametrize("pretty", [False, True])
def test_lone_surrogate_is_refused_where_a_tokenizer_is_written(pretty: bool) -> None:
    model = face.models.WordLevel({"a": 0}, "a")
    model.names = {0: "\ud800"}  # past all checks
    tokenizer = face.Tokenizer(model)
    for write in (lambda: tokenizer.to_str(pretty), lambda: tokenizer.model.tokenize("a")):
        with pytest.raises(FormatError, match=r"a lone surrogate, .* '\\ud800'; remove the surrogate"):
            write()


def test_errors_of_a_file_give_it_one_name() -> None:
    for changes in ({"truncation": 1}, {"vocab": [["a", None]], "type": "Unigram"}, {"version": "2.0"}):
        with pytest.raises(FormatError, match=r"^tokenizer\.json: "):
            face.Tokenizer.from_str(file_with(changes))

"""`export(drop=["normalizer"])`: what changes, what must not, and what the result says."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, FormatWarning, Tokenizer
from fastbpe.model import PieceType
from helpers.codepoint_models import model_of, rules_that_cut_characters
from helpers.shared_data import BYTES

TEXTS = ["ab", "caf\u00e9 e\u0301", "a  b", "ABC abc", "\u212b"]


def with_normalizer(**described: Any) -> Tokenizer:
    """Return a byte-level tokenizer with a normalizer, and a token for a composed letter."""
    plain = Tokenizer.from_ranks({**BYTES, b"ab": 256, b"\xc3\xa9": 257}, pattern="gpt2")
    made = plain._family.dump(plain, "huggingface")
    assert isinstance(made, bytes)
    return fastbpe.load(json.dumps(json.loads(made) | {"normalizer": described}).encode())


NFC = {"type": "NFC"}


@pytest.mark.parametrize(
    ("format", "name"), [("gguf", "a.gguf"), ("tiktoken", "a.tiktoken"), ("gpt2", "a"), ("huggingface", "a.json")]
)
def test_tokenizer_without_its_normalizer_is_written(format: str, name: str, tmp_path: Path) -> None:
    tokenizer = with_normalizer(**NFC)
    done = tokenizer.export(tmp_path / name, format=format, drop=["normalizer"])
    assert done is not None
    assert done.dropped == ("normalizer",)
    texts = [difference.text for difference in done.changed]
    assert "e\u0301" in texts
    assert all(unicodedata.normalize("NFC", text) != text for text in texts)
    assert done.n_changed >= len(texts)
    arguments = {} if format in ("gguf", "huggingface") else {"pattern": tokenizer.pattern or "gpt2"}
    plain = fastbpe.load(tmp_path / name, **arguments)
    for text in TEXTS:
        normalized = unicodedata.normalize("NFC", text)
        assert plain.encode_ordinary(normalized) == tokenizer.encode_ordinary(text)
    for difference in done.changed:
        assert difference.expected == tokenizer.encode_ordinary(difference.text)
        assert difference.found == plain.encode_ordinary(difference.text) != difference.expected


@pytest.mark.parametrize("format", ["gguf", "tiktoken", "gpt2", "minbpe", "tekken"])
def test_error_of_a_format_without_normalizers_names_the_way_out(format: str, tmp_path: Path) -> None:
    said = r"cannot store the normalizers .*or drop the normalizers with drop=\['normalizer'\]"
    with pytest.raises(FormatError, match=said):
        with_normalizer(**NFC).export(tmp_path / "a", format=format)
    assert not [*tmp_path.iterdir()]


def test_texts_to_verify_are_told_too(tmp_path: Path) -> None:
    done = with_normalizer(**NFC).export(
        tmp_path / "a.gguf", drop=["normalizer"], verify_text="o\u0308ff\nplain\n"
    )
    assert done is not None
    assert "o\u0308ff\n" in [difference.text for difference in done.changed]


def test_normalizer_of_a_code_point_model_is_dropped(tmp_path: Path) -> None:
    tokenizer = fastbpe.train(
        ["ab ab abc \ufb01 fi"] * 5,
        mode="codepoint",
        vocab_size=268,
        byte_fallback=True,
        hard_vocab_limit=False,
        progress=False,
    )
    with pytest.raises(FormatError, match=r"a GGUF file cannot store .*drop=\['normalizer'\]"):
        tokenizer.export(tmp_path / "a.gguf")
    done = tokenizer.export(tmp_path / "a.gguf", drop=["normalizer"])
    assert done is not None
    assert {"\ufb01", "  a  b "} <= {difference.text for difference in done.changed}
    plain = fastbpe.load(tmp_path / "a.gguf")
    assert plain.encode("ab fi abc") == tokenizer.encode("ab \ufb01  abc")


def test_rules_that_cut_characters_are_dropped(tmp_path: Path) -> None:
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"x", 0.0, PieceType.NORMAL)]
    tokenizer = fastbpe.load(model_of(pieces, normalizer={"precompiled_charsmap": rules_that_cut_characters()}))
    done = tokenizer.export(tmp_path / "a.model", drop=["normalizer"])
    assert done is not None
    assert "x" in [difference.text for difference in done.changed]


def test_texts_that_a_model_without_an_unknown_token_refuses_have_no_ids(tmp_path: Path) -> None:
    model = {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0], ["b", -1.0], ["A", -1.0]]}
    tokenizer = fastbpe.load(json.dumps({"normalizer": {"type": "Lowercase"}, "model": model}).encode())
    done = tokenizer.export(tmp_path / "a.json", drop=["normalizer"], verify_text="B\nA\n")
    assert done is not None
    changed = {text: ([*expected], [*found]) for text, expected, found in done.changed}
    assert changed == {"A": ([0], [2])}


def test_normalizer_may_change_parts_between_added_tokens(tmp_path: Path) -> None:
    strip = {"type": "Strip", "strip_left": False, "strip_right": True}
    tokenizer = with_normalizer(**strip).with_tokens(["<x>"])
    done = tokenizer.export(tmp_path / "a.json", drop=["normalizer"], verify_text="a <x>b")
    assert done is not None
    assert ("a <x>b", [97, 258, 98], [97, 32, 258, 98]) in done.changed


def test_superbpe_without_its_normalizer_becomes_a_gguf_file(tmp_path: Path) -> None:
    two = "\u0661\u0662"  # llama.cpp cuts numbers of these digits in other places
    plain = Tokenizer.from_ranks(
        {**BYTES, **{part.encode(): 256 + i for i, part in enumerate((*two, two))}}, pattern=None
    )
    steps = [
        {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
        for regex in (r"\p{N}+", r"(?=(\d{3})+(?!\d))")
    ]
    steps.append({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False})
    made = plain._family.dump(plain, "huggingface")
    assert isinstance(made, bytes)
    described = json.loads(made) | {
        "normalizer": NFC,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
    }
    tokenizer = fastbpe.load(json.dumps(described).encode())
    with pytest.warns(FormatWarning, match="cuts numbers by threes only if they have the digits 0 to 9"):
        done = tokenizer.export(tmp_path / "a.gguf", drop=["normalizer"], verify_text=two + two)
    assert done is not None
    assert {unicodedata.normalize("NFC", text) != text for text, _, _ in done.changed} == {True}
    assert fastbpe.load(tmp_path / "a.gguf").encode(two + two) == [258, 258] != tokenizer.encode(two + two)


def test_text_that_the_normalizer_does_not_change_must_keep_its_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = with_normalizer(type="Lowercase")
    monkeypatch.setattr("fastbpe.tokenizer.export.dropped_parts.make_change", lambda _: lambda text: text)
    with pytest.raises(
        FormatError, match=r"without the normalizer; .*although the normalizer leaves this text as it is"
    ):
        tokenizer.export(tmp_path / "a.gguf", drop=["normalizer"])
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("drop", "error", "said"),
    [
        ("normalizer", TypeError, r"drop must be a list of parts, such as \['normalizer'\], not 'normalizer'"),
        (5, TypeError, "drop must be a list"),
        (["decoder"], ValueError, "drop='decoder': choose one of 'normalizer'"),
    ],
)
def test_part_that_cannot_be_dropped_is_refused(drop: Any, error: type, said: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=said):
        with_normalizer(**NFC).export(tmp_path / "a.gguf", drop=drop)


def test_drop_without_a_normalizer_is_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_merges([(97, 98)], pattern="gpt2")
    with pytest.raises(FormatError, match="this tokenizer has no normalizer; leave drop= out"):
        tokenizer.export(tmp_path / "a.gguf", drop=["normalizer"])
    points = fastbpe.train(
        ["ab abc"] * 3,
        mode="codepoint",
        vocab_size=9,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        progress=False,
    )
    with pytest.raises(FormatError, match="no normalization rules; leave drop= out"):
        points.export(tmp_path / "a.model", drop=["normalizer"])

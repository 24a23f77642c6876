"""Exports are compared with the tokenizer before they replace the target; a difference leaves no file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.formats import gpt2
from fastbpe.formats.atomic_files import write_folder
from fastbpe.formats.sentencepiece import model_file
from fastbpe.tokenizer.export import export, verify_export
from fastbpe.tokenizer.export.verify_vocabulary import verify_conversion
from helpers.segmented_models import tokenizer_json
from helpers.shared_data import BYTES, published
from helpers.unwritable_files import refuse_writing

OUT_OF_ORDER_RANKS = BYTES | {b"bc": 256, b"abcd": 257, b"abc": 258}
UNMADE = BYTES | {b"xy": 256, b"zxyx": 257}


def small_tokenizer() -> Tokenizer:
    return Tokenizer.from_ranks(OUT_OF_ORDER_RANKS, pattern="gpt2", special_tokens={"<s>": 259})


@pytest.mark.parametrize("format", ["native", "tiktoken", "gpt2", "huggingface"])
def test_token_made_of_one_with_a_greater_id_keeps_its_id(format: str, tmp_path: Path) -> None:
    tokenizer, path = small_tokenizer(), tmp_path / ("x.json" if format == "huggingface" else "x")
    assert tokenizer.encode("abcdx") == [257, 120]
    verified = tokenizer.export(path, format=format)
    assert verified is not None
    assert verified.n_texts > 256
    again = fastbpe.load(path, **verify_export.arguments(format, "gpt2", tokenizer.special_tokens))
    assert again == tokenizer
    assert again.encode("abcdx") == [257, 120]
    if format == "huggingface":
        assert tokenizers.Tokenizer.from_file(str(path)).encode("abcdx").ids == [257, 120]


def test_minbpe_export_names_a_token_and_text_it_cannot_express(tmp_path: Path) -> None:
    said = (
        r"the token b'abcd' \(id 257\) is merged from b'abc' \(id 258\) and b'd' \(id 100\), but a minbpe file "
        r"makes the id 258 later, so the text 'abcd' would not become the id 257; export this tokenizer as "
        r"native, tiktoken or huggingface"
    )
    with pytest.raises(FormatError, match=said):
        small_tokenizer().export(tmp_path / "x.model", format="minbpe")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("format", ["gpt2", "minbpe"])
def test_export_refuses_token_that_is_only_a_whole_piece(format: str, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_ranks(UNMADE, pattern=None)
    said = (
        r"no merge produces 1 of this tokenizer's tokens, b'zxyx' \(257\): they only match whole pieces, which a "
        r"list of merges cannot express \(the text 'zxyx' is \[257\] and would be \[122, 256, 120\]\); export "
        "this tokenizer as native, tiktoken or huggingface"
    )
    with pytest.raises(FormatError, match=said):
        tokenizer.export(tmp_path / "x", format=format)
    assert not [*tmp_path.iterdir()]
    tokenizer.export(tmp_path / "x", format="huggingface")
    assert fastbpe.load(tmp_path / "x") == tokenizer


def test_token_that_is_invalid_utf8_needs_no_merge(tmp_path: Path) -> None:
    """The token is invalid UTF-8, so no piece of text equals it, and no merge makes it."""
    tokenizer = Tokenizer.from_ranks(BYTES | {b"ab\xe3": 256}, pattern=None)
    tokenizer.export(tmp_path / "x", format="gpt2")
    assert fastbpe.load(tmp_path / "x", pattern="none").id_to_token(256) == b"ab\xe3"


def test_tiktoken_export_refuses_merges_that_ranks_cannot_express(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_merges([(97, 98), (98, 99), (97, 257)], pattern=None)  # "abc" is never made
    said = (
        r"a \.tiktoken file stores only ranks, which would give other ids \(the text 'abc' is \[256, 99\] and "
        r"would be \[258\]\): export this tokenizer as native"
    )
    with pytest.raises(FormatError, match=said):
        tokenizer.export(tmp_path / "x", format="tiktoken")


# Compared facts.


def break_writer(monkeypatch: pytest.MonkeyPatch, format: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Make the writer of tokenizer.json files write an error."""
    write = export._EXPORTERS[format]

    def wrong(tokenizer: Tokenizer) -> bytes:
        data = write(tokenizer)
        assert isinstance(data, bytes)
        document = json.loads(data)
        change(document)
        return json.dumps(document).encode()

    monkeypatch.setitem(export._EXPORTERS, format, wrong)  # type: ignore[arg-type]


def test_export_difference_names_text_and_ids_and_keeps_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "tokenizer.json"
    target.write_text("before")
    break_writer(monkeypatch, "huggingface", lambda made: made["model"]["merges"].pop(1))
    said = (
        r"^the text 'aabcd' is \[97, 257\], but \[97, 258, 100\] in the new huggingface file; "
        r"the first tokens that differ are b'abcd' \(257\) and b'abc' \(258\); "
        "nothing is written: export this tokenizer as native"
    )
    with pytest.raises(FormatError, match=said):
        small_tokenizer().export(target, format="huggingface")
    assert target.read_text() == "before"
    assert [*tmp_path.iterdir()] == [target]
    assert small_tokenizer().export(target, format="huggingface", verify=False) is None
    assert fastbpe.load(target).encode("abcdx") == [258, 100, 120]


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a token": (
        lambda made: made["model"]["vocab"].update({"bc": 258, "abc": 256}),
        r"the token 256 is b'bc', but b'abc' in the new huggingface file; noth",
    ),
    "no special token": (
        lambda made: made["added_tokens"].clear(),
        r"'<s>' \(259\) is a special token, but not in the new",
    ),
    "one more": (
        lambda made: made["added_tokens"].append({**made["added_tokens"][0], "id": 260, "content": "<t>"}),
        r"'<t>' \(260\) is not a special token, but is one in the new",
    ),
    "no JSON": (
        lambda made: made.update(version="2.0"),
        r"the huggingface file to be written cannot be read back: <bytes>: version '2.0'",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_kind_of_export_difference_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, said = CHANGES[name]
    break_writer(monkeypatch, "huggingface", change)
    with pytest.raises(FormatError, match=said):
        small_tokenizer().export(tmp_path / "x.json", format="huggingface")
    assert not [*tmp_path.iterdir()]


def test_code_point_exports_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = fastbpe.train(["low lower lowest"] * 9, mode="codepoint", vocab_size=20, progress=False)
    assert tokenizer.mode == "codepoint"
    verified = tokenizer.export(tmp_path / "a.model", format="sentencepiece", verify_text="lowest of all\n")
    assert verified is not None
    assert verified.owner == "sentencepiece"
    other = fastbpe.train(["low rower rowest"] * 9, mode="codepoint", vocab_size=20, progress=False)
    assert other.mode == "codepoint"
    written = model_file.dump(other._family.own)
    monkeypatch.setattr("fastbpe.formats.sentencepiece.model_file.dump", lambda model: written)
    with pytest.raises(FormatError, match=r"the text .* in the new sentencepiece file"):
        tokenizer.export(tmp_path / "b.model", format="sentencepiece")
    assert not (tmp_path / "b.model").exists()


def test_verify_text_is_compared_with_the_original_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "abcd abcdx bc\nnaïve 漢字 <s> abc\n"
    for format, owner in (("huggingface", "tokenizers"), ("tiktoken", "tiktoken"), ("gpt2", "tokenizers")):
        verified = small_tokenizer().export(tmp_path / format, format=format, verify_text=text)
        assert verified is not None
        assert verified.owner == owner
    monkeypatch.setattr(
        "fastbpe.tokenizer.export.original_libraries._tokenizers",
        lambda text: fastbpe.tokenizer.export.original_libraries.Owner("tokenizers", lambda line: [1]),
    )
    with pytest.raises(FormatError, match=r"'abcd abcdx bc\\n' is .*, but \[1\] in tokenizers with the new hugg"):
        small_tokenizer().export(tmp_path / "y", format="huggingface", verify_text=text)
    assert not (tmp_path / "y").exists()


def test_missing_original_library_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    verified = small_tokenizer().export(tmp_path / "x", format="huggingface", verify_text="abcd")
    assert verified is not None
    assert verified.owner is None


def test_probe_texts_are_deterministic_and_bounded() -> None:
    tokenizer = published("r50k_base")
    once = [*verify_export.probe(tokenizer)]
    assert once == [*verify_export.probe(tokenizer)]
    assert {token.decode() for token in tokenizer.vocab if token.isascii()} <= {*once}
    assert len(once) < 200_000
    assert sum(map(len, once)) < 1 << 24
    small = [*verify_export.probe(small_tokenizer())]
    assert {"abcdabc", "bca", "abcbc", "aabcd"} <= {*small}


# Both files or neither.


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("name", "failing"), [("os.replace", 1), ("os.replace", 2), ("shutil.copyfile", 2)])
def test_both_files_of_a_folder_are_replaced_or_neither(
    name: str, failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {"vocab.json": b"old", "merges.txt": b"old, too"}
    write_folder(tmp_path / "x", before)
    module, function = name.split(".")
    real = getattr(sys.modules[module], function)
    calls = 0

    def fails(*args: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(28, "No space left on device")
        real(*args)

    monkeypatch.setattr(name, fails)
    with pytest.raises(OSError, match="No space left on device"):
        small_tokenizer().export(tmp_path / "x", format="gpt2")
    assert calls >= failing
    assert files_of(tmp_path / "x") == before


def test_failed_export_removes_its_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="No space left on device"):
        small_tokenizer().export(tmp_path / "x", format="gpt2")
    assert not [*tmp_path.iterdir()]


def test_replaced_folder_holds_only_the_new_files(tmp_path: Path) -> None:
    write_folder(tmp_path / "x", {"vocab.json": b"old", "merges.txt": b"old, too"})
    small_tokenizer().export(tmp_path / "x", format="gpt2")
    assert {*files_of(tmp_path / "x")} == {*gpt2.NAMES}
    assert fastbpe.load(tmp_path / "x", pattern="gpt2").encode("abcdx") == [257, 120]


def test_read_only_file_keeps_the_whole_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "x", {"vocab.json": b"old", "merges.txt": b"old, too"})
    refuse_writing(monkeypatch, "merges.txt")
    with pytest.raises(PermissionError):
        small_tokenizer().export(tmp_path / "x", format="gpt2")
    assert files_of(tmp_path / "x") == {"vocab.json": b"old", "merges.txt": b"old, too"}


def test_arguments_missing_from_a_file_are_reported() -> None:
    assert export.left_out("gpt2", "gpt2", {"<s>": 259, "a b": 260}) == "pattern='gpt2'"
    assert export.left_out("gpt2", "gpt2", {"END": 259}) == "pattern='gpt2', special_tokens={'END': 259}"
    with pytest.raises(FormatError, match=r"the special token '<é>' would mean the bytes b'<\\xe9>'"):
        Tokenizer.from_ranks(OUT_OF_ORDER_RANKS, pattern=None, special_tokens={"<é>": 259}).export(
            "x", format="gpt2"
        )
    with pytest.raises(
        FormatError, match=r"the added token 'é' \(id 259\) and the token with the id 233 would have the same text"
    ):
        Tokenizer.from_ranks(OUT_OF_ORDER_RANKS, pattern=None, special_tokens={"é": 259}).export(
            "x", format="huggingface"
        )


def test_special_tokens_in_the_vocabulary_do_not_match_plain_text(tmp_path: Path) -> None:
    """After an unused id they must be in the vocabulary, where ignore_merges would find them."""
    tokenizer = Tokenizer.from_ranks(OUT_OF_ORDER_RANKS, pattern=None, special_tokens={"<s>": 270})
    tokenizer.export(tmp_path / "x.json", format="huggingface")
    assert fastbpe.load(tmp_path / "x.json") == tokenizer
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
    assert peer.encode("<s>").ids == tokenizer.encode("<s>", allowed_special="all") == [270]
    peer.encode_special_tokens = True
    assert peer.encode("<s>").ids == tokenizer.encode_ordinary("<s>") == [60, 115, 62]


def test_texts_without_ids_do_not_keep_a_model_from_being_saved(tmp_path: Path) -> None:
    """A unigram model without an unknown token has no ids for most texts of the probe."""
    made = {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0], ["b", -2.0]], "byte_fallback": False}
    tokenizer = fastbpe.load(tokenizer_json(made))
    for name in ("x.fbpe", "x.json"):
        tokenizer.export(tmp_path / name)
        again = fastbpe.load(tmp_path / name)
        assert again.encode("abba") == tokenizer.encode("abba") == [0, 1, 1, 0]
        with pytest.raises(fastbpe.VocabularyError, match="has no token"):
            again.encode("c")
    other = fastbpe.load(tokenizer_json({**made, "unk_id": 1}))
    with pytest.raises(fastbpe.VocabularyError, match="has no token"):
        verify_export.differ(tokenizer._remake(), other._remake())
    for one, two in ((tokenizer, other), (other, tokenizer)):
        said = (
            r"^x: differs from the original: only one of the two tokenizers has ids for the text '▁': "
            r".* has no token, .*again$"
        )
        with pytest.raises(FormatError, match=said):
            verify_conversion(one, two, "x")
    verified = tokenizer.export(tmp_path / "y.json", verify_text="abc\nab")
    assert verified is not None
    assert verified.owner == "tokenizers"

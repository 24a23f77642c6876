"""Folders of ByT5, Dia and Perceiver: which files make them, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError
from helpers import folder_grid


def fill(folder: Path, name: str = "ByT5", **config: Any) -> Path:
    config = {"tokenizer_class": f"{name}Tokenizer", **config}
    folder_grid.write({"tokenizer_config.json": json.dumps(config).encode()}, folder)  # surrogates are escaped
    return folder


def test_ids_are_those_of_bytes(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path))
    assert (loaded.mode, loaded.model_type, loaded.n_vocab) == ("codepoint", "Char", 3 + 256 + 125)
    assert loaded.encode_with_template("aé", "\0") == [100, 198, 172, 1, 3, 1]
    assert loaded.encode("<extra_id_124><extra_id_125", allowed_special="all")[:2] == [383, 63]
    assert loaded.encode("a \x1c</s>\n\x1fb", allowed_special="all") == [100, 1, 101]
    assert loaded.roles == {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}
    for again in (loaded, fastbpe.load(loaded.save(tmp_path / "a.fbpe") or tmp_path / "a.fbpe")):
        assert again == loaded
        assert again.decode([100, 198, 1, 172, 101, 382]) == "a</s>b<extra_id_123>"
        assert again.decode([100, 198, 1, 172, 101], skip_special_tokens=True) == "aéb"
        assert again.decode_bytes([198, 101]) == b"\xc3b"
    with pytest.raises(UnicodeDecodeError):
        loaded.decode([198], errors="strict")


def test_perceiver_puts_tokens_around_texts_and_replaces_bad_bytes(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path, "Perceiver"))
    assert loaded.n_vocab == 6 + 256
    assert loaded.encode_with_template("é", "a") == [4, 6 + 0xC3, 6 + 0xA9, 5, 6 + 0x61, 5]
    assert loaded.encode("a [MASK]", allowed_special="all") == [6 + 0x61, 6 + 0x20, 3]
    assert loaded.decode([4, 6 + 0xC3, 6 + 0x61]) == "[CLS]\ufffda"


@pytest.mark.parametrize("name", ["ByT5", "Perceiver", "Dia"])
def test_setting_of_the_folder_removes_spaces_from_decoded_text(name: str, tmp_path: Path) -> None:
    for is_set, text in ((True, "a. it's"), (False, "a . it 's")):
        loaded = fastbpe.load(fill(tmp_path, name, clean_up_tokenization_spaces=is_set))
        assert loaded.decode(loaded.encode("a . it 's")) == text


def test_bytes_of_dia_share_ids_with_its_tokens(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path, "Dia", additional_special_tokens=["<x>"]))
    assert (loaded.mode, loaded.n_vocab) == ("character", 256 + 1)
    assert loaded.encode("[S1]aé\1 <x>", allowed_special="all") == [1, 97, 0xC3, 0xA9, 1, 32, 256]
    assert loaded.encode_with_offsets("aé") == ([97, 0xC3, 0xA9], [(0, 1), (1, 2), (1, 2)])
    assert loaded.decode([0, 1, 97, 0xC3, 0xA9]) == "<pad>[S1]aÃ©"  # as in transformers
    assert loaded.decode([0, 1, 97], skip_special_tokens=True) == "[S1]a"
    for again in (
        pickle.loads(pickle.dumps(loaded)),
        fastbpe.load(loaded.save(tmp_path / "a.fbpe") or tmp_path / "a.fbpe"),
    ):
        assert again == loaded
        assert again.encode("[S1]aé\1") == [1, 97, 0xC3, 0xA9, 1]
    assert "257 tokens" in repr(loaded)
    assert fastbpe.load(fill(tmp_path, "Dia", offset=3, unk_token=None)).encode("[S2]\0a") == [2, 3, 100]


def test_model_type_of_the_config_names_the_class(tmp_path: Path) -> None:
    folder_grid.write({"config.json": {"model_type": "byt5"}}, tmp_path)
    assert fastbpe.load(tmp_path).encode("a") == [100]


@pytest.mark.parametrize("format", ["huggingface", "sentencepiece", "gguf", "tiktoken"])
def test_other_formats_refuse_it(format: str, tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r"cannot store the rules of the class ByT5Tokenizer; export this tokenizer as native"
    ):
        fastbpe.load(fill(tmp_path)).export(tmp_path / "x.json", format=format)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"extra_ids": "3"}, "extra_ids must be an integer up to 65536, not '3'"),
        (
            {"extra_special_tokens": ["<x>"], "additional_special_tokens": ["<extra_id_0>"]},
            "additional_special_tokens has 1 token <extra_id_…>, but extra_ids is 125",
        ),
        ({"pad_token": None}, "the class ByT5Tokenizer needs a pad_token"),
        ({"bos_token": "<\ud800>"}, "UTF-8 cannot encode the lone surrogate in"),
        ({"pad_token": "</s>"}, "two ids have the token '</s>'"),
        ({"bos_token": "a"}, "the token 'a' has fewer than two characters"),
        ({"bos_token": " a"}, "the token ' a' has fewer than two characters"),
        ({"bos_token": "<0x41>"}, "the token '<0x41>' has fewer than two characters, names a byte, or"),
        (
            {"added_tokens_decoder": {"400": {"content": "<x>"}}},
            "no token has the id 259, but '<extra_id_0>' has the id 260",
        ),
        (
            {"added_tokens_decoder": {"259": {"content": "<x>", "single_word": True}}},
            "the token '<x>' has the flag single_word, which is not supported for this class",
        ),
    ],
)
def test_unsupported_folder_names_the_reason(config: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=said):
        fastbpe.load(fill(tmp_path, **config))


def test_null_as_special_tokens_counts_more_than_those_of_the_older_file(tmp_path: Path) -> None:
    fill(tmp_path, extra_ids=0, additional_special_tokens=None)
    folder_grid.write({"special_tokens_map.json": {"additional_special_tokens": ["<x>"]}}, tmp_path)
    assert [*fastbpe.load(tmp_path).special_tokens] == ["<pad>", "</s>", "<unk>"]


def test_older_file_with_tokens_that_are_no_list_raises_format_error(tmp_path: Path) -> None:
    fill(tmp_path, extra_special_tokens=["<extra_id_0>"])
    folder_grid.write({"special_tokens_map.json": b'{"additional_special_tokens": 5}'}, tmp_path)
    with pytest.raises(FormatError, match="additional_special_tokens must be a list, not 5"):
        fastbpe.load(tmp_path)


def test_arguments_that_the_class_decides_are_refused(tmp_path: Path) -> None:
    folder_grid.check_refused_arguments(fill(tmp_path))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"offset": 4}, "offset must be an integer from 0 to 3, not 4"),
        ({"pad_token": None}, "the class DiaTokenizer needs a pad_token;"),
        ({"pad_token": "[S1]"}, r"two ids have the token '\[S1\]'"),
        ({"bos_token": "a"}, "the added token 'a' has fewer than two characters"),
        (
            {"added_tokens_decoder": {"257": {"content": "<x>"}}},
            "no token has the id 256, but '<x>' has the id 257",
        ),
    ],
)
def test_unsupported_folder_of_dia_names_the_reason(config: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=said):
        fastbpe.load(fill(tmp_path, "Dia", **config))

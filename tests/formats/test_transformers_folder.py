"""Folders for transformers: a tokenizer.json and the files beside it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.model import PieceType
from helpers.codepoint_models import model_of, trained
from helpers.shared_data import BYTES

SPECIAL = {"<s>": 257, "</s>": 258, "<pad>": 259, "<unk>": 260, "<|sep|>": 261}


def byte_level() -> Tokenizer:
    return Tokenizer.from_ranks({**BYTES, b"ab": 256}, pattern="gpt2", special_tokens=SPECIAL)


def codepoint() -> Tokenizer:
    return fastbpe.load(
        trained(
            ["a b ab abc"] * 9,
            vocab_size=300,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
        )
    )


def test_exported_folder_holds_all_that_transformers_needs(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    byte_level().export(f"{folder}/", format="huggingface")
    assert sorted(os.listdir(tmp_path)) == ["made"]
    assert sorted(os.listdir(folder)) == ["tokenizer.json", "tokenizer_config.json"]
    config: dict[str, Any] = json.loads((folder / "tokenizer_config.json").read_bytes())
    decoder = config.pop("added_tokens_decoder")
    assert config == {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "sep_token": "<|sep|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": int(1e30),
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    assert decoder == {str(i): {"content": name, **flags} for name, i in SPECIAL.items()}


@pytest.mark.parametrize("make", [byte_level, codepoint])
def test_exported_folder_loads_as_the_same_tokenizer(make: Any, tmp_path: Path) -> None:
    tokenizer = make()
    tokenizer.export(tmp_path, format="huggingface")  # the folder exists
    again = fastbpe.load(tmp_path)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "template", "special_tokens"):
        if (make, name) != (codepoint, "special_tokens"):  # a tokenizer.json counts the unknown piece as special
            assert getattr(again, name) == getattr(tokenizer, name)
    for text in ("ab", "a <s> é", " ab  c"):
        assert again.encode_with_template(text, "b") == tokenizer.encode_with_template(text, "b")
    tokenizer.export(tmp_path, format="huggingface")  # again, over the old files


def test_failed_export_leaves_no_folder(tmp_path: Path) -> None:
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"a", -1.0, PieceType.NORMAL), (b"b", -2.0, PieceType.UNUSED)]
    with pytest.raises(FormatError, match="pieces of type UNUSED"):
        fastbpe.load(model_of(pieces, normalizer={"remove_extra_whitespaces": False})).export(
            f"{tmp_path}/made/", format="huggingface"
        )
    assert os.listdir(tmp_path) == []


def test_folder_without_a_parent_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent/made/"):
        byte_level().export(f"{tmp_path}/absent/made/", format="huggingface")


@pytest.mark.parametrize("name", ["special_tokens_map.json", "added_tokens.json"])
def test_export_refuses_folder_with_files_of_another_tokenizer(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(FormatError, match=f"it contains a {name} of another tokenizer"):
        byte_level().export(tmp_path, format="huggingface")
    assert os.listdir(tmp_path) == [name]


def test_role_of_an_ordinary_token_makes_it_special(tmp_path: Path) -> None:
    """As in transformers, which finds every token with a role in texts."""
    byte_level().export(tmp_path, format="huggingface")
    (tmp_path / "tokenizer_config.json").write_text('{"unk_token": "ab"}')
    tokenizer = fastbpe.load(tmp_path)
    assert tokenizer.unk_token_id == 256 == tokenizer.special_tokens["ab"]
    tokenizer.export(tmp_path, format="huggingface")
    assert json.loads((tmp_path / "tokenizer_config.json").read_bytes())["unk_token"] == "ab"


@pytest.mark.parametrize("make", [byte_level, codepoint])
def test_transformers_reads_roles_and_ids(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    tokenizer = make()
    tokenizer.export(tmp_path, format="huggingface")
    peer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for name in ("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id"):
        assert getattr(peer, name) == getattr(tokenizer, name)
    for text in ("ab", "a <s> é", " ab  c . b"):
        assert peer(text)["input_ids"] == tokenizer.encode_with_template(text)
        assert peer(text, "b")["input_ids"] == tokenizer.encode_with_template(text, "b")


@pytest.mark.parametrize("make", [byte_level, codepoint])
def test_generation_config_names_the_roles_that_no_other_file_names(make: Any, tmp_path: Path) -> None:
    tokenizer = make()
    tokenizer.export(tmp_path, format="huggingface")
    config = json.loads((tmp_path / "tokenizer_config.json").read_bytes())
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    kept = {key: value for key, value in config.items() if not key.endswith("_token")}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**kept, "bos_token": config["bos_token"]}))
    swapped = {"bos_token_id": eos, "eos_token_id": [bos, eos], "pad_token_id": 10**6}
    (tmp_path / "generation_config.json").write_text(json.dumps(swapped))
    loaded = fastbpe.load(tmp_path)
    assert (loaded.bos_token_id, loaded.eos_token_id) == (bos, bos)
    loaded.save(tmp_path / "x.fbpe")
    assert fastbpe.load(tmp_path / "x.fbpe").eos_token_id == bos


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("name", ["my-model", "my-model/", "model-v1.0", "nested.d"])
def test_path_without_json_is_a_folder(name: str, kind: type, tmp_path: Path) -> None:
    path = kind(f"{tmp_path}/{name}")  # Path loses the slash
    byte_level().export(path, format="huggingface")
    assert sorted(os.listdir(path)) == ["tokenizer.json", "tokenizer_config.json"]
    assert fastbpe.load(path) == byte_level()
    byte_level().export(path, format="huggingface")  # again, over the old files


@pytest.mark.parametrize("name", ["tokenizer.json", "A.JSON"])
def test_path_with_json_is_a_file(name: str, tmp_path: Path) -> None:
    byte_level().export(tmp_path / name, format="huggingface")
    assert (tmp_path / name).is_file()


def test_file_that_exists_is_replaced_and_stays_a_file(tmp_path: Path) -> None:
    (tmp_path / "made").write_bytes(b"old")
    byte_level().export(tmp_path / "made", format="huggingface")
    assert fastbpe.load(tmp_path / "made") == byte_level()
    assert os.listdir(tmp_path) == ["made"]


@pytest.mark.parametrize(
    ("path", "format"),
    [("no/a.fbpe", "native"), ("no/a.json", "huggingface"), ("no/a", "huggingface"), ("no/a", "gpt2")],
)
def test_missing_folder_of_an_export_is_named_with_the_way_out(path: str, format: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*no; create it first: .*no/a"):
        byte_level().export(tmp_path / path, format=format)
    assert os.listdir(tmp_path) == []


def test_missing_folder_is_named_by_every_call_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("a b\n")
    calls = [
        lambda: byte_level().save("no/a.fbpe"),
        lambda: byte_level().encode_files("text.txt", "no/a.bin"),
        lambda: fastbpe.count_pieces(["a"], progress=False).save("no/a.counts"),
    ]
    for call in calls:
        with pytest.raises(FileNotFoundError, match=r"no.*create it first"):
            call()
    assert os.listdir(tmp_path) == ["text.txt"]

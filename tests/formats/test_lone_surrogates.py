"""Lone surrogates in the JSON files of tokenizers: every reader refuses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError
from fastbpe.formats import json_object
from fastbpe.formats.huggingface import read
from helpers import folder_grid, tokenizer_json

LONE = ["\ud800", "a\udc80", "\ude00\ud83d"]
VOCABULARY = json.loads(folder_grid.two_files()["vocab.json"])
CONFIG: dict[str, Any] = {"tokenizer_class": "GPT2Tokenizer"}


@pytest.mark.parametrize("lone", LONE)
@pytest.mark.parametrize("escapes", [True, False])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vocab.json", {**VOCABULARY, "?": len(VOCABULARY)}),
        ("tokenizer_config.json", {**CONFIG, "bos_token": "?"}),
        ("tokenizer_config.json", {**CONFIG, "extra_special_tokens": ["?"]}),
        ("tokenizer_config.json", {**CONFIG, "added_tokens_decoder": {"300": {"content": "?"}}}),
        ("special_tokens_map.json", {"eos_token": {"content": "?"}}),
        ("added_tokens.json", {"?": 300}),
    ],
)
def test_folder_with_a_lone_surrogate_is_refused(
    name: str, value: Any, escapes: bool, lone: str, tmp_path: Path
) -> None:
    text = json.dumps(value).replace('"?"', json.dumps(lone, ensure_ascii=escapes))
    files = {**folder_grid.two_files(), "tokenizer_config.json": CONFIG, name: text.encode(errors="surrogatepass")}
    folder_grid.write(files, tmp_path)
    with pytest.raises(
        FormatError, match=rf"{name}: not JSON: (UTF-8 cannot encode the lone surrogate in|'utf-8' codec)"
    ):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize("has_orjson", [True, False])
@pytest.mark.parametrize("lone", LONE)
def test_tokenizer_json_with_a_lone_surrogate_is_refused(
    lone: str, has_orjson: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_orjson:
        pytest.importorskip("orjson")
    else:
        monkeypatch.setattr(read, "find_orjson", lambda: None)
    for document in (
        tokenizer_json.small([tokenizer_json.added(262, lone)]),
        tokenizer_json.small(normalizer={"type": "Prepend", "prepend": lone}),
    ):
        with pytest.raises(FormatError, match=r"not JSON: .*surrogate"):
            fastbpe.load(json.dumps(document).encode())


def test_pairs_of_surrogates_are_characters() -> None:
    assert json_object.loads(b'"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_other_encodings_are_refused(encoding: str) -> None:
    with pytest.raises(ValueError, match=r"utf-8|UTF-8"):
        json_object.loads('"é"'.encode(encoding))

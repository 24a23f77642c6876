"""vocab.txt of BERT's kind, in a folder."""

import json
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError

LINES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "Cat"]


def fill(folder: Path, lines: list[str], **config: Any) -> Path:
    (folder / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **config}))
    return folder


def test_folder_is_read_with_the_flags_beside_it(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path, LINES))
    assert loaded.model_type == "WordPiece"
    assert loaded.encode("The Cats dog", with_template=True) == [2, 5, 6, 7, 1, 3]
    assert loaded.encode_with_template("the", "cat") == [2, 5, 3, 6, 3]
    around = {"bos": "[CLS]", "eos": "[SEP]"}  # as the template shows
    assert loaded.roles == {
        **around,
        "unk": "[UNK]",
        "sep": "[SEP]",
        "pad": "[PAD]",
        "cls": "[CLS]",
        "mask": "[MASK]",
    }
    assert fastbpe.load(fill(tmp_path, LINES, do_lower_case=False)).encode("Cats cat") == [8, 7, 6]


def test_tokens_of_the_class_that_have_no_line_are_added(tmp_path: Path) -> None:
    """As in transformers, which gives them the next ids."""
    loaded = fastbpe.load(fill(tmp_path, LINES[:2]))
    assert loaded.encode_with_template("the") == [3, 1, 2]
    assert loaded.special_tokens == {"[UNK]": 1, "[SEP]": 2, "[PAD]": 0, "[CLS]": 3, "[MASK]": 4}


def test_tokenizer_json_gets_the_flags_beside_it(tmp_path: Path) -> None:
    """As in transformers, where BertTokenizer takes only the vocabulary from it."""
    loaded = fastbpe.load(fill(tmp_path, LINES, do_lower_case=False))
    (tmp_path / "vocab.txt").unlink()
    loaded.export(tmp_path / "tokenizer.json")
    assert fastbpe.load(tmp_path / "tokenizer.json").encode("The Cats") == [1, 8, 7]
    assert fastbpe.load(tmp_path).encode("The Cats") == [1, 8, 7]
    for config in ({}, {"do_lower_case": True}):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **config}))
        assert fastbpe.load(tmp_path).encode("The Cats") == [5, 6, 7]


def test_folder_goes_back_as_a_tokenizer_json(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path, LINES))
    loaded.export(tmp_path / "tokenizer.json")
    again = fastbpe.load(tmp_path / "tokenizer.json")
    assert again.encode("the cats", with_template=True) == loaded.encode("the cats", with_template=True)


@pytest.mark.parametrize(
    ("lines", "config", "said"),
    [
        (LINES, {"tokenizer_class": "TapasTokenizer"}, r"which has its own rules \(it encodes a question"),
        (LINES, {"do_lower_case": 1}, "do_lower_case: must be true or false, not 1"),
        (
            LINES,
            {"sep_token": None},
            "puts the sep token around texts, but no file names one that has an id: set sep_",
        ),
        ([*LINES, "the"], {"pad_token": "<p>"}, "lines are repeated, so the token '<p>', which has no line"),
        (["[UNK]\ud800", *LINES], {}, "not UTF-8: invalid byte 0xed at offset 5"),
    ],
)
def test_invalid_part_raises_format_error(
    lines: list[str], config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    fill(tmp_path, LINES, **config)
    (tmp_path / "vocab.txt").write_bytes("\n".join(lines).encode(errors="surrogatepass"))
    with pytest.raises(FormatError, match=said):
        fastbpe.load(tmp_path)


def test_the_file_alone_names_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="load the folder"):
        fastbpe.load(fill(tmp_path, LINES) / "vocab.txt")
    with pytest.raises(FormatError, match="contains its own split pattern"):
        fastbpe.load(tmp_path, pattern="gpt2")

"""The ending of a path selects the format, in save, export and the commands."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.formats.endings import format_of
from fastbpe.model import PieceType
from helpers.codepoint_models import model_of
from helpers.shared_data import BYTES, data_file, published

RANKS = {**BYTES, b"ab": 256, b"abc": 257}
PLAIN = Tokenizer.from_ranks(RANKS, pattern="gpt2", special_tokens={"<s>": 258})
PIECES = [
    (b"<unk>", 0.0, PieceType.UNKNOWN),
    *((piece, -float(i), PieceType.NORMAL) for i, piece in enumerate([b"ab", b"a", b"b", b"\xe2\x96\x81"])),
]


def code_points() -> Tokenizer:
    return fastbpe.load(model_of(PIECES, {}, {"remove_extra_whitespaces": False, "add_dummy_prefix": False}))


@pytest.mark.parametrize(
    ("name", "byte", "codepoint"),
    [
        ("a.fbpe", "native", "native"),
        ("tokenizer.json", "huggingface", "huggingface"),
        ("a.JSON", "huggingface", "huggingface"),
        ("a.tiktoken", "tiktoken", None),
        ("a.b.model", "minbpe", "sentencepiece"),
        ("folder/", "gpt2", None),
        ("a", "native", "native"),
        ("a.txt", None, None),
        ("a.bin", None, None),
        ("v1.2", None, None),
    ],
)
def test_path_ending_selects_the_format(
    name: str, byte: str | None, codepoint: str | None, tmp_path: Path
) -> None:
    for mode, expected in (("byte", byte), ("codepoint", codepoint)):
        path = os.path.join(tmp_path, name)
        if expected is not None:
            assert format_of(path, mode) == expected
            continue
        with pytest.raises(
            FormatError,
            match=rf"{name}: no format of {mode}-mode tokenizers (is|has) .*; choose .*\.fbpe \(native\)",
        ):
            format_of(path, mode)


def test_existing_folder_selects_gpt2(tmp_path: Path) -> None:
    assert format_of(tmp_path, "byte") == "gpt2"
    with pytest.raises(
        FormatError, match="no format of codepoint-mode tokenizers is written to a folder by default"
    ):
        code_points().export(tmp_path)


@pytest.mark.parametrize("name", ["a.fbpe", "tokenizer.json", "a.model", "a"])
def test_saved_file_loads_with_the_same_ids(name: str, tmp_path: Path) -> None:
    for tokenizer in (PLAIN, code_points()):
        if (tokenizer.mode, name) == ("byte", "a.model"):
            tokenizer = Tokenizer.from_merges([(97, 98)], pattern="gpt2", special_tokens={"<s>": 258})
        tokenizer.save(tmp_path / name)
        again = fastbpe.load(tmp_path / name)
        for text in ("abc ab", "ab<s>b", "cab"):
            assert again.encode_ordinary(text) == tokenizer.encode_ordinary(text)
        assert tokenizer.special_tokens.items() <= again.special_tokens.items()


def test_tokenizer_json_is_written_as_huggingface_format(tmp_path: Path) -> None:
    PLAIN.save(tmp_path / "tokenizer.json")
    assert json.loads((tmp_path / "tokenizer.json").read_bytes())["model"]["type"] == "BPE"


def test_save_refuses_formats_that_lose_information(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as error:
        PLAIN.save(tmp_path / "a.tiktoken")
    path = tmp_path / "a.tiktoken"
    assert str(error.value) == (
        f"{path}: tiktoken cannot store pattern='gpt2', special_tokens={{'<s>': 258}}; save a .fbpe file, or "
        "export this tokenizer with format='tiktoken' and pass these arguments to load"
    )
    with pytest.raises(FormatError, match=r"gpt2 cannot store pattern='gpt2'; save a \.fbpe file"):
        PLAIN.save(f"{tmp_path}/folder/")
    with pytest.raises(FormatError, match=r"gpt2 cannot store pattern='none'; save a \.fbpe file"):
        Tokenizer.from_merges([(97, 98)], pattern=None).save(f"{tmp_path}/folder/")
    assert not [*tmp_path.iterdir()]
    PLAIN.export(tmp_path / "a.tiktoken")
    PLAIN.export(f"{tmp_path}/folder/")
    assert fastbpe.load(tmp_path / "folder", pattern="gpt2").encode("abc") == PLAIN.encode("abc")


@pytest.mark.daily
def test_save_writes_published_vocabularies_in_their_own_format(tmp_path: Path) -> None:
    tokenizer = published("r50k_base")
    tokenizer.save(tmp_path / "r50k.tiktoken")
    assert fastbpe.load(tmp_path / "r50k.tiktoken") == tokenizer
    with pytest.raises(FormatError, match="cannot store pattern='gpt2', special_tokens="):
        tokenizer.with_special_tokens(["<x>"]).save(tmp_path / "more.tiktoken")
    (tmp_path / "gpt2").mkdir()
    for name, file in (("vocab.bpe", "gpt2_vocab.bpe"), ("encoder.json", "gpt2_encoder.json")):
        (tmp_path / "gpt2" / name).write_bytes(data_file("vocab", file).read_bytes())
    gpt2 = fastbpe.load(tmp_path / "gpt2")
    with pytest.raises(FormatError, match="cannot store pattern='gpt2', special_tokens="):
        gpt2.with_special_tokens(["zqzq"]).save(f"{tmp_path}/zqzq/")  # looks like a token that a text may contain
    (tmp_path / "again").mkdir()
    gpt2.save(tmp_path / "again")
    assert fastbpe.load(tmp_path / "again") == gpt2


def test_explicit_format_overrides_the_ending(tmp_path: Path) -> None:
    PLAIN.export(tmp_path / "a.txt", format="native")
    assert fastbpe.load(tmp_path / "a.txt") == PLAIN
    for format in ("", "onnx"):
        with pytest.raises(FormatError):
            PLAIN.export(tmp_path / "b.txt", format=format)


# Commands.


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("low lower lowest\n" * 5)
    return tmp_path


def train(*arguments: str) -> int:
    from fastbpe.cli import main

    return main(["train", "words.txt", "--vocab-size", "262", "--special", "<s>", "--quiet", *arguments])


def test_train_command_writes_the_format_of_the_ending(words: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("-o", "a.fbpe") == 0
    tokenizer = fastbpe.load("a.fbpe")
    assert train("-o", "tokenizer.json") == 0
    assert json.loads(Path("tokenizer.json").read_bytes())["model"]["type"] == "BPE"
    assert fastbpe.load("tokenizer.json").encode("lowest") == tokenizer.encode("lowest")
    assert train("-o", "a.model") == 0
    assert Path("a.model").read_bytes().startswith(b"minbpe v1")
    assert capsys.readouterr() == ("", "")
    assert train("-o", "a.tiktoken", "--pattern", "gpt2") == 0
    assert capsys.readouterr().err == (
        "fastbpe: warning: a.tiktoken: tiktoken does not store everything; load it with --pattern gpt2 "
        "--special '<s>=261'\n"
    )
    assert fastbpe.load("a.tiktoken", pattern="gpt2").vocab_size == 261
    Path("there").mkdir()
    for folder in ("made/", "there"):
        assert train("-o", folder) == 0
        assert sorted(path.name for path in Path(folder).iterdir()) == ["merges.txt", "vocab.json"]


def test_train_command_refuses_unknown_ending_before_training(
    words: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*arguments: Any, **options: Any) -> None:
        raise AssertionError("training starts")

    monkeypatch.setattr("fastbpe.cli.train.train", forbidden)
    for arguments in (["a.txt"], ["a.tiktoken", "--mode", "codepoint"], ["there/", "--mode", "codepoint"]):
        assert train("-o", *arguments) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"fastbpe: error: {arguments[0]}: no format of")
        assert ".fbpe (native)" in error
    assert [path.name for path in words.iterdir()] == ["words.txt"]


def test_train_command_keeps_unexportable_tokenizer_as_native_file(
    words: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train("-o", "a.json", "--mode", "codepoint", "--option", "hard_vocab_limit=false") == 1
    error = capsys.readouterr().err
    assert error.startswith("fastbpe: error: a.json: a tokenizer.json cannot store ")
    assert error.endswith("; the tokenizer was saved as a.json.fbpe instead\n")
    assert fastbpe.load("a.json.fbpe").mode == "codepoint"
    Path("a.json.fbpe").write_bytes(b"another file")
    assert train("-o", "a.json", "--mode", "codepoint", "--option", "hard_vocab_limit=false") == 1
    assert capsys.readouterr().err.endswith("; the tokenizer was saved as a.json.2.fbpe instead\n")
    assert Path("a.json.fbpe").read_bytes() == b"another file"
    assert fastbpe.load("a.json.2.fbpe").mode == "codepoint"

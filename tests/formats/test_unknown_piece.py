"""The unknown piece of a Llama-kind tokenizer.json is a special token, and stays one in every format."""

from __future__ import annotations

from pathlib import Path

import pytest

import fastbpe
from fastbpe import SpecialTokenError, Tokenizer
from fastbpe.formats.gguf import metadata
from fastbpe.formats.gguf.metadata import BOOL, FLOAT32, INT32, STRING, UINT32, Typed
from fastbpe.model import PieceType
from helpers.shared_data import data_file

TEXT = "a<unk>b <unk>"
ENDINGS = {"sentencepiece": "model", "gguf": "gguf", "native": "fbpe", "huggingface": "json"}


@pytest.fixture(scope="module")
def trained() -> Tokenizer:
    return fastbpe.train(
        ["ab ab abc xyz"] * 5,
        mode="codepoint",
        vocab_size=270,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        progress=False,
    )


@pytest.fixture(scope="module")
def from_json(trained: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = tmp_path_factory.mktemp("json") / "tokenizer.json"
    trained.export(path, format="huggingface")
    return fastbpe.load(path)


@pytest.mark.parametrize("format", ENDINGS)
def test_unknown_piece_stays_a_special_token(format: str, from_json: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ENDINGS[format]}"
    from_json.export(path, format=format)
    again = fastbpe.load(path)
    assert again.special_tokens == from_json.special_tokens == {"<unk>": 0, "<s>": 1, "</s>": 2}
    expected = from_json.encode(TEXT, allowed_special="all")
    assert expected.count(0) == 2
    assert again.encode(TEXT, allowed_special="all") == expected
    assert again.encode_ordinary(TEXT) == from_json.encode_ordinary(TEXT)
    assert 0 not in again.encode_ordinary(TEXT)
    assert [*again.encode_batch_to_numpy([TEXT], allowed_special="all")[0]] == expected
    with pytest.raises(SpecialTokenError, match="<unk>"):
        again.encode(TEXT)


@pytest.mark.parametrize("format", ENDINGS)
def test_unknown_piece_is_special_after_two_formats(format: str, from_json: Tokenizer, tmp_path: Path) -> None:
    """Converts to the format, and back to a tokenizer.json, also with a further token."""
    path = tmp_path / f"a.{ENDINGS[format]}"
    from_json.export(path, format=format)
    fastbpe.load(path).export(tmp_path / "b.json", format="huggingface")
    again = fastbpe.load(tmp_path / "b.json")
    assert again.encode(TEXT, allowed_special="all") == from_json.encode(TEXT, allowed_special="all")
    more = fastbpe.load(path).with_special_tokens(["<more>"])
    more.export(tmp_path / f"c.{ENDINGS[format]}", format=format)
    ids = fastbpe.load(tmp_path / f"c.{ENDINGS[format]}").encode("<more><unk>", allowed_special="all")
    assert ids[-2:] == [more.special_tokens["<more>"], 0]


def test_model_file_with_a_special_unknown_piece_is_read_by_sentencepiece(
    from_json: Tokenizer, trained: Tokenizer, tmp_path: Path
) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    from_json.export(tmp_path / "a.model")
    trained.export(tmp_path / "b.model")
    with_field, without = (
        sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / name)) for name in ("a.model", "b.model")
    )
    assert (with_field.unk_id(), with_field.id_to_piece(0)) == (0, "<unk>")
    for text in (TEXT, "ab abc", "漢"):
        assert with_field.encode(text) == without.encode(text)
    again = fastbpe.load(tmp_path / "a.model")
    again.export(tmp_path / "c.model")
    assert (tmp_path / "c.model").read_bytes() == (tmp_path / "a.model").read_bytes()


def test_unknown_piece_of_a_trained_model_is_text(trained: Tokenizer, tmp_path: Path) -> None:
    """As in sentencepiece; a .model that fastbpe trains is equal to sentencepiece's to the byte."""
    trained.export(tmp_path / "a.model")
    again = fastbpe.load(tmp_path / "a.model")
    assert again.special_tokens == {"<s>": 1, "</s>": 2}
    assert 0 not in again.encode(TEXT)


def gguf(*unknown: str, role: int | None = None) -> bytes:
    pieces = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", *unknown]
    types = [PieceType.UNKNOWN if role == 0 else PieceType.CONTROL, PieceType.CONTROL]
    types += [PieceType.BYTE] * 256 + [PieceType.NORMAL] * 3 + [PieceType.UNKNOWN] * len(unknown)
    keys = {
        "model": Typed(STRING, b"llama"),
        "tokens": Typed(STRING, [piece.encode() for piece in pieces], True),
        "token_type": Typed(INT32, [int(kind) for kind in types], True),
        "scores": Typed(FLOAT32, [0.0] * len(pieces), True),
        "add_space_prefix": Typed(BOOL, False),
        **({} if role is None else {"unknown_token_id": Typed(UINT32, role)}),
    }
    return metadata.write({f"tokenizer.ggml.{key}": value for key, value in keys.items()})


@pytest.mark.parametrize("role", [0, None])
def test_several_unknown_pieces_of_a_gguf_are_special(role: int | None) -> None:
    tokenizer = fastbpe.load(gguf("[PAD261]", "[PAD262]", role=role))
    assert tokenizer.special_tokens == {"<unk>": 0, "<s>": 1, "[PAD261]": 261, "[PAD262]": 262}
    assert tokenizer.encode("a[PAD262]<unk>b", allowed_special="all") == [259, 262, 0, 260]
    assert tokenizer.unk_token_id == 0


@pytest.mark.parametrize("name", ["llama-spm", "phi-3"])
def test_unknown_token_of_a_published_gguf_is_special(name: str) -> None:
    path = data_file(f"zoo/gguf-{name}/ggml-vocab-{name}.gguf")
    tokenizer = fastbpe.load(path)
    assert tokenizer.encode("a<unk>b", allowed_special="all") == [263, 0, 289]
    texts = Path(f"{path}.inp").read_text(encoding="utf-8").split("\n__ggml_vocab_test__\n")
    lines = Path(f"{path}.out").read_text(encoding="utf-8").splitlines()
    for text, line in zip(texts, lines, strict=False):
        assert tokenizer.encode_ordinary(text) == [int(token_id) for token_id in line.split()], text

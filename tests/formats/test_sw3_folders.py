"""Folders of GPT-SW3: which texts change, what decoding adds, and what is refused."""

from __future__ import annotations

import pickle
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError
from fastbpe.errors import TrainingError
from fastbpe.normalization import gpt_sw3_texts
from fastbpe.normalization.huggingface import make_change
from helpers import folder_grid
from helpers.codepoint_models import model_of

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = (1, 2, 3, 4, 6)
PIECES = [
    (b"<unk>", 0.0, UNKNOWN),
    *((f"<0x{byte:02X}>".encode(), 0.0, BYTE) for byte in range(256)),
    ("\u2581".encode(), -3.0, NORMAL),
    ("\u2581a".encode(), -1.0, NORMAL),
    (b"a", -2.0, NORMAL),
    ("é".encode(), -2.0, NORMAL),
    (b"<ctl>", 0.0, CONTROL),
    (b"<|py|>", 0.0, USER_DEFINED),
]
SPACE, WORD, A, E, _, PY = range(257, 263)
BOS, EOS, PAD = range(263, 266)


def fill(folder: Path, /, trainer: Any = (), **config: Any) -> Path:
    data = model_of(PIECES[:1] + PIECES[257:] if trainer else PIECES, {"byte_fallback": True, **dict(trainer)})
    config = {"tokenizer_class": "GPTSw3Tokenizer", **config}
    folder_grid.write({"spiece.model": data, "tokenizer_config.json": config}, folder)
    return folder


def test_texts_change_before_the_model_encodes_them(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path))
    assert (loaded.mode, loaded.model_type, loaded.n_vocab) == ("codepoint", "BPE", 266)
    assert loaded.roles == {"bos": "<s>", "eos": "<|endoftext|>", "unk": "<unk>", "pad": "<pad>"}
    assert loaded.encode("a\u200be\u0301\u3000a\x85") == [WORD, E, WORD]
    ids, spans = loaded.encode_with_offsets("a\u200be\u0301\u3000a\x85")
    assert (ids, spans) == ([WORD, E, WORD], [(0, 2), (2, 4), (4, 7)])
    assert loaded.encode("<ctl>a<s>a<|py|>", allowed_special="all")[-4:] == [A, BOS, WORD, PY]
    assert loaded.encode_with_template("a", "a") == [WORD, WORD]
    assert [step["type"] for step in fastbpe.steps(loaded)["normalizers"]][:3] == ["Replace", "Replace", "NFC"]


def test_short_ascii_texts_change_even_if_the_model_only_puts_a_space_before_them(tmp_path: Path) -> None:
    pieces = [piece for piece in PIECES if piece[2] != USER_DEFINED]
    data = model_of(pieces, {"byte_fallback": True}, {"remove_extra_whitespaces": False})
    config = {"tokenizer_class": "GPTSw3Tokenizer"}
    folder_grid.write({"spiece.model": data, "tokenizer_config.json": config}, tmp_path)
    assert fastbpe.load(tmp_path).encode("a\x01a") == [WORD, A]


def test_decoding_puts_a_space_before_text_that_precedes_special_tokens(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path))
    assert loaded.decode([WORD, A]) == "aa"
    assert loaded.decode([WORD, BOS, EOS, WORD, PY, PAD]) == " a<s><|endoftext|> a<|py|><pad>"
    assert loaded.decode([WORD, BOS, WORD], skip_special_tokens=True) == "a a"
    assert loaded.decode([1 + 0xC3]) == "\ufffd"
    assert loaded.decode_bytes([1 + 0xC3]) == b"\xc3"
    with pytest.raises(ValueError, match="puts a space before each text that precedes a special token"):
        loaded.decoder()


def test_path_of_7b_gives_other_roles(tmp_path: Path) -> None:
    folder = tmp_path / "gpt-sw3-7b"
    folder.mkdir()
    loaded = fastbpe.load(fill(folder, mask_token="<m>"))
    roles = {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "unk": "<unk>", "pad": "<unk>", "mask": "<m>"}
    assert loaded.roles == roles
    assert loaded.special_tokens == {"<unk>": 0, "<|endoftext|>": 263, "<m>": 264}


def test_native_file_keeps_the_rules(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path)).with_tokens(["<new>"])
    loaded.save(tmp_path / "a.fbpe")
    for again in (fastbpe.load(tmp_path / "a.fbpe"), pickle.loads(pickle.dumps(loaded))):
        assert again == loaded
        assert again.encode("e\u0301<new>\x7fa") == [SPACE, E, 266, WORD]
        assert again.decode([266, WORD, BOS]) == " <new> a<s>"
    with pytest.raises(FormatError, match="cannot store the rules of the class GPTSw3Tokenizer"):
        loaded.export(tmp_path / "x.json", format="huggingface")
    with pytest.raises(TrainingError, match="changes texts before its normalization rules do"):
        fastbpe.train(["aé"], base=loaded, vocab_size="+1", progress=False)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"trainer": {"byte_fallback": False}}, "is supported for models with byte fallback only"),
        ({"sp_model_kwargs": {"alpha": 1}}, "sp_model_kwargs in tokenizer_config.json may make ids random"),
        (
            {"legacy": False},
            "with legacy=false in tokenizer_config.json, the class changes the options of the .model",
        ),
        (
            {"added_tokens_decoder": {"261": {"content": "<ctl>"}}},
            "the token '<ctl>' is not special, but its piece",
        ),
        (
            {"added_tokens_decoder": {"270": {"content": "<x>"}}},
            "no token has the id 263, but '<s>' has the id 264",
        ),
    ],
)
def test_unsupported_folder_names_the_reason(config: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=said):
        fastbpe.load(fill(tmp_path, **config))


def test_arguments_that_the_files_decide_are_refused(tmp_path: Path) -> None:
    folder_grid.check_refused_arguments(fill(tmp_path))


def test_described_changes_are_the_changes(tmp_path: Path) -> None:
    described = make_change(gpt_sw3_texts.rules().described)
    assert described is not None
    for code in [*range(0xD800), *range(0xE000, 0x10000)]:
        text = f"a{chr(code)}"
        changed = gpt_sw3_texts.rules().change(text)
        assert changed == unicodedata.normalize("NFC", changed)
        if unicodedata.ucd_3_2_0.category(chr(code)) != "Cn":
            assert described(text) == changed, text

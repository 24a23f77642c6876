"""Every public attribute and method of Tokenizer, on every kind of tokenizer: a result, or its own error."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe.model import PieceType
from helpers.codepoint_models import model_of
from helpers.shared_data import BYTES, data_file

PIECES = [
    (b"<unk>", 0.0, PieceType.UNKNOWN),
    *((name, 0.0, PieceType.CONTROL) for name in (b"<s>", b"</s>", b"<|endoftext|>")),
    *((b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)),
    *(
        (piece.encode(), -float(i), PieceType.NORMAL)
        for i, piece in enumerate(["ab", "\u2581ab", "\u2581", "a", "b", "c"])
    ),
]
#: Arguments of each method. PATH stands for an output path, TEXT_PATH for an input file.
PATH, TEXT_PATH = object(), object()
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "chunk": (("ab abc", 2), {}),
    "completions": ((b"a",), {}),
    "conversation": ((), {}),
    "count": (("ab abc",), {"max_tokens": 3}),
    "count_batch": ((["ab", "abc"],), {}),
    "count_messages": (([{"role": "user", "content": "ab"}],), {"template": "{{ messages[0].content }}"}),
    "decode": (([260],), {"errors": "strict"}),
    "decode_batch": (([[260], []],), {}),
    "decode_bytes": (([260],), {}),
    "decode_tokens_bytes": (([260, 261],), {}),
    "decoder": ((), {}),
    "encode": (("ab abc",), {}),
    "encode_batch": ((["ab", "abc"],), {}),
    "encode_batch_with_offsets": ((["ab", "abc"],), {"as_numpy": True}),
    "encode_batch_to_numpy": ((["ab", "abc"],), {}),
    "encode_files": ((TEXT_PATH, PATH), {"progress": False}),
    "encode_ordinary": (("ab abc",), {}),
    "encode_ordinary_batch": ((["ab", "abc"],), {}),
    "encode_parts": (([("<s>", True), ("ab", False)],), {}),
    "encode_to_numpy": (("ab abc",), {}),
    "encode_with_offsets": (("ab abc",), {}),
    "encode_with_template": (("ab abc",), {}),
    "encoder": ((), {}),
    "explain": (("ab ab",), {}),
    "export": ((PATH,), {"format": "native"}),
    "fits": (("ab abc", 2), {}),
    "from_merges": (([(97, 98)],), {"pattern": None}),
    "from_ranks": ((BYTES,), {"pattern": None}),
    "id_map": ((Tokenizer.from_ranks(BYTES, pattern=None),), {}),
    "id_to_token": ((260,), {}),
    "interval_counter": (("ab abc",), {}),
    "is_lossless": (("ab",), {}),
    "pieces": (("ab abc",), {}),
    "prune": ((), {"corpus": ["ab abc"]}),
    "save": ((PATH,), {}),
    "to_arrow": ((["ab", None],), {}),
    "token_to_id": (("ab",), {}),
    "truncate": (("ab abc", 2), {}),
    "truncate_batch": ((["ab abc"], 2), {"boundary": "word"}),
    "with_special_tokens": ((["<x>"],), {}),
    "with_tokens": ((["<x>"],), {}),
    "without_tokens": (([],), {}),
}


@lru_cache
def from_model() -> Tokenizer:
    return fastbpe.load(model_of(PIECES, {"byte_fallback": True}, {"remove_extra_whitespaces": False}))


@lru_cache
def from_model_with_rules() -> Tokenizer:
    text = "ab abc ab\nabc  ab\uff21\n"
    return fastbpe.train(
        [text] * 9,
        mode="codepoint",
        vocab_size=267,
        hard_vocab_limit=False,
        character_coverage=1.0,
        byte_fallback=True,
        control_symbols=["<|endoftext|>"],
    )


@lru_cache
def byte_level() -> Tokenizer:
    return Tokenizer.from_ranks(
        {**BYTES, b"ab": 256, b"abc": 257},
        pattern="gpt2",
        special_tokens={"<|endoftext|>": 260, "<s>": 1000, "</s>": 261},
    )


@lru_cache
def exported(make: Callable[[], Tokenizer]) -> Tokenizer:
    with TemporaryDirectory() as folder:
        make().export(f"{folder}/tokenizer.json", format="huggingface")
        return fastbpe.load(f"{folder}/tokenizer.json")


KINDS = ("model", "rules", "llama", "byte", "byte json", "phi3_mini", "openllama_zh_en", "llama2", "falcon")


@lru_cache
def published(file: str) -> Tokenizer:
    return fastbpe.load(data_file("vocab", file))


def tokenizer_of(kind: str) -> Tokenizer:
    if kind in ("phi3_mini", "openllama_zh_en", "falcon"):
        return published(f"{kind}_tokenizer.json")
    if kind == "llama2":
        return published("llama2_tokenizer.model")
    if kind in ("llama", "byte json"):
        return exported(byte_level if kind == "byte json" else from_model)
    return {"model": from_model, "rules": from_model_with_rules, "byte": byte_level}[kind]()


@pytest.mark.daily
@pytest.mark.parametrize("name", [name for name in dir(Tokenizer) if not name.startswith("_")])
@pytest.mark.parametrize("kind", KINDS)
def test_every_public_name_answers(kind: str, name: str, tmp_path: Path) -> None:
    tokenizer = tokenizer_of(kind)
    value = getattr(tokenizer, name)
    if not callable(value):
        again = getattr(tokenizer, name)
        assert again == value
        expected = type(getattr(byte_level(), name))
        assert value is None or expected is type(None) or isinstance(value, expected)
        return
    assert name in CALLS, f"say in CALLS what to call {name} with"
    (tmp_path / "text.txt").write_text("ab abc")
    out = "out.bin" if name == "encode_files" else "out.fbpe"
    paths = {PATH: tmp_path / out, TEXT_PATH: tmp_path / "text.txt"}
    positional, named = CALLS[name]
    arguments = [
        paths[argument] if argument is PATH or argument is TEXT_PATH else argument for argument in positional
    ]
    value(*arguments, **named)


@pytest.mark.parametrize("kind", ["model", "rules", "llama"])
def test_normalizers_are_described_as_in_tokenizer_json(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    assert tokenizer.mode == "codepoint"
    prepend = {"type": "Prepend", "prepend": "\u2581"}
    escape = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    if kind != "rules":
        assert fastbpe.steps(tokenizer)["normalizers"] == [prepend, escape]
    else:
        assert [step["type"] for step in fastbpe.steps(tokenizer)["normalizers"]] == [
            *("Precompiled", "Strip", "Replace", "Prepend", "Replace")
        ]
    assert fastbpe.steps(tokenizer)["pre_tokenizers"] == []


def test_metaspace_is_described_as_prepend_and_replace() -> None:
    tokenizer = published("openllama_zh_en_tokenizer.json")
    assert [step["type"] for step in fastbpe.steps(tokenizer)["normalizers"]] == ["Prepend", "Replace"]
    fastbpe.steps(tokenizer)["normalizers"].clear()
    assert fastbpe.steps(tokenizer)["normalizers"]


def test_tokenizer_refuses_what_is_no_model() -> None:
    with pytest.raises(TypeError, match=r"a Model, not dict; fastbpe\.load reads a file"):
        Tokenizer({})  # type: ignore[arg-type]


def test_error_for_code_point_base_in_byte_mode_names_code_point_mode() -> None:
    with pytest.raises(fastbpe.TrainingError, match="pass mode='codepoint', or leave mode= out"):
        fastbpe.train(["ab"], vocab_size=400, mode="byte", base=from_model())


def test_error_for_byte_level_base_in_code_point_mode_names_byte_mode() -> None:
    with pytest.raises(fastbpe.TrainingError, match="pass mode='byte'"):
        fastbpe.train(["ab"], vocab_size=400, mode="codepoint", base=byte_level())


def test_train_command_prints_refused_base_on_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fastbpe.cli import main

    from_model().save(tmp_path / "a.model")
    (tmp_path / "x.txt").write_text("ab abc")
    out = tmp_path / "y.fbpe"
    arguments = ["train", tmp_path / "x.txt", "-o", out, "--vocab-size", "+2", "--base", tmp_path / "a.model"]
    assert main([*map(str, arguments), "--mode", "byte"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("fastbpe: error: --base ")
    assert error.count("\n") == 1
    assert "--mode codepoint" in error
    assert not out.exists()


def test_train_command_takes_the_mode_of_the_base_and_of_counts(tmp_path: Path) -> None:
    from fastbpe.cli import main

    base = fastbpe.train(["ab ab"], vocab_size=20, mode="codepoint", byte_fallback=False, hard_vocab_limit=False)
    base.save(tmp_path / "a.fbpe")
    (tmp_path / "x.txt").write_text("ab abc abd")
    text, out = str(tmp_path / "x.txt"), str(tmp_path / "y.fbpe")
    assert main(["train", text, "-o", out, "--vocab-size", "+3", "--base", str(tmp_path / "a.fbpe")]) == 0
    assert fastbpe.load(out) == fastbpe.train(["ab abc abd"], vocab_size="+3", base=base, progress=False)
    counts = str(tmp_path / "x.pieces")
    assert main(["count-pieces", text, "-o", counts, "--mode", "codepoint"]) == 0
    assert main(["train", counts, "-o", out, "--vocab-size", "characters", "--force"]) == 0
    assert fastbpe.load(out).mode == "codepoint"

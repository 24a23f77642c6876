"""`training_options`: what a `.model` says of its training, as keywords of `train`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fastbpe
from fastbpe import cli
from helpers.shared_data import data_file

TEXTS = ["the low lower lowest 1984", "a new newer newest, wide wider widest"] * 20
OPTIONS = {
    "vocab_size": 320,
    "character_coverage": 1.0,
    "byte_fallback": True,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "split_digits": True,
    "user_defined_symbols": ["<sep>"],
    "pad_id": 3,
}


@pytest.fixture
def trained() -> fastbpe.Tokenizer:
    return fastbpe.train(TEXTS, mode="codepoint", progress=False, **OPTIONS)  # type: ignore[arg-type]


def test_options_of_a_model_file_train_the_same_model(trained: fastbpe.Tokenizer, tmp_path: Path) -> None:
    trained.export(tmp_path / "a.model", format="sentencepiece")
    loaded = fastbpe.load(tmp_path / "a.model")
    assert fastbpe.training_options(loaded) == {"mode": "codepoint", "model_type": "bpe", **OPTIONS}
    again = fastbpe.train(TEXTS, progress=False, **fastbpe.training_options(loaded))
    assert again.fingerprint == loaded.fingerprint


def test_options_survive_other_files_and_special_tokens(trained: fastbpe.Tokenizer, tmp_path: Path) -> None:
    trained.save(tmp_path / "a.fbpe")
    assert fastbpe.training_options(fastbpe.load(tmp_path / "a.fbpe")) == fastbpe.training_options(trained)
    trained.export(tmp_path / "a.model", format="sentencepiece")
    added = fastbpe.load(tmp_path / "a.model").with_special_tokens(["<x>"])
    assert fastbpe.training_options(added) == fastbpe.training_options(trained)


@pytest.mark.parametrize("name", ["tokenizer.json", "a.gguf"])
def test_file_that_says_nothing_of_a_training_has_no_options(
    name: str, trained: fastbpe.Tokenizer, tmp_path: Path
) -> None:
    trained.export(tmp_path / name)
    assert fastbpe.training_options(fastbpe.load(tmp_path / name)) == {}


def test_other_tokenizers_have_no_options() -> None:
    assert fastbpe.training_options(fastbpe.train(["ab"], vocab_size=257, progress=False)) == {}
    with pytest.raises(TypeError, match="tokenizer must be a Tokenizer, not SequenceTokenizer"):
        fastbpe.training_options(fastbpe.train([[1, 2]], mode="ids", base_size=3, vocab_size=4))  # type: ignore[arg-type]


def test_rules_of_a_file_are_named_so_that_train_refuses_them(tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text("61\t62\n")
    model = fastbpe.train(
        ["ab"] * 9,
        mode="codepoint",
        vocab_size=8,
        hard_vocab_limit=False,
        normalization_rule_tsv=str(tmp_path / "rules.tsv"),
        progress=False,
    )
    (tmp_path / "rules.tsv").unlink()
    assert fastbpe.training_options(model)["normalization_rule_name"] == "user_defined"
    with pytest.raises(fastbpe.TrainingError, match=r"rules\.tsv: No such file"):
        fastbpe.train(["ab"] * 9, progress=False, **fastbpe.training_options(model))


def test_info_shows_the_options(
    trained: fastbpe.Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained.export(tmp_path / "a.model", format="sentencepiece")
    assert cli.main(["info", str(tmp_path / "a.model")]) == 0
    shown = capsys.readouterr().out
    assert "training options  mode='codepoint'\n" in shown
    assert "split_digits=True\n" in shown
    assert cli.main(["info", str(tmp_path / "a.model"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["training_options"] == fastbpe.training_options(trained)


def test_llama_2s_options_train_another_vocabulary() -> None:
    options = fastbpe.training_options(fastbpe.load(data_file("vocab", "llama2_tokenizer.model")))
    assert (options["vocab_size"], options["split_digits"], options["byte_fallback"]) == (32000, True, True)
    trained = fastbpe.train(TEXTS, progress=False, **{**options, "vocab_size": 320})
    assert fastbpe.training_options(trained) == {**options, "vocab_size": 320}
    assert trained.encode("1984") == [trained.token_to_id(piece) for piece in ("\u2581", "1", "9", "8", "4")]

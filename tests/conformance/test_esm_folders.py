"""Folders of ESM: fastbpe.load gives the ids and texts of AutoTokenizer."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import transformers

import fastbpe
from fastbpe import FormatError
from helpers import folder_grid
from helpers.sampling import SEED, n_rounds

LETTERS = "LAGVSERTIDPKQNFYMHWCXBUZO.-"
TOKENS = ["<cls>", "<pad>", "<eos>", "<unk>", *LETTERS, "<null_1>", "<mask>"]
MORE = ["ML", "AB", "<mas", "k>", "é"]
PARTS = [*"LAGVSERTX.-", *TOKENS[:4], "<mask>", "<null_1>", *MORE, " ", "  ", "\n\t", "\x1c", "\x85", "\u3000"]
PARTS += ["a", "foo", "é", "中国", "<new>", "<x>", "<", "mask>"]


def draw(rng: random.Random) -> dict[str, Any]:
    """Draw the files of a folder."""
    tokens = [*TOKENS, *(token for token in MORE if rng.random() < 0.2)]
    tokens = [token for token in tokens if rng.random() < 0.97 or token in ("<unk>", "<cls>")]
    if rng.random() < 0.3:
        rng.shuffle(tokens)
    options = {"additional_special_tokens": ["<x>"], "bos_token": "<x>", "mask_token": "<new>"}
    config: dict[str, Any] = {key: value for key, value in options.items() if rng.random() < 0.2}
    if rng.random() < 0.2:
        named = [(i, token) for i, token in enumerate(tokens) if token.startswith("<")]
        config["added_tokens_decoder"] = {str(i): {"content": token, "special": True} for i, token in named}
    end = rng.choice(["\n", "\r\n"])
    files: dict[str, Any] = {"vocab.txt": (end.join(tokens) + rng.choice(["", end])).encode()}
    config |= rng.choice([{}, {"clean_up_tokenization_spaces": True}])
    files["tokenizer_config.json"] = {"tokenizer_class": "EsmTokenizer", **config}
    if rng.random() < 0.3:
        files["special_tokens_map.json"] = {"cls_token": "<cls>", "eos_token": "<eos>"}
    return files


def test_random_folders_have_the_ids_of_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for number in range(n_rounds(30, 1000)):
        rng = random.Random(f"{SEED} {number}")
        files = draw(rng)
        with tempfile.TemporaryDirectory() as folder:
            folder_grid.write(files, Path(folder))
            ours, theirs = fastbpe.load(folder), transformers.AutoTokenizer.from_pretrained(folder)
        assert ours.n_vocab == len(theirs)
        for text in ("".join(rng.choices(PARTS, k=rng.randint(0, 9))) for _ in range(30)):
            ids = theirs.encode(text, add_special_tokens=False)
            assert ours.encode(text, allowed_special="all") == ids, (number, text)
            assert ours.encode(text, allowed_special="all", with_template=True) == theirs.encode(text)
            for listed in (ids, rng.choices(range(len(theirs)), k=5)):
                for skip in (True, False):
                    decoded = theirs.decode(listed, skip_special_tokens=skip)
                    assert ours.decode(listed, skip_special_tokens=skip) == decoded, (number, listed)
        assert ours.encode_with_template("LA", "G") == theirs.encode("LA", "G")


@pytest.mark.parametrize(
    ("lines", "config", "said"),
    [
        ("A\nA\n<unk>", {}, "each line must have a different token, without white space"),
        ("A\n\n<unk>", {}, "each line must have a different token, without white space"),
        ("A\n<cls>", {}, "it lacks the unk_token '<unk>'"),
        ("A\n<unk>", {"eos_token": None}, "puts the eos token around texts, but no file names one"),
        ("A\n<unk>", {"added_tokens_decoder": {"9": {"content": "<x>"}}}, "the ids of added tokens do not follow"),
        ("A\n<unk>", {"added_tokens_decoder": {"2": {"content": "<x>", "lstrip": True}}}, "has the flag lstrip"),
    ],
)
def test_unsupported_folder_names_the_reason(
    lines: str, config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    config = {"tokenizer_class": "EsmTokenizer", **config}
    folder_grid.write({"vocab.txt": lines.encode(), "tokenizer_config.json": config}, tmp_path)
    with pytest.raises(FormatError, match=said):
        fastbpe.load(tmp_path)

"""Folders of SigLIP: fastbpe.load gives the ids and texts of AutoTokenizer."""

from __future__ import annotations

import io
import random
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

import sentencepiece
import transformers
from transformers.models.siglip import tokenization_siglip

import fastbpe
from fastbpe import FormatError
from helpers import folder_grid
from helpers.sampling import SEED, n_rounds, share_of

WORDS = [
    "The cat sat (on the mat), and the dog's 12,345 bones fit in the gardens of zürich.",
    "a cat can count to 12 and 中国 人 is rare ß <unk> h>e u n k > <",
    "lower lowest newer wider σοφος σοφός ΣΟΦΟΣ",
]
MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "published": {"unk_id": 2, "eos_id": 1, "bos_id": -1, "pad_id": 0},
    "folds": {"normalization_rule_name": "nmt_nfkc_cf"},
    "identity": {"normalization_rule_name": "identity"},
    "no prefix": {"add_dummy_prefix": False},
    "across": {"split_by_whitespace": False, "vocab_size": 200},
    "short": {"vocab_size": 60, "max_sentencepiece_length": 3},
    "controls": {"control_symbols": ["<ctl>"], "bos_id": -1},
    "no signs": {"vocab_size": 60},  # whose unknown token consists of unknown characters
    "suffix": {"treat_whitespace_as_suffix": False, "split_by_unicode_script": False},
}
PARTS = [
    "a photo",
    "of",
    "The ",
    "CAT",
    " ",
    "  ",
    "\t\n",
    "\x1c",
    "\x85",
    "\u3000",
    "\u2581",
    "!",
    "(on)",
    "'s",
    "<",
    ">",
]
PARTS += [
    "Σ",
    "ΟΣ",
    "ς",
    "İ",
    "ß",
    "ẞ",
    "é",
    "e\u0301",
    "中国",
    "人",
    "🙂",
    "\u200b",
    "ﬁ",
    "</s>",
    "<unk>",
    "<pad>",
]
PARTS += ["<ctl>", "<x>", "<new>", "new", "h>e", "12,3", ".", "-", "\u0345", "Ǆ", "Ω"]


@lru_cache
def model(name: str) -> bytes:
    made = io.BytesIO()
    sentences = WORDS[:1] if name == "no signs" else WORDS
    options = {"vocab_size": 90, "minloglevel": 2, "hard_vocab_limit": False, **MODELS[name]}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 9), model_writer=made, model_type="unigram", **options
    )
    return made.getvalue()


def draw(rng: random.Random) -> dict[str, Any]:
    """Draw the files of a folder."""
    source = model(rng.choice([*MODELS]))
    n = sentencepiece.SentencePieceProcessor(model_proto=source).GetPieceSize()
    config: dict[str, Any] = {"tokenizer_class": "SiglipTokenizer"}
    files: dict[str, Any] = {"spiece.model": source, "tokenizer_config.json": config}
    options = {
        "pad_token": "<pad>",
        "bos_token": "<x>",
        "additional_special_tokens": ["<x>"],
        "eos_token": "<eos>",
    }
    config |= {key: value for key, value in options.items() if rng.random() < 0.2}
    if rng.random() < 0.4:
        decoder = {n: "<new>", n + 1: "new"} if rng.random() < 0.5 else {n: "</s>", n + 1: "<new>"}
        decoder = {n: "<new>"} if rng.random() < 0.3 else decoder
        config["added_tokens_decoder"] = {
            str(i): {"content": content, **{flag: rng.random() < 0.5 for flag in ("lstrip", "rstrip", "special")}}
            for i, content in decoder.items()
        }
    elif rng.random() < 0.2:
        files["added_tokens.json"] = {"<new>": n}
    return files


def difference(ours: Any, theirs: Any, rng: random.Random) -> str:
    """Say how two tokenizers differ; "": in nothing."""
    if ours.n_vocab != len(theirs):
        return f"{ours.n_vocab} tokens, not {len(theirs)}"
    for text in ["", " ", "</s>", *("".join(rng.choices(PARTS, k=rng.randint(1, 9))) for _ in range(40))]:
        ids = theirs.encode(text, add_special_tokens=False)
        if (told := ours.encode(text, allowed_special="all")) != ids:
            return f"{text!r} is {told}, not {ids}"
        told, spans = ours.encode_with_offsets(text, allowed_special="all")
        if told != ids or ours.count(text, allowed_special="all") != len(ids):
            return f"{text!r} is {told} with offsets, not {ids}"
        if [*spans] != sorted(spans) or any(not 0 <= start <= end <= len(text) for start, end in spans):
            return f"{text!r} has the offsets {spans}"
        whole = theirs.encode(text)
        if ids[-1:] == [theirs.eos_token_id]:
            whole = [*whole, theirs.eos_token_id]  # the class puts no second one behind the text
        if ours.encode(text, allowed_special="all", with_template=True) != whole:
            return f"{text!r} has other ids with the template"
        for listed in (ids, rng.choices(range(ours.n_vocab), k=rng.randint(0, 8))):
            for skip in (True, False):
                told = ours.decode(listed, skip_special_tokens=skip)
                decoded = theirs.decode(listed, skip_special_tokens=skip)
                if told != decoded:
                    return f"{listed} decode to {told!r}, not {decoded!r}, skipping: {skip}"
    pair = ours.encode_with_template("the", "cat")
    return "" if pair == theirs.encode("the", "cat") else "two texts have other ids with the template"


@pytest.mark.filterwarnings("ignore:This sequence already has")
def test_random_folders_have_the_ids_of_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    # The class asks for protobuf, which it needs only without `legacy`.
    monkeypatch.setattr(tokenization_siglip, "requires_backends", lambda *_: None)
    n_equal, rounds = 0, n_rounds(24, 500)
    for number in range(rounds):
        seed = f"{SEED} {number}"
        rng = random.Random(seed)
        files = draw(rng)
        with tempfile.TemporaryDirectory() as folder:
            folder_grid.write(files, Path(folder))
            theirs = transformers.AutoTokenizer.from_pretrained(folder)
            try:
                ours = fastbpe.load(folder)
            except FormatError as error:
                if "would share the id" not in str(error):
                    raise
                continue
            found = difference(ours, theirs, rng)
        assert not found, f"{seed}: {found}: {files['tokenizer_config.json']}"
        n_equal += 1
    print(f"{n_equal} of {rounds} folders are equal")
    assert n_equal >= share_of(12)

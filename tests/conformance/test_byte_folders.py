"""Folders of ByT5 and Perceiver: fastbpe.load gives the ids and texts of AutoTokenizer."""

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
from fastbpe.formats import byte_folders
from helpers import folder_grid
from helpers.sampling import SEED, n_rounds, share_of

PARTS = [
    "the cat",
    " ",
    "  ",
    "\n\t",
    "\x00",
    "\x1c",
    "\x85",
    "\u3000",
    "\u2581",
    "é",
    "中国",
    "🙂",
    "ก็",
    "\u0301",
]
PARTS += [
    "</s>",
    "<pad>",
    "<unk>",
    "<extra_id_0>",
    "<extra_id_12>",
    "<extra_id_1",
    "<new>",
    "<x>",
    "<0x41>",
    "[CLS]",
    "[EOS]",
    "<",
    ">",
]
PARTS += ["end", "<s>", "e\u0301", "\ufeff", "\U0010ffff", "\ud7ff"]


def definition(rng: random.Random, content: str) -> dict[str, Any]:
    flags = {flag: rng.random() < 0.5 for flag in ("lstrip", "rstrip", "normalized", "special")}
    return {"content": content, **flags}


def draw(rng: random.Random, name: str) -> dict[str, Any]:
    """Draw the files of a folder."""
    config: dict[str, Any] = {"tokenizer_class": f"{name}Tokenizer"}
    files: dict[str, Any] = {"tokenizer_config.json": config}
    n = rng.choice([125, 125, 3, 0]) if name == "ByT5" else 0
    if name == "ByT5" and (n != 125 or rng.random() < 0.5):
        config["extra_ids"] = n
    n_first = len(byte_folders.CLASSES[name].first)
    names = [f"<extra_id_{i}>" for i in range(n)]
    if rng.random() < 0.4:
        place = rng.choice([config, files.setdefault("special_tokens_map.json", {})])
        place["additional_special_tokens"] = [*names, *(["<x>"] if rng.random() < 0.5 else [])]
    elif rng.random() < 0.2:
        config["extra_special_tokens"] = ["<x>", *names[:2]]
    for role, texts in {
        "eos": ["</s>", "<eos>", "end"],
        "pad": ["<pad>", "[PAD]"],
        "bos": ["<s>"],
        "cls": ["<c>"],
    }.items():
        if rng.random() < 0.3:
            text = rng.choice(texts)
            config[f"{role}_token"] = rng.choice([text, {"__type": "AddedToken", **definition(rng, text)}])
    if rng.random() < 0.3:
        eos = config.get("eos_token", "</s>" if name == "ByT5" else "[EOS]")
        decoder = {
            1 + (name != "ByT5"): eos if isinstance(eos, str) else eos["content"],
            n_first + 256 + rng.choice([0, 1]): "<new>",
        }
        config["added_tokens_decoder"] = {str(i): definition(rng, content) for i, content in decoder.items()}
    elif rng.random() < 0.2:
        files["added_tokens.json"] = {"<new>": n_first + 256}
    return files


def difference(ours: Any, theirs: Any, rng: random.Random) -> str:
    """Say how two tokenizers differ; "": in nothing."""
    if ours.n_vocab != len(theirs):
        return f"{ours.n_vocab} tokens, not {len(theirs)}"
    for text in ["", *("".join(rng.choices(PARTS, k=rng.randint(1, 9))) for _ in range(30))]:
        ids = theirs.encode(text, add_special_tokens=False)
        if (told := ours.encode(text, allowed_special="all")) != ids:
            return f"{text!r} is {told}, not {ids}"
        if ours.encode_with_offsets(text, allowed_special="all")[0] != ids:
            return f"{text!r} has other ids with offsets"
        whole = theirs.encode(text)
        if type(theirs).__name__ == "ByT5Tokenizer" and ids[-1:] == [theirs.eos_token_id]:
            whole = [*whole, theirs.eos_token_id]  # the class puts no second one behind the text
        if ours.encode(text, allowed_special="all", with_template=True) != whole:
            return f"{text!r} has other ids with the template"
        for listed in (ids, rng.choices(range(ours.n_vocab), k=rng.randint(0, 8))):
            for skip in (True, False):
                told = ours.decode(listed, skip_special_tokens=skip)
                decoded = theirs.decode(listed, skip_special_tokens=skip)
                if told != decoded:
                    return f"{listed} decode to {told!r}, not {decoded!r}, skipping: {skip}"
                decoder = ours.decoder(skip_special_tokens=skip)
                if "".join(map(decoder.push, listed)) + decoder.finish() != decoded:
                    return f"{listed} decode to another text one by one, skipping: {skip}"
    pair = ours.encode_with_template("the", "cat")
    return "" if pair == theirs.encode("the", "cat") else "two texts have other ids with the template"


@pytest.mark.filterwarnings("ignore:This sequence already has")
@pytest.mark.parametrize("name", byte_folders.CLASSES)
def test_random_folders_have_the_ids_of_transformers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    n_equal, rounds = 0, n_rounds(24, 500)
    for number in range(rounds):
        seed = f"{SEED} {name} {number}"
        rng = random.Random(seed)
        files = draw(rng, name)
        with tempfile.TemporaryDirectory() as folder:
            folder_grid.write(files, Path(folder))
            try:
                theirs = transformers.AutoTokenizer.from_pretrained(folder)
            except ValueError:  # it has another number of tokens <extra_id_…> than extra_ids
                with pytest.raises(FormatError, match="but extra_ids is"):
                    fastbpe.load(folder)
                continue
            try:
                ours = fastbpe.load(folder)
            except FormatError as error:
                if not any(said in str(error) for said in ("no token has the id", "would share the id")):
                    raise
                continue  # the ids in the files leave a gap, or a token would take the id of another
            found = difference(ours, theirs, rng)
        assert not found, f"{seed}: {found}: {files}"
        n_equal += 1
    print(f"{name}: {n_equal} of {rounds} folders are equal")
    assert n_equal >= share_of(12)

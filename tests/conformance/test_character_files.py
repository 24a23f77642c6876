"""Two files of characters (CLIP, GPT-1, tokenizers' own classes): ids, texts and roles of their classes."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from helpers.sampling import SEED
from helpers.shared_data import data_file
from helpers.split_oracles import random_texts

TEXTS = (
    "A photo of a cat, isn't it?  2 dogs!",
    "Zażółć gęślą jaźń. ﬁ Å É İ ß",
    "日本語 the 한국어 low",
    "\n\t x \u0301 \x00 \ufffd",
    "",
    "lowest</w> low </w>",
    "🙂 $%& 123,456.78",
)


def words_of(case: str) -> tuple[dict[str, int], list[str]]:
    """Return a small vocabulary with the ends of words marked, and its merges."""
    letters = "abcdefghijklmnopqrstuvwxyzéż語.,!?'123$"
    if case == "CLIP":
        from fastbpe.formats.byte_level import BYTE_OF_CHARACTER

        letters = "".join(BYTE_OF_CHARACTER)
    if case in ("Herbert", "CharBPE"):
        letters += "AZP"
    merges = ["l o", "lo w</w>", "lo w", "t h", "th e</w>", "i s</w>", "a t</w>", "c at</w>", "e s", "es t</w>"]
    if case == "SentencePieceBPE":
        merges = ["\u2581 l", "\u2581l o", "\u2581lo w", "\u2581 t", "\u2581t h", "a t"]
        tokens = [*letters, "\u2581", *("".join(merge.split()) for merge in merges)]
    else:
        tokens = [*letters, *(one + "</w>" for one in letters), *("".join(merge.split()) for merge in merges)]
    special = {
        "CLIP": ["<|startoftext|>", "<|endoftext|>"],
        "Herbert": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    }
    names = special.get(case, ["<unk>"])
    ordered = [*tokens, *names] if case == "CLIP" else [*names, *tokens]
    return {token: i for i, token in enumerate(dict.fromkeys(ordered))}, merges


def write(folder: Path, tokens: dict[str, int], merges: list[str], class_name: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(tokens), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")
    if class_name:
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": f"{class_name}Tokenizer"}))
    return folder


def texts() -> list[str]:
    return [*TEXTS, *islice(random_texts(SEED), 40)]


def check_class(folder: Path) -> None:
    """Compare with the class of transformers, which builds the tokenizer from the two files."""
    transformers = pytest.importorskip("transformers")
    original, tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder)), fastbpe.load(folder)
    for text in texts():
        wanted = original(text, add_special_tokens=False, return_offsets_mapping=True)
        assert tokenizer.encode_with_offsets(text, allowed_special="all") == (
            wanted["input_ids"],
            wanted["offset_mapping"],
        ), text
        assert tokenizer.encode_with_template(text) == original(text)["input_ids"]
        if original.name_or_path and "CLIP" not in type(original).__name__:  # another test decodes with CLIP
            assert tokenizer.decode(wanted["input_ids"]) == original.decode(wanted["input_ids"])
    for role in ("bos", "eos", "unk", "pad", "cls", "sep", "mask"):
        token = getattr(original, f"{role}_token")
        assert token is None or tokenizer.roles[role] == token, role


@pytest.mark.parametrize("case", ["CLIP", "OpenAIGPT", "Herbert"])
def test_folder_of_a_class_gives_what_the_class_gives(case: str, tmp_path: Path) -> None:
    check_class(write(tmp_path, *words_of(case), case))


def test_tokens_around_texts_need_not_be_in_the_vocabulary(tmp_path: Path) -> None:
    tokens, merges = words_of("CLIP")
    del tokens["<|endoftext|>"]
    check_class(write(tmp_path / "default", tokens, merges, "CLIP"))
    folder = write(tmp_path / "named", tokens, merges)
    config = {"tokenizer_class": "CLIPTokenizer", "bos_token": "<new>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    check_class(folder)
    del config["tokenizer_class"]
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "eos_token": "</s>"}))
    tokenizer = fastbpe.load(folder)
    ids = tokenizer.special_tokens
    assert tokenizer.encode_with_template("low") == [ids["<new>"], *tokenizer.encode("low"), ids["</s>"]]


def test_herbert_puts_the_ids_0_and_2_around_texts_whatever_their_tokens(tmp_path: Path) -> None:
    tokens, merges = words_of("Herbert")
    for name in ("<s>", "</s>"):
        tokens[name] = max(tokens.values()) + 1
    tokens = {token: i for i, token in enumerate(sorted(tokens, key=tokens.__getitem__))}
    assert tokens["<s>"] > 2
    check_class(write(tmp_path, tokens, merges, "Herbert"))


def test_folder_without_a_class_gives_what_its_two_files_give(tmp_path: Path) -> None:
    tokens, merges = words_of("OpenAIGPT")
    folder = write(tmp_path, {**tokens, "<look>": len(tokens)}, merges)
    (folder / "tokenizer_config.json").write_text(json.dumps({"pad_token": "<pad>"}))
    alone, named = fastbpe.load(folder / "vocab.json"), fastbpe.load(folder)
    assert named.special_tokens == {**alone.special_tokens, "<pad>": len(tokens) + 1}
    assert named.encode("a <look>", allowed_special="all") == alone.encode("a <look>", allowed_special="all")
    assert len(alone.encode("<look>", allowed_special="all")) == 1


@pytest.mark.daily
def test_gpt_1_gives_what_its_class_gives(tmp_path: Path) -> None:
    tokens = json.loads(data_file("zoo", "gpt-1", "vocab.json").read_bytes())
    merges = data_file("zoo", "gpt-1", "merges.txt").read_text(encoding="utf-8").split("\n")[1:]
    check_class(write(tmp_path, tokens, [line for line in merges if line], "OpenAIGPT"))


@pytest.mark.daily
def test_clip_gives_what_its_class_gives(tmp_path: Path) -> None:
    model = json.loads(data_file("zoo", "clip", "tokenizer.json").read_bytes())["model"]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    check_class(write(tmp_path, model["vocab"], merges, "CLIP"))


def test_clip_decodes_without_the_marks_of_ends(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    folder = write(tmp_path, *words_of("CLIP"), "CLIP")
    original, tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder)), fastbpe.load(folder)
    for text in ("the lowest cat", "low is", "é 日本", ""):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == original.decode(ids)
        stream = tokenizer.decoder()
        assert stream.push(ids[:2]) + stream.push(ids[2:]) + stream.finish() == original.decode(ids)


@pytest.mark.parametrize("case", ["CLIP", "OpenAIGPT", "CharBPE", "SentencePieceBPE"])
def test_files_alone_tell_their_kind(case: str, tmp_path: Path) -> None:
    tokens, merges = words_of(case)
    folder = write(tmp_path / case, tokens, merges)
    alone = fastbpe.load(folder / "vocab.json")
    assert alone.fingerprint == fastbpe.load(folder / "merges.txt").fingerprint
    if case in ("CLIP", "OpenAIGPT"):
        named = fastbpe.load(write(tmp_path / "named", tokens, merges, case))
        for text in texts():
            assert alone.encode(text, allowed_special="all") == named.encode(text, allowed_special="all")
        return
    implementations = pytest.importorskip("tokenizers.implementations")
    make: Any = getattr(implementations, f"{case}Tokenizer")
    original = make(str(folder / "vocab.json"), str(folder / "merges.txt"))
    for text in texts():
        wanted = original.encode(text, add_special_tokens=False)
        assert alone.encode_with_offsets(text, allowed_special="all") == (wanted.ids, wanted.offsets), text
        assert alone.decode(wanted.ids) == original.decode(wanted.ids, skip_special_tokens=False)


def test_other_class_is_refused_by_name(tmp_path: Path) -> None:
    folder = write(tmp_path, *words_of("OpenAIGPT"), "FSMT")
    with pytest.raises(
        fastbpe.FormatError,
        match=r"splits texts by its own rules \(it finds words with sacremoses, by rules of languages in Python\)",
    ):
        fastbpe.load(folder)


def test_split_pattern_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, *words_of("OpenAIGPT"))
    with pytest.raises(fastbpe.FormatError, match="contains its own split pattern"):
        fastbpe.load(folder / "vocab.json", pattern="gpt2")

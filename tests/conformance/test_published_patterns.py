"""Named patterns in exported tokenizer.json files: their publishers' spelling, and ids as in tokenizers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import PATTERNS, Tokenizer
from fastbpe.patterns import resolve_pattern
from helpers.peer_exports import NAMES, TEXTS, exported, some_texts
from helpers.shared_data import data_file

tokenizers = pytest.importorskip("tokenizers")

FIRST_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


def splits(path: Path) -> list[dict[str, Any]]:
    described = json.loads(path.read_text(encoding="utf-8"))["pre_tokenizer"]
    steps: list[dict[str, Any]] = described.get("pretokenizers", [described])
    return steps


@pytest.mark.parametrize("name", NAMES)
def test_export_of_a_named_pattern_gives_equal_ids_in_tokenizers(name: str, tmp_path: Path) -> None:
    tokenizer = exported(name, tmp_path / "tokenizer.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*TEXTS, *some_texts(name, 300)]:
        assert peer.encode(text).ids == tokenizer.encode_ordinary(text), (name, text)


@pytest.mark.parametrize("name", NAMES)
def test_export_of_a_named_pattern_is_read_as_that_pattern(name: str, tmp_path: Path) -> None:
    tokenizer = exported(name, tmp_path / "tokenizer.json")
    again = fastbpe.load(tmp_path / "tokenizer.json")
    assert again.pattern == tokenizer.pattern == PATTERNS[name]
    assert resolve_pattern(again.pattern)[0] == resolve_pattern(PATTERNS[name])[0]
    assert again == tokenizer


def test_cl100k_is_exported_as_it_was_first_published(tmp_path: Path) -> None:
    exported("cl100k", tmp_path / "tokenizer.json")
    (split, byte_level) = splits(tmp_path / "tokenizer.json")
    assert split == {"type": "Split", "pattern": {"Regex": FIRST_CL100K}, "behavior": "Removed", "invert": True}
    assert byte_level["use_regex"] is False


def test_deepseek_is_exported_with_the_characters_cr_and_lf(tmp_path: Path) -> None:
    exported("deepseek_v3", tmp_path / "tokenizer.json")
    last = splits(tmp_path / "tokenizer.json")[2]["pattern"]["Regex"]
    assert (
        "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+" in last
    )
    assert "\\r" not in last
    assert "\\n" not in last


def white_space(token: str, *, merged: bool) -> Tokenizer:
    """Make a tokenizer of cl100k's pattern with a token of white space."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    for n in range(2, len(token) + 1) if merged else [len(token)]:
        ranks[token[:n].encode()] = len(ranks)
    return Tokenizer.from_ranks(ranks, pattern="cl100k")


@pytest.mark.parametrize(
    ("token", "merged"),
    [("\n ", True), ("\r\n\t", True), ("\n\u3000", True), (" \n ", True), ("   \n", False), ("   ", False)],
)
def test_cl100k_keeps_its_spelling_where_the_first_one_gives_other_ids(
    token: str, merged: bool, tmp_path: Path
) -> None:
    """A token crosses the end of a line, or is only found as a whole piece: `\\s++$` makes it one."""
    tokenizer = white_space(token, merged=merged)
    tokenizer.export(tmp_path / "tokenizer.json", format="huggingface")
    assert splits(tmp_path / "tokenizer.json")[0]["pattern"]["Regex"] != FIRST_CL100K
    again = fastbpe.load(tmp_path / "tokenizer.json")
    assert again.pattern == tokenizer.pattern
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    rng = random.Random(token)
    for text in [
        f"a{token}",
        token,
        f"{token} ",
        *("".join(rng.choices(" \n\r\ta\u3000", k=6)) for _ in range(300)),
    ]:
        assert peer.encode(text).ids == tokenizer.encode_ordinary(text) == again.encode_ordinary(text), text


def test_file_with_cl100k_s_regex_and_other_tokens_encodes_as_tokenizers(tmp_path: Path) -> None:
    """The text of the regex alone does not make a file cl100k's: here a token crosses the end of a line."""
    exported("cl100k", tmp_path / "tokenizer.json")
    described = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    last, name = described["model"]["merges"].pop().split(), described["model"]["vocab"]
    name["ĊĠ"] = name.pop("".join(last))
    described["model"]["merges"].append("Ċ Ġ")
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    tokenizer, peer = (
        fastbpe.load(tmp_path / "tokenizer.json"),
        tokenizers.Tokenizer.from_str(json.dumps(described)),
    )
    assert tokenizer.pattern is None
    for text in ("a\n ", "a\n  ", "\n \n ", "a\n b", " \n  "):
        assert tokenizer.encode_ordinary(text) == peer.encode(text).ids


def test_words_of_a_file_with_cl100k_s_regex_are_those_of_tokenizers(tmp_path: Path) -> None:
    exported("cl100k", tmp_path / "tokenizer.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    pieces = fastbpe.load(tmp_path / "tokenizer.json").pieces("a b\n\n  ")
    assert pieces == [span for _, span in peer.pre_tokenizer.pre_tokenize_str("a b\n\n  ")]


@pytest.mark.daily
def test_published_cl100k_is_exported_as_published(tmp_path: Path) -> None:
    tokenizer = fastbpe.load(data_file("vocab/cl100k_base.tiktoken"))
    tokenizer.export(tmp_path / "tokenizer.json", format="huggingface")
    assert splits(tmp_path / "tokenizer.json")[0]["pattern"]["Regex"] == FIRST_CL100K
    assert fastbpe.load(tmp_path / "tokenizer.json").fingerprint == tokenizer.fingerprint


@pytest.mark.daily
def test_kimi_splits_as_its_publisher_s_pattern_does_in_tiktoken() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ours = fastbpe.load(data_file("zoo/kimi-k2/ranks.tiktoken"), pattern="kimi")
    ranks = {token: i for i, token in enumerate(ours.vocab) if token}
    theirs = tiktoken.Encoding("kimi", pat_str=PATTERNS["kimi"], mergeable_ranks=ranks, special_tokens={})
    texts = [*TEXTS, *some_texts("kimi", 2000), "漢字and漢字XMLがか's 1234漢"]
    assert ours.encode_ordinary_batch(texts) == theirs.encode_ordinary_batch(texts)

"""Folders of BERTweet, Blenderbot Small, CTRL and PhoBERT: which files make them, and what is refused."""

from __future__ import annotations

import pickle
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, VocabularyError
from fastbpe.formats import native
from fastbpe.model import Symbols
from helpers import folder_grid, tokenizer_json
from helpers.sampling import rounds

TOKENS = ["<unk>", "a@@", "b", "ab", "\n", "a@@@@", "c", "ca"]
MERGES = ["#version: 0.2", "a b</w>", "a b", "ab c", "abc a</w>", "a @", "a@ @</w>", "c a</w>"]


def fill(folder: Path, name: str = "CTRL", *, vocab: Any = None, merges: Any = MERGES, **config: Any) -> Path:
    tokens = TOKENS if name == "CTRL" else [*TOKENS, "__unk__"]
    vocab = {token: i for i, token in enumerate(tokens)} if vocab is None else vocab
    config = {"tokenizer_class": f"{name}Tokenizer", **config}
    lines = "\n".join([*merges, ""]).encode()
    folder_grid.write({"vocab.json": vocab, "merges.txt": lines, "tokenizer_config.json": config}, folder)
    return folder


def fill_fairseq(folder: Path, name: str = "Phobert", vocab: bytes = b"a@@ 9\r\nab 8\nb 7", **config: Any) -> Path:
    codes = b"a b</w> 5\na b 4\nb c</w>\na a</w> 1"  # the third has no count, the last one no line ending
    config = {"tokenizer_class": f"{name}Tokenizer", **config}
    folder_grid.write({"vocab.txt": vocab, "bpe.codes": codes, "tokenizer_config.json": config}, folder)
    return folder


def test_symbols_become_tokens_by_their_place_in_the_word(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path))
    assert (loaded.mode, loaded.model_type, loaded.n_vocab) == ("character", "BPE", len(TOKENS))
    assert loaded.encode("ab b aab") == [3, 2, 1, 3]
    assert loaded.encode("abcc  ab\n\nb") == [0, 6, 0, 4, 2]  # abc@@ and ab@@ are no tokens
    assert loaded.encode("abca") == [0]
    assert loaded.encode("a@@ aa@@") == [1, 1, 1]  # the symbol a@@ at the end, and a before it
    assert loaded.encode_with_offsets("x ab\n") == ([0, 0, 4], [(0, 1), (2, 4), (4, 5)])
    assert loaded.encode_with_template("ab", "b") == [3, 2]
    assert loaded.decode([1, 3, 0, 1, 4]) == "aab <unk> a"
    assert loaded.decode([3, 1]) == "ab a@@"
    assert loaded.decode([5, 3]) == "a@@ab"
    assert loaded.merges[:2] == [(1, 2), (1, 0)]
    assert loaded.completions(" a") == [1, 5, 3]


def test_class_takes_only_the_added_tokens_of_a_tokenizer_json(tmp_path: Path) -> None:
    described = tokenizer_json.small([tokenizer_json.added(len(TOKENS), "<x>", special=True)])
    folder_grid.write({"tokenizer.json": described}, fill(tmp_path))
    assert fastbpe.load(tmp_path).encode("ab<x>", allowed_special="all") == [3, len(TOKENS)]
    folder_grid.write({"added_tokens.json": {"<x>": len(TOKENS) + 1}}, tmp_path)
    with pytest.raises(FormatError, match="two ids have the token '<x>'"):
        fastbpe.load(tmp_path)
    fill(tmp_path, added_tokens_decoder={})
    assert fastbpe.load(tmp_path).n_vocab == len(TOKENS)


@pytest.mark.parametrize("name", ["codes", "bpe.32000", "codes.txt"])
def test_codes_without_ids_load_after_what_their_error_says(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("\n".join(MERGES))
    with pytest.raises(FormatError) as error:
        fastbpe.load(tmp_path / name)
    told = str(error.value)
    assert 'codes of subword-nmt come without ids: write this vocab.json yourself, as {"lo@@": 0, ...}' in told
    assert 'tokenizer_config.json beside it, as {"tokenizer_class": "CTRLTokenizer"}' in told
    assert fastbpe.load(fill(tmp_path)).encode("ab b aab") == [3, 2, 1, 3]


@pytest.mark.parametrize("name", ["codes", "bpe.codes", "codes.txt"])
def test_codes_with_counts_load_after_what_their_error_says(name: str, tmp_path: Path) -> None:
    codes = "a b</w> 5\na b 4\n"
    (tmp_path / name).write_text(codes)
    with pytest.raises(FormatError) as error:
        fastbpe.load(tmp_path / name)
    told = str(error.value)
    assert "codes of fastBPE, not a vocabulary: it has no ids; write its tokens into vocab.txt, one" in told
    assert '{"tokenizer_class": "PhobertTokenizer"}' in told
    (tmp_path / "bpe.codes").write_text(codes)
    (tmp_path / "vocab.txt").write_text("a@@ 9\nab 8\n")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PhobertTokenizer"}')
    assert fastbpe.load(tmp_path).encode("ab aab") == [5, 4, 5]


def test_setting_of_the_folder_removes_spaces_from_decoded_text(tmp_path: Path) -> None:
    vocab = {token: i for i, token in enumerate([*TOKENS, "."])}
    loaded = fastbpe.load(fill(tmp_path, vocab=vocab, clean_up_tokenization_spaces=True))
    assert loaded.decode([3, 8, 3]) == "ab. ab"
    stream = loaded.decoder()
    assert "".join(map(stream.push, [3, 8, 3])) + stream.finish() == "ab. ab"
    assert fastbpe.load(fill(tmp_path, vocab=vocab)).decode([3, 8, 3]) == "ab . ab"


def test_merges_of_a_round_come_before_others(tmp_path: Path) -> None:
    """The merge of ab and a is better than the one that makes ab; in a round, a and b merge everywhere."""
    vocab = {token: i for i, token in enumerate(["<unk>", "ab@@", "aba@@", "b", "ab"])}
    fill(tmp_path, vocab=vocab, merges=["#", "ab a", "a b", "a b</w>"])
    loaded = fastbpe.load(tmp_path)
    assert loaded.encode("ababab") == [1, 2, 3]
    assert loaded.encode("ab" * 100) == [1] * 98 + [2, 3]


def merged_in_rounds(word: str, ranks: dict[tuple[str, str], int]) -> list[str]:
    """Merge a word in rounds, as the classes do: the slow twin."""
    symbols = [*word[:-1], word[-1] + "</w>"]
    while True:
        best = min(pairwise(symbols), key=lambda pair: ranks.get(pair, len(ranks)), default=None)
        if best not in ranks:
            return symbols
        merged: list[str] = []
        for symbol in symbols:
            if merged and (merged[-1], symbol) == best:
                merged[-1] = "".join(best)
            else:
                merged.append(symbol)
        symbols = merged


@pytest.mark.parametrize("seed", rounds(8, 200))
def test_long_words_merge_in_rounds(seed: int, tmp_path: Path) -> None:
    """Merges in any order, words of up to many windows of the linear algorithm, against the slow twin."""
    rng = random.Random(seed)
    parts = {"a", "b", "a</w>", "b</w>"}
    ranks: dict[tuple[str, str], int] = {}
    while len(ranks) < 60:
        left, right = rng.choice(sorted(parts)), rng.choice(sorted(parts))
        if not left.endswith("</w>"):
            ranks[left, right] = 0
            parts.add(left + right)
    ranks = {pair: i for i, pair in enumerate(rng.sample(sorted(ranks), len(ranks)))}
    tokens = ["<unk>", *sorted(part.removesuffix("</w>") if "<" in part else part + "@@" for part in parts)]
    vocab = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    loaded = fastbpe.load(fill(tmp_path, vocab=vocab, merges=["#", *map(" ".join, ranks)]))
    for n in (1, 2, 7, 40, 300, 5_000, 30_000):
        word = "".join(rng.choices("ab", k=n)) if rng.random() < 0.7 else ("ab" * n)[:n]
        symbols = merged_in_rounds(word, ranks)
        expected = [part.removesuffix("</w>") if part.endswith("</w>") else part + "@@" for part in symbols]
        assert loaded.encode(word) == [vocab[token] for token in expected]


def test_blenderbot_small_changes_texts(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path, "BlenderbotSmall"))
    assert loaded.roles == {"bos": "__start__", "eos": "__end__", "unk": "__unk__", "pad": "__null__"}
    assert loaded.encode("AB'\nAb.B") == [3, 8, 3, 8, 2]  # the line ending goes, and .b is a word
    assert loaded.encode("ab\nab")[:1] + loaded.encode("ab\nab")[-1:] == [3, 3]
    assert len(loaded.encode("ab\nab")) == 2 + len("__newln__")
    assert loaded.encode_with_offsets("İab ab") == ([8, 8, 3, 3], [(0, 1), (0, 1), (1, 3), (4, 6)])
    assert fastbpe.steps(loaded)["normalizers"][-1] == {"type": "PythonLowercase"}


@pytest.mark.parametrize("name", ["Phobert", "Bertweet"])
def test_fairseq_files_give_ids_behind_those_of_roles(name: str, tmp_path: Path) -> None:
    loaded = fastbpe.load(fill_fairseq(tmp_path, name))
    assert [*loaded.vocab] == [b"<s>", b"<pad>", b"</s>", b"<unk>", b"a@@", b"ab", b"b", b"<mask>"]
    assert loaded.encode("ab aab\nb aa bc") == [5, 4, 3, 3, 6, 4, 3, 3, 3]
    assert loaded.encode("ab <mask>b", allowed_special="all") == [5, 7, 6]
    assert loaded.encode("a\x1cb") == [3, 6]  # white space for the package re
    assert loaded.encode_with_template("ab", "b") == [0, 5, 2, 2, 6, 2]
    assert loaded.encode_parts([("<mask>", True), ("<mask>", False)])[0] == 7


def test_model_type_of_the_config_names_the_class(tmp_path: Path) -> None:
    fill(tmp_path)
    folder_grid.write({"tokenizer_config.json": {}, "config.json": {"model_type": "ctrl"}}, tmp_path)
    assert fastbpe.load(tmp_path).encode("aab") == [1, 3]


def test_native_file_keeps_the_symbols(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path, "BlenderbotSmall"))
    loaded.save(tmp_path / "a.fbpe")
    for again in (fastbpe.load(tmp_path / "a.fbpe"), pickle.loads(pickle.dumps(loaded))):
        assert again == loaded
        assert again.encode("AB aab x") == [3, 1, 3, 8]
        assert again.decode([1, 3, 8]) == "aab __unk__"
    model = loaded._family.model
    assert model.symbols is not None
    other = model._replace(symbols=model.symbols._replace(lowers=False), fingerprint="")
    assert fastbpe.load(native.dump(other)) != loaded
    for broken in [(["a"], []), ([""], [0]), (["\ud800"], [0]), ([1], [0]), (["a"], [-1]), (["a"], ["b"])]:
        data = native.dump(model._replace(symbols=Symbols(*broken)))  # type: ignore[arg-type]
        with pytest.raises(FormatError, match="its header has no valid 'symbols'"):
            fastbpe.load(data)
    for ids in ([99] * len(model.symbols.ids), [0]):
        with pytest.raises(FormatError, match=r"becomes an id that is not a token|names an id that is not"):
            fastbpe.load(native.dump(model._replace(symbols=Symbols(model.symbols.texts[: len(ids)], ids))))


@pytest.mark.parametrize("format", ["huggingface", "sentencepiece", "gguf", "tiktoken"])
def test_other_formats_refuse_symbols(format: str, tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path))
    with pytest.raises(FormatError, match=r"cannot store a table of ids.*export this tokenizer as native"):
        loaded.export(tmp_path / "x.json", format=format)


def test_calls_that_need_merges_of_tokens_raise_vocabulary_error(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path))
    assert loaded.with_tokens(["<new>"]).encode("aab<new>b") == [1, 3, 8, 2]
    assert loaded.encode("aab ab", dropout=0.0) == [1, 3, 3]
    for call in (
        lambda: loaded.explain("ab"),
        lambda: fastbpe.merge_tree(loaded, 3),
        lambda: fastbpe.vocabulary_report(loaded),
        lambda: loaded.without_tokens([2]),
        lambda: loaded.id_map(loaded.with_tokens(["<new>"])),
        lambda: fastbpe.merge_vocabularies(loaded, loaded),
    ):
        with pytest.raises(VocabularyError, match="this tokenizer merges symbols that are not tokens"):
            call()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"vocab": {"a": 1}}, r"vocab\.json: it must give each token, none of them empty, a different id"),
        ({"vocab": {"a": 0}}, "it lacks the unk_token '<unk>'"),
        ({"unk_token": None}, "the class CTRLTokenizer needs the unk_token"),
        (
            {"vocab": b'{"<unk>": 0, "\\ud800": 1}'},
            r"json: not JSON: UTF-8 cannot encode the lone surrogate in",
        ),
        ({"merges": ["#", "a< /w>"]}, "merges 'a<' and '/w>' to a text that ends with </w>, which also marks"),
        (
            {"added_tokens_decoder": {"9": {"content": "<x>", "lstrip": True}}},
            "the token '<x>' has the flag lstrip, which is not supported for this class",
        ),
        (
            {"added_tokens_decoder": {"10": {"content": "<x>"}}},
            "no token has the id 8, but '<x>' has the id 10",
        ),
    ],
)
def test_unsupported_folder_names_the_reason(config: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=said):
        fastbpe.load(fill(tmp_path, **config))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"normalization": True}, "with normalization, the class replaces links, user names and emoji"),
        ({"pad_token": None}, "the class BertweetTokenizer needs the pad_token"),
        ({"pad_token": "</s>"}, "have the first ids, but two are the same"),
        ({"vocab": b"a@@ 1\n\nb 2\n"}, r"vocab\.txt: line 2 has no token"),
        (
            {"vocab": b"a@@ 1\na@@ 2\n"},
            r"vocab\.txt: it lists the token 'a@@' twice, or its class in transformers adds this token itself",
        ),
        ({"vocab": b"a\xff 1\n"}, r"vocab\.txt: not UTF-8: invalid byte 0xff at offset 1"),
    ],
)
def test_unsupported_folder_of_bertweet_names_the_reason(
    config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=said):
        fastbpe.load(fill_fairseq(tmp_path, "Bertweet", **config))


def test_arguments_that_the_files_decide_are_refused(tmp_path: Path) -> None:
    folder_grid.check_refused_arguments(fill(tmp_path))

"""Real files of tokenizers whose base symbols are characters: everything as tokenizers 0.23."""

from __future__ import annotations

import json
import pickle
from itertools import product
from pathlib import Path

import pytest

import fastbpe
from fastbpe.tokenizer.internals import find_words
from helpers.shared_data import corpus, data_file

tokenizers = pytest.importorskip("tokenizers")

ZOO = ("clip", "chatglm", "perovskite", "t5-ppi", "gpoket2")
TEXTS = (
    "Hello world! don't  stop",
    "ünïcödé ﬁ 한국어 日本語 🙂 ÅÉ ǅ İΣ",
    "  leading\n\ttabs  \r\n",
    "",
    "a",
    "x<|endoftext|>y[gMASK]<sop> [SEP]<unk>",
    "Mixed CASE 123,456.78 it's we'LL",
    "##a</w> ▁▁ \u0301a\u200b\x00<!dummy-prefix!>",
    "MKTAYIAKQRQISFVKSHFSRQ",
)


@pytest.mark.daily
@pytest.mark.parametrize("name", ZOO)
def test_real_file_gives_what_tokenizers_gives(name: str, tmp_path: Path) -> None:
    path = data_file("zoo", name, "tokenizer.json")
    original, tokenizer = tokenizers.Tokenizer.from_file(str(path)), fastbpe.load(path)
    tokenizer.export(tmp_path / "tokenizer.json", format="huggingface", verify=True)
    written = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    copies = [tokenizer, pickle.loads(pickle.dumps(tokenizer))]
    text = corpus("multilingual.txt", 200_000)
    for one in (*TEXTS, *(text[at : at + 2_000] for at in range(0, len(text), 10_000))):
        wanted = original.encode(one, add_special_tokens=False)
        for copy in copies:
            ids, offsets = copy.encode_with_offsets(one, allowed_special="all")
            assert (ids, offsets) == (wanted.ids, wanted.offsets), one
            assert copy.encode(one, allowed_special="all") == ids
        words = find_words(tokenizer, one, ids, dict(zip(ids, wanted.tokens, strict=True)), "all")
        assert words is not None
        assert words.numbers == wanted.word_ids
        again = written.encode(one, add_special_tokens=False)
        assert (again.ids, again.offsets) == (wanted.ids, wanted.offsets)
        for skips in (False, True):
            assert tokenizer.decode(ids, skip_special_tokens=skips) == original.decode(
                ids, skip_special_tokens=skips
            )
            assert written.decode(ids, skip_special_tokens=skips) == original.decode(
                ids, skip_special_tokens=skips
            )


@pytest.mark.parametrize("unknown", [" ", "\u2581", "a", " a", "a ", "  ", "\u2581\u2581"])
def test_unknown_characters_merge_as_the_text_of_their_token(unknown: str) -> None:
    merges = [(" ", " "), ("\u2581", "\u2581"), ("a", "a"), (" ", "a"), ("  ", " "), ("\u2581", "a")]
    tokens = dict.fromkeys([" ", "\u2581", "a", *(left + right for left, right in merges), unknown])
    vocab = {token: i for i, token in enumerate(tokens)}
    model = {"type": "BPE", "unk_token": unknown, "vocab": vocab, "merges": merges}
    text = json.dumps({"version": "1.0", "model": model})
    original, tokenizer = tokenizers.Tokenizer.from_str(text), fastbpe.load(text.encode())
    for n in range(1, 6):
        for one in map("".join, product("x a\u2581", repeat=n)):
            wanted = original.encode(one)
            assert tokenizer.encode_with_offsets(one) == (wanted.ids, wanted.offsets), one


STEPS = {
    "normalizer": ("normalizers", {"type": "NFC"}),
    "pre_tokenizer": ("pretokenizers", {"type": "Whitespace"}),
    "decoder": ("decoders", {"type": "Fuse"}),
    "post_processor": ("processors", {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}),
}


@pytest.mark.parametrize("place", STEPS)
def test_sequences_may_be_nested_as_deep_as_in_tokenizers(place: str) -> None:
    key, step = STEPS[place]
    file = {"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
    for n in range(1, 64):
        step = {"type": "Sequence", key: [step]}
        text = json.dumps({**file, place: step})
        if n < 63:
            tokenizers.Tokenizer.from_str(text)
            fastbpe.load(text.encode())
    with pytest.raises(Exception, match="recursion limit"):
        tokenizers.Tokenizer.from_str(text)
    with pytest.raises(fastbpe.FormatError, match=r"62 levels deep"):
        fastbpe.load(text.encode())


def test_each_piece_of_the_first_character_has_the_prefix() -> None:
    """Here they are 6,000 pieces, more than one group."""
    vocab = {piece: i for i, piece in enumerate(["<unk>", "▁", "a", "▁a"])}
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated", "invert": False}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    made = {
        "model": {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": ["▁ a"]},
        "normalizer": {"type": "Replace", "pattern": {"Regex": "^b"}, "content": "a " * 3_000},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, metaspace]},
    }
    wanted = tokenizers.Tokenizer.from_str(json.dumps(made)).encode("ba a")
    found = fastbpe.load(json.dumps(made).encode()).encode_with_offsets("ba a")
    assert found == (wanted.ids, wanted.offsets)


def test_text_inserted_before_all_other_text_is_at_its_start() -> None:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}
    made = {"model": model, "normalizer": {"type": "Replace", "pattern": {"Regex": "^"}, "content": "ab"}}
    wanted = tokenizers.Tokenizer.from_str(json.dumps(made)).encode("ba")
    found = fastbpe.load(json.dumps(made).encode()).encode_with_offsets("ba")
    assert found == (wanted.ids, wanted.offsets) == ([0, 1, 1, 0], [(0, 0), (0, 0), (0, 1), (1, 2)])


def test_charsmap_that_is_not_ascii_raises_format_error() -> None:
    file = {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
    text = json.dumps({**file, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "é"}})
    with pytest.raises(fastbpe.FormatError, match="<bytes>: precompiled_charsmap is not base64"):
        fastbpe.load(text.encode())

"""BPE that fastbpe's core does not run, in fastbpe.tokenizers by itself, beside tokenizers."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

from fastbpe.tokenizers import own
from fastbpe.tokenizers.own.plain_engine import PlainEngine
from helpers.sampling import SEED, rounds
from helpers.tokenizer_json import normalized_tokens, random_text
from helpers.tokenizers_calls import TEMPLATE, compare_calls
from helpers.tokenizers_twins import OwnTwins

LETTERS = ["a", "b", "c", "é", "漢", " ", "▁", "1", ".", "𝄞", "Ġ"]
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
NORMALIZERS: list[Any] = [
    None,
    None,
    {"type": "NFD"},
    {"type": "NFKC"},
    {**BERT, "lowercase": True},
    {**BERT, "lowercase": False},
    {"type": "ByteLevel"},
    {"type": "Nmt"},
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    {"type": "Replace", "pattern": {"Regex": "a|1+"}, "content": "bb"},
]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
SPLIT = {"type": "Split", "pattern": {"Regex": r"\s+|a"}, "behavior": "Isolated", "invert": False}


def random_step(rng: random.Random) -> dict[str, Any]:
    behavior = rng.choice(["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
    scheme = rng.choice(["always", "first", "never"])
    return rng.choice(  # type: ignore[no-any-return]
        [
            {"type": "Whitespace"},
            {"type": "WhitespaceSplit"},
            {"type": "BertPreTokenizer"},
            {"type": "Punctuation", "behavior": behavior},
            {"type": "Digits", "individual_digits": rng.random() < 0.5},
            {"type": "CharDelimiterSplit", "delimiter": rng.choice(" a")},
            {"type": "UnicodeScripts"},
            {"type": "FixedLength", "length": rng.randint(1, 4)},
            {**SPLIT, "behavior": behavior, "invert": rng.random() < 0.3},
            {**BYTE_LEVEL, "add_prefix_space": rng.random() < 0.5, "use_regex": rng.random() < 0.5},
            {
                "type": "Metaspace",
                "replacement": rng.choice("▁_"),
                "prepend_scheme": scheme,
                "split": rng.random() < 0.7,
            },
        ]
    )


def random_model(rng: random.Random) -> dict[str, Any]:
    prefix, suffix = rng.choice([None, None, "", "#", "##"]), rng.choice([None, None, "", "</w>"])
    spelled = [
        f"{before}{letter}{behind}"
        for letter in LETTERS
        for before in ("", prefix or "")
        for behind in ("", suffix or "")
    ]
    known = rng.sample(spelled, rng.randint(len(spelled) // 2, len(spelled)))
    vocab = {token: i for i, token in enumerate(dict.fromkeys(["<unk>", *known]))}
    if rng.random() < 0.5:
        text = "é漢𝄞a" if rng.random() < 0.7 else "é"
        for byte in f"{text}{prefix or ''}{suffix or ''}".encode():
            vocab.setdefault(f"<0x{byte:02X}>", len(vocab))
    merges = []
    for _ in range(rng.randint(0, 15)):
        left, right = rng.choices([*vocab], k=2)
        if prefix and not right.startswith(prefix):
            continue
        made = left + right[len(prefix or "") :]
        if [left, right] not in merges:
            merges.append([left, right])
            vocab.setdefault(made, len(vocab))
    return {
        "type": "BPE",
        "dropout": rng.choice([None, None, 0.0]),
        "unk_token": rng.choice(["<unk>", "<unk>", None, "a"]) if "a" in vocab else "<unk>",
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": rng.random() < 0.5,
        "byte_fallback": rng.random() < 0.5,
        "ignore_merges": rng.random() < 0.3,
        "vocab": vocab,
        "merges": merges,
    }


def random_file(rng: random.Random) -> dict[str, Any]:
    """Return a random tokenizer.json whose added tokens stay different and not empty when normalized."""
    while True:
        model = random_model(rng)
        added, following = [], len(model["vocab"])
        for content in rng.sample(["<s>", "ab", "é", "a", "<x>", "c 1"], rng.choice([0, 0, 1, 3])):
            flags = {
                key: rng.random() < 0.3 for key in ("special", "normalized", "lstrip", "rstrip", "single_word")
            }
            added.append({"id": model["vocab"].get(content, following), "content": content, **flags})
            following += content not in model["vocab"]
        steps = [random_step(rng) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
        chosen = rng.choice(NORMALIZERS)
        if chosen is not None and rng.random() < 0.3:
            chosen = {"type": "Sequence", "normalizers": [chosen, {"type": "NFC"}]}
        made = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": sorted(added, key=lambda token: token["id"]),
            "normalizer": chosen,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps} if steps[1:] else (steps or [None])[0],
            "post_processor": TEMPLATE if rng.random() < 0.3 else None,
            "decoder": rng.choice([None, {"type": "BPEDecoder", "suffix": "</w>"}, {"type": "Fuse"}]),
            "model": model,
        }
        contents = normalized_tokens(made)
        if "" not in contents and len({*contents}) == len(contents):
            return made


def text_of(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return random_text(rng)
    return "".join(rng.choices([*LETTERS, "<s>", "x", "\n", "ab", "A"], k=rng.randint(0, 9)))


@pytest.mark.parametrize("seed", rounds(40, 6000))
def test_random_tokenizers_encode_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} plain {seed}")
    made = random_file(rng)
    twins = OwnTwins.of(json.dumps(made))
    twins.check(lambda t: [t.to_str(), repr(t)])
    compare_calls(twins, rng, text_of, 8)
    for _ in range(10):
        ids, skips = rng.choices(range(len(made["model"]["vocab"]) + 4), k=rng.randint(0, 6)), rng.random() < 0.5
        twins.check(lambda t, i=ids, s=skips: t.decode(i, s), ids)


@pytest.mark.parametrize("seed", rounds(20, 3000))
def test_models_tokenize_pieces_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} pieces {seed}")
    twins = OwnTwins.of(json.dumps({**random_file(rng), "model": random_model(rng), "added_tokens": []}))
    for text in [text_of(rng) for _ in range(15)]:
        twins.check(lambda t, s=text: [token.as_tuple() for token in t.model.tokenize(s)], text)
    for tokenizer in (twins.ours, twins.theirs):
        tokenizer.model.ignore_merges = not tokenizer.model.ignore_merges
    for bad in ("ab", "", 5, None, "\ud800"):
        twins.check(lambda t, s=bad: [token.as_tuple() for token in t.model.tokenize(s)], bad)


def test_long_pieces_and_many_pieces_are_encoded_like_the_original() -> None:
    rng = random.Random(f"{SEED} plain long")
    vocab = {
        token: i for i, token in enumerate(["<unk>", "a", "b", "ab", "ba", "abab", "abba", "b</w>", "ab</w>"])
    }
    merges = [["a", "b"], ["b", "a"], ["ab", "ab"], ["ab", "ba"], ["a", "b</w>"]]
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<unk>", "end_of_word_suffix": "</w>"}
    made = {**random_file(rng), "model": model, "added_tokens": [], "normalizer": None, "post_processor": None}
    for pre_tokenizer in (None, {"type": "WhitespaceSplit"}):
        twins = OwnTwins.of(json.dumps({**made, "pre_tokenizer": pre_tokenizer}))
        for n in (3000, 20_000):
            text = "".join(rng.choices("aabbb ", k=n))
            twins.check(lambda t, s=text: [t.encode(s).ids, t.encode(s).offsets])
        assert isinstance(twins.ours._ready().native, PlainEngine)


def test_an_unknown_token_that_is_none_is_an_error_where_a_text_needs_it() -> None:
    for unknown in ("none", None):
        twins = OwnTwins.of(json.dumps({**random_file(random.Random(1)), "added_tokens": [], "normalizer": None}))
        for tokenizer in (twins.ours, twins.theirs):
            tokenizer.post_processor = None
            tokenizer.model.unk_token = unknown
        twins.check(lambda t: t.encode("ü"))
        twins.check(lambda t: t.encode_batch(["", "a", "ü"]))


def test_token_with_the_id_of_an_added_token_keeps_its_name() -> None:
    def run(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.BPE({"a": 0, "b": 1}, [], unk_token="a"))
        tokenizer.pre_tokenizer = module.pre_tokenizers.WhitespaceSplit()
        tokenizer.add_tokens(["<s>"])
        tokenizer.train_from_iterator(["ab ab"], module.trainers.BpeTrainer(show_progress=False, vocab_size=3))
        return tokenizer.encode("ab <s>").tokens, tokenizer.token_to_id("ab"), tokenizer.token_to_id("<s>")

    assert run(own) == run(stock) == (["ab", "<s>"], 2, 2)


def test_dropout_says_what_to_install() -> None:
    tokenizer = own.Tokenizer(own.models.BPE({"a": 0}, [], unk_token="a", dropout=0.5))
    with pytest.raises(ImportError, match=r"dropout.*pip install 'tokenizers"):
        tokenizer.encode("a")
    with pytest.raises(ImportError, match=r"dropout.*pip install 'tokenizers"):
        tokenizer.model.tokenize("a")

"""tokenizer.json files: published ones, ones made of published vocabularies, and random ones."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import fastbpe
from fastbpe.normalization.huggingface import make_change
from fastbpe.patterns import PATTERNS
from helpers.shared_data import LLAMA3, QWEN2, data_file
from reference import STAND_IN_ORDER

PUBLISHED = ("falcon", "phi2", "whisper_large_v3")
MADE = ("gpt2", "llama3", "qwen2", "deepseek_v3")
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
METASPACE = "\u2581"  # stands for a space in files of the Llama kind
GPT2 = {**BYTE_LEVEL, "use_regex": True}

TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 1}}],
    "pair": [
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "a", "type_id": 2}},
        {"Sequence": {"id": "B", "type_id": 1}},
        {"SpecialToken": {"id": "b", "type_id": 1}},
    ],
    "special_tokens": {
        "a": {"id": "a", "ids": [64], "tokens": ["a"]},
        "b": {"id": "b", "ids": [65, 66], "tokens": ["b", "c"]},
    },
}


def stand_ins() -> list[str]:
    """The character that stands for each byte in GPT-2's files."""
    shown = [""] * 256
    n_others = 0
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD):
            shown[byte] = chr(byte)
        else:
            shown[byte] = chr(0x100 + n_others)
            n_others += 1
    return shown


SHOWN = stand_ins()
assert sorted(range(256), key=SHOWN.__getitem__) == list(STAND_IN_ORDER)


def show(token: bytes) -> str:
    return "".join(SHOWN[byte] for byte in token)


def added(token_id: int, content: str, **flags: bool) -> dict[str, Any]:
    """An entry of added_tokens."""
    off = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": token_id, "content": content, **off, **flags}


def split(pattern: str, **more: Any) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False, **more}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [*steps]}


def document(
    vocab: dict[str, int],
    merges: Sequence[object],
    *,
    pre_tokenizer: dict[str, Any] | None = None,
    model: dict[str, Any] | None = None,
    **parts: Any,
) -> dict[str, Any]:
    """A whole file."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": GPT2 if pre_tokenizer is None else pre_tokenizer,
        "post_processor": None,
        "decoder": {**GPT2, "add_prefix_space": True},
        **parts,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": [*merges],
            **(model or {}),
        },
    }


def dumped(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def small(added_tokens: Sequence[dict[str, Any]] = (), **parts: Any) -> dict[str, Any]:
    """The bytes, and some tokens of letters; the next free id is 262."""
    vocab = {shown: byte for byte, shown in enumerate(SHOWN)}
    merges = ["a b", "ab c", "Ġ a", "b c", "Ġa b", "1 2"]
    vocab |= {merge.replace(" ", ""): 256 + i for i, merge in enumerate(merges)}
    return document(vocab, merges, added_tokens=[*added_tokens], **parts)


@lru_cache
def file_of(name: str) -> bytes:
    """The tokenizer.json of a published vocabulary: as it is, or made as its publisher does."""
    if name in PUBLISHED:
        return data_file("vocab", f"{name}_tokenizer.json").read_bytes()
    if name == "gpt2":
        vocab = json.loads(data_file("vocab", "gpt2_encoder.json").read_bytes())
        merges = _merge_lines("gpt2_vocab.bpe")
        return dumped(document(vocab, merges, added_tokens=[added(50256, "<|endoftext|>", special=True)]))
    if name == "qwen2":
        vocab = json.loads(data_file("vocab", "qwen2_vocab.json").read_bytes())
        names = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
        return dumped(
            document(
                vocab,
                _merge_lines("qwen2_merges.txt"),
                pre_tokenizer=sequence(split(QWEN2), BYTE_LEVEL),
                normalizer={"type": "NFC"},
                added_tokens=[added(len(vocab) + i, name, special=True) for i, name in enumerate(names)],
            )
        )
    if name == "llama3":
        vocab = _vocab("llama3_tokenizer.model", special={})
        markers = ("<|begin_of_text|>", "<|end_of_text|>")
        return dumped(
            document(
                vocab,
                _recovered(vocab, "llama3"),
                pre_tokenizer=sequence(split(LLAMA3), BYTE_LEVEL),
                model={"ignore_merges": True},
                post_processor=_begin_of_text(),
                added_tokens=[added(len(vocab) + i, name, special=True) for i, name in enumerate(markers)],
            )
        )
    special = {"<｜begin▁of▁sentence｜>": 0, "<｜end▁of▁sentence｜>": 1, "<｜▁pad▁｜>": 2}
    vocab = _vocab("deepseek_v3.tiktoken", special=special)
    steps = [split(pattern) for pattern in PATTERNS["deepseek_v3"] or ()]
    return dumped(
        document(
            vocab,
            _recovered({token: i for token, i in vocab.items() if i > 2}, "deepseek_v3"),
            pre_tokenizer=sequence(*steps, BYTE_LEVEL),
            added_tokens=[
                *(added(i, name, special=True, normalized=True) for name, i in special.items()),
                added(len(vocab), "<think>", normalized=True),
                added(len(vocab) + 1, "<｜User｜>"),
            ],
        )
    )


def _merge_lines(name: str) -> list[str]:
    lines = data_file("vocab", name).read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line and not line.startswith("#version")]


def _vocab(name: str, special: dict[str, int]) -> dict[str, int]:
    vocab = dict(special)
    for line in data_file("vocab", name).read_bytes().splitlines():
        token, rank = line.split()
        if int(rank) not in special.values():
            vocab[show(base64.b64decode(token))] = int(rank)
    return vocab


def _recovered(vocab: dict[str, int], pattern: str) -> list[list[str]]:
    byte_of = {shown: byte for byte, shown in enumerate(SHOWN)}
    ranks = {bytes(byte_of[character] for character in token): rank for token, rank in vocab.items()}
    tokenizer = fastbpe.Tokenizer.from_ranks(ranks, pattern=pattern)
    tokens = tokenizer.vocab
    return [[show(tokens[left]), show(tokens[right])] for left, right in tokenizer.merges]


def _begin_of_text() -> dict[str, Any]:
    name = "<|begin_of_text|>"
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {name: {"id": name, "ids": [128000], "tokens": [name]}},
    }
    return {"type": "Sequence", "processors": [{**BYTE_LEVEL, "use_regex": True}, template]}


# Random ones

_CONTENTS = (
    "ab",
    "abc",
    "b",
    "a b",
    " ",
    "  ",
    "\n",
    "<s>",
    "<s",
    "s>",
    "é",
    "e\u0301",
    "E",
    "À",
    "\u0301",
    "B ",
    "Ġa",
    "12",
)
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
LETTERS = [
    *"abcABC e<s>.1 2  \n\t",
    "é",
    "É",
    "e\u0301",
    "\u0301",
    "\u0316",
    "ﬁ",
    "\u00a0",
    "\u3000",
    "漢",
    "_",
    "²",
    "À",
]


def random_text(rng: random.Random) -> str:
    parts = rng.choices([*LETTERS, *_CONTENTS], k=rng.randint(0, 25))
    return "".join(parts)


def random_document(rng: random.Random) -> dict[str, Any]:
    """A file of `small` with random added tokens, normalizers and pre-tokenizers."""
    contents = rng.sample(_CONTENTS, rng.randint(0, 5))
    byte_level = {**BYTE_LEVEL, "use_regex": rng.random() < 0.5}
    steps = rng.choices(_steps(), k=rng.choice([0, 0, 1, 2]))
    at = rng.randint(0, len(steps))
    byte_level["add_prefix_space"] = at == 0 and rng.random() < 0.4
    steps.insert(at, byte_level)
    made = small(
        normalizer=_random_normalizer(rng),
        pre_tokenizer=sequence(*steps) if len(steps) > 1 or rng.random() < 0.5 else steps[0],
        model={"ignore_merges": rng.random() < 0.3},
    )
    vocab = made["model"]["vocab"]
    next_id = len(vocab)
    for content in contents:
        flags = {key: rng.random() < 0.4 for key in ("special", "normalized", "lstrip", "rstrip", "single_word")}
        if rng.random() < 0.4:
            flags |= {"lstrip": False, "rstrip": False, "single_word": False}
        made["added_tokens"].append(added(vocab.get(content, next_id), content, **flags))
        next_id += content not in vocab
    return made


def normalized_tokens(made: dict[str, Any]) -> list[str]:
    """Normalize the content of the added tokens that are normalized."""
    described = made["normalizer"]
    steps = described.get("normalizers", [described]) if described else []
    change = make_change(steps) or str
    return [change(token["content"]) for token in made["added_tokens"] if token["normalized"]]


def with_post_processor(made: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The file with post-processors; most of them leave white space out of offsets."""

    def flags() -> dict[str, bool]:
        return {"trim_offsets": rng.random() < 0.8, "add_prefix_space": rng.random() < 0.5}

    known = [
        {"type": "ByteLevel", **flags(), "use_regex": True},
        {"type": "RobertaProcessing", "sep": ["b", 1], "cls": ["a", 2], **flags()},
    ]
    some = rng.sample(known, rng.randint(1, 2))
    return {**made, "post_processor": some[0] if len(some) == 1 else {"type": "Sequence", "processors": some}}


def without_some_bytes(made: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The file with a vocabulary in which some bytes are not tokens, and without added tokens."""
    model = made["model"]
    gone = [token for token in model["vocab"] if len(token) == 1 and rng.random() < 0.1]

    def stays(token: str) -> bool:
        return not any(character in token for character in gone)

    kept = {
        "vocab": {token: i for i, token in enumerate(filter(stays, model["vocab"]))},
        "merges": [merge for merge in model["merges"] if stays(merge)],
        "ignore_merges": False,
    }
    return {**made, "added_tokens": [], "model": {**model, **kept}}


def _steps() -> list[dict[str, Any]]:
    return [
        {"type": "Digits", "individual_digits": True},
        {"type": "Punctuation", "behavior": "Contiguous"},
        {"type": "Whitespace"},
        {"type": "WhitespaceSplit"},
        {"type": "CharDelimiterSplit", "delimiter": "b"},
        split(r"\s+", behavior="MergedWithPrevious"),
        split("[ab]+", behavior="Removed", invert=True),
        {**split("", behavior="MergedWithNext"), "pattern": {"String": "a"}},
    ]


def _random_normalizer(rng: random.Random) -> dict[str, Any] | None:
    known: list[dict[str, Any]] = [{"type": rng.choice(_FORMS)}]
    known += [
        {"type": "Lowercase"},
        {"type": "StripAccents"},
        {"type": "Strip", "strip_left": rng.random() < 0.5, "strip_right": rng.random() < 0.5},
        {"type": "Prepend", "prepend": rng.choice(["a", " ", "\u0301"])},
        {
            "type": "Replace",
            "pattern": {"String": rng.choice([" ", "ab", "e"])},
            "content": rng.choice(["", "b", " a"]),
        },
        {"type": "Replace", "pattern": {"Regex": r"\s+|b$"}, "content": " "},
    ]
    kind = rng.random()
    if kind < 0.3:
        return None
    if kind < 0.6:
        return known[0]
    return {"type": "Sequence", "normalizers": rng.sample(known, rng.randint(0, 3))}


def llama_document(vocab: dict[str, int], merges: list[str]) -> dict[str, Any]:
    """A tokenizer.json of the Llama kind, whose first token is `<unk>`."""
    escape = {"type": "Replace", "pattern": {"String": " "}, "content": METASPACE}
    unescape = {"type": "Replace", "pattern": {"String": METASPACE}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    return document(
        vocab,
        merges,
        added_tokens=[added(0, "<unk>", special=True)],
        normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": METASPACE}, escape]},
        decoder={"type": "Sequence", "decoders": [unescape, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]},
        model={"unk_token": "<unk>", "fuse_unk": True},
    ) | {"pre_tokenizer": None}

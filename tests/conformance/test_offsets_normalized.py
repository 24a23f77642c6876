"""Offsets of tokenizers that normalize texts, drop bytes, or trim, against tokenizers.

FASTBPE_FULL=1 takes more random files and texts, and all characters.
"""

from __future__ import annotations

import json
import random
import unicodedata
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, normalizers, pre_tokenizers

import fastbpe
from fastbpe import Tokenizer
from fastbpe.formats.byte_level import text_of
from fastbpe.normalization.huggingface import FORMS, make_change
from helpers.sampling import FULL, SEED, code_points, n_rounds
from helpers.tokenizer_json import (
    BYTE_LEVEL,
    dumped,
    normalized_tokens,
    random_document,
    random_text,
    small,
    with_post_processor,
    without_some_bytes,
)

PROBES = [
    "A, naïve [MASK] AllenNLP",
    "T\x10his \x10\t \n \n    \x10",
    "La Société\u202f……………….dont",
    " e\u0323\u0301 ﬁ ﷺ İ\u1100\u1161\u11a8각 ",
    "\u0301ab  ab",
    "  ",
    "",
]


def made(code_tokenizer: Tokenizer, *, normalizer: object, add_prefix_space: bool) -> tokenizers.Tokenizer:
    peer = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            {text_of(token): i for i, token in enumerate(code_tokenizer.vocab[:990])},
            [tuple(text_of(code_tokenizer.vocab[i]) for i in pair) for pair in code_tokenizer.merges[: 990 - 256]],
        )
    )
    if normalizer is not None:
        peer.normalizer = normalizer
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    peer.add_special_tokens(["<|endoftext|>"])
    peer.add_tokens([AddedToken("NEW", normalized=False), AddedToken("STRIP", lstrip=True, rstrip=True)])
    return peer


@pytest.mark.parametrize("pattern", ["xy", tokenizers.Regex("xy"), tokenizers.Regex("x|y"), "x"])
def test_text_replaced_by_itself_has_the_offset_of_its_last_character(pattern: Any) -> None:
    peer = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "x": 2, "y": 3}, []))
    peer.normalizer = normalizers.Replace(pattern, pattern if pattern == "x" else "xy")
    found = peer.encode("axyxb")
    assert fastbpe.load(peer.to_str().encode()).encode_with_offsets("axyxb") == (found.ids, found.offsets)


@pytest.mark.parametrize("normalizer", [None, normalizers.NFC()])
@pytest.mark.parametrize("add_prefix_space", [False, True])
def test_offsets_of_unchanged_texts_equal_tokenizers(
    code_tokenizer: Tokenizer, normalizer: object, add_prefix_space: bool
) -> None:
    peer = made(code_tokenizer, normalizer=normalizer, add_prefix_space=add_prefix_space)
    tokenizer = fastbpe.load(peer.to_str().encode())
    for text in (
        "abc def",
        " abc",
        "def naïve(self): ⭢ 👍",
        "aNEWb STRIP c",
        "x<|endoftext|> y",
        "",
        "NEW",
        "\n\n  a",
    ):
        theirs = peer.encode(text)
        ids, places = tokenizer.encode_with_offsets(text, allowed_special="all")
        assert ids == tokenizer.encode(text, allowed_special="all") == theirs.ids
        assert places == theirs.offsets, text
        assert tokenizer.count(tokenizer.truncate(text, 3)) <= 3
        assert tokenizer.count(tokenizer.truncate(text, 3, side="left")) <= 3
        assert "".join(tokenizer.chunk(text, 5)) == text


def test_offsets_of_normalized_texts_equal_tokenizers(code_tokenizer: Tokenizer) -> None:
    peer = made(code_tokenizer, normalizer=normalizers.NFC(), add_prefix_space=False)
    tokenizer = fastbpe.load(peer.to_str().encode())
    text = "cafe\u0301 au lait, " * 40
    theirs = peer.encode(text)
    assert tokenizer.encode_with_offsets(text) == (theirs.ids, theirs.offsets)
    assert tokenizer.encode_with_offsets(text.encode()) == (theirs.ids, theirs.offsets)
    for n in (0, 5, 50, 500, 5000):
        for side in ("right", "left"):
            part = tokenizer.truncate(text, n, side=side)
            assert tokenizer.count(part) <= n
            assert part == text if tokenizer.count(text) <= n else tokenizer.count(part) >= n - 3
        assert tokenizer.fits(text, n) is (tokenizer.count(text) <= n)
    parts = list(tokenizer.chunk(text, 20, overlap=4))
    assert max(map(tokenizer.count, parts)) <= 20


def theirs_of(peer: tokenizers.Tokenizer, text: str) -> tuple[list[int], list[tuple[int, int]]] | None:
    """Return tokenizers' ids and offsets, or None: it panics if an empty match inserts text at the very
    beginning."""
    try:
        encoding = peer.encode(text, add_special_tokens=False)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None
    return encoding.ids, encoding.offsets


def assert_same(file: dict[str, Any], texts: list[str], context: str) -> None:
    data = dumped(file)
    peer, tokenizer = tokenizers.Tokenizer.from_str(data.decode()), fastbpe.load(data)
    for text in texts:
        theirs = theirs_of(peer, text)
        if theirs is not None:
            found = tokenizer.encode_with_offsets(text, allowed_special="all")
            assert found == theirs, f"{context}: {text!a} by {json.dumps({**file, 'model': 0})}"


BERT: dict[str, Any] = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
NORMALIZERS: list[dict[str, Any]] = [
    *({"type": name} for name in (*FORMS, "Lowercase", "StripAccents", "Nmt", "ByteLevel")),
    BERT,
    {**BERT, "strip_accents": True, "lowercase": False},
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Strip", "strip_left": False, "strip_right": True},
    {"type": "Prepend", "prepend": "éb"},
    {"type": "Prepend", "prepend": " "},
    {"type": "Replace", "pattern": {"String": "ab"}, "content": "漢"},
    {"type": "Replace", "pattern": {"String": " "}, "content": ""},
    {"type": "Replace", "pattern": {"Regex": r"\s+|e"}, "content": "b a"},
]


@pytest.mark.parametrize("first", range(len(NORMALIZERS)))
def test_offsets_of_one_and_two_normalizers_equal_tokenizers(first: int) -> None:
    rng = random.Random(f"{SEED}-{first}")
    for second in [None, *NORMALIZERS]:
        steps = [step for step in (NORMALIZERS[first], second) if step]
        prefixed = {**BYTE_LEVEL, "add_prefix_space": rng.random() < 0.5}
        file = small(normalizer={"type": "Sequence", "normalizers": steps}, pre_tokenizer=prefixed)
        texts = [random_text(rng) for _ in range(n_rounds(15, 400))]
        assert_same(file, [*PROBES, *texts], f"seed {SEED}")


#: Normalizers that map stretches of ASCII by one table, and others that must not.
CHAINS = [
    [BERT],
    [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}],
    [{"type": "Lowercase"}, {"type": "NFKD"}, {"type": "Nmt"}],
    [{"type": "Lowercase"}, {"type": "NFC"}],
    [{"type": "Nmt"}, {"type": "Lowercase"}],
]
ASCII_PARTS = ["Hello, World! ", "a" * 15, "B" * 16, "x\x00y\x7f \t", "E", " THE quick 123\r\n", "."]
OTHER_PARTS = [
    "\u0301",
    "\u0323\u0301",
    "é",
    "E\u0301",
    "ÀÉ",
    "漢字",
    "İ",
    "ﬁ",
    "\u00ad",
    "\u1100\u1161",
    "’",
    "ВЫШЕ ЭТО",
    "😀",
]


@pytest.mark.parametrize("steps", CHAINS)
def test_offsets_of_ascii_beside_other_characters_equal_tokenizers(steps: list[dict[str, Any]]) -> None:
    rng = random.Random(f"{SEED}-{steps}")
    file = small(normalizer={"type": "Sequence", "normalizers": steps}, pre_tokenizer=BYTE_LEVEL)
    texts = [
        "".join(rng.choice(ASCII_PARTS if rng.random() < 0.6 else OTHER_PARTS) for _ in range(rng.randrange(30)))
        for _ in range(n_rounds(300, 10_000))
    ]
    assert_same(file, texts, f"seed {SEED}")


@pytest.mark.parametrize("part", range(4))
def test_offsets_of_random_files_equal_tokenizers(part: int, capfd: pytest.CaptureFixture[str]) -> None:
    for number in range(n_rounds(40, 4_000)):
        seed = f"{SEED}-{part}-{number}"
        rng = random.Random(seed)
        file = random_document(rng)
        if rng.random() < 0.5:
            file = with_post_processor(file, rng)
        if rng.random() < 0.3:
            file = without_some_bytes(file, rng)
        contents = normalized_tokens(file)
        if "" not in contents and len({*contents}) == len(contents):  # other cases: see test_huggingface
            assert_same(file, [random_text(rng) for _ in range(25)], f"seed {seed!r}")


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [*FORMS, "Lowercase", "StripAccents", "Nmt", "BertNormalizer"])
def test_offsets_of_every_changed_character_equal_tokenizers(name: str) -> None:
    described = BERT if name == "BertNormalizer" else {"type": name}
    change = make_change([described])
    assert change is not None
    some = code_points() if FULL else [c for c in code_points() if change(c) != c or unicodedata.combining(c)]
    rng = random.Random(SEED)
    for context in ("{}", "e{}", "{}\u0301", "\u1100{}\u11a8", "e\u0323{}"):
        shown = some if FULL else rng.sample(some, min(len(some), 700))
        assert_same(small(normalizer=described), ["\n".join(map(context.format, shown))], context)

"""align() gives the shortest parts that two tokenizers have in common."""

from __future__ import annotations

import json
import random

import pytest

import fastbpe
from fastbpe import Tokenizer, align, train

WORDS = ["low", "lower", "newest", " wide", "  ", "\n", "é", "👍", "日本", "12", "'s", "<x>", "\u0301"]


def tokenizers() -> list[Tokenizer]:
    text = "low lower newest widest 日本語 12 é " * 4
    return [
        Tokenizer.from_merges([], pattern=None, special_tokens={"<x>": 256}),
        train([text], vocab_size=275, pattern="gpt2", progress=False),
        train([text[::-1]], vocab_size=270, pattern="o200k", progress=False),
        train([text], mode="codepoint", vocab_size=310, byte_fallback=True, progress=False),
        train([text], mode="codepoint", vocab_size=40, hard_vocab_limit=False, progress=False),
    ]


MADE = tokenizers()


@pytest.mark.parametrize("seed", range(20))
def test_parts_cover_the_text_and_join_to_the_ids(seed: int) -> None:
    rng = random.Random(seed)
    text = "".join(rng.choices(WORDS, k=rng.randrange(12)))
    for a in MADE:
        for b in MADE:
            parts = align(text, a, b)
            assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
            assert "".join(text[part.start : part.end] for part in parts) == text
            assert [i for part in parts for i in part.first] == a.encode_ordinary(text)
            assert [i for part in parts for i in part.second] == b.encode_ordinary(text)


@pytest.mark.parametrize("seed", range(20))
def test_no_part_can_be_cut_again(seed: int) -> None:
    rng = random.Random(seed)
    text = "".join(rng.choices(WORDS, k=8))
    for a in MADE:
        for b in MADE:
            spans = [span for t in (a, b) for span in t.encode_with_offsets(text, disallowed_special=())[1]]
            expected = {0, len(text)}
            for at in {edge for span in spans for edge in span}:
                if not any(start < at < end for start, end in spans):
                    expected.add(at)
            parts = align(text, a, b)
            assert {part.start for part in parts} | {len(text)} == expected


def test_equal_tokenizers_align_token_by_token() -> None:
    one = Tokenizer.from_merges([(97, 98)], pattern=None)
    assert align("abab c", one, one) == [
        ([256], [256], 0, 2),
        ([256], [256], 2, 4),
        ([32], [32], 4, 5),
        ([99], [99], 5, 6),
    ]


def test_ids_stay_in_order_although_spans_go_back_and_lie_beyond_the_text() -> None:
    vocab = {"a": 0, **{f"<0x{byte:02X}>": 1 + byte for byte in range(256)}}
    model = {"type": "BPE", "continuing_subword_prefix": "##", "byte_fallback": True, "vocab": vocab, "merges": []}
    step = {"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated", "invert": False}
    tokenizer = fastbpe.load(json.dumps({"model": model, "pre_tokenizer": step}).encode())
    for text in ("a.", "..a", "..a..a"):
        parts = align(text, tokenizer, tokenizer)
        assert [token_id for part in parts for token_id in part.first] == tokenizer.encode(text)
        assert "".join(text[part.start : part.end] for part in parts) == text


def test_bytes_are_refused_with_the_way_out() -> None:
    with pytest.raises(TypeError, match="decode bytes first"):
        fastbpe.align(b"ab", MADE[0], MADE[1])  # type: ignore[arg-type]


def test_argument_that_is_no_tokenizer_is_named() -> None:
    with pytest.raises(TypeError, match=r"b must be a Tokenizer, not int; use fastbpe\.load"):
        fastbpe.align("ab", MADE[0], 5)  # type: ignore[arg-type]

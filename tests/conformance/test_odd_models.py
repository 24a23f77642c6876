"""Models of sentencepiece with odd pieces: fastbpe loads those that sentencepiece loads, with the same ids."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError
from fastbpe.formats.sentencepiece import model_file
from fastbpe.sentencepiece import SentencePieceProcessor
from helpers.sampling import rounds
from helpers.segmented_models import unigram_model

spm = pytest.importorskip("sentencepiece")
spm.set_min_log_level(5)

SEEDS = rounds(150, 3000)
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
PIECES = (
    *(text.encode() for text in ("a", "b", "ab", "<s>", "</s>", "<unk>", "<0x41>", "A", "<", " ", "a b")),
    *(text.encode() for text in ("▁", "▁a", "▁ab", "a▁", "é", "👍")),
    *(b"\xc3", b"\xff", b"a\0", b""),
)
KINDS = (
    [NORMAL],
    [NORMAL] * 4 + [UNKNOWN, CONTROL, USER, UNUSED],
    [NORMAL] * 8 + [UNKNOWN, CONTROL, USER, UNUSED, BYTE],
    [NORMAL] * 6 + [USER, UNUSED],
)
SCORES = (-1.0, -2.5, 0.0, 3.0, -1e5, -1e38, 1e30)
TEXTS = ("a", "ab", "<s>", "a<s>b", "<unk>", "</s>ab", "aab ab", "", "<0x41>", "Xa", "a b")
ALL_BYTES = [(b"<0x%02X>" % byte, 0.0, BYTE) for byte in range(256)]


def random_model(rng: random.Random, model_type: str) -> bytes:
    """Make a file, also of pieces that sentencepiece refuses."""
    kinds, odd = rng.choice(KINDS), rng.random() < 0.3
    pieces = [(b"<unk>", 0.0, UNKNOWN)] if rng.random() < 0.9 else []
    for _ in range(rng.randint(1, rng.choice([3, 6, 12]))):
        score = rng.choice([math.nan, math.inf]) if odd and rng.random() < 0.1 else rng.choice(SCORES)
        pieces.append((rng.choice(PIECES), score, rng.choice(kinds)))
    if not odd:
        text = (NORMAL, USER, UNUSED)
        unequal = {(piece, kind in text): (piece, score, kind) for piece, score, kind in pieces}
        pieces = [one for (piece, _), one in unequal.items() if piece and b"\0" not in piece]
    trainer: dict[str, Any] = {"model_type": model_type}
    if rng.random() < 0.3:
        pieces += ALL_BYTES
        trainer["byte_fallback"] = True
    rng.shuffle(pieces)
    names = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    model = unigram_model(pieces, trainer, {name: rng.random() < 0.6 for name in names})
    return model_file.dump(model)


def original_of(data: bytes) -> Any:
    try:
        return spm.SentencePieceProcessor(model_proto=data)
    except (RuntimeError, UnicodeDecodeError):  # its message may quote a piece that is not UTF-8
        return None


def ours_of(data: bytes, model_type: str) -> Any:
    """Load a model with fastbpe: natively, or a model of words with the face, because only the face runs it."""
    try:
        return SentencePieceProcessor(model_proto=data) if model_type == "word" else fastbpe.load(data)
    except (FormatError, RuntimeError):
        return None


@pytest.mark.parametrize("model_type", ["unigram", "bpe", "char", "word"])
def test_odd_models_are_taken_or_refused_as_by_sentencepiece(model_type: str) -> None:
    n_loaded = 0
    for seed in SEEDS:
        rng = random.Random(seed)
        data = random_model(rng, model_type)
        original, ours = original_of(data), ours_of(data, model_type)
        assert (original is None) == (ours is None), seed
        if original is None:
            continue
        n_loaded += 1
        encode = ours.encode if model_type == "word" else ours.encode_ordinary
        for text in (*TEXTS, *("".join(rng.choices("ab<s>unkAé👍 ▁", k=rng.randint(1, 12))) for _ in range(20))):
            assert encode(text) == original.encode(text), (seed, text)
    assert n_loaded > len(SEEDS) / 4

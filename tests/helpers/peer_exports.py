"""Exports of every named pattern, and texts for comparing them. For tests with peers."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import fastbpe
from fastbpe import PATTERNS, Tokenizer
from fastbpe.errors import TrainingWarning

NAMES = [name for name in PATTERNS if name != "none"]
TEXTS = [
    "I'LL say it's 1234 — naïveXMLParser...\n\n\tdone//\n  x",
    "",
    " ",
    "漢字と仮名、한국어。１２３ １，０００\r\n",
    "def f(x):\n    return x + 12345.678  # ok\n\n\n",
    "don't DON'T ſ's K\u212a ǅ ʰ ½ ² Ⅷ ٣٤٥ a\u0301b \u200d\ufe0f 😀👍🏽",
    "IMGIMGABZ <sentinel:12> |x| a_b __init__ ~`^ $5 +1",
]
_PARTS = [
    "a", "B", "xyz", "'s", "'LL", "1", "23", " ", "  ", "\n", "\r\n", "\t", "漢", "か", "é", "!", "/", "—",
    "\u0301", "ǅ", "한", "．", "。", "_", "½", "²", "\u200d", "\u3000", "😀", "(", "'", "ſ", "\x01",
]  # fmt: skip


def some_texts(name: str, n: int) -> list[str]:
    """Return random texts, the same for each name."""
    rng = random.Random(name)
    return ["".join(rng.choices(_PARTS, k=rng.randint(1, 14))) for _ in range(n)]


def exported(name: str, path: Path) -> Tokenizer:
    """Train a small tokenizer with a named pattern, and export it as a tokenizer.json.

    The random texts have no runs of white space. With cl100k, a token like "\\n " would keep the published regex
    out of the file: see `published_spelling`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        tokenizer = fastbpe.train(
            [*TEXTS, *(" ".join(text.split()) for text in some_texts(name, 50))] * 3,
            vocab_size=400,
            pattern=name,
            progress=False,
        )
    tokenizer.export(path, format="huggingface")
    return tokenizer

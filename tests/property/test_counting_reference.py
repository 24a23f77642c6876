"""Counting and training with threads, spilling and shards, against the slow twin, on many small corpora."""

from __future__ import annotations

import random
import warnings
from collections import Counter

import pytest

import fastbpe
from fastbpe import PieceCounts, TrainingWarning, count_pieces
from fastbpe.patterns import PATTERNS
from fastbpe.splitting.charset import CharSet
from fastbpe.splitting.syntax import parse
from fastbpe.training import counting_threads
from helpers import split_oracles
from helpers.sampling import SEED, n_rounds
from helpers.shared_data import random_texts
from reference import split
from reference import train as reference_train

N_CORPORA = n_rounds(240, 5000)
PARTS = 4


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make batches a few characters long, so that every thread gets some, and spill tables whenever possible."""
    monkeypatch.setattr(counting_threads, "BATCH_UNITS", 20)
    monkeypatch.setattr(counting_threads, "LONG_TEXT_UNITS", 40)
    monkeypatch.setattr(counting_threads, "MIN_TABLE_BYTES", 1)


def counted_in_every_way(texts: list[str], pattern: str | None, rng: random.Random) -> list[PieceCounts]:
    """Count with 1 and 2 threads, with and without spilling, and in shards, one of them through a dict."""
    found = [
        count_pieces(iter(texts), pattern=pattern, num_threads=num_threads, max_memory_bytes=max_memory_bytes)
        for num_threads in (1, 2)
        for max_memory_bytes in (None, 1)
    ]
    cut = rng.randint(0, len(texts))
    shards = [count_pieces(iter(part), pattern=pattern, num_threads=2) for part in (texts[:cut], texts[cut:])]
    found.append(shards[0] + shards[1])
    found.append(sum([PieceCounts(dict(shard), pattern=pattern) for shard in shards]))
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", range(PARTS))
def test_merges_of_small_corpora_equal_the_slow_twin(part: int) -> None:
    for number in range(part, N_CORPORA, PARTS):
        rng = random.Random(f"{SEED} counting {number}")
        texts = [text for _ in range(rng.choice([1, 1, 3])) for text in random_texts(rng)]
        pattern = rng.choice([None, " ?[a-z]+", "[abc]|d+"])
        ties = rng.choice(["pair", "huggingface", "first"])
        case = (SEED, number, pattern, ties, texts)
        pieces = [
            piece for text in texts for piece in (split(text, parse(pattern)) if pattern else [text]) if piece
        ]
        expected = list(Counter(piece.encode() for piece in pieces).items())
        tokens = reference_train(expected, n_merges=12, ties=ties).tokens  # type: ignore[arg-type]
        for counts in counted_in_every_way(texts, pattern, rng):
            assert list(counts.items()) == expected, case
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrainingWarning)
                tokenizer = fastbpe.train(counts, vocab_size=268, ties=ties, progress=False)
            assert tokenizer.vocab == tokens, case


@pytest.mark.daily
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "deepseek_v3"])
def test_pieces_of_hard_texts_equal_the_slow_twin(name: str) -> None:
    texts = [text[-150:] for text, _ in zip(split_oracles.random_texts(SEED + 7), range(60), strict=False)]
    text = PATTERNS[name]
    patterns = [parse(part) for part in ((text,) if isinstance(text, str) else text or ())]
    expected = [piece.encode() for text in texts for piece in split(text, *patterns, word=CharSet.word())]
    for counts in counted_in_every_way(texts, name, random.Random(SEED)):
        assert list(counts.items()) == list(Counter(expected).items()), (SEED, name)

"""The statistics of dropout equal the statistics of tokenizers (bytes) and of sentencepiece (code points).

A text is encoded n times by both sides. Each way to cut it has some frequency on either side; the difference of
two frequencies of the same probability p has the standard deviation sqrt(2 p (1 - p) / n). Six of them are
allowed: with a few thousand comparisons a run, chance exceeds that once in a hundred thousand runs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from math import sqrt
from pathlib import Path

import pytest

import fastbpe
from helpers.sampling import n_rounds

TEXT = "the quick brown fox jumps over the lazy dog; banana bandana, the cat sat on that mat there "
WORDS = ["there", "banana", "that the", "bandana the cat"]
RATES = [0.1, 0.5, 0.9]
N = n_rounds(20_000, 400_000)


def assert_same_frequencies(ours: Iterable[tuple[int, ...]], theirs: Iterable[tuple[int, ...]]) -> None:
    """Compare how often each list of ids came, and how often each number of ids."""
    for key in (tuple, len):
        one, other = Counter(map(key, ours)), Counter(map(key, theirs))
        n = one.total()
        assert n == other.total()
        for found in one.keys() | other.keys():
            p = (one[found] + other[found]) / (2 * n)
            assert abs(one[found] - other[found]) / n <= 6 * sqrt(2 * p * (1 - p) / n) + 6 / n, (
                found, one[found], other[found], n,
            )  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("pattern", [None, "gpt2"])
@pytest.mark.parametrize("rate", RATES)
def test_dropout_of_bytes_equals_tokenizers(rate: float, pattern: str | None, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    ours = fastbpe.train([TEXT * 3], vocab_size=295, pattern=pattern, progress=False)
    path = tmp_path / "tokenizer.json"
    ours.export(path)
    peer = tokenizers.Tokenizer.from_file(str(path))
    peer.model.dropout = rate
    for word in WORDS:
        assert_same_frequencies(
            [*map(tuple, ours.encode_batch([word] * N, dropout=rate))],
            [tuple(encoding.ids) for encoding in peer.encode_batch([word] * N)],
        )


@pytest.mark.daily
def test_dropout_of_listed_merges_equals_tokenizers(tmp_path: Path) -> None:
    """Give merges in an order that ranks cannot express."""
    tokenizers = pytest.importorskip("tokenizers")
    ours = fastbpe.Tokenizer.from_merges(
        [(104, 101), (116, 104), (116, 256), (97, 110), (259, 97), (258, 114)], pattern=None
    )
    path = tmp_path / "tokenizer.json"
    ours.export(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    data["model"]["dropout"] = 0.4
    peer = tokenizers.Tokenizer.from_str(json.dumps(data))
    for word in WORDS:
        assert_same_frequencies(
            [*map(tuple, ours.encode_batch([word] * N, dropout=0.4, seed=1))],
            [tuple(encoding.ids) for encoding in peer.encode_batch([word] * N)],
        )


@pytest.mark.daily
@pytest.mark.parametrize("rate", RATES)
def test_dropout_of_code_points_equals_sentencepiece(rate: float, tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    path = tmp_path / "model.model"
    ours = fastbpe.train([TEXT * 3], mode="codepoint", vocab_size=80, hard_vocab_limit=False, progress=False)
    ours.export(path)
    peer = sentencepiece.SentencePieceProcessor(model_file=str(path))
    for word in WORDS:
        assert_same_frequencies(
            [*map(tuple, ours.encode_batch([word] * N, dropout=rate))],
            [tuple(peer.encode(word, enable_sampling=True, alpha=rate, nbest_size=-1)) for _ in range(N)],
        )

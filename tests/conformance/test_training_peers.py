"""The fast trainer against rustbpe, bpeasy, tokenizers and minbpe's rule, on real text.

FASTBPE_FULL=1 trains whole corpora, up to 32,000 entries.
"""

import warnings
from collections import Counter

import pytest
import regex

import fastbpe
from fastbpe import TrainingWarning
from helpers.peer_trainers import WORDS, BytePair, bpeasy_merges, huggingface_merges, minbpe_merges, rustbpe_merges
from helpers.sampling import FULL
from helpers.shared_data import corpus, standard_library

N_BYTES, SIZES = (1 << 30, (1000, 8000, 32_000)) if FULL else (1_000_000, (1000, 4000))


def our_merges(texts: list[str], vocab_size: int, ties: str) -> list[BytePair]:
    tokenizer = fastbpe.train(texts, vocab_size=vocab_size, pattern=WORDS, ties=ties, progress=False)
    vocab = tokenizer.vocab
    return [(vocab[left], vocab[right]) for left, right in tokenizer.merges]


def pieces_in_order(text: str) -> Counter[bytes]:
    return Counter(piece.encode() for piece in regex.findall(WORDS, text))


def check_pair_and_huggingface(text: str, vocab_size: int) -> None:
    ours = our_merges([text], vocab_size, "pair")
    assert len(ours) == vocab_size - 256
    assert ours == rustbpe_merges([text], vocab_size, WORDS)
    assert ours == bpeasy_merges([text], vocab_size, WORDS)
    ours = our_merges([text], vocab_size, "huggingface")
    assert ours == huggingface_merges([text], vocab_size, WORDS)


@pytest.mark.daily
def test_standard_library_trains_as_the_peers() -> None:
    check_pair_and_huggingface(standard_library(1_000_000), 1000)


@pytest.mark.daily
def test_standard_library_trains_as_minbpe() -> None:
    text = standard_library(1_000_000)
    assert our_merges([text], 1000, "first") == minbpe_merges(pieces_in_order(text), 744)


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("vocab_size", SIZES)
@pytest.mark.parametrize("name", ["english.txt", "multilingual.txt"])
def test_corpora_train_as_the_peers(name: str, vocab_size: int) -> None:
    check_pair_and_huggingface(corpus(name, N_BYTES), vocab_size)


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["english.txt", "multilingual.txt"])
def test_corpora_train_as_minbpe(name: str) -> None:
    """The rule of minbpe is greedy: a long run begins with the merges of a short run."""
    text = corpus(name, N_BYTES)
    expected = minbpe_merges(pieces_in_order(text), SIZES[-1] - 256)
    for vocab_size in SIZES:
        assert our_merges([text], vocab_size, "first") == expected[: vocab_size - 256]


@pytest.mark.daily
def test_many_documents_train_as_the_peers() -> None:
    texts = standard_library(200_000).splitlines(keepends=True)
    ours = our_merges(texts, 700, "pair")
    assert ours == rustbpe_merges(texts, 700, WORDS) == bpeasy_merges(texts, 700, WORDS)
    assert our_merges(texts, 700, "huggingface") == huggingface_merges(texts, 700, WORDS)


@pytest.mark.daily
def test_limits_stop_training_as_in_the_peers() -> None:
    """The peers' max_token_length=n allows tokens of n - 1 bytes."""
    text = standard_library(200_000)
    options = {"vocab_size": 3000, "pattern": WORDS, "max_token_bytes": 4, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        ours = fastbpe.train([text], **options)
        rare = fastbpe.train([text], ties="huggingface", min_count=20, **options)
    pairs = [(ours.vocab[a], ours.vocab[b]) for a, b in ours.merges]
    assert pairs == bpeasy_merges([text], 3000, WORDS, max_token_length=5)
    pairs = [(rare.vocab[a], rare.vocab[b]) for a, b in rare.merges]
    assert pairs == huggingface_merges([text], 3000, WORDS, min_frequency=20, max_token_length=5)


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "llama3", "qwen2"])
def test_named_patterns_train_as_rustbpe(pattern: str) -> None:
    """rustbpe splits by tiktoken's engine: pieces must agree before merges can."""
    text = standard_library(300_000) + "naïve café 日本語 안녕 Ελλάδα don't DON'T 12345 \u0661\u0662 \t\r\n\n x"
    tokenizer = fastbpe.train([text], vocab_size=900, pattern=pattern, progress=False)
    pairs = [(tokenizer.vocab[a], tokenizer.vocab[b]) for a, b in tokenizer.merges]
    assert tokenizer.pattern is not None
    assert pairs == rustbpe_merges([text], 900, tokenizer.pattern)

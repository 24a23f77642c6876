"""Compares training of superwords, and encoding with them, with the specification, on thousands of small texts."""

import random
import warnings
from collections import Counter
from typing import Any

import pytest

import fastbpe
from fastbpe._core.merge.merge_piece import merge_alone
from fastbpe.splitting import make_splitter
from fastbpe.tokenizer.internals import vocabulary_of
from helpers.sampling import SEED, n_rounds, share_of
from reference import train as reference_train
from reference.measuring import offsets
from reference.superwords import train_superwords

N_TEXTS = n_rounds(480, 2400)
PARTS = 8
WORDS = r" ?[a-z]+|\s+|[^a-z\s]+"
WORDS_TOGETHER = r"[0-9]+"
PATTERNS = ["superbpe_lines", r"[,:.]+", r".+|\n", None]


def random_texts(rng: random.Random) -> list[str]:
    """Return random texts of few words, so that superwords and ties are many."""
    letters = "abc"[: rng.randint(1, 3)]
    words = ["".join(rng.choices(letters, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 6))]
    between = rng.choice(
        [
            [" "],
            [" ", " ", "  "],
            [" ", ", ", ": "],
            [" ", "\u00a0", "\t"],
            [" ", "\n", "\r\n", "."],
            [" é ", " ", "7"],
        ]
    )
    return [
        "".join(rng.choice(words) + rng.choice(between) for _ in range(rng.randint(1, 40)))
        for _ in range(rng.randint(1, 4))
    ]


def pieces(texts: list[str], pattern: str | None, documents: str) -> Counter[bytes]:
    """Count the pieces of texts, or of their lines."""
    splitter = make_splitter(fastbpe.PATTERNS.get(pattern, pattern) if pattern else None)
    found: Counter[bytes] = Counter()
    for text in texts:
        for part in text.splitlines(keepends=True) if documents == "lines" else [text]:
            found.update(part.encode()[start:end] for start, end in splitter.pieces(part))
    return found


def trained(source: Any, **options: Any) -> fastbpe.Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastbpe.TrainingWarning)
        return fastbpe.train(source, **options)


@pytest.mark.sample(6)
@pytest.mark.parametrize("part", range(PARTS))
def test_random_texts_train_and_encode_as_specified(part: int) -> None:
    for number in range(part, N_TEXTS, PARTS):
        rng = random.Random(f"{SEED} {number}")
        texts = random_texts(rng)
        n_words, n_superwords = rng.choice([0, 1, 3, 8]), rng.choice([1, 4, 20])
        pattern, documents = rng.choice(PATTERNS), rng.choice(["lines", "whole"])
        limits: dict[str, Any] = {
            "max_words": rng.choice([None, 1, 2, 4]),
            "forbid": rng.choice([[], [": "], ["b", " a"]]),
        }
        options: dict[str, Any] = {
            "ties": rng.choice(["pair", "huggingface"]),
            "min_count": rng.choice([1, 1, 2, 5]),
            "max_token_bytes": rng.choice([None, None, 4, 9]),
        }
        source: Any = texts
        weights, times = None, [1] * len(texts)
        if rng.random() < 0.3:
            times = [rng.randint(1, 3) for _ in texts]
            source = {str(i): [text] for i, text in enumerate(texts)}
            weights = {str(i): n for i, n in enumerate(times)}
        repeated = [text for text, n in zip(texts, times, strict=True) for _ in range(n)]
        words = reference_train(pieces(repeated, WORDS, documents), n_merges=n_words, **options)
        expected = train_superwords(
            pieces(repeated, pattern, documents),
            words,
            n_tokens=256 + n_words + n_superwords,
            max_words=limits["max_words"],
            forbid=[text.encode() for text in limits["forbid"]],
            **options,
        )
        tokenizer = trained(
            source,
            weights=weights,
            vocab_size=256 + n_words + n_superwords,
            pattern=WORDS,
            superwords=fastbpe.Superwords(256 + n_words, pattern, documents=documents, **limits),
            num_threads=rng.choice([1, 2]),
            max_memory_bytes=rng.choice([None, 1]),
            **options,
        )
        context = (SEED, number, texts, n_words, n_superwords, pattern, documents, limits, options, weights)
        assert tokenizer.vocab == expected.tokens, context
        compare_encoding(tokenizer, [*texts, *random_texts(rng), rng.choice(texts).replace(" ", "  ")], context)


def compare_encoding(tokenizer: fastbpe.Tokenizer, texts: list[str], context: object) -> None:
    """Compare with plain merging of whole pieces."""
    for text in texts:
        expected = [
            token_id
            for start, end in tokenizer._pipeline.splitter.pieces(text)
            for token_id in merge_alone(vocabulary_of(tokenizer), text.encode()[start:end])
        ]
        assert tokenizer.encode(text) == expected, (text, context)
        assert tokenizer.count(text) == len(expected), (text, context)
        ids, spans = tokenizer.encode_with_offsets(text)
        assert [*ids] == expected, (text, context)
        assert [*spans] == offsets(text, tokenizer.decode_tokens_bytes(expected)), (text, context)


def random_merges(rng: random.Random) -> list[tuple[int, int]]:
    """Return merges of words, and then of words with others; some make a token that another has made."""
    tokens = [bytes([byte]) for byte in range(256)]
    merges: list[tuple[int, int]] = []
    usable = [*b"ab ,."]
    for number in range(rng.randint(2, 40)):
        left, right = rng.choice(usable), rng.choice(usable)
        spans = b" " in tokens[right] and not tokens[left].isspace()
        if (left, right) in merges or (spans and number < 10):
            continue
        merges.append((left, right))
        tokens.append(tokens[left] + tokens[right])
        usable.append(len(tokens) - 1)
    return merges


@pytest.mark.daily
def test_random_merges_encode_as_specified() -> None:
    n_with_phases = 0
    for number in range(200):
        rng = random.Random(f"{SEED} merges {number}")
        merges = random_merges(rng)
        try:
            tokenizer = fastbpe.Tokenizer.from_merges(merges, pattern=rng.choice([None, r"[,.]+"]))
        except fastbpe.FastbpeError:
            continue  # a token that two merges make, where ranks cannot tell them apart
        n_with_phases += tokenizer._pipeline.phases is not None
        texts = ["".join(rng.choices("aab ,.", k=rng.randint(0, 120))) for _ in range(20)]
        compare_encoding(tokenizer, texts, (SEED, number, merges))
    assert n_with_phases > share_of(20)


@pytest.mark.parametrize("max_words", [2, None])
def test_stretches_of_any_length_and_place_encode_as_specified(max_words: int | None) -> None:
    """The second phase looks for stretches in 64 ids at a time, and merges long ones in another way."""
    rng = random.Random(f"{SEED} stretches {max_words}")
    words = ["in", "the", "end", "of", "day", "x", "1990", "漢字"]
    text = " ".join(rng.choices(words[:5], k=400))
    superwords = fastbpe.Superwords(275, WORDS_TOGETHER, max_words=max_words, documents="whole")
    tokenizer = trained([text], vocab_size=330, pattern=WORDS, superwords=superwords)
    texts = [
        " ".join(["x"] * before + rng.choices(words[:5], k=n)) for before in (0, 1, 62, 63, 64) for n in range(70)
    ]
    texts += [" ".join(rng.choices(words, k=n)) for n in (500, 5_000)]
    texts += [" ".join(rng.choices(words[:5], k=n)) for n in (500, 5_000)]
    compare_encoding(tokenizer, texts, (SEED, max_words))

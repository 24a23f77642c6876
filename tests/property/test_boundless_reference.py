"""Compares BoundlessBPE, training and encoding, with the specification, on thousands of small texts."""

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import regex

import fastbpe
from fastbpe.corpus import sources
from fastbpe.splitting import make_splitter
from fastbpe.tokenizer.internals import cutter_of, splitter_of
from helpers.sampling import SEED, n_rounds
from reference.boundless import Operations, encode_boundless, train_boundless
from reference.measuring import offsets

N_TEXTS = n_rounds(320, 2400)
PARTS = 8
# In the last ones, the text after a piece decides where it ends: superwords are spelled like words.
PATTERNS = [
    "cl100k",
    "o200k",
    "gpt2",
    r" ?[a-z]+|\s+|[^a-z\s]+",
    r"[a-z]+| [A-Z]?|[^\s]",
    r" ?[ab]{1,2}",
    r"ab(?=a)|[a-z]| +|.",
    r"aa(?=b)|ab(?=b)|a|b| ?[a-z]",
    r" ?[a-z]{1,2}(?= )| ?[a-z]|\s",
]
BETWEEN = [
    [" "],
    [" ", " ", "  "],
    [" ", ", ", ". "],
    [" ", "\n", "\r\n"],
    ["", "-", " "],
    [" é ", " ", "7"],
    ["'", "' ", " "],
]


def random_texts(rng: random.Random) -> list[str]:
    """Return random texts of few words, so that superwords and ties are many."""
    letters = "abcA"[: rng.randint(1, 4)]
    words = ["".join(rng.choices(letters, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 6))]
    between = rng.choice(BETWEEN)
    return [
        "".join(rng.choice(words) + rng.choice(between) for _ in range(rng.choice([5, 40, 120])))
        for _ in range(rng.randint(1, 4))
    ]


def pieces_by(pattern: str) -> Callable[[str], list[bytes | None]]:
    """Make the function that cuts a text into pieces."""
    splitter = make_splitter(fastbpe.PATTERNS.get(pattern, pattern))
    return lambda text: [text.encode()[start:end] for start, end in splitter.pieces(text)]


def trained(texts: Any, n: int, pattern: str, **options: Any) -> fastbpe.Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastbpe.TrainingWarning)
        return fastbpe.train(texts, vocab_size=256 + n, pattern=pattern, superwords="boundless", **options)


def operations_of(tokenizer: fastbpe.Tokenizer) -> Operations:
    tokens, model = tokenizer.vocab, tokenizer._family.own
    lists = model.merge_list(), model.supermerges.merge_list()
    words, superwords = ([(tokens[left], tokens[right]) for left, right, _ in merges] for merges in lists)
    return Operations(tokens, words, superwords)


@pytest.mark.daily
@pytest.mark.sample(6)
@pytest.mark.parametrize("part", range(PARTS))
def test_random_texts_train_and_encode_as_specified(part: int) -> None:
    for number in range(part, N_TEXTS, PARTS):
        rng = random.Random(f"boundless {SEED} {number}")
        texts, pattern, n = random_texts(rng), rng.choice(PATTERNS), rng.choice([0, 1, 3, 8, 20, 60])
        limits = {"min_count": rng.choice([1, 1, 2, 4]), "max_token_bytes": rng.choice([None, None, 4, 9])}
        pieces_of, source, weights = pieces_by(pattern), rng.sample(texts, len(texts)), None
        times = [1] * len(texts)
        if rng.random() < 0.3:
            times = [rng.randint(1, 3) for _ in texts]
            source = {str(i): [text] for i, text in enumerate(texts)}
            weights = {str(i): n for i, n in enumerate(times)}
        repeated = [text for text, n in zip(texts, times, strict=True) for _ in range(n)]
        expected = train_boundless(
            repeated, pieces_of, lambda text: bool(regex.search(r"\p{L}", text)), n_tokens=256 + n, **limits
        )
        tokenizer = trained(
            source,
            n,
            pattern,
            weights=weights,
            num_threads=rng.choice([1, 2]),
            max_memory_bytes=rng.choice([None, 1]),
            **limits,
        )
        context = (SEED, number, texts, pattern, n, limits, weights)
        assert operations_of(tokenizer) == expected, context
        compare_encoding(tokenizer, [*texts, *random_texts(rng), "".join(texts) * 3], pieces_of, expected, context)
        check_cuts(tokenizer, "".join(texts) * 3, context)


def check_cuts(tokenizer: fastbpe.Tokenizer, text: str, context: object) -> int:
    """Check that a text has the ids of its parts at each cut for files. Returns the number of cuts."""
    cut, data, n = cutter_of(tokenizer), text.encode(), 0
    assert (cut is not None) == splitter_of(tokenizer).cuttable, context
    expected = tokenizer.encode(data)
    at = len(data) if cut is not None else 0
    while cut is not None and (at := cut(data[:at])):
        assert tokenizer.encode(data[:at]) + tokenizer.encode(data[at:]) == expected, (data, at, context)
        n += 1
    return n


def compare_encoding(
    tokenizer: fastbpe.Tokenizer,
    texts: list[str],
    pieces_of: Callable[[str], list[bytes | None]],
    operations: Operations,
    context: object,
) -> None:
    """Compare ids, counts, offsets and streams with the specification."""
    for text in texts:
        expected = encode_boundless(pieces_of(text), operations)
        ids = tokenizer.encode(text)
        assert tokenizer.decode_tokens_bytes(ids) == expected, (text, context)
        assert tokenizer.count(text) == len(ids), (text, context)
        again, spans = tokenizer.encode_with_offsets(text)
        assert [*again] == ids, (text, context)
        assert [*spans] == offsets(text, expected), (text, context)
        assert tokenizer.explain(text).ids == ids, (text, context)
        stream, middle = tokenizer.encoder(), len(text) // 2
        assert stream.push(text[:middle]) + stream.push(text[middle:]) + stream.finish() == ids, (text, context)


@pytest.mark.daily
def test_long_texts_are_encoded_in_parts_that_no_superword_crosses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "BLOCK", 4096)
    rng = random.Random(SEED)
    words = ["of", "the", "end", "day", "in", "1990", "week", "Ünï", "漢字"]
    marks = [" ", " ", " ", " ", ", ", "\n", "。", ". "]
    rare = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(400)]
    text = "".join(rng.choice(words if rng.random() < 0.8 else rare) + rng.choice(marks) for _ in range(120_000))
    for pattern in ("cl100k", "o200k", r" ?[a-z]+|\s+|[^a-z\s]+"):
        tokenizer = trained([text[:60_000]], 400, pattern)
        operations = operations_of(tokenizer)
        assert operations.superwords
        expected = encode_boundless(pieces_by(pattern)(text[:6_000]), operations)
        assert tokenizer.decode_tokens_bytes(tokenizer.encode(text[:6_000])) == expected
        ids = tokenizer.encode(text, num_threads=1)
        assert tokenizer.encode(text, num_threads=2) == ids
        assert tokenizer.count(text) == len(ids)
        assert [*tokenizer.encode_with_offsets(text)[0]] == ids
        stream = tokenizer.encoder()
        pushed = [stream.push(text[at : at + 777]) for at in range(0, len(text), 777)]
        assert [token_id for found in (*pushed, stream.finish()) for token_id in found] == ids
        for limit in (0, 1, 100, 5_000):
            part = tokenizer.truncate(text, limit)
            assert text.startswith(part)
            assert tokenizer.count(part) <= limit
            assert len(part) > 2 * limit or limit < 2  # the first token may be short
        (tmp_path / "text.txt").write_text(text, encoding="utf-8")
        for num_threads in (1, 2):
            tokenizer.encode_files(
                tmp_path / "text.txt", tmp_path / "a.npy", num_threads=num_threads, overwrite=True
            )
            assert [*map(int, fastbpe.open_ids(tmp_path / "a.npy")[0])] == ids
        assert (check_cuts(tokenizer, text[:3_000], pattern) > 20) == splitter_of(tokenizer).cuttable
        whole = "".join(tokenizer.chunk(text[:50_000], 300))
        assert whole == text[:50_000]

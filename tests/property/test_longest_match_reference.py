"""WordPiece and WordLevel of a tokenizer.json against their slow twins."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from fastbpe import load
from fastbpe.errors import VocabularyError
from helpers.sampling import n_rounds
from helpers.segmented_models import random_text, tokenizer_json
from reference.longest_match import Token, word_level, word_piece

SEEDS = range(6)


def random_words(rng: random.Random) -> list[str]:
    letters = rng.sample("abcé漢👍#", rng.randint(1, 6))
    return ["".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(rng.randint(1, 30))]


def shuffled(rng: random.Random, words: set[str]) -> dict[str, int]:
    """Give words ids in a random order."""
    return {word: i for i, word in enumerate(rng.sample(sorted(words), len(words)))}


def twin_tokens(encode: Callable[[str], list[Token]], text: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Encode the words between spaces; return ids and offsets."""
    ids: list[int] = []
    offsets: list[tuple[int, int]] = []
    begin = 0
    for word in text.split(" "):
        for token, at, end in encode(word) if word else ():
            ids.append(token)
            offsets.append((begin + at, begin + end))
        begin += len(word) + 1
    return ids, offsets


def assert_same(model: dict[str, Any], encode: Callable[[str], list[Token]], rng: random.Random) -> None:
    """Compare random texts, also long ones and some whose words come again."""
    tokenizer = load(tokenizer_json(model))
    for _ in range(20):
        text = random_text(rng, rng.choice([4, 12, 60]), others="  #x")
        try:
            expected = twin_tokens(encode, text)
        except KeyError:
            with pytest.raises(VocabularyError):
                tokenizer.encode(text)
            continue
        assert tokenizer.encode_with_offsets(text) == expected, (model, text)
        assert tokenizer.encode(text) == expected[0], (model, text)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_word_pieces_encode_as_the_slow_twin(seed: int) -> None:
    rng = random.Random(f"word pieces {seed}")
    for _ in range(n_rounds(80, 800)):
        prefix, longest = rng.choice(["##", "", "a", "é#", "👍"]), rng.choice([0, 1, 3, 8, 100, 1 << 40])
        unknown = rng.choice(["[UNK]", "a"])
        words = {rng.choice(["", prefix]) + word for word in random_words(rng)}
        vocabulary = shuffled(rng, words | set(rng.choice([[unknown], []])))
        model = {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": prefix,
            "max_input_chars_per_word": longest,
            "vocab": vocabulary,
        }

        def encode(
            word: str, v: dict[str, int] = vocabulary, u: str = unknown, p: str = prefix, n: int = longest
        ) -> list[Token]:
            return word_piece(word, v, u, p, n)

        assert_same(model, encode, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_word_levels_encode_as_the_slow_twin(seed: int) -> None:
    rng = random.Random(f"word levels {seed}")
    for _ in range(n_rounds(80, 800)):
        unknown = rng.choice(["[UNK]", "a"])
        vocabulary = shuffled(rng, {*random_words(rng), *"ab", *rng.choice([[unknown], []])})
        model = {"type": "WordLevel", "unk_token": unknown, "vocab": vocabulary}

        def encode(word: str, v: dict[str, int] = vocabulary, u: str = unknown) -> list[Token]:
            return word_level(word, v, u)

        assert_same(model, encode, rng)


def test_longest_word_is_counted_in_characters() -> None:
    """A word of as many characters as allowed is cut, also if it has more bytes; one more is unknown."""
    vocabulary = {"[UNK]": 0, "é": 1, "##é": 2}
    for longest in (1, 5, 100):
        tokenizer = load(
            tokenizer_json(
                {
                    "type": "WordPiece",
                    "unk_token": "[UNK]",
                    "continuing_subword_prefix": "##",
                    "max_input_chars_per_word": longest,
                    "vocab": vocabulary,
                }
            )
        )
        assert tokenizer.encode("é" * longest) == [1] + [2] * (longest - 1)
        assert tokenizer.encode("é" * (longest + 1)) == [0]


@pytest.mark.parametrize("kind", ["WordPiece", "WordLevel"])
def test_time_grows_with_the_length_of_a_word(kind: str) -> None:
    """A word that is 16 times as long takes less than 60 times as long; quadratic time would be 256 times."""
    vocabulary = {"[UNK]": 0, "a": 1, "##a": 2, "##" + "a" * 60 + "b": 3}
    model: dict[str, Any] = {"type": kind, "unk_token": "[UNK]", "vocab": vocabulary}
    if kind == "WordPiece":
        model |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 1 << 40}
    tokenizer = load(tokenizer_json(model))

    def seconds(n: int) -> float:
        text = "a" * n
        start = time.process_time()
        tokenizer.encode(text)
        return time.process_time() - start

    assert min(seconds(640_000) for _ in range(2)) < 60 * min(seconds(40_000) for _ in range(5)) + 0.01

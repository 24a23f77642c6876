"""Random texts of several languages and options of parity-aware training, for fastbpe, tokenizers and the slow
twin."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from reference.parity import Learned, train

ALPHABETS = ("ab", "abc", "bcde", "éa", "abcdefghij", "aé文", "aaab", " \n.")


@dataclass(frozen=True)
class Case:
    """Texts and options of one training.

    languages: texts of each language.
    dev: dev texts of each language; None: no dev texts.
    ratio: a number for each language, or None.
    n_merges, window, alpha, global_merges, min_count, max_length: as for the slow twin.
    """

    languages: list[list[str]]
    dev: list[list[str]] | None
    ratio: list[float] | None
    n_merges: int
    window: int | None
    alpha: float
    global_merges: int
    min_count: int
    max_length: int | None

    @property
    def numbers(self) -> dict[str, Any]:
        """The options that are one number, by the names of the slow twin."""
        names = ("n_merges", "window", "alpha", "global_merges", "min_count", "max_length")
        return {name: getattr(self, name) for name in names}

    def twin(self, words_of: Any) -> Learned:
        """Train the slow twin. words_of: returns the words of a text, each a str."""

        def words(texts: list[str]) -> Counter[tuple[str, ...]]:
            return Counter(tuple(word) for text in texts for word in words_of(text))

        dev = None if self.dev is None else [words(texts) for texts in self.dev]
        return train([words(texts) for texts in self.languages], dev=dev, ratio=self.ratio, **self.numbers)

    def of_tokenizers(self) -> dict[str, Any]:
        """Return the options by the names of tokenizers, where max_token_length=n means at most max(2, n - 1)."""
        window = {} if self.window is None else {"variant": "window", "window_size": self.window}
        return {
            "num_merges": self.n_merges,
            "alpha": self.alpha,
            "global_merges": self.global_merges,
            "min_frequency": self.min_count,
            "ratio": self.ratio,
            "max_token_length": None if self.max_length is None else self.max_length + 1,
            "show_progress": False,
            **window,
        }


def random_case(rng: random.Random, *, may_be_empty: bool = True) -> Case:
    """Return a random case. may_be_empty: a language may have no text."""
    alphabets = [rng.choice(ALPHABETS) for _ in range(rng.randint(1, 4))]

    def texts(alphabet: str, least: int) -> list[str]:
        lines = [
            " ".join("".join(rng.choices(alphabet, k=rng.randint(1, 7))) for _ in range(rng.randint(0, 25)))
            for _ in range(rng.randint(least, 4))
        ]
        return lines if may_be_empty or any(lines) else ["a"]

    judge = rng.random()
    return Case(
        languages=[texts(alphabet, 1) for alphabet in alphabets],
        dev=[texts(alphabet, 0) for alphabet in alphabets] if judge < 0.4 else None,
        ratio=[rng.choice([0.5, 1.0, 2.0, 2.57]) for _ in alphabets] if judge > 0.7 else None,
        n_merges=rng.choice([3, 10, 30, 100, 300]),
        window=rng.choice([None, None, None, 1, 2, 5, 10, 100]),
        alpha=rng.choice([0.5, 1.0, 1.5, 2.0, 3.0]),
        global_merges=rng.choice([0, 0, 0, 2, 10, 400]),
        min_count=rng.choice([1, 1, 2, 3]),
        max_length=rng.choice([None, None, None, 2, 3, 5]),
    )

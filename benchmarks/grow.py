"""Grow a text of any size from a corpus by Zipf's and Heaps' laws; the same seed gives the same text.

    python benchmarks/grow.py OUT.txt [--n-bytes 1000000000] [--text english] [--seed 0]

Plain copies of a corpus keep Zipf's law but break Heaps': no word would be new after the first copy, so that
counting the rest would only meet known words. Therefore every copy replaces its rare words, those with at most
MAX_RARE_COUNT occurrences in the corpus. In copy k, every occurrence of a rare word is replaced
- with probability q(k) by a new word: the beginning of one rare word and the end of another;
- otherwise by its replacement in an earlier copy, each with equal probability.

Heaps: n words of text have K n^b distinct words. b is measured on the corpus: log2 of the ratio of the distinct
words of the whole to those of its first half (a fair sample, since the corpora are shuffled). q(k) is chosen so
that k copies have k^b times the distinct words of one.

Zipf: common words keep their share of the text. A replacement is chosen again in proportion to its use so far
(the Chinese restaurant process), whose counts follow a power law, so that the tail keeps its shape.

After each copy it prints the number of distinct words, and the number by Heaps' law.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import texts

MAX_RARE_COUNT = 8
_PART_CHARACTERS = 1 << 20  # text that is split into words at a time
_WORD = re.compile(r"([^\W\d_]+)")


class Corpus:
    """Text as numbers of its words, and the text around them."""

    def __init__(self, text: str) -> None:
        numbers: dict[str, int] = {}
        self.numbers: list[array[int]] = []  # for each part of the text
        self.around: list[
            list[str]
        ] = []  # for each part: the text before the first word, between words, after the last
        n_in_half = 1
        for start in range(0, len(text), _PART_CHARACTERS):
            parts = _WORD.split(text[start : start + _PART_CHARACTERS])
            self.numbers.append(array("I", (numbers.setdefault(word, len(numbers)) for word in parts[1::2])))
            self.around.append([sys.intern(part) for part in parts[::2]])
            if start < len(text) // 2:
                n_in_half = len(numbers)
        self.words = list(numbers)
        self.exponent = math.log2(len(self.words) / n_in_half)
        counts = Counter[int]()
        for part in self.numbers:
            counts.update(part)
        self.rare = [number for number in range(len(self.words)) if counts[number] <= MAX_RARE_COUNT]

    def rewritten(self, words: list[str]) -> Iterator[str]:
        """Yield the text with other words, in parts.

        Args:
            words: the word for each number.
        """
        for numbers, around in zip(self.numbers, self.around, strict=True):
            parts = [""] * (len(numbers) + len(around))
            parts[::2] = around
            parts[1::2] = map(words.__getitem__, numbers)
            yield "".join(parts)


def grow(text: str, n_bytes: int, *, seed: int = 0, report: bool = False) -> Iterator[bytes]:
    """Yield the grown text in parts, n_bytes in all; a character cut at the end is dropped.

    Args:
        text: corpus to grow.
        n_bytes: size of the result in bytes of UTF-8.
        seed: seed of the random replacements.
        report: print the number of distinct words after each copy to stderr.
    """
    corpus, rng = Corpus(text), random.Random(seed)
    words = list(corpus.words)
    earlier: dict[int, list[str]] = {number: [words[number]] for number in corpus.rare}
    seen = set(words)
    n_left, copy = n_bytes, 1
    while True:
        for part in corpus.rewritten(words):
            data = part.encode()
            if len(data) >= n_left:
                yield data[:n_left].decode(errors="ignore").encode()
                return
            yield data
            n_left -= len(data)
        if report:
            wanted = len(corpus.words) * copy**corpus.exponent
            print(f"{copy} copies: {len(seen):,} distinct words, by Heaps' law {wanted:,.0f}", file=sys.stderr)
        copy += 1
        n_new = len(corpus.words) * copy**corpus.exponent - len(seen)
        _replace_rare_words(words, earlier, seen, n_new / max(len(corpus.rare), 1), corpus, rng)


def _replace_rare_words(
    words: list[str],
    earlier: dict[int, list[str]],
    seen: set[str],
    share_new: float,
    corpus: Corpus,
    rng: random.Random,
) -> None:
    """Choose the replacements of the rare words for the next copy.

    Args:
        words: current word of each number, changed in place.
        earlier: earlier replacements of each rare word, appended to.
        seen: all words so far, added to.
        share_new: probability of a new word.
        corpus: the corpus.
        rng: source of random numbers.
    """
    for number in corpus.rare:
        if rng.random() < share_new:
            begin, end = corpus.words[number], corpus.words[rng.choice(corpus.rare)]
            word = begin[: (len(begin) + 1) // 2] + end[len(end) // 2 :]
            seen.add(word)
        else:
            word = rng.choice(earlier[number])
        earlier[number].append(word)
        words[number] = word


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--n-bytes", type=int, default=1_000_000_000)
    parser.add_argument("--text", default="english", help=f"{', '.join(texts.NAMES)}, or a UTF-8 file")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with open(chosen.out, "wb") as file:
        for data in grow(texts.read(chosen.text, texts.ALL), chosen.n_bytes, seed=chosen.seed, report=True):
            file.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A text of any size, grown from a corpus by Zipf's and Heaps' laws; the same for the same seed.

    python benchmarks/grow.py OUT.txt [--n-bytes 1000000000] [--text english] [--seed 0]

Copies of a corpus alone would keep Zipf's law and break Heaps': no word would be new, so that all counting beyond
the first copy were of known words. So every copy says its rarer words, those that stand at most RARE times in the
corpus, otherwise. In copy k a rare word is replaced everywhere

- with the probability q(k) by a word that is new: the beginning of one rare word and the end of another;
- else by what it was in an earlier copy, each of them equally likely.

Heaps: n words of text hold K n^b distinct ones. b is read off the corpus: log2 of its distinct words by those of
its first half (a sample of the whole: the corpora are shuffled). q(k) is set so that k copies hold k^b times the
distinct words of one.

Zipf: common words keep their share of the text. A replacement is taken up again in proportion to how often it was
used, the Chinese restaurant process, whose counts fall with their rank by a power: the tail goes on as it began.

Prints after each copy how many distinct words there are, and how many Heaps' law wants.
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

RARE = 8
_PART = 1 << 20  # characters
_WORD = re.compile(r"([^\W\d_]+)")


class Corpus:
    """A text as the numbers of its words, and what stands around them."""

    def __init__(self, text: str) -> None:
        numbers: dict[str, int] = {}
        self.numbers: list[array[int]] = []  # of each part of the text
        self.around: list[list[str]] = []  # of each part: before the first word, between, after the last
        n_in_half = 1
        for start in range(0, len(text), _PART):
            parts = _WORD.split(text[start : start + _PART])
            self.numbers.append(array("I", (numbers.setdefault(word, len(numbers)) for word in parts[1::2])))
            self.around.append([sys.intern(part) for part in parts[::2]])
            if start < len(text) // 2:
                n_in_half = len(numbers)
        self.words = list(numbers)
        self.exponent = math.log2(len(self.words) / n_in_half)
        counts = Counter[int]()
        for part in self.numbers:
            counts.update(part)
        self.rare = [number for number in range(len(self.words)) if counts[number] <= RARE]

    def said(self, words: list[str]) -> Iterator[str]:
        """The text with other words, in parts."""
        for numbers, around in zip(self.numbers, self.around, strict=True):
            parts = [""] * (len(numbers) + len(around))
            parts[::2] = around
            parts[1::2] = map(words.__getitem__, numbers)
            yield "".join(parts)


def grow(text: str, n_bytes: int, *, seed: int = 0, tell: bool = False) -> Iterator[bytes]:
    """Parts of the grown text, n_bytes in all, but for a character cut at the end."""
    corpus, rng = Corpus(text), random.Random(seed)
    words = list(corpus.words)
    earlier: dict[int, list[str]] = {number: [words[number]] for number in corpus.rare}
    seen = set(words)
    n_left, copy = n_bytes, 1
    while True:
        for part in corpus.said(words):
            data = part.encode()[:n_left].decode(errors="ignore").encode() if n_left < 4 * _PART else part.encode()
            yield data
            n_left -= len(data)
            if n_left < 4:
                return
        if tell:
            wanted = len(corpus.words) * copy**corpus.exponent
            print(f"{copy} copies: {len(seen):,} distinct words, by Heaps' law {wanted:,.0f}", file=sys.stderr)
        copy += 1
        n_new = len(corpus.words) * copy**corpus.exponent - len(seen)
        _say_otherwise(words, earlier, seen, n_new / max(len(corpus.rare), 1), corpus, rng)


def _say_otherwise(
    words: list[str],
    earlier: dict[int, list[str]],
    seen: set[str],
    share_new: float,
    corpus: Corpus,
    rng: random.Random,
) -> None:
    """Choose what the rare words are in the next copy."""
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
        for data in grow(texts.read(chosen.text, texts.ALL), chosen.n_bytes, seed=chosen.seed, tell=True):
            file.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Expectation maximization of unigram models: the slow twin of `_core.train.unigram_learner`.

Numbers are of single precision where `float32` is called.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from functools import reduce
from typing import TypeVar

from reference.lattice import Candidate, Candidates, Lattice, float32
from reference.unigram import PENALTY

Scored = list[tuple[str, float]]  # pieces with scores, in an order that sums follow
Sentences = list[tuple[str, int]]
Add = Callable[[Lattice, float, list[float]], None]  # adds counts of pieces
Key = TypeVar("Key", str, int)
Number = TypeVar("Number", int, float)


def candidates_of(pieces: Scored) -> Candidates:
    """Let pieces be found in texts. An unknown character counts as piece 0."""
    ids = {piece: i for i, (piece, _) in enumerate(pieces)}
    longest, lowest = max(map(len, ids)), min(score for _, score in pieces)

    def candidates(text: str, begin: int) -> list[Candidate]:
        ends = range(begin + 1, min(begin + longest, len(text)) + 1)
        found = [
            Candidate(begin, end, i, pieces[i][1]) for end in ends if (i := ids.get(text[begin:end])) is not None
        ]
        if text[begin] not in ids:
            found.append(Candidate(begin, begin + 1, 0, float32(lowest - PENALTY)))
        return found

    return candidates


def in_slots(pieces: Scored, texts: Sentences, n_slots: int, add: Add) -> list[float]:
    """Add up the counts of pieces within each slot, then the sums of the slots in order."""
    candidates = candidates_of(pieces)
    total = [0.0] * len(pieces)
    for slot in range(n_slots):
        part = [0.0] * len(pieces)
        for text, count in texts[slot::n_slots]:
            add(Lattice(text, candidates), float32(count), part)
        total = [float32(x + y) for x, y in zip(total, part, strict=True)]
    return total


def pruned(pieces: Scored, counts: list[float], n_least: int, shrinking_factor: float) -> Scored:
    """Drop the pieces whose loss changes the likelihood of the text least.

    A piece stays only if it is the best path through its own text; the second best path would replace it.
    """
    candidates = candidates_of(pieces)
    total = float32(sum_of(counts))
    log_total = float32(math.log(total))
    kept: Scored = []
    losses: list[tuple[int, float]] = []
    for i, (piece, score) in enumerate(pieces):
        best, *others = Lattice(piece, candidates).n_best(2)
        if counts[i] == 0 or (others and len(best) > 1):
            continue
        if not others:
            kept.append((piece, score))
            continue
        total_without = float32(total + float32(counts[i] * (len(others[0]) - 1)))
        log_without = float32(math.log(total_without))
        alternative = 0.0
        for part in others[0]:
            alternative = float32(alternative + (math.log(float32(counts[part.id] + counts[i])) - log_without))
        own = float32(math.log(counts[i]) - log_total)
        losses.append((i, float32(float32(counts[i] / total) * float32(own - alternative))))
    size = max(n_least, int(float32(float32(shrinking_factor) * len(pieces))))
    for i, _ in by_number(losses):
        if len(kept) == size:
            break
        kept.append(pieces[i])
    return kept


def add_expected(lattice: Lattice, count: float, counts: list[float]) -> None:
    """Add how often each piece is expected among all ways to cut a text."""
    n = len(lattice.ending) - 1
    before, behind = [0.0] * (n + 1), [0.0] * (n + 1)  # logarithms of sums over all ways up to, and from, a place
    for at in range(1, n + 1):
        before[at] = reduce(_log_sum, (float32(c.score + before[c.begin]) for c in lattice.ending[at]))
    for at in reversed(range(n)):
        behind[at] = reduce(_log_sum, (float32(c.score + behind[c.end]) for c in lattice.beginning[at]))
    for candidate in (c for found in lattice.beginning[:n] for c in found):
        through = float32(float32(before[candidate.begin] + candidate.score) + behind[candidate.end])
        share = math.exp(float32(through - before[n]))
        counts[candidate.id] = float32(counts[candidate.id] + count * share)


def _log_sum(x: float, y: float) -> float:
    """Return log(exp(x) + exp(y))."""
    low, high = min(x, y), max(x, y)
    if high > float32(low + 50.0):
        return high
    return float32(high + math.log1p(math.exp(float32(low - high))))


def add_best(lattice: Lattice, count: float, counts: list[float]) -> None:
    """Add the pieces of the best path."""
    for candidate in lattice.best()[0]:
        counts[candidate.id] = float32(counts[candidate.id] + count)


def maximized(pieces: Scored, counts: list[float]) -> Scored:
    """Give the pieces the scores that explain their counts best. Rare pieces go."""
    kept = [(piece, count) for (piece, _), count in zip(pieces, counts, strict=True) if count >= 0.5]
    total = reduce(lambda x, y: float32(x + y), (count for _, count in kept), 0.0)
    log_total = float32(digamma(total))
    return [(piece, float32(digamma(count) - log_total)) for piece, count in kept]


def digamma(x: float) -> float:
    """Return the derivative of the logarithm of the gamma function, by its asymptotic series."""
    result = 0.0
    while x < 7:
        result -= 1 / x
        x += 1
    x -= 0.5
    xx = 1.0 / x
    xx2 = xx * xx
    xx4 = xx2 * xx2
    return result + (
        math.log(x) + (1 / 24) * xx2 - (7 / 960) * xx4 + (31 / 8064) * xx4 * xx2 - (127 / 30720) * xx4 * xx4
    )


def reachable(pieces: Scored) -> Scored:
    """Drop the pieces that another way to cut them beats."""
    candidates = candidates_of(pieces)

    def others(text: str, begin: int) -> list[Candidate]:
        return [
            c._replace(score=-math.inf) if c.end - c.begin == len(text) else c for c in candidates(text, begin)
        ]

    return [(piece, score) for piece, score in pieces if not Lattice(piece, others).best()[1] > score]


def sum_of(numbers: Iterable[float]) -> float:
    """Add from left to right. sum() of newer Pythons rounds less."""
    return reduce(operator.add, numbers, 0.0)


def by_number(items: Iterable[tuple[Key, Number]]) -> list[tuple[Key, Number]]:
    """Sort by numbers, the greatest first, then by keys."""
    return sorted(items, key=lambda item: (-item[1], item[0]))

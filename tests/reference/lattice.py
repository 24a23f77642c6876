"""Find the best ways to cut a text into tokens: the slow twin of `_core.segment.lattice`.

All numbers are of single precision. Sums and products of two of them are computed in double precision here and
then rounded, which equals one operation of single precision.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import NamedTuple

#: sentencepiece's limits of a search, by the names of `_core.segment.lattice`, which explains them.
MIN_AGENDA, MAX_AGENDA, MAX_NEW, MAX_SHRINKS, MAX_HYPOTHESES = 512, 10_000, 100_000, 10, 500_000


class Candidate(NamedTuple):
    """Token that may stand at text[begin:end]."""

    begin: int
    end: int
    id: int
    score: float


#: Lists the candidates that begin at an offset of a text, the shortest first, an unknown character last.
Candidates = Callable[[str, int], list[Candidate]]


def float32(number: float) -> float:
    """Round to single precision."""
    return ctypes.c_float(number).value


class Way(NamedTuple):
    """Tokens up to the end of a text: the first one and the rest. score: their sum."""

    candidate: Candidate
    rest: Way | None
    score: float


class Lattice:
    """All candidates of a text, by their beginnings and ends, between two empty ones at its start and end."""

    def __init__(self, text: str, candidates: Candidates) -> None:
        self._start, self._end = Candidate(0, 0, -1, 0.0), Candidate(len(text), len(text), -1, 0.0)
        self.beginning = [*(candidates(text, at) for at in range(len(text))), [self._end]]
        self.ending: list[list[Candidate]] = [[self._start], *([] for _ in text)]
        for candidate in (c for found in self.beginning[:-1] for c in found):
            self.ending[candidate.end].append(candidate)

    def best(self) -> tuple[list[Candidate], float]:
        """Return the best path and its total. Of equal tokens before a token, the first counts."""
        before, totals = self._best()
        path = [before[self._end]]
        while path[-1] != self._start:
            path.append(before[path[-1]])
        return path[-2::-1], totals[self._end]

    def _best(self) -> tuple[dict[Candidate, Candidate], dict[Candidate, float]]:
        """Return, for each candidate, the one before it on the best path, and that path's total."""
        before, totals = {}, {self._start: 0.0}
        for at, found in enumerate(self.beginning):
            for candidate in found:
                sums = [float32(totals[left] + candidate.score) for left in self.ending[at]]
                totals[candidate] = max(sums)
                before[candidate] = self.ending[at][sums.index(max(sums))]
        return before, totals

    def n_best(self, n: int) -> list[list[Candidate]]:
        """Return the n best paths, the best first; only one if the search grows too large.

        The search goes back from the end (A*). Its agenda holds ways from some place to the end. The priority of
        each is its score with the best path to that place.
        """
        totals = self._best()[1]
        agenda = Heap()
        agenda.push(0.0, Way(self._end, None, 0.0))
        paths: list[list[Candidate]] = []
        n_kept, n_all, n_living, max_living, n_shrinks = min(MIN_AGENDA, 10 * n), 1, 1, MAX_NEW, 0
        while agenda.items and len(paths) < n:
            way = agenda.pop()[1]
            if way.candidate == self._start:
                paths.append([step.candidate for step in _steps(way)[1:-1]])
                continue
            before = self.ending[way.candidate.begin]
            for left in before:
                agenda.push(float32(totals[left] + way.score), Way(left, way, float32(left.score + way.score)))
            n_all, n_living = n_all + len(before), n_living + len(before)
            n_waiting = len(agenda.items)
            if n_all >= MAX_HYPOTHESES:
                return [self.best()[0]]
            if n_waiting >= MAX_AGENDA or (n_waiting > n_kept and n_living >= max_living):
                n_shrinks += 1
                if n_shrinks > MAX_SHRINKS:
                    return [self.best()[0]]
                best = [agenda.pop() for _ in range(min(n_kept, n_waiting))]
                agenda = Heap()
                for priority, kept in best:
                    agenda.push(priority, kept)
                n_living = len({id(step) for _, kept in best for step in _steps(kept)})
                max_living = n_living + MAX_NEW
        return paths


def _steps(way: Way | None) -> list[Way]:
    steps = []
    while way is not None:
        steps.append(way)
        way = way.rest
    return steps


class Heap:
    """Binary heap of libstdc++, the greatest first: ways of equal priority come out as there."""

    def __init__(self) -> None:
        self.items: list[tuple[float, Way]] = []

    def push(self, priority: float, way: Way) -> None:
        self.items.append((priority, way))
        self._rise(len(self.items) - 1)

    def pop(self) -> tuple[float, Way]:
        """Remove the greatest.

        The greater child fills the gap that it leaves, of equal ones the right; then the last item rises there.
        """
        items = self.items
        top, last = items[0], items.pop()
        if not items:
            return top
        gap = 0
        while 2 * gap + 1 < len(items):
            left, right = 2 * gap + 1, 2 * gap + 2
            child = left if right == len(items) or items[right][0] < items[left][0] else right
            items[gap] = items[child]
            gap = child
        items[gap] = last
        self._rise(gap)
        return top

    def _rise(self, at: int) -> None:
        items = self.items
        while at and items[(at - 1) // 2][0] < items[at][0]:
            items[at], items[(at - 1) // 2] = items[(at - 1) // 2], items[at]
            at = (at - 1) // 2

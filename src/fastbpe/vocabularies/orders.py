"""Merging of two orders of tokens into one order that keeps both as far as possible."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
Levels = list[list[T]]  # the best first; the members of a level are equal


def longest_rising(numbers: Sequence[int], *, strictly: bool) -> list[int]:
    """Return the positions of a longest rising subsequence; unless `strictly`, equal numbers count as rising.

    >>> longest_rising([3, 1, 2, 5, 4], strictly=True)
    [1, 2, 4]
    """
    find = bisect_left if strictly else bisect_right
    ends: list[int] = []  # for each length, the smallest last number of the rising subsequences so far
    end_positions: list[int] = []  # positions of these numbers
    before = []
    for position, number in enumerate(numbers):
        length = find(ends, number)
        before.append(end_positions[length - 1] if length else -1)
        ends[length : length + 1] = [number]  # replaces the entry, or appends one
        end_positions[length : length + 1] = [position]
    found = []
    position = end_positions[-1] if end_positions else -1
    while position >= 0:
        found.append(position)
        position = before[position]
    return found[::-1]


def join(first: Levels[T], second: Levels[T]) -> Levels[T]:
    """Insert the members that only `second` has between the levels of `first`, whose order stays.

    A level is a list of members of equal rank. Levels are ordered from the best to the worst.

    The anchors are the longest sequence of members that both have in the same order. A new member is put right
    before the next anchor after it in `second`, or after all of `first` if there is no such anchor.
    """
    level_of = {member: number for number, level in enumerate(first) for member in level}
    shared = [member for level in second for member in level if member in level_of]
    rising = longest_rising([level_of[member] for member in shared], strictly=True)
    anchors = {shared[position] for position in rising}
    before: dict[int, Levels[T]] = {}
    waiting: Levels[T] = []
    for level in second:
        anchor = next((member for member in level if member in anchors), None)
        if anchor is not None:
            before[level_of[anchor]] = waiting
            waiting = []
        new = [member for member in level if member not in level_of]
        if new:
            waiting.append(new)
    joined: Levels[T] = []
    for number, level in enumerate(first):
        joined += before.get(number, [])
        joined.append(level)
    return joined + waiting


def moved_behind(levels: Levels[T], members: Mapping[T, object] | set[T]) -> Levels[T]:
    """Move some members after all others, and keep their order."""
    others = [[member for member in level if member not in members] for level in levels]
    moved = [[member for member in level if member in members] for level in levels]
    return [level for level in (*others, *moved) if level]


def displaced(ranks: Sequence[int]) -> list[int]:
    """Return the positions of the smallest set of members without which the others are in order.

    >>> displaced([1, 2, 9, 3])
    [2]
    """
    kept = {*longest_rising(ranks, strictly=False)}
    return [position for position in range(len(ranks)) if position not in kept]

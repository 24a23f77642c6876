"""Samples of the slow tests: a few cases by default, more in CI, all on request.

FASTBPE_FULL chooses:
    unset: a quarter of the sample, other cases each day. pytest's header prints their seed: FASTBPE_SEED, or the
        day. If a test in SAMPLED_FOLDERS has many cases that are not random, only a few of them run. Each test
        marked `@pytest.mark.daily` runs on one day in eight.
    day: half of the sample. The steps of `.ci/run` run it, with every test marked `@pytest.mark.daily` and all
        cases that are not random. The whole sample would take CI four minutes more on two cores (2026-11-30).
    1: every case in its long form: whole corpora, thousands of random files, every code point.

A test gives the size of its sample. If it has a parameter `seed` and more than MANY_CASES cases, that is a third.
"""

from __future__ import annotations

import datetime
import os
import random
import zlib
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")

FULL = os.environ.get("FASTBPE_FULL") == "1"
SHARE = {"1": 1, "day": 2}.get(os.environ.get("FASTBPE_FULL", ""), 4)  # of the sample, one part in SHARE runs
DAYS = 8 if SHARE == 4 else 1  # a test marked daily runs on one day in DAYS
SEED = int(os.environ.get("FASTBPE_SEED") or datetime.date.today().toordinal())

if os.environ.get("FASTBPE_FULL", "") not in ("", "0", "1", "day"):
    raise ValueError(f"FASTBPE_FULL={os.environ['FASTBPE_FULL']!r}: unset it, or set it to day or to 1")

MANY_CASES = 4  # the sample of a random test that has more is a third of them
SAMPLED_FOLDERS = ("tests/property/", "tests/conformance/")


def n_rounds(sample: int, long: int) -> int:
    """Choose a number of rounds; `sample` is that of the whole sample."""
    return long if FULL else -(-sample // SHARE)


def rounds(sample: int, long: int) -> range:
    """Choose the rounds of the day: they follow those of the day before, so in time all run."""
    n = n_rounds(sample, long)
    start = min(SEED % -(-long // n) * n, long - n)
    return range(start, start + n)


def some(cases: Sequence[T], n: int) -> Sequence[T]:
    """Choose n cases of the day, in their order, or a part of n; in the long form all."""
    n = n_rounds(min(n, len(cases)), len(cases))
    return [cases[i] for i in sorted(random.Random(SEED).sample(range(len(cases)), n))]


def code_points() -> list[str]:
    """List all characters; of planes 4 to 13, which are empty, each 61st, so one of each row of 64 in a table.

    The long form has all of them.
    """
    empty = range(0x40000, 0xE0000, 1 if FULL else 61)
    return [*map(chr, [*range(0xD800), *range(0xE000, 0x40000), *empty, *range(0xE0000, 0x110000)])]


def share_of(n: int) -> int:
    """Return how many cases a test must at least have compared: a part of n, the number for the whole sample."""
    return n // SHARE


def sample_of(item: pytest.Item, n: int) -> int | None:
    """Return how many of a test's n parametrized cases its sample has; None: all run, also by default."""
    marker = item.get_closest_marker("sample")
    if marker is not None:
        return int(marker.args[0])
    is_random = isinstance(item, pytest.Function) and hasattr(item, "callspec") and "seed" in item.callspec.params
    if n > MANY_CASES and (is_random or (DAYS > 1 and item.nodeid.startswith(SAMPLED_FOLDERS))):
        return max(MANY_CASES, -(-n // 3))
    return None


def is_of_today(item: pytest.Item) -> bool:
    """Tell whether a test marked `@pytest.mark.daily` is among the one in DAYS that run today."""
    return (zlib.crc32(item.nodeid.encode("utf-8", "replace")) + SEED) % DAYS == 0


def split_items(
    items: list[pytest.Item], *, are_named: bool = False
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split collected tests into those to run and those to leave out.

    A test marked `@pytest.mark.sample(n)` keeps `some` of its parametrized cases. So does one without the marker
    that has many random cases, or many cases in SAMPLED_FOLDERS. Tests marked `@pytest.mark.daily` run all if the
    files are named, else in turn, one in DAYS each day. A test may have both marks.
    """
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[")[0]].append(item)
    left_out: set[pytest.Item] = set()
    for of_one_test in cases.values():
        n = sample_of(of_one_test[0], len(of_one_test))
        if n is not None:
            left_out |= {*of_one_test} - {*some(of_one_test, n)}
        if not are_named and of_one_test[0].get_closest_marker("daily") is not None:
            left_out |= {item for item in of_one_test if not is_of_today(item)}
    return [item for item in items if item not in left_out], [item for item in items if item in left_out]

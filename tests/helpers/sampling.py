"""Samples of the slow tests: a few cases by default, a third of them in CI, all on request.

FASTBPE_FULL chooses:
    unset: a sample, for `pytest` in a few minutes. pytest's header prints its seed: FASTBPE_SEED, or the day.
    ci: a third of the cases, as `.ci/run` does: another third each day, so that three days run all.
    1: every case in its long form: whole corpora, thousands of random files, every code point.
"""

from __future__ import annotations

import datetime
import os
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")

LEVEL = os.environ.get("FASTBPE_FULL", "")
LONG = LEVEL == "1"
WHOLE = LEVEL in ("1", "ci")
SEED = int(os.environ.get("FASTBPE_SEED") or datetime.date.today().toordinal())

if LEVEL not in ("", "0", "ci", "1"):
    raise ValueError(f"FASTBPE_FULL={LEVEL!r}: unset it, or set it to ci or 1")


def n_rounds(sample: int, whole: int, long: int | None = None) -> int:
    """Choose a size: in a sample, in CI, and in the long form (None: as in CI)."""
    if LONG and long is not None:
        return long
    return whole if WHOLE else sample


def rounds(sample: int, whole: int, long: int | None = None) -> range:
    """Choose the rounds of the day: `sample`, in CI a third of `whole`; in the long form all (None: `whole`)."""
    if LONG:
        return range(whole if long is None else long)
    n = max(sample, -(-whole // 3)) if WHOLE else sample
    start = min(SEED % -(-whole // n) * n, whole - n)
    return range(start, start + n)


def some(cases: Sequence[T], n: int) -> Sequence[T]:
    """Choose the cases of the day, in their order: n, in CI a third or more; in the long form all."""
    if LONG or n >= len(cases):
        return cases
    if WHOLE and n < len(cases) / 3:
        return cases[SEED % 3 :: 3]
    return [cases[i] for i in sorted(random.Random(SEED).sample(range(len(cases)), n))]


def split_items(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split collected tests into those to run and those to leave out.

    A test marked `@pytest.mark.sample(n)` keeps `some` of its parametrized cases.
    """
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample") is not None:
            cases[item.nodeid.split("[")[0]].append(item)
    left_out: set[pytest.Item] = set()
    for of_one_test in cases.values():
        marker = of_one_test[0].get_closest_marker("sample")
        assert marker is not None
        left_out |= {*of_one_test} - {*some(of_one_test, marker.args[0])}
    return [item for item in items if item not in left_out], [item for item in items if item in left_out]

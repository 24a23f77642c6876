"""Samples of the slow tests: a few cases by default, all on request.

FASTBPE_FULL chooses:
    unset: a sample, which takes some minutes, also in CI. pytest's header prints its seed: FASTBPE_SEED, or the
        day, so that each day runs other cases. Of a test in tests/property or tests/conformance with more than
        MANY_CASES parametrized cases, a third runs.
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

LONG = os.environ.get("FASTBPE_FULL") == "1"
SEED = int(os.environ.get("FASTBPE_SEED") or datetime.date.today().toordinal())

if os.environ.get("FASTBPE_FULL", "") not in ("", "0", "1"):
    raise ValueError(f"FASTBPE_FULL={os.environ['FASTBPE_FULL']!r}: unset it, or set it to 1")


MANY_CASES = 4  # a test of random or real texts that has more runs a third of them each day
SAMPLED_FOLDERS = ("tests/property/", "tests/conformance/")


def n_rounds(sample: int, long: int) -> int:
    """Choose a size."""
    return long if LONG else sample


def rounds(sample: int, long: int) -> range:
    """Choose the rounds of the day."""
    if LONG:
        return range(long)
    start = min(SEED % -(-long // sample) * sample, long - sample)
    return range(start, start + sample)


def some(cases: Sequence[T], n: int) -> Sequence[T]:
    """Choose n cases of the day, in their order; in the long form all."""
    if LONG or n >= len(cases):
        return cases
    return [cases[i] for i in sorted(random.Random(SEED).sample(range(len(cases)), n))]


def split_items(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split collected tests into those to run and those to leave out.

    A test marked `@pytest.mark.sample(n)` keeps `some` of its parametrized cases; one of SAMPLED_FOLDERS with many
    cases keeps a third.
    """
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[")[0]].append(item)
    left_out: set[pytest.Item] = set()
    for name, of_one_test in cases.items():
        marker = of_one_test[0].get_closest_marker("sample")
        if marker is not None:
            left_out |= {*of_one_test} - {*some(of_one_test, marker.args[0])}
        elif name.startswith(SAMPLED_FOLDERS) and len(of_one_test) > MANY_CASES:
            left_out |= {*of_one_test} - {*some(of_one_test, max(MANY_CASES, -(-len(of_one_test) // 3)))}
    return [item for item in items if item not in left_out], [item for item in items if item in left_out]

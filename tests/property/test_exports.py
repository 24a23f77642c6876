"""Random vocabularies in every format; `tools/export_check.py` draws more of them."""

from __future__ import annotations

from collections import Counter

import pytest

from helpers import random_exports


@pytest.mark.daily
@pytest.mark.sample(5)
@pytest.mark.parametrize("first", range(0, 200, 10))
def test_exports_keep_every_id(first: int) -> None:
    counts: Counter[tuple[str, str, str]] = Counter()
    wrong: list[str] = []
    for seed in range(first, first + 10):
        wrong += random_exports.check(seed, counts, owners=seed == first)
    assert not wrong


@pytest.mark.daily
def test_random_exports_cover_every_kind_and_outcome() -> None:
    counts: Counter[tuple[str, str, str]] = Counter()
    for seed in range(1000, 1060):
        random_exports.check(seed, counts, owners=False)
    kinds = {kind for kind, _, _ in counts}
    assert kinds == {"ranks", "merges", "listed", "document", "points", "llama"}
    written = {(kind, format) for kind, format, outcome in counts if outcome == "written"}
    assert {(kind, "native") for kind in kinds} | {("ranks", "gpt2"), ("listed", "tiktoken")} <= written
    assert sum(n for (_, _, outcome), n in counts.items() if outcome == "refused with a text") > 10

"""Random tokenizer.json files of BPE beside tokenizers; tools/pipelines_check.py compares thousands."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tokenizers")

from helpers import pipeline_check
from helpers.sampling import rounds
from helpers.tokenizer_json import BYTE_LEVEL, SHOWN, document, sequence

#: Files that differed once → texts.
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "byte_fallback in a vocabulary of bytes that lacks one": (
        document(
            {"a": 0, "\u0120": 1, "<0x62>": 2, "<0xC4>": 3, "<0xA0>": 4},
            [],
            pre_tokenizer={**BYTE_LEVEL, "add_prefix_space": True},
            model={"byte_fallback": True},
        ),
        ["ab", "b", " a"],
    ),
    "ByteLevel twice": (
        document({one: i for i, one in enumerate(SHOWN)}, [], pre_tokenizer=sequence(BYTE_LEVEL, BYTE_LEVEL)),
        ["a \u00e9", "\u6f22 b"],
    ),
}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.mark.parametrize("face", pipeline_check.FACES)
@pytest.mark.parametrize("case", CASES)
def test_files_that_differed_give_what_tokenizers_gives(case: str, face: str) -> None:
    made, texts = CASES[case]
    found = pipeline_check.compare(made, texts, pipeline_check.FACES[face])
    assert not found.differs, found


@pytest.mark.parametrize("part", rounds(4, 400))
def test_random_pipelines_give_what_tokenizers_gives(part: int) -> None:
    for seed in range(10 * part, 10 * part + 10):
        assert not (wrong := pipeline_check.check(str(seed), "tokenizers")), f"seed {seed}: {wrong}"

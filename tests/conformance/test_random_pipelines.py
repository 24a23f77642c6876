"""Random tokenizer.json files against tokenizers; tools/pipelines_check.py compares thousands."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tokenizers")

from helpers import pipeline_check
from helpers.sampling import rounds
from helpers.tokenizer_json import BYTE_LEVEL, SHOWN, added, document, sequence

FIRST = {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": True}


def unigram(tokens: list[str], *, falls_back: bool = False, **parts: Any) -> dict[str, Any]:
    """Return a file with a Unigram model whose tokens have the same score; the first one is the unknown one."""
    model = {
        "type": "Unigram",
        "unk_id": 0,
        "vocab": [[token, -1.0] for token in tokens],
        "byte_fallback": falls_back,
    }
    return document({}, [], decoder=None, **parts) | {"pre_tokenizer": None, "model": model}


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
    "a first character of three bytes that is replaced": (
        document(
            {"_": 0, "b": 1},
            [],
            normalizer={"type": "Replace", "pattern": {"String": "\ufffd"}, "content": "b"},
            decoder=FIRST,
        )
        | {"pre_tokenizer": FIRST},
        ["\ufffd", "b\ufffd"],
    ),
    "an added token in a first character that is decomposed": (
        document(
            {"_": 0, "E": 1, "\u0301": 2},
            [],
            normalizer={"type": "NFD"},
            decoder=FIRST,
            added_tokens=[added(1, "E", normalized=True)],
        )
        | {"pre_tokenizer": FIRST},
        ["\u00c9", "E\u0301", "a\u00c9"],
    ),
    "ByteLevel whose trim_offsets is not there": (
        document({"a": 0}, [], pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False}),
        ["a"],
    ),
    "a post-processor ByteLevel whose trim_offsets is none": (
        document({"a": 0}, [], post_processor={**BYTE_LEVEL, "trim_offsets": None}),
        ["a"],
    ),
    "a decoder whose trim_offsets is none": (
        document({"a": 0}, [], decoder={**BYTE_LEVEL, "trim_offsets": None}),
        ["a"],
    ),
    "ByteLevel twice": (
        document({one: i for i, one in enumerate(SHOWN)}, [], pre_tokenizer=sequence(BYTE_LEVEL, BYTE_LEVEL)),
        ["a \u00e9", "\u6f22 b"],
    ),
    "offsets of an unknown token of a Unigram, trimmed by its text": (
        unigram(["a"], post_processor={**BYTE_LEVEL, "trim_offsets": True}),
        [" ", "a\u00e9 ", "\u2028 \u00e9a", "\u0120b"],
    ),
    "an unknown token of a Unigram with the name of white space": (
        unigram(["\u00a0", "a"], post_processor={**BYTE_LEVEL, "add_prefix_space": False, "trim_offsets": True}),
        ["\ufffd", "a\u00e9", "\u00a0a"],
    ),
    "an unknown token of a Unigram that stands for a byte": (
        unigram(["<0x31>", "a", "<0xC3>", "<0xA9>"], falls_back=True),
        ["1", "a1\u00e9", "2", "12"],
    ),
    "an added token behind equal tokens of a Unigram": (
        unigram(["a", "b", "b"], added_tokens=[added(3, "new")]),
        ["new", "ab new", "b"],
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


@pytest.mark.parametrize("face", pipeline_check.FACES)
@pytest.mark.parametrize("model", ["BPE", "Unigram", "WordPiece", "WordLevel"])
@pytest.mark.parametrize("part", rounds(2, 200))
def test_random_pipelines_give_what_tokenizers_gives(part: int, model: str, face: str) -> None:
    for seed in range(10 * part, 10 * part + 10):
        assert not (wrong := pipeline_check.check(str(seed), face, model=model)), f"seed {seed}: {wrong}"


def test_damaged_file_that_differs_can_be_made_smaller() -> None:
    made = document({"a": 0}, [], added_tokens=[{"content": "a"}, {"id": 1}])
    found = pipeline_check.Found("a difference of a kind that no smaller file has")
    assert pipeline_check.shrink(made, found, pipeline_check.FACES["load"]) == (made, found)

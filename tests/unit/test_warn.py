"""Place of warnings: the line of the program that called fastbpe."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from fastbpe import Tokenizer, count_pieces, load, train


def _load_with_truncation(folder: Path) -> object:
    tokenizer = Tokenizer.from_merges([(97, 98)], pattern="gpt2")
    tokenizer.save(folder / "tokenizer.json")
    described = json.loads((folder / "tokenizer.json").read_text())
    described["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    (folder / "tokenizer.json").write_text(json.dumps(described))
    return load(folder / "tokenizer.json")


def _train_with_too_little_text(folder: Path) -> object:
    return train(["ab"], vocab_size=400, pattern="gpt2")


def _train_code_points_without_a_long_line(folder: Path) -> object:
    return train(["ab ab", "q" * 5000], vocab_size=8, mode="codepoint")


def _train_sequences(folder: Path) -> object:
    return train([[1, 2, 1, 2]], vocab_size=400, mode="ids", base_size=3)


def _read_a_file_twice(folder: Path) -> object:
    (folder / "a.txt").write_text("ab")
    return count_pieces([folder / "a.txt", folder / "a.txt"])


@pytest.mark.parametrize(
    "call",
    [
        _load_with_truncation, _train_with_too_little_text, _train_code_points_without_a_long_line,
        _train_sequences, _read_a_file_twice,
    ],
)  # fmt: skip
def test_a_warning_names_the_line_outside_fastbpe(call: Callable[[Path], object], tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(tmp_path)
    assert [w.filename for w in caught] == [__file__] * len(caught)
    assert caught

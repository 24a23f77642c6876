r"""Patterns that match the empty text before groups counted from the right, as SuperBPE's `(?=(\d{3})+(?!\d))`."""

import random

import pytest

from fastbpe.splitting.empty_matches import make_empty_splitter, split_spans
from fastbpe.splitting.to_regex import compile_regex

THREES = r"(?=(\d{3})+(?!\d))"


@pytest.mark.parametrize("pattern", [THREES, r"(?=(?:\d{2})+(?!\d))", r"(?=(?:[ab]{3})+?(?![ab]))"])
def test_pieces_are_those_of_the_regex(pattern: str) -> None:
    splitter = make_empty_splitter(pattern, "isolated", invert=False)
    compiled = compile_regex(pattern, may_be_empty=True)
    assert "from the right" in repr(splitter)
    rng = random.Random(0)
    for _ in range(500):
        text = "".join(rng.choices("1234567ab ½²٣४é", k=rng.randint(1, 20)))
        ends = [len(text[:end].encode()) for _, end in split_spans(compiled, text, "isolated", False) if end]
        assert splitter.ends(text) == [*dict.fromkeys(ends)], text


def test_a_long_run_of_digits_is_split() -> None:
    assert len(make_empty_splitter(THREES, "isolated", invert=False).ends("7" * 200_000)) == 66_667


@pytest.mark.parametrize(
    "pattern", [r"(?=(\d{3})+(?!\w))", r"(?=(\d{2,3})+(?!\d))", r"(?=(\d{3})*(?!\d))", r"(?!(\d{3})+(?!\d))"]
)
def test_other_patterns_run_as_written(pattern: str) -> None:
    assert "from the right" not in repr(make_empty_splitter(pattern, "isolated", invert=False))

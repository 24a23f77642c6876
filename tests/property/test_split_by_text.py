"""Splitter by one text: the pieces that a regex finds."""

import itertools
import random

import pytest
import regex

from fastbpe._core.split.by_character import ByText
from helpers.sampling import SEED

HOWS = ("matches", "begins", "runs")


def slow(text: str, mark: str, how: str) -> list[tuple[int, int]]:
    """Return the places of the pieces, in bytes."""
    found = [match.span() for match in regex.finditer(regex.escape(mark), text)]
    starts = {0, *(start for start, _ in found)}
    if how == "runs":
        starts -= {end for _, end in found} - {0}
    ordered = [*sorted(starts), len(text)]
    spans = found if how == "matches" else [*itertools.pairwise(ordered)]
    return [(len(text[:start].encode()), len(text[:end].encode())) for start, end in spans if start < end]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("mark", ["\u2581", " ", "ab", "aa", "\U0001f642"])
def test_pieces_equal_the_regex(mark: str, how: str) -> None:
    rng = random.Random(SEED)
    splitter = ByText(mark.encode(), how)  # type: ignore[arg-type]
    for _ in range(200):
        text = "".join(
            rng.choice([mark, mark, "a", "b", "\u2580", "\U0001f643", "é"]) for _ in range(rng.randrange(12))
        )
        assert splitter.pieces(text) == slow(text, mark, how), text
        cut = text.encode()[: rng.randrange(1 + len(text.encode()))]  # bytes that end within a character
        assert not cut or splitter.ends_in(cut)[-1] == len(cut)


def test_wrong_arguments_raise_value_error() -> None:
    for text, how in ((b"", "begins"), (b"a", "ends")):
        with pytest.raises(ValueError, match="text must not be empty, and how must be"):
            ByText(text, how)  # type: ignore[arg-type]

"""minbpe's module `base`: the base class, and functions for teaching in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from fastbpe.formats.minbpe import shown, without_controls
from fastbpe.minbpe.tokenizers import Pair, Tokenizer

__all__ = ["Tokenizer", "get_stats", "merge", "render_token", "replace_control_characters"]


def get_stats(ids: Sequence[int], counts: dict[Pair, int] | None = None) -> dict[Pair, int]:
    """Count the pairs of neighbours, in the order in which they first occur.

    Args:
        ids: ids of a text.
        counts: dict to add to; None: a new one.

    >>> get_stats([1, 2, 3, 1, 2])
    {(1, 2): 2, (2, 3): 1, (3, 1): 1}
    """
    found = {} if counts is None else counts
    for pair in pairwise(ids):
        found[pair] = found.get(pair, 0) + 1
    return found


def merge(ids: Sequence[int], pair: Pair, idx: int) -> list[int]:
    """Replace a pair of neighbours by one id, from left to right.

    >>> merge([1, 2, 3, 1, 2], (1, 2), 4)
    [4, 3, 4]
    """
    merged: list[int] = []
    is_merged = False  # the last id of `merged` is a new one, with which no pair begins
    for one in ids:
        if merged and not is_merged and (merged[-1], one) == pair:
            merged[-1], is_merged = idx, True
        else:
            merged.append(one)
            is_merged = False
    return merged


render_token = shown
replace_control_characters = without_controls

"""Templates: the ids around one text or two, and the places of the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

TEXT, PAIR = -1, -2  # in a template: where the text stands, and where the second one stands


class Templates(NamedTuple):
    """The ids around a text and around two texts, with TEXT and PAIR in the places of the texts."""

    single: Sequence[int]
    pair: Sequence[int]


def around(before: Sequence[int], behind: Sequence[int]) -> Templates:
    """Templates that put the same ids around each text.

    >>> around([1], [2])
    Templates(single=(1, -1, 2), pair=(1, -1, 2, 1, -2, 2))
    """
    return Templates((*before, TEXT, *behind), (*before, TEXT, *behind, *before, PAIR, *behind))

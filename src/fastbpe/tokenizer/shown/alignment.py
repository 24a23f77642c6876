"""Alignment of the tokens of two tokenizers on one text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.short_reprs import fields_repr
from fastbpe.tokenizer.internals import check_tokenizers
from fastbpe.tokenizer.tokenizer import Tokenizer


class Aligned(NamedTuple):
    """Part of a text that begins and ends at token boundaries of both tokenizers.

    first: list of int – ids of the first tokenizer.
    second: list of int – ids of the second tokenizer.
    start: int – offset of the part, in characters.
    end: int – its end.
    """

    first: list[int]
    second: list[int]
    start: int
    end: int

    def __repr__(self) -> str:
        return fields_repr(self)


def align(text: str, a: Tokenizer, b: Tokenizer) -> list[Aligned]:
    """Cut a text into the shortest parts that begin and end at token boundaries of both tokenizers.

    Special tokens are encoded as ordinary text. The parts cover the text, and the ids of all parts, joined, are
    the ids of the whole. Tokens that share a character are in one part. A token without characters, such as a
    space that a normalizer put before the text, is in the part that begins at its position. A part that the
    normalizer of a tokenizer removes has no ids of this tokenizer.

    Args:
        text: str.
        a: the first tokenizer, of any mode.
        b: the second tokenizer.

    Raises:
        TypeError: the text is not a str, or a or b is not a Tokenizer.

    >>> from fastbpe import Tokenizer, align
    >>> one = Tokenizer.from_merges([(97, 98)], pattern=None)
    >>> other = Tokenizer.from_merges([(98, 99)], pattern=None)
    >>> [*map(tuple, align("abcd", one, other))]
    [([256, 99], [97, 256], 0, 3), ([100], [100], 3, 4)]
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}; decode bytes first")
    check_tokenizers(a=a, b=b)
    sides = [tokenizer.encode_with_offsets(text, disallowed_special=()) for tokenizer in (a, b)]
    cuts = _common_cuts(len(text), [spans for _, spans in sides])
    parts = [Aligned([], [], start, end) for start, end in pairwise(cuts)]
    if not parts:  # an empty text, to which a normalizer may add characters that have ids
        parts = [Aligned([], [], 0, 0)] if any(ids for ids, _ in sides) else []
    for side, (ids, spans) in enumerate(sides):
        at = 0
        for token_id, (start, _) in zip(ids, spans, strict=True):
            # A token without characters at the end of the text is in the last part. Spans may go back, as in
            # tokenizers for a continuing_subword_prefix in bytes; ids stay in their order.
            at = max(at, min(bisect_right(cuts, start) - 1, len(parts) - 1))
            parts[at][side].append(token_id)  # type: ignore[union-attr]  # fields 0 and 1 are lists
    return parts


def _common_cuts(n: int, sides: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """Return the offsets, sorted, at which some token begins or ends and that no token spans; with 0 and n."""
    spanned = [0] * (n + 1)  # differences: how many tokens span each offset
    edges = {0, n}
    for spans in sides:
        for start, end in spans:
            start, end = min(start, n), min(end, n)  # such spans may also lie beyond the text
            edges |= {start, end}
            if end - start > 1:
                spanned[start + 1] += 1
                spanned[end] -= 1
    cuts, depth = [], 0
    for at, change in enumerate(spanned):
        depth += change
        if not depth and at in edges:
            cuts.append(at)
    return cuts

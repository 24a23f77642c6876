"""Comparison of the ids of two texts with the ids of the joined text.

Only the text around the joint is encoded, separately and joined: from the last cut of the first text up to the
first cut of the second one. Before and after these cuts, ids are the same: `stream_cuts` says why.
"""

from __future__ import annotations

from collections.abc import Collection

from fastbpe._core.encode.pipeline import Pipeline
from fastbpe._core.encode.text_cuts import encode_part, may_cut
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.text.utf8_text import plain, to_utf8
from fastbpe.tokenizer.internals import check_tokenizers
from fastbpe.tokenizer.streams.stream_cuts import NEARBY_CHARACTERS, near_of
from fastbpe.tokenizer.tokenizer import Tokenizer


def joins(
    tokenizer: Tokenizer, a: str | bytes, b: str | bytes, *, allowed_special: str | Collection[str] = frozenset()
) -> bool:
    """Tell whether the ids of a, followed by the ids of b, equal the ids of a + b.

    Only the text around the joint is encoded, up to a cut on either side; the whole text if that does not decide.

    Args:
        tokenizer: Tokenizer.
        a, b: str, or bytes of UTF-8.
        allowed_special: special tokens that are encoded as such: a set, or "all". Others are ordinary text here.

    Raises:
        ValueError, TypeError: as in `Tokenizer.encode`, but never because of a special token.

    >>> import fastbpe
    >>> tokenizer = fastbpe.Tokenizer.from_merges([(97, 98)], pattern="gpt2")
    >>> fastbpe.joins(tokenizer, "a a", "b"), fastbpe.joins(tokenizer, "ab", " ab")
    (False, True)
    """
    check_tokenizers(tokenizer=tokenizer)
    allowed, _ = tokenizer._special.choose(allowed_special, ())
    first, second = (plain(text) if isinstance(text, str) else to_utf8(text).decode() for text in (a, b))
    pipeline, whole, joint = tokenizer._pipeline, first + second, len(first)
    start, end = 0, len(whole)
    near = near_of(pipeline, lambda: tokenizer._pair_cuts, allowed)
    if near is not None:
        # The last cut of the first text; cuts of pairs are looked for nearby only, because they may be rare.
        before = 0 if may_cut(pipeline, allowed, None) else max(joint - NEARBY_CHARACTERS, 0)
        if joint > 1 and (cut := near(whole, before, joint - 1)) < joint:
            start = cut
        if len(second) > 1:
            end = near(whole, joint, joint + 1)
    while True:
        # A run of unknown characters before the first cut becomes one id: try both states.
        same = {_joins(pipeline, first, whole, start, end, allowed, state) for state in {False, start > 0}}
        if len(same) == 1 and None not in same:
            return True in same
        start, end = 0, len(whole)


def _joins(
    pipeline: Pipeline, first: str, whole: str, start: int, end: int, allowed: SpecialMatcher | None, state: bool
) -> bool | None:
    """Compare the ids of whole[start:end], separately and joined; None if the ids after `end` may differ.

    start, end: ends of the texts, or cuts.
    state: as `after_fused` of encode_part, at `start`.
    """
    joint = len(first)
    joined, state_joined = encode_part(pipeline, whole, start, end, allowed, state)
    ids, _ = encode_part(pipeline, first, start, joint, allowed, state)
    ids_behind, state_alone = encode_part(pipeline, whole[joint : end + 1], 0, end - joint, allowed, False)
    return None if state_joined != state_alone and end < len(whole) else ids + ids_behind == joined

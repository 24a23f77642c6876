"""Comparison of two texts' ids with the ids of both together: `Tokenizer.joins`.

Only the text around the joint is encoded: from the last cut of the first text, as a part and joined, and up to the
first cut of the second one. Before and after these cuts, ids are the same: `stream_cuts` says why.
"""

from __future__ import annotations

from collections.abc import Callable

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.encode.pipeline import Pipeline
from fastbpe._core.encode.text_cuts import encode_part, may_cut
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe.tokenizer.stream_cuts import NEARBY_CHARACTERS, PairCuts, near_of


def joins(
    encoder: Encoder,
    a: str | bytes,
    b: str | bytes,
    pairs: Callable[[], PairCuts | None],
    allowed: SpecialMatcher | None,
) -> bool:
    """Tell whether the ids of a, then the ids of b, are the ids of a + b. See `Tokenizer.joins`."""
    first, second = (text if isinstance(text, str) else to_utf8(text).decode() for text in (a, b))
    encoder.encode("")  # builds what the first call builds
    pipeline, whole, joint = encoder._pipeline, first + second, len(first)
    start, end = 0, len(whole)
    near = near_of(pipeline, pairs, allowed)
    if near is not None:
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
    """Compare the ids of whole[start:end], alone and joined; None if the ids behind may differ.

    start, end: ends of the texts, or cuts.
    state: as `after_fused` of encode_part, at `start`.
    """
    joint = len(first)
    joined, state_joined = encode_part(pipeline, whole, start, end, allowed, state)
    ids, _ = encode_part(pipeline, first, start, joint, allowed, state)
    ids_behind, state_alone = encode_part(pipeline, whole[joint : end + 1], 0, end - joint, allowed, False)
    return None if state_joined != state_alone and end < len(whole) else ids + ids_behind == joined

"""Splitting of a piece by a step of a pre-tokenizer, with the splitters of the core."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from fastbpe._core.encode.offsets import changed_pieces, pieces
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.split.stages import Stage
from fastbpe.splitting.changing_steps import make_stages
from fastbpe.splitting.empty_matches import split_spans
from fastbpe.splitting.oniguruma import from_oniguruma
from fastbpe.splitting.steps import Split, step_of
from fastbpe.splitting.to_regex import EmptyMatchError, compile_regex
from fastbpe.tokenizers import component_texts
from fastbpe.tokenizers.pieces import Piece, Span


def split_piece(piece: Piece, step: Mapping[str, Any], *, is_first: bool = False) -> list[Piece]:
    """Split a piece by a pre-tokenizer's step. step: its description in a tokenizer.json.

    is_first: the piece is at the start of the text. Raises PatternError if fastbpe cannot run a pattern.
    """
    splitter, stages = _made(component_texts.compact(step))
    if stages is None:
        return [piece.part(*span) for span in pieces(splitter, piece.text)]
    made = changed_pieces(splitter, stages, piece.text, is_first)
    return [Piece(text, [piece.spans[place] for place in places]) for text, places in made]


@lru_cache(maxsize=64)
def _made(described: bytes) -> tuple[Splitter, Stage | None]:
    """Return the splitter for a step, and the first of the stages that change its pieces; None: they stay."""
    splitter, stages, _ = make_stages([json.loads(described)])
    return splitter, stages


def spans_with_empty(text: str, step: Mapping[str, Any]) -> list[Span] | None:
    """Return the spans of a text's parts after a Split, also empty ones; None: its pattern has no empty match."""
    split = step_of(step)
    assert isinstance(split, Split)
    if split.literal:
        return None
    regex = from_oniguruma(split.pattern)
    try:
        compile_regex(regex)
    except EmptyMatchError:
        return split_spans(compile_regex(regex, may_be_empty=True), text, split.behavior, split.invert)
    return None

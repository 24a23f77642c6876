"""Plans of calls: the settings of a `tokenizers.Tokenizer`, and the frame of its post-processor."""

from __future__ import annotations

from functools import partial

from fastbpe.huggingface.rows import HandOver, Offsets, Plan, encode_spans
from fastbpe.huggingface.truncation_rules import read_truncation
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.transformers.engine import Engine


def make_plan(engine: Engine, *, pair: bool, add_special_tokens: bool) -> Plan:
    """Make the plan of a call from the present settings of an engine's original.

    pair: rows are pairs. Raises HandOver if the original must handle the call, or raise an error.
    """
    tokenizer, original = engine.ready(), engine.original
    if tokenizer is None:
        raise HandOver(engine.reason or "another thread is changing the tokenizer")
    frame = engine.frame(pair=pair, add_special_tokens=add_special_tokens)
    if frame is None:
        raise HandOver("a post-processor that does not put the same ids around every text")
    splits_special = bool(original.encode_special_tokens)
    if splits_special and not engine.splits_as_flagged():
        raise HandOver(
            "an added token that was special before, or that is not found in a text that consists only of it"
        )
    settings = original.truncation
    truncation = None if settings is None else read_truncation(settings, frame.n_added)
    if settings is not None and truncation is None:
        raise HandOver(
            "truncation that leaves no id for the text, or a stride of at least as many ids as it leaves"
        )
    return Plan(tokenizer, frame, settings, original.padding, truncation, splits_special)


def make_offsets(engine: Engine, plan: Plan) -> Offsets:
    """Return the source of offsets for the present state of the original. Raises HandOver as `make_plan` does."""
    tokenizer = tokenizer_for_offsets(engine)
    return Offsets(partial(encode_spans, tokenizer, splits=plan.splits_special), engine.trims_by_place())


def tokenizer_for_offsets(engine: Engine) -> Tokenizer:
    """Return a tokenizer with the offsets of the original's present state. Raises HandOver as `make_plan` does."""
    tokenizer = engine.with_offsets()
    if tokenizer is None:
        raise HandOver(engine.reason or "another thread is changing the tokenizer")
    return tokenizer

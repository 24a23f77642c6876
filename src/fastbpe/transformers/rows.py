"""Rows of a batch (texts, words, pairs of either), encoded under the settings that the original has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, chain, islice, pairwise
from typing import Any, NamedTuple

from fastbpe.fitting.truncation import Truncation, read_truncation
from fastbpe.tokenizer.beginnings import encode_beginnings
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.transformers.columns import Encoded, Span, truncate
from fastbpe.transformers.engine import Engine
from fastbpe.transformers.frames import Frame
from fastbpe.transformers.inputs import Inputs

#: Ids of each text, and spans of each; None: the call does not ask for spans.
_Lists = tuple[list[list[int]], list[list[Span]] | None]
_Encode = Callable[[Sequence[Any]], _Lists]


class HandOver(Exception):
    """Reason for which the original answers a call."""


class Plan(NamedTuple):
    """All that decides the ids of a batch, besides its texts.

    tokenizer: fastbpe's tokenizer.
    frame: ids around each row.
    settings, padding: properties `truncation` and `padding` of the original.
    truncation: its truncation as `columns` takes it; None: none.
    splits_special: its `encode_special_tokens`: special tokens in texts are split like any text.
    """

    tokenizer: Tokenizer
    frame: Frame
    settings: dict[str, Any] | None
    padding: dict[str, Any] | None
    truncation: Truncation | None
    splits_special: bool


def make_plan(engine: Engine, *, pair: bool, add_special_tokens: bool, fast: bool = False) -> Plan:
    """Read the settings of an engine's original. Takes the arguments of `find_frame`.

    Raises:
        HandOver: the original must answer, or raise.
    """
    tokenizer, original = engine.ready(), engine.original
    if tokenizer is None:
        raise HandOver(engine.reason or "the tokenizer changes while it encodes")
    frame = engine.frame(pair=pair, add_special_tokens=add_special_tokens, fast=fast)
    if frame is None:
        raise HandOver("a post-processor without a fixed frame")
    splits_special = bool(original.encode_special_tokens)
    if splits_special and not engine.splits_as_flagged():
        raise HandOver("an added token that was special before, or is not found by itself")
    settings = original.truncation
    truncation = None if settings is None else read_truncation(settings, frame.n_added)
    if settings is not None and truncation is None:
        raise HandOver("truncation to less than one id, or with a stride as long")
    return Plan(tokenizer, frame, settings, original.padding, truncation, splits_special)


def encode_rows(
    engine: Engine, plan: Plan, inputs: Inputs, *, words: bool, overflowing: bool = False, offsets: bool = False
) -> tuple[list[Encoded], list[int] | None]:
    """Encode the texts of each row, and truncate them.

    Args:
        engine: the engine of the plan.
        plan: the settings.
        inputs: the texts.
        words: texts are lists of words.
        overflowing: give the parts that truncation cuts off as rows of their own.
        offsets: give spans, too.

    Returns:
        The rows, and the number of the input of each; None: each input is a row.

    Raises:
        HandOver: the original must answer, or raise.
    """
    tokenizer, truncation = plan.tokenizer, plan.truncation
    if offsets:
        tokenizer = tokenizer_for_offsets(engine, truncation, overflowing=overflowing)
    encode: _Encode = partial(_encode_texts, tokenizer, splits=plan.splits_special, offsets=offsets)
    if words:
        encode = partial(_encode_words, encode, trims=offsets and engine.trims_by_place())
    elif truncation is not None and inputs.seconds is None and not overflowing:
        limit = n_first_ids(truncation)
        if limit is not None:
            encode = partial(_encode_beginnings, tokenizer, encode, n_ids=limit, splits=plan.splits_special)
    rows = _pair_up(inputs, encode)
    if truncation is None:
        return rows, None
    cut = truncate(rows, truncation, overflowing=overflowing)
    if cut is None:
        raise HandOver("truncation that raises an error")
    return [part for parts in cut for part in parts], [i for i, parts in enumerate(cut) for _ in parts]


def tokenizer_for_offsets(
    engine: Engine, truncation: Truncation | None, *, overflowing: bool = False
) -> Tokenizer:
    """Return fastbpe's tokenizer with the offsets of the original as it is now.

    Raises:
        HandOver: the original must answer, or raise.
    """
    if truncation is not None and (overflowing or truncation.left) and engine.trims_by_place():
        raise HandOver("offsets that are trimmed after truncation")
    tokenizer = engine.with_offsets()
    if tokenizer is None:
        raise HandOver(engine.reason or "the tokenizer changes while it encodes")
    if tokenizer.mode == "codepoint" and engine.trims_offsets():
        raise HandOver("offsets that are trimmed in a vocabulary of characters")
    return tokenizer


def _encode_words(encode: _Encode, rows: Sequence[Sequence[str]], *, trims: bool) -> _Lists:
    """Encode rows of words, each word as a text. trims: as in `Engine.trims_by_place`."""
    ids, spans = encode([*chain(*rows)])
    ends = [*accumulate(map(len, rows), initial=0)]
    places = [slice(*place) for place in pairwise(ends)]
    joined = [[*chain(*ids[here])] for here in places]
    if spans is None:
        return joined, None
    for here in places:
        # fastbpe trims each word as a text. In the original, the first token of a row keeps the space that was put
        # before it, and another word's only if it starts at 0.
        later = islice(filter(None, spans[here]), 1, None)
        if trims and any(word[0][0] for word in later):
            raise HandOver("offsets that are trimmed in a word that does not start at 0")
    return joined, [[*chain(*spans[here])] for here in places]


def n_first_ids(truncation: Truncation) -> int | None:
    """Return how many ids of a text, from its start, decide what truncation of single texts gives; None: all."""
    # tokenizers raises an error for "only_second" if a text has more ids than the limit.
    return None if truncation.left else truncation.limit + (truncation.strategy == "only_second")


def _pair_up(inputs: Inputs, encode: _Encode) -> list[Encoded]:
    """Encode the first text of each row, and the second one where there is one."""
    ids, spans = encode(inputs.firsts)
    if inputs.seconds is None:
        if spans is None:
            return [Encoded((one,), None) for one in ids]
        return [Encoded((one,), (its,)) for one, its in zip(ids, spans, strict=True)]
    others, their = encode(inputs.seconds)
    return [
        Encoded((one, other), None if spans is None or their is None else (spans[i], their[i]))
        for i, (one, other) in enumerate(zip(ids, others, strict=True))
    ]


def _encode_beginnings(
    tokenizer: Tokenizer, encode: _Encode, texts: Sequence[str], *, n_ids: int, splits: bool
) -> _Lists:
    """Encode texts as far as their first n_ids ids go. splits: as in `_encode_texts`."""
    return encode_beginnings(
        encode, lambda made: [*map(len, made[0])], tokenizer, texts, n_ids, splits_special=splits
    )


def _encode_texts(tokenizer: Tokenizer, texts: Sequence[str], *, splits: bool, offsets: bool) -> _Lists:
    """Encode texts. splits: special tokens in the texts are split like any text."""
    if not offsets:
        if splits:
            return tokenizer.encode_ordinary_batch(texts), None
        return tokenizer.encode_batch(texts, allowed_special="all"), None
    allowed = frozenset() if splits else "all"
    made = tokenizer.encode_batch_with_offsets(texts, allowed_special=allowed, disallowed_special=())
    return [ids for ids, _ in made], [spans for _, spans in made]

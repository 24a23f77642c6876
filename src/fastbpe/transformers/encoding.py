"""Encoding of a call of `_encode_plus`, answered by fastbpe."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.transformers.arrays import build_arrays
from fastbpe.transformers.columns import Encoded, Span, Wanted, build_columns, truncate
from fastbpe.transformers.encodings import Call, LazyEncodings
from fastbpe.transformers.engine import Engine
from fastbpe.transformers.inputs import Inputs, sort_inputs
from fastbpe.transformers.truncation import read_truncation

#: Keyword arguments of `_encode_plus` in transformers 5.24 with their defaults. A call with others is handed over.
DEFAULTS: dict[str, Any] = {
    "add_special_tokens": True,
    "padding_strategy": None,
    "truncation_strategy": None,
    "max_length": None,
    "stride": 0,
    "is_split_into_words": False,
    "pad_to_multiple_of": None,
    "padding_side": None,
    "return_tensors": None,
    "return_token_type_ids": None,
    "return_attention_mask": None,
    "return_overflowing_tokens": False,
    "return_special_tokens_mask": False,
    "return_offsets_mapping": False,
    "return_length": False,
    "verbose": True,
    "split_special_tokens": None,
}
_PLAIN: dict[str, Any] = {"add_special_tokens": True, "is_pretokenized": False}
ARRAYS = ("np", "pt")


@cache
def batch_encoding() -> Any:
    """Return transformers' class BatchEncoding. (An import statement in each call takes longer.)"""
    from transformers.tokenization_utils_base import BatchEncoding

    return BatchEncoding


class HandOver(Exception):
    """Reason for which the original answers a call."""


def encode(hf: Any, engine: Engine, text: Any, text_pair: Any, options: dict[str, Any]) -> Any:
    """Answer a call of `_encode_plus`.

    Args:
        hf: the tokenizer of transformers.
        engine: its engine.
        text, text_pair: as in the call.
        options: keyword arguments of the call.

    Returns:
        A BatchEncoding.

    Raises:
        HandOver: the original must answer. It gets the same settings again.
    """
    if not options.keys() <= DEFAULTS.keys():
        raise HandOver("an argument that fastbpe does not know")
    call = {**DEFAULTS, **options}
    words, adds_special = call["is_split_into_words"], call["add_special_tokens"]
    if type(words) is not bool or type(adds_special) is not bool:
        raise HandOver("an argument of another type")
    inputs = sort_inputs(text, text_pair, is_split_into_words=words)
    if inputs is None:
        raise HandOver("words in pairs, an empty batch, or texts that are no plain str")
    original = engine.original
    set_up(hf, original, call)
    tokenizer = engine.ready()
    if tokenizer is None:
        raise HandOver(engine.reason or "the tokenizer changes while it encodes")
    frame = engine.frame(pair=inputs.seconds is not None, add_special_tokens=adds_special)
    if frame is None:
        raise HandOver("a post-processor without a fixed frame")
    settings, padding = original.truncation, original.padding
    truncation = None if settings is None else read_truncation(settings, frame.n_added)
    if settings is not None and truncation is None:
        raise HandOver("truncation to less than one id, or with a stride as long")
    overflowing = bool(call["return_overflowing_tokens"])
    if overflowing and truncation is not None and inputs.seconds is not None:
        raise HandOver("overflowing pairs")
    wanted = _wanted(hf, call)
    if wanted.offsets and truncation is not None and (overflowing or truncation.left) and engine.trims_offsets():
        raise HandOver("offsets that are trimmed after truncation")
    splits_special = bool(original.encode_special_tokens)
    columns: dict[str, Any] | None = None
    as_array = str(getattr(call["return_tensors"], "value", call["return_tensors"])) in ARRAYS
    samples: list[int] | None = None
    if as_array and not (words or overflowing or wanted.offsets or inputs.seconds):
        built = build_arrays(
            tokenizer, inputs.firsts, frame, truncation, padding, wanted, splits_special=splits_special
        )
        if built is not None:
            columns, _ = built
            n_rows, longest = len(inputs.firsts), columns["input_ids"].shape[1]
    if columns is None:
        if wanted.offsets:
            tokenizer = engine.with_offsets()
            if tokenizer is None:
                raise HandOver(engine.reason or "the tokenizer changes while it encodes")
        rows = _encode_rows(tokenizer, inputs, words=words, splits=splits_special, offsets=wanted.offsets)
        if truncation is not None:
            cut = truncate(rows, truncation, overflowing=overflowing)
            if cut is None:
                raise HandOver("truncation that raises an error")
            samples = [i for i, parts in enumerate(cut) for _ in parts]
            rows = [part for parts in cut for part in parts]
        columns = build_columns(rows, frame, padding, wanted)
        n_rows = len(rows)
        longest = max(map(len, columns["input_ids"]))
    if overflowing:
        columns["overflow_to_sample_mapping"] = list(range(n_rows)) if samples is None else samples
    if longest > hf.model_max_length:
        warn_of_long(hf, columns["input_ids"], call["max_length"], call["verbose"])
    options = {"add_special_tokens": adds_special, "is_pretokenized": words}
    encodings = set_up_encodings(
        engine, inputs.batch, settings, padding, n_rows, options, splits=splits_special, overflowing=overflowing
    )
    return _packed(columns, encodings, inputs, call["return_tensors"], overflowing=overflowing)


def set_up_encodings(
    engine: Engine,
    batch: list[Any],
    truncation: Any,
    padding: Any,
    n: int,
    options: dict[str, Any] = _PLAIN,
    *,
    splits: bool = False,
    overflowing: bool = False,
) -> LazyEncodings:
    """Return n encodings that the original's twin makes when they are looked at."""
    return LazyEncodings(Call(engine.twin(), batch, options, truncation, padding, splits, overflowing), n)


def warn_of_long(hf: Any, rows: Any, max_length: int | None, verbose: bool) -> None:
    """Let transformers warn of rows that are longer than its model takes, which it does once."""
    for ids in rows:
        hf._eventual_warn_about_too_long_sequence(ids, max_length, verbose)


def set_up(hf: Any, original: Any, call: dict[str, Any]) -> None:
    """Set truncation, padding and `encode_special_tokens` of the original, as transformers does first."""
    from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy

    hf.set_truncation_and_padding(
        padding_strategy=call["padding_strategy"] or PaddingStrategy.DO_NOT_PAD,
        truncation_strategy=call["truncation_strategy"] or TruncationStrategy.DO_NOT_TRUNCATE,
        max_length=call["max_length"],
        stride=call["stride"],
        pad_to_multiple_of=call["pad_to_multiple_of"],
        padding_side=call["padding_side"],
    )
    splits = call["split_special_tokens"]
    if splits is None:
        splits = hf.split_special_tokens
    if original.encode_special_tokens != splits:
        original.encode_special_tokens = splits


def _wanted(hf: Any, call: dict[str, Any]) -> Wanted:
    type_ids, mask = call["return_token_type_ids"], call["return_attention_mask"]
    return Wanted(
        bool("token_type_ids" in hf.model_input_names if type_ids is None else type_ids),
        bool("attention_mask" in hf.model_input_names if mask is None else mask),
        bool(call["return_special_tokens_mask"]),
        bool(call["return_offsets_mapping"]),
        bool(call["return_length"]),
    )


def _encode_rows(
    tokenizer: Tokenizer, inputs: Inputs, *, words: bool, splits: bool, offsets: bool
) -> list[Encoded]:
    """Encode the texts of each row."""
    if words:
        flat = [word for row in inputs.firsts for word in row]
        ids, spans = encode_texts(tokenizer, flat, splits=splits, offsets=offsets)
        rows, at = [], 0
        for row in inputs.firsts:
            here = slice(at, at + len(row))
            at += len(row)
            joined = [token_id for one in ids[here] for token_id in one]
            rows.append(
                Encoded((joined,), ([span for one in spans[here] for span in one],) if spans is not None else None)
            )
        return rows
    ids, spans = encode_texts(tokenizer, inputs.firsts, splits=splits, offsets=offsets)
    if inputs.seconds is None:
        if spans is None:
            return [Encoded((one,), None) for one in ids]
        return [Encoded((one,), (its,)) for one, its in zip(ids, spans, strict=True)]
    others, their = encode_texts(tokenizer, inputs.seconds, splits=splits, offsets=offsets)
    return [
        Encoded((one, other), None if spans is None or their is None else (spans[i], their[i]))
        for i, (one, other) in enumerate(zip(ids, others, strict=True))
    ]


def encode_texts(
    tokenizer: Tokenizer, texts: list[str], *, splits: bool, offsets: bool
) -> tuple[list[list[int]], list[list[Span]] | None]:
    """Encode texts. splits: special tokens in the texts are split like any text."""
    if not offsets:
        if splits:
            return tokenizer.encode_ordinary_batch(texts), None
        return tokenizer.encode_batch(texts, allowed_special="all"), None
    allowed = frozenset() if splits else "all"
    made = [tokenizer.encode_with_offsets(text, allowed_special=allowed, disallowed_special=()) for text in texts]
    return [ids for ids, _ in made], [spans for _, spans in made]


def _packed(
    columns: dict[str, Any], encodings: LazyEncodings, inputs: Inputs, tensors: Any, *, overflowing: bool
) -> Any:
    """Return a BatchEncoding; without the dimension of the batch for a single text as lists."""
    if not inputs.is_batched and tensors is None and not overflowing:
        columns = {name: column[0] if isinstance(column[0], list) else column for name, column in columns.items()}
    return batch_encoding()(
        columns, encodings, tensor_type=tensors, n_sequences=1 if inputs.seconds is None else 2
    )

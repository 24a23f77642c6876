"""Handling of calls of transformers' `_encode_plus`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.huggingface.columns import Wanted, build_columns
from fastbpe.huggingface.inputs import Inputs, sort_inputs
from fastbpe.huggingface.rows import HandOver, Offsets, Plan, encode_rows
from fastbpe.transformers.encodings import LazyEncodings
from fastbpe.transformers.engine import ENGINE, Engine
from fastbpe.transformers.handled_call import Call
from fastbpe.transformers.plans import make_offsets, make_plan
from fastbpe.transformers.readings import batch_encoding
from fastbpe.transformers.watching import EPOCH

#: Keyword arguments of `_encode_plus` in transformers 5.24 with their defaults. None stands for the default of the
#: two strategies, so that importing this needs no transformers. A call with others is handed over.
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
_SANITIZE = "sanitize_control_tokens"  # keyword that apply_chat_template passes in each call; False: no effect
ARRAYS = ("np", "pt")
_MAX_REPEATS = 64  # combinations of options for which an engine keeps facts: programs use few
#: Options of a call of the tokenizer itself for which `remembering` keeps facts.
_REMEMBERED = {
    *("add_special_tokens", "padding", "truncation", "max_length", "stride", "return_tensors", "verbose"),
    *("return_token_type_ids", "return_attention_mask", "return_special_tokens_mask"),
    *("return_offsets_mapping", "return_length"),
}
#: Characters of a text up to which lists that transformers turns into arrays beat `build_arrays`: 268 us, not 286,
#: for 1,000 (truncation=True, padding=True, return_tensors="np", Chinese BERT, AMD EPYC Zen 1, 2026-11-29).
SHORT = 1000


class Repeat(NamedTuple):
    """Facts about a call with one text, for later calls with the same options; see `_quick.encode_known`.

    epoch: EPOCH[0] before the call; once it is another object, the facts are void.
    call: the options, with defaults.
    plan, wanted, offsets: see their classes; offsets: None: the call does not ask for offsets.
    names: the tokenizer's model_input_names.
    """

    epoch: object
    call: dict[str, Any]
    plan: Plan
    wanted: Wanted
    offsets: Offsets | None
    names: list[str]


class _Local(threading.local):
    found: list[Repeat] | None = None  # Repeats of a thread's call, during `remembering`


_local = _Local()


def encode(hf: Any, engine: Engine, text: Any, text_pair: Any, options: dict[str, Any]) -> Any:
    """Handle a call of `_encode_plus`: return a BatchEncoding. Raises HandOver if the original must handle it."""
    given = options  # as passed: the key under which encode_known finds the facts of this call
    if _SANITIZE in options:
        options = {**options}
        if options.pop(_SANITIZE):
            raise HandOver("a chat with control tokens to sanitize")
    if not options.keys() <= DEFAULTS.keys():
        raise HandOver("an argument that fastbpe does not know")
    if any(options.get(name, True) is None for name in ("padding_strategy", "truncation_strategy")):
        raise HandOver("an argument of the wrong type")
    call = {**DEFAULTS, **options}
    words, adds_special = call["is_split_into_words"], call["add_special_tokens"]
    if type(words) is not bool or type(adds_special) is not bool:
        raise HandOver("an argument of the wrong type")
    inputs = sort_inputs(text, text_pair, is_split_into_words=words)
    if inputs is None:
        raise HandOver("an empty batch, a mix of texts and pairs, or a text that is not a str of valid Unicode")
    with engine.settings_lock:
        set_up(hf, engine.original, call)
        for _ in range(2):  # making tables and trying a post-processor set components, which changes EPOCH
            epoch = EPOCH[0]
            plan = make_plan(engine, pair=inputs.seconds is not None, add_special_tokens=adds_special)
            if EPOCH[0] is epoch:
                break
    overflowing, wanted = bool(call["return_overflowing_tokens"]), _wanted(hf, call)
    asks_types_of_parts = overflowing and wanted.type_ids and plan.truncation is not None
    if asks_types_of_parts and not engine.numbers_parts(plan.frame, add_special_tokens=adds_special):
        raise HandOver("a request for type ids of truncated parts, to which the post-processor gives no type id")
    columns: dict[str, Any] | None = None
    samples: list[int] | None = None
    as_array = str(getattr(call["return_tensors"], "value", call["return_tensors"])) in ARRAYS
    is_short = len(inputs.firsts) == 1 and len(inputs.firsts[0]) <= SHORT
    if as_array and not (words or overflowing or inputs.seconds or is_short):
        from fastbpe.transformers.arrays import build_arrays  # here: it needs numpy

        columns = build_arrays(engine, plan, inputs.firsts, wanted)
        if columns is not None:
            n_rows, longest = len(inputs.firsts), columns["input_ids"].shape[1]
    if columns is None:
        offsets = make_offsets(engine, plan) if wanted.offsets else None
        rows, samples = encode_rows(plan, inputs, words=words, overflowing=overflowing, offsets=offsets)
        columns = build_columns(rows, plan.frame, plan.padding, wanted)
        n_rows = len(rows)
        longest = max(map(len, columns["input_ids"]))
        if not (inputs.is_batched or words or overflowing or inputs.seconds or plan.splits_special):
            repeat = Repeat(epoch, call, plan, wanted, offsets, [*hf.model_input_names])
            _remember(engine.repeats, given, repeat)
            if _local.found is not None:
                _local.found.append(repeat)
    if overflowing:
        columns["overflow_to_sample_mapping"] = list(range(n_rows)) if samples is None else samples
    if call["max_length"] is None and longest > hf.model_max_length:
        warn_of_long(hf, columns["input_ids"], None, call["verbose"])
    made = Call(engine, epoch, engine.twin(), plan, inputs, words, adds_special, overflowing)
    encodings = LazyEncodings(made, n_rows)
    return _packed(columns, encodings, inputs, call["return_tensors"], overflowing=overflowing)


@contextmanager
def remembering(hf: Any, options: dict[str, Any]) -> Iterator[None]:
    """Keep the facts of a call `hf(text, …)` that does not pad, and whose options are all in _REMEMBERED.

    transformers derives more options from those of the call, and from `truncation_side` and `model_max_length`.
    The facts include the values of these two attributes, and are used only while the tokenizer still has them.
    Padding would depend on more: the side, and the padding token.
    """
    found: list[Repeat] = []
    before, _local.found = _local.found, found
    engine = hf.__dict__.get(ENGINE)
    try:
        yield
    finally:
        _local.found = before
    is_remembered = options.keys() <= _REMEMBERED and options.get("padding", False) is False
    if is_remembered and engine is not None and found:
        _remember(engine.whole_calls, options, (found[-1], hf.truncation_side, hf.model_max_length))


def _remember(kept: dict[Any, Any], options: dict[str, Any], facts: Any) -> None:
    with suppress(TypeError):  # an option that has no hash
        if len(kept) >= _MAX_REPEATS:
            kept.clear()
        kept[key_of(options)] = facts


def key_of(options: dict[str, Any]) -> tuple[Any, ...]:
    """Return a key for options. True and 1 are equal, but mean different things: the types are part of it."""
    return (*options, *options.values(), *map(type, options.values()))


def warn_of_long(hf: Any, rows: Any, max_length: int | None, verbose: bool) -> None:
    """Let transformers warn, once per tokenizer, about rows that are longer than the model accepts."""
    for ids in rows:
        hf._eventual_warn_about_too_long_sequence(ids, max_length, verbose)


def set_up(hf: Any, original: Any, call: dict[str, Any]) -> None:
    """Set truncation, padding and `encode_special_tokens` of the original, as transformers does in a call."""
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


def _packed(
    columns: dict[str, Any], encodings: LazyEncodings, inputs: Inputs, tensors: Any, *, overflowing: bool
) -> Any:
    """Return a BatchEncoding; for a single text returned as lists, without the batch dimension."""
    if not inputs.is_batched and tensors is None and not overflowing:
        columns = {name: column[0] if isinstance(column[0], list) else column for name, column in columns.items()}
    return batch_encoding()(
        columns, encodings, tensor_type=tensors, n_sequences=1 if inputs.seconds is None else 2
    )

"""Sequences of integers, one or a batch: reading, merging in threads, and expanding ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import index
from typing import Any

from fastbpe._core.encode.sequence_merging import Expanded, Merged, plan
from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.merge.sequence_vocabulary import SequenceVocabulary
from fastbpe._utils.batches import items_in
from fastbpe._utils.short_reprs import short_repr
from fastbpe._utils.threads import CallPool, usable_threads
from fastbpe.errors import InvalidTokenError
from fastbpe.tokenizer.families.family import listed

# Argument of `train`: sequences, an array of one or two dimensions, or sequences and their counts.
SequenceSource = Iterable[Iterable[int]] | Mapping[tuple[int, ...], int]

_BATCH_SYMBOLS = 1 << 24  # symbols that are read before they are merged: 64 MB


def each_sequence(source: Iterable[Any], name: str = "a batch") -> Iterator[Any]:
    """Iterate over the sequences of a batch: the rows of a two-dimensional array, or the items of an iterable.

    Raises TypeError if the batch is a single sequence, a str, or not iterable. name: the batch, for the message.
    """
    n_dimensions = dimensions(source)
    if n_dimensions is not None and n_dimensions != 2:
        raise TypeError(
            f"{name} must be an iterable of sequences or an array of two dimensions, but this array has "
            f"{n_dimensions}; to pass one sequence, pass [sequence]"
        )
    source = items_in(source, name)
    if isinstance(source, str) or not isinstance(source, Iterable):
        way_out = (
            "; load the file first, such as with numpy.load" if isinstance(source, (str, os.PathLike)) else ""
        )
        raise TypeError(f"{name} must be an iterable of sequences, not {type(source).__name__}{way_out}")
    return iter(source)


def dimensions(source: object) -> int | None:
    """Return the number of dimensions of an array; None if the object is not an array."""
    n_dimensions = getattr(source, "ndim", None)
    if isinstance(n_dimensions, int):
        return n_dimensions
    try:
        return memoryview(source).ndim  # type: ignore[arg-type]
    except TypeError:
        return None


def merge_one(vocabulary: SequenceVocabulary, sequence: Any, num_threads: int | None) -> Merged:
    sequences = Sequences(vocabulary.base_size, is_one=True)
    sequences.add(sequence)
    merged = Merged(vocabulary)
    merge(vocabulary, sequences, num_threads, merged)
    return merged


def merge_batch(vocabulary: SequenceVocabulary, batch: Iterable[Any], num_threads: int | None) -> Merged:
    """Encode the sequences of a batch, about _BATCH_SYMBOLS at a time."""
    merged = Merged(vocabulary)
    sequences = Sequences(vocabulary.base_size)
    for sequence in each_sequence(batch):
        sequences.add(sequence)
        if sequences.n_items >= _BATCH_SYMBOLS:
            merge(vocabulary, sequences, num_threads, merged)
            sequences = Sequences(vocabulary.base_size, first=len(merged))
    merge(vocabulary, sequences, num_threads, merged)
    return merged


def merge(vocabulary: SequenceVocabulary, sequences: Sequences, num_threads: int | None, merged: Merged) -> None:
    """Append the ids of sequences to `merged`.

    A job of `plan` is whole sequences (last > first), or a part of one long sequence (last == first; -1: its last
    part). Parts overlap. If two have no common token there, the whole sequence is merged again.
    """
    n_threads = usable_threads(num_threads)
    jobs = plan(vocabulary, sequences)
    if min(n_threads, len(jobs)) < 2:
        merged.merge(sequences, 0, len(sequences))
        return
    with CallPool(min(n_threads, len(jobs)) - 1) as pool:
        results = [pool.submit(partial(_run, vocabulary, sequences, job)) for job in jobs]
        is_joined = True  # all parts so far of a long sequence have common tokens
        for (first, last, start, _), result in zip(jobs, results, strict=True):
            merged_job = pool.result(result)
            if last > first:
                merged.append(merged_job)
                continue
            is_joined = is_joined and merged.append_part(merged_job, start)
            if last < 0:
                if is_joined:
                    merged.end_parts()
                else:
                    merged.drop_parts()
                    merged.merge(sequences, first, first + 1)
                is_joined = True


def _run(vocabulary: SequenceVocabulary, sequences: Sequences, job: tuple[int, int, int, int]) -> Merged:
    first, last, start, end = job
    merged = Merged(vocabulary)
    if last > first:
        merged.merge(sequences, first, last)
    else:
        merged.merge_part(sequences, start, end)
    return merged


def expand_one(
    vocabulary: SequenceVocabulary, special: Mapping[str, int], ids: Any, skip_special_tokens: bool
) -> Expanded:
    """Decode one sequence of ids. special: name → id of the special tokens."""
    sequences = Sequences(vocabulary.n_ids, of_ids=True, is_one=True)
    _add_ids(sequences, special, ids, skip_special_tokens)
    return Expanded(vocabulary, sequences)


def expand_batch(
    vocabulary: SequenceVocabulary, special: Mapping[str, int], batch: Iterable[Any], skip_special_tokens: bool
) -> Expanded:
    """Decode the sequences of a batch. special: as for `expand_one`."""
    sequences = Sequences(vocabulary.n_ids, of_ids=True)
    for i, ids in enumerate(each_sequence(batch)):
        _add_ids(sequences, special, ids, skip_special_tokens, f" of sequence {i}")
    return Expanded(vocabulary, sequences)


def expand_id(vocabulary: SequenceVocabulary, special: Mapping[str, int], token_id: Any) -> tuple[int, ...]:
    """Decode one id. Errors are as for a sequence of ids, but name no position. special: as for `expand_one`."""
    if isinstance(token_id, bool) or not hasattr(type(token_id), "__index__"):
        raise TypeError(f"ids must be integers: {token_id!r:.80} is {type(token_id).__name__}")
    number = index(token_id)
    if name := next((name for name, i in special.items() if i == number), None):
        raise InvalidTokenError(f"id {number} is the special token {name!r}, which stands for no symbols")
    if not 0 <= number < vocabulary.n_ids:
        raise InvalidTokenError(
            f"id {short_repr(number)} is not a token of this vocabulary (its ordinary tokens have the ids 0 to "
            f"{vocabulary.n_ids - 1})"
        )
    return tuple(expand_one(vocabulary, {}, [number], False).lists()[0])


def find_id(vocabulary: SequenceVocabulary, token: Any) -> int | None:
    """Find the lowest id of a token by its symbols; None if no token has them."""
    sequences = Sequences(vocabulary.base_size, is_one=True)
    sequences.add(token)
    symbols = Expanded(vocabulary, sequences).lists()[0]  # a symbol expands to itself
    ids = vocabulary.ids_of_length(len(symbols))
    return next((i for i in ids if expand_one(vocabulary, {}, [i], False).lists()[0] == symbols), None)


def _add_ids(
    sequences: Sequences, special: Mapping[str, int], ids: Any, skip_special_tokens: bool, of_sequence: str = ""
) -> None:
    """Read a sequence of ids.

    Special tokens are left out if skip_special_tokens is true; otherwise, they raise InvalidTokenError.
    """
    try:
        sequences.add(ids)
    except InvalidTokenError as error:
        names = {token_id: name for name, token_id in special.items()}
        items = [*listed(ids)]
        found = [_name(names, item) for item in items]
        position = next((i for i, name in enumerate(found) if name is not None), None)
        if position is None:
            raise
        if not skip_special_tokens:
            raise InvalidTokenError(
                f"id {index(items[position])} at position {position}{of_sequence} is the special token "
                f"{found[position]!r}, which stands for no symbols; to leave it out, pass skip_special_tokens=True"
            ) from error
        try:
            sequences.add([item for item, name in zip(items, found, strict=True) if name is None])
        except (InvalidTokenError, TypeError):
            # Raises the same error, with the position in `ids`.
            sequences.add([item if name is None else 0 for item, name in zip(items, found, strict=True)])


def _name(names: Mapping[int, str], item: Any) -> str | None:
    """Return the name of a special token by its id; None for any other item."""
    try:
        return names.get(index(item))
    except TypeError:  # not an integer
        return None

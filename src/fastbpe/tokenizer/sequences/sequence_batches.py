"""Sequences of integers, one or a batch: reading, merging in threads, and expanding ids."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from fastbpe._core.encode.sequence_merging import Expanded, Merged, plan
from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.merge.sequence_vocabulary import SequenceVocabulary
from fastbpe._utils.batches import items_in
from fastbpe._utils.threads import CallPool, usable_threads
from fastbpe.errors import InvalidTokenError

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
    for ids in each_sequence(batch):
        _add_ids(sequences, special, ids, skip_special_tokens)
    return Expanded(vocabulary, sequences)


def _add_ids(sequences: Sequences, special: Mapping[str, int], ids: Any, skip_special_tokens: bool) -> None:
    """Read a sequence of ids.

    Special tokens are left out if skip_special_tokens is true; otherwise, they raise InvalidTokenError.
    """
    if not special:
        sequences.add(ids)
        return
    names = {token_id: name for name, token_id in special.items()}
    if skip_special_tokens:
        with contextlib.suppress(TypeError):  # ids is no sequence: adding it raises the error
            ids = [token_id for token_id in ids if token_id not in names]
    try:
        sequences.add(ids)
    except InvalidTokenError as error:
        found = next((token_id for token_id in map(int, ids) if token_id in names), None)
        if found is None or skip_special_tokens:
            raise
        raise InvalidTokenError(
            f"id {found} is the special token {names[found]!r}, which stands for no symbols; to leave it out, "
            "pass skip_special_tokens=True"
        ) from error

"""Reading of all ids and offsets of a part in blocks, and comparison with a vocabulary."""

from __future__ import annotations

import importlib.util
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fastbpe._utils.optional_imports import require_numpy
from fastbpe.corpus.sink_formats import read_integers
from fastbpe.errors import FormatError
from fastbpe.id_files.id_tables import AGAIN, read_rows
from fastbpe.id_files.parts import OFFSET_BYTES, READABLE, Part

_BLOCK_BYTES = 1 << 22  # bytes of ids read at a time
_OFFSETS_AT_ONCE = 1 << 16


def blocks_of(part: Part) -> Iterator[bytes]:
    """Read the ids of a part in blocks, and check that the file has as many as the part says."""
    left = part.n_ids * READABLE[part.dtype][0]
    if part.is_table:
        for block, _ in read_rows(part.path):
            left -= len(block)
            yield block
        if left:
            raise FormatError(
                f"{part.path}: the number of ids differs from the {part.n_ids} in its metadata; {AGAIN}"
            )
        return
    with open(part.path, "rb") as file:
        file.seek(part.start)
        while left:
            block = file.read(min(left, _BLOCK_BYTES))
            if not block:
                raise FormatError(
                    f"{part.path}: the file became shorter while it was read; read it while nothing writes to it"
                )
            left -= len(block)
            yield block


def ends_of(part: Part) -> Iterator[array[int]]:
    """Read the ends of a part's documents, and check that they do not decrease."""
    before = 0
    for ends in _ends(part):
        for end in ends:
            if end < before:
                said = f"the ends of documents must not decrease, but the end {end} comes after {before}"
                raise FormatError(f"{part.offsets or part.path}: {said}; {AGAIN}")
            before = end
        yield ends


def _ends(part: Part) -> Iterator[array[int]]:
    if part.is_table:
        yield from (ends for _, ends in read_rows(part.path))
    elif part.index is not None:
        part.index.check(part.n_ids)
        starts = part.index.starts(part.n_ids)
        for first in range(1, part.n_documents + 1, _OFFSETS_AT_ONCE):
            last = min(part.n_documents + 1, first + _OFFSETS_AT_ONCE)
            yield array("q", [starts[i] for i in range(first, last)])
    elif part.offsets is None:
        yield array("q", [part.n_ids])
    else:
        with open(part.offsets, "rb") as file:
            file.seek(OFFSET_BYTES)
            while ends := read_integers(file, _OFFSETS_AT_ONCE):
                yield ends


class KnownIds:
    """The ids that a vocabulary has.

    Args:
        n_vocab: greatest id + 1. None: not known, so only negative ids are errors.
        has_token: function that tells whether an id below n_vocab has a token; None: each has one. It is a
            function because a vocabulary can lack millions of ids; it is called once for each different id.
    """

    def __init__(self, n_vocab: int | None, has_token: Callable[[int], bool] | None = None) -> None:
        self._n_vocab, self._has_token = n_vocab, has_token
        self._known: set[int] = set()  # ids that have a token

    def check(self, part: Part) -> Iterator[bytes]:
        """Read the ids of a part in blocks, and raise FormatError for the first id that has no token."""
        size, code = READABLE[part.dtype]
        dtype, n_vocab = part.dtype, self._n_vocab
        has_token = self._has_token
        is_safe = dtype.startswith("u") and has_token is None and (n_vocab is None or n_vocab >= 1 << 8 * size)
        numpy = None if importlib.util.find_spec("numpy") is None else require_numpy("checking ids")
        at = 0
        for block in blocks_of(part):
            if not is_safe and block:  # rows of a table may all be empty
                kind = f"<{'u' if dtype.startswith('u') else 'i'}{size}"
                ids: Any = array(code, block) if numpy is None else numpy.frombuffer(block, kind)
                if numpy is None and sys.byteorder == "big":
                    ids.byteswap()
                least, greatest = (min(ids), max(ids)) if numpy is None else (ids.min(), ids.max())
                wrong = least < 0 or (n_vocab is not None and greatest >= n_vocab)
                if not wrong and has_token is not None:
                    new = {*(ids if numpy is None else numpy.unique(ids).tolist())} - self._known
                    found = {*filter(has_token, new)}
                    wrong = found != new
                    self._known |= found
                if wrong:
                    self._complain(part, at, ids)
            at += len(block) // size
            yield block

    def _complain(self, part: Part, at: int, ids: Iterable[Any]) -> None:
        """Raise the error for the first invalid id of a block, which begins with id number `at` of the part."""
        n_vocab = self._n_vocab
        for place, token_id in enumerate(map(int, ids), at):
            said = ""
            if token_id < 0:
                said = "but ids are at least 0"
            elif n_vocab is not None and token_id >= n_vocab:
                said = f"but the vocabulary has {n_vocab} ids"
            elif self._has_token is not None and not self._has_token(token_id):
                said = "which has no token in the vocabulary"
            if said:
                other = f"these ids are of another vocabulary, or their dtype is not {part.dtype}"
                way_out = AGAIN if part.about else other
                raise FormatError(f"{part.path}: the id at position {place} is {token_id}, {said}; {way_out}")

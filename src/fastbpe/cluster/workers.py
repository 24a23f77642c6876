"""State of a worker process: tokenizers, kept with warm caches between tasks; and errors for workers that died."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator
from functools import lru_cache

from fastbpe.errors import WorkerError
from fastbpe.tokenizer.tokenizer import Tokenizer


class _Fingerprint(str):
    """Key of the cache: fingerprint of a tokenizer, with a function that returns its pickle.

    It compares as a str, so the cache ignores the function.
    """

    pickled: Callable[[], bytes]


def tokenizer_of(fingerprint: str, pickled: Callable[[], bytes]) -> Tokenizer:
    """Return a tokenizer that a task needs.

    fingerprint: fingerprint of the tokenizer.
    pickled: function that returns its pickle; called if this process does not have the tokenizer yet.

    >>> import fastbpe
    >>> made = fastbpe.train(["ab ab"], vocab_size=257, progress=False)
    >>> tokenizer_of(made.fingerprint, lambda: pickle.dumps(made)) == made
    True
    """
    key = _Fingerprint(fingerprint)
    key.pickled = pickled
    try:
        return _load(key)
    finally:
        del key.pickled  # the cache keeps the key


@contextlib.contextmanager
def naming_lack_of_memory(where: str, what: str = "texts") -> Iterator[None]:
    """Add the name of the part, and the memory's purpose, to a MemoryError. The engine may still try again."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(
            f"{where}: no memory for its {what}; give tasks more memory, or divide the data into more parts with "
            "repartition(n)"
        ) from error


def worker_error(where: str, engine: str) -> WorkerError:
    """Create the error for a task (where: its work) that an engine gave up because its worker died at each try."""
    return WorkerError(
        f"{where}: its worker died at each try of {engine}, most often because it ran out of memory: give tasks "
        "more memory, run fewer of them at a time on a machine, or divide the data into more parts with "
        "repartition(n)"
    )


@lru_cache(maxsize=4)
def _load(fingerprint: _Fingerprint) -> Tokenizer:
    tokenizer: Tokenizer = pickle.loads(fingerprint.pickled())
    return tokenizer

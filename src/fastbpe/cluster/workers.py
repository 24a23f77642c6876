"""Process of a worker: keeps tokenizers with warm caches from task to task, and reports lack of memory."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator
from functools import lru_cache

from fastbpe.tokenizer.tokenizer import Tokenizer


class _Fingerprint(str):
    """Key of the cache: fingerprint of a tokenizer, with a function that returns its pickle."""

    pickled: Callable[[], bytes]


def tokenizer_of(fingerprint: str, pickled: Callable[[], bytes]) -> Tokenizer:
    """Return a tokenizer that a task needs.

    Args:
        fingerprint: fingerprint of the tokenizer.
        pickled: returns its pickle; called if this process does not have the tokenizer yet.

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
def naming_lack_of_memory(where: str) -> Iterator[None]:
    """Name the part of the texts in a MemoryError. The engine gets the error, and may run the task again.

    Args:
        where: name of the part.
    """
    try:
        yield
    except MemoryError as error:
        raise MemoryError(
            f"{where}: no memory for its texts; give tasks more memory, or divide the texts into more parts"
        ) from error


@lru_cache(maxsize=4)
def _load(fingerprint: _Fingerprint) -> Tokenizer:
    tokenizer: Tokenizer = pickle.loads(fingerprint.pickled())
    return tokenizer

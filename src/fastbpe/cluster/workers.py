"""Tokenizers of a worker process, kept from task to task with their caches warm."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache

from fastbpe.tokenizer.tokenizer import Tokenizer


class _Fingerprint(str):
    """Fingerprint of a tokenizer, with the function that returns its pickle while it is looked up."""

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


@lru_cache(maxsize=4)
def _load(fingerprint: _Fingerprint) -> Tokenizer:
    tokenizer: Tokenizer = pickle.loads(fingerprint.pickled())
    return tokenizer

"""Tokenizers of a worker process, kept from task to task with their caches warm."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from fastbpe.tokenizer.tokenizer import Tokenizer

_MAX_KEPT = 4  # tokenizers; the one that was used longest ago goes first
_kept: OrderedDict[str, Tokenizer] = OrderedDict()
_lock = Lock()


def tokenizer_of(fingerprint: str, pickled: Callable[[], bytes]) -> Tokenizer:
    """Return a tokenizer that a task needs.

    Args:
        fingerprint: that of the tokenizer.
        pickled: returns its pickle; called if this process does not have the tokenizer yet.

    >>> import fastbpe
    >>> made = fastbpe.train(["ab ab"], vocab_size=257, progress=False)
    >>> tokenizer_of(made.fingerprint, lambda: pickle.dumps(made)) == made
    True
    """
    with _lock:
        if fingerprint in _kept:
            _kept.move_to_end(fingerprint)
            return _kept[fingerprint]
    tokenizer: Tokenizer = pickle.loads(pickled())
    with _lock:
        _kept[fingerprint] = tokenizer
        while len(_kept) > _MAX_KEPT:
            _kept.popitem(last=False)
    return tokenizer


def forget_tokenizers() -> None:
    """Drop the kept tokenizers; tasks that need them load them again."""
    with _lock:
        _kept.clear()


tokenizer_of.cache_clear = forget_tokenizers  # type: ignore[attr-defined]  # for fastbpe.memory

"""Notice changes of a `tokenizers.Tokenizer` that its settings do not show.

Normalizer, pre-tokenizer, post-processor, decoder and the options of the model can be read in less than a
microsecond, so `snapshot` compares them at each call. Added tokens and the vocabulary cannot: while watched
tokenizers exist, the methods of `tokenizers.Tokenizer` that change these also count the change.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import tokenizers

#: Methods of `tokenizers.Tokenizer` that change its added tokens or its vocabulary.
CHANGING = ("add_tokens", "add_special_tokens", "train", "train_from_iterator", "__setstate__")
SET = ("model", "decoder")  # properties with setters that count, too

_Class: Any = tokenizers.Tokenizer
_lock = threading.Lock()
_originals: dict[str, Any] = {}
_changes: weakref.WeakKeyDictionary[Any, list[int]] = weakref.WeakKeyDictionary()


def watch(tokenizer: Any) -> list[int]:
    """Count the changes of a tokenizer from now on.

    Returns:
        A list with the number of changes so far, which is kept up to date.
    """
    with _lock:
        counter = _changes.setdefault(tokenizer, [0])
        if not _originals:
            for name in CHANGING:
                _originals[name] = getattr(_Class, name)
                setattr(_Class, name, _counting(_originals[name]))
            for name in SET:
                own = _originals[name] = getattr(_Class, name)
                setattr(_Class, name, property(own.__get__, _counting(own.__set__), None, own.__doc__))
        return counter


def stop_watching() -> None:
    """Give the methods of `tokenizers.Tokenizer` back, if no watched tokenizer exists."""
    with _lock:
        if _originals and not _changes:
            for name, method in _originals.items():
                setattr(_Class, name, method)
            _originals.clear()


def _counting(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that does the same and counts the change, also one that fails halfway."""

    @functools.wraps(method)
    def counting(tokenizer: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(tokenizer, *args, **options)
        finally:
            counter = _changes.get(tokenizer)
            if counter is not None:
                counter[0] += 1

    return counting

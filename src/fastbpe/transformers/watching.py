"""Detection of those changes to a `tokenizers.Tokenizer` that its settings do not show, or show too slowly.

Normalizer, pre-tokenizer, post-processor, decoder and the options of the model can be read in about a microsecond,
so `snapshot` compares them. Added tokens and the vocabulary cannot: while watched tokenizers exist, the methods of
`tokenizers.Tokenizer` that change them also count the change. They and the setters of components and of their
attributes replace the object in `EPOCH`, which all tokenizers share: as long as it is the same, a call need not
compare. (It is an object, because threads that add to a number at once would lose an addition.)
"""

from __future__ import annotations

import functools
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

from fastbpe.transformers._original import tokenizers
from fastbpe.transformers.snapshot import TWINS

#: Methods of `tokenizers.Tokenizer` that change its added tokens or its vocabulary.
CHANGING = ("add_tokens", "add_special_tokens", "train", "train_from_iterator", "__setstate__")
TRAINING = ("train", "train_from_iterator")  # methods in CHANGING that change the vocabulary in place
SET = ("model", "decoder")  # properties whose setters count a change, too
EPOCH = [object()]  # another object after each change of any tokenizer or component, while one is watched

_COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor")
_PARTS = ("normalizers", "pre_tokenizers", "processors", "decoders", "models")
_IN_PLACE = ("__setitem__", "__delitem__", "__setstate__")

_Class: Any = tokenizers.Tokenizer
_lock = threading.Lock()
_originals: dict[tuple[Any, str], Any] = {}  # by class and name
_changes: weakref.WeakKeyDictionary[Any, list[int]] = weakref.WeakKeyDictionary()


def watch(tokenizer: Any) -> list[int]:
    """Count the changes of a tokenizer from now on. Returns a list with their number, which is kept up to date."""
    with _lock:
        counter = _changes.setdefault(tokenizer, [0])
        if not _originals:
            _replace_methods()
        return counter


def stop_watching(is_used: Callable[[Any], bool]) -> None:
    """Forget the tokenizers that are no longer used. After the last one, restore all methods."""
    with _lock:
        for tokenizer in list(_changes):
            if not is_used(tokenizer):
                del _changes[tokenizer]
        if _originals and not _changes:
            for (cls, name), method in _originals.items():
                setattr(cls, name, method)
            _originals.clear()


def _replace_methods() -> None:
    for name in CHANGING:
        _replace(_Class, name, _training if name in TRAINING else _counting)
    for name in SET:
        _replace_setter(_Class, name, _counting)
    for name in _COMPONENTS:
        _replace_setter(_Class, name, _noting)
    for part in _PARTS:
        module = getattr(tokenizers, part)
        for cls in {value for value in vars(module).values() if isinstance(value, type)}:
            for name, value in list(vars(cls).items()):
                if isinstance(value, types.GetSetDescriptorType) and not name.startswith("__"):
                    _replace_setter(cls, name, _noting)
                elif name in _IN_PLACE:
                    _replace(cls, name, _noting)


def _replace(cls: Any, name: str, made: Callable[[Callable[..., Any]], Any]) -> None:
    own = _originals[cls, name] = vars(cls)[name]
    setattr(cls, name, made(own))


def _replace_setter(cls: Any, name: str, made: Callable[[Callable[..., Any]], Any]) -> None:
    own = _originals[cls, name] = vars(cls)[name]
    setattr(cls, name, property(own.__get__, made(own.__set__), own.__delete__, own.__doc__))


def _counting(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method so that it counts the change, even if it fails halfway."""

    @functools.wraps(method)
    def counting(tokenizer: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(tokenizer, *args, **options)
        finally:
            counter = _changes.get(tokenizer)
            if counter is not None:
                counter[0] += 1
            EPOCH[0] = object()  # last: a thread that sees it sees the change

    return counting


def _training(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that trains: earlier copies of the tokenizer stop sharing its vocabulary."""
    counting = _counting(method)

    @functools.wraps(method)
    def training(tokenizer: Any, *args: Any, **options: Any) -> Any:
        for twin in list(TWINS):
            twin.before_training(tokenizer)
        return counting(tokenizer, *args, **options)

    return training


def _noting(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method so that EPOCH gets another object after the change."""

    @functools.wraps(method)
    def noting(*args: Any) -> Any:
        try:
            return method(*args)
        finally:
            EPOCH[0] = object()

    return noting

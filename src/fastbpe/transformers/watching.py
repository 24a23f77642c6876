"""Detection of those changes to a `tokenizers.Tokenizer` that its settings do not show, or show too slowly.

Normalizer, pre-tokenizer, post-processor, decoder and the options of the model can be read in about a microsecond,
so `snapshot` compares them. Added tokens and the vocabulary cannot: while watched tokenizers exist, the methods of
`tokenizers.Tokenizer` that change them also count the change. They and the setters of components and of their
attributes replace the object in `EPOCH`, which all tokenizers share: as long as it is the same, a call need not
compare. (It is an object, because threads that add to a number at once would lose an addition.)
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from fastbpe._utils.threads import ForkSafeLock
from fastbpe.transformers._original import tokenizers
from fastbpe.transformers.snapshot import TWINS, alive

#: Methods of `tokenizers.Tokenizer` that change its added tokens or its vocabulary.
CHANGING = ("add_tokens", "add_special_tokens", "train", "train_from_iterator", "__setstate__")
TRAINING = ("train", "train_from_iterator")  # methods in CHANGING that change the vocabulary in place
EPOCH = [object()]  # another object after each change of any tokenizer or component, while one is watched

_COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_PARTS = ("normalizers", "pre_tokenizers", "processors", "decoders", "models")
_IN_PLACE = ("__setitem__", "__delitem__", "__setstate__")

_Class: Any = tokenizers.Tokenizer
_lock = ForkSafeLock()
_originals: dict[tuple[Any, str], Any] = {}  # by class and name
_is_replaced = False  # all methods are replaced; False while a thread replaces or restores them
_changes: weakref.WeakKeyDictionary[Any, list[int]] = weakref.WeakKeyDictionary()


def watch(tokenizer: Any) -> list[int]:
    """Count the changes of a tokenizer from now on. Returns a list with their number, which is kept up to date."""
    global _is_replaced
    with _lock:
        counter = _changes.setdefault(tokenizer, [0])
        if not _is_replaced:
            _replace_methods()
            _is_replaced = True
        return counter


def stop_watching(is_used: Callable[[Any], bool]) -> None:
    """Forget the tokenizers that are no longer used. After the last one, restore all methods."""
    global _is_replaced
    with _lock:
        for tokenizer in list(_changes):
            if not is_used(tokenizer):
                del _changes[tokenizer]
        if not _changes:
            _is_replaced = False
            for (cls, name), method in _originals.items():
                setattr(cls, name, method)
            _originals.clear()


def _replace_methods() -> None:
    for name in CHANGING:
        _replace(_Class, name, _training if name in TRAINING else _counting)
    _replace_setter(_Class, "model", _counting)
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
    own = _originals.setdefault((cls, name), vars(cls)[name])  # in a forked child, vars may have ours already
    setattr(cls, name, made(own))


def _replace_setter(cls: Any, name: str, made: Callable[[Callable[..., Any]], Any]) -> None:
    own = _originals.setdefault((cls, name), vars(cls)[name])
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
        for twin in alive(TWINS):
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

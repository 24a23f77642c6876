"""Tokenizers of models that fastbpe does not run, such as Unigram: tokenizers itself answers their calls."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from fastbpe.tokenizers.originals import OTHER, find, to_ours, to_theirs
from fastbpe.tokenizers.tokenizer import Tokenizer


class OtherTokenizer(Tokenizer):
    """Tokenizer over one of the original, which answers. Its components and models are the original's objects."""

    def __init__(self, model: Any) -> None:
        self._original: Any = find("the model").Tokenizer(model)

    @classmethod
    def over(cls, original: Any) -> OtherTokenizer:
        """Return a tokenizer over one of the original."""
        made = object.__new__(cls)
        made._original = original
        return made

    @classmethod
    def take(cls, tokenizer: Any, text: str, components: Mapping[str, Any], model: Any) -> None:
        """Let the original answer for a tokenizer from now on.

        Args:
            tokenizer: the tokenizer, which gets this class.
            text: its tokenizer.json, without components.
            components: its components.
            model: its new model, one of the original.
        """
        made = cls.over(find("the model").Tokenizer.from_str(text))
        for name, component in components.items():
            setattr(made, name, component)
        made.encode_special_tokens = tokenizer.encode_special_tokens
        made.model = model
        tokenizer.__dict__.clear()
        tokenizer.__class__, tokenizer._original = cls, made._original

    def _stream_texts(self, skips: bool) -> None:
        """Return None: the original decodes all ids of a stream."""

    def __repr__(self) -> str:
        return repr(self._original)

    def __str__(self) -> str:
        return str(self._original)

    def __getstate__(self) -> bytes:
        state: bytes = self._original.__getstate__()
        return state

    def __setstate__(self, state: bytes) -> None:
        self._original.__setstate__(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> OtherTokenizer:
        return OtherTokenizer.over(copy.deepcopy(self._original))


def _method(name: str, method: Callable[..., Any]) -> Any:
    @functools.wraps(method)
    def call(self: OtherTokenizer, *args: Any, **options: Any) -> Any:
        given = {key: to_theirs(value) for key, value in options.items()}
        return to_ours(getattr(self._original, name)(*map(to_theirs, args), **given))

    return call


def _setting(name: str, doc: str | None) -> Any:
    def set(self: OtherTokenizer, value: Any) -> None:
        setattr(self._original, name, to_theirs(value))

    return property(lambda self: getattr(self._original, name), set, None, doc)


for _name, _value in list(vars(Tokenizer).items()):
    if isinstance(_value, FunctionType) and not _name.startswith(("_", "async_")):
        setattr(OtherTokenizer, _name, _method(_name, _value))
    elif isinstance(_value, property):
        setattr(OtherTokenizer, _name, _setting(_name, _value.__doc__))

OTHER.append(OtherTokenizer)

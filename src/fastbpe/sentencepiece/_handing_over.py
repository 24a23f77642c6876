"""Unigram models: an installed sentencepiece runs and trains them, behind the same classes.

A processor that loads such a model becomes an object of a subclass, whose methods call a processor of the
original. Methods of a user's own subclass stay. Loading another model makes it what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import Any

from fastbpe._utils import originals
from fastbpe.sentencepiece._errors import (
    ArgumentError,
    ArgumentTypeError,
    ModelError,
    PieceIdError,
)
from fastbpe.sentencepiece._threads import ThreadPool

SETTINGS = (
    "_return_type",
    "_add_bos",
    "_add_eos",
    "_reverse",
    "_emit_unk_piece",
    "_enable_sampling",
    "_nbest_size",
    "_alpha",
    "_num_threads",
)
UNIGRAM_WAY_OUT = (
    "install sentencepiece (pip install sentencepiece), which runs it behind this interface; in training say "
    'model_type="bpe", since sentencepiece\'s default is "unigram"'
)
_ERRORS: dict[type[Exception], Callable[..., Exception]] = {
    RuntimeError: ModelError,
    IndexError: PieceIdError,
    ValueError: ArgumentError,
    TypeError: ArgumentTypeError,
}
# Methods that stay the face's own, in small letters.
_LOADING = ("load", "fromfile", "fromproto", "loadfromfile", "loadfromserializedproto")
_SPECIAL = ("__len__", "__getitem__")


def original() -> ModuleType | None:
    """Return the package sentencepiece; None if it is not installed."""
    return originals.find("sentencepiece")


@contextmanager
def errors_of_fastbpe() -> Iterator[None]:
    """Raise the errors of sentencepiece as errors of fastbpe, too."""
    try:
        yield
    except tuple(_ERRORS) as error:
        kind = _ERRORS.get(type(error))
        if kind is None:
            raise
        raise kind(*error.args) from error


def hand_over(processor: Any, theirs: ModuleType, data: bytes) -> None:
    """Let the original run a model from now on.

    Args:
        processor: a processor of the face.
        theirs: the original module.
        data: the model.
    """
    engine = theirs.SentencePieceProcessor()
    with errors_of_fastbpe():
        engine.LoadFromSerializedProto(data)
    processor._original = engine
    face: Any = type(processor)
    processor.__class__ = _subclass(face)


def take_back(processor: Any) -> None:
    """Undo `hand_over`, if it was called."""
    processor.__class__ = getattr(type(processor), "_face", type(processor))
    processor.__dict__.pop("_original", None)


@lru_cache(maxsize=64)
def _subclass(face: Any) -> type:
    """Return the subclass of a face's class whose methods call the original."""
    body: dict[str, Any] = {"_face": face, "__module__": face.__module__, "__qualname__": face.__qualname__}
    body |= {"__doc__": face.__doc__, "__reduce_ex__": _reduce, "__getstate__": _state}
    own = next(kind for kind in face.__mro__ if kind.__module__ == "fastbpe.sentencepiece._processor")
    for name in dir(own):
        is_public = not name.startswith("_") or name in _SPECIAL
        if not is_public or name.replace("_", "").lower() in _LOADING:
            continue
        if getattr(face, name) is getattr(own, name):  # no method of a user's class
            body[name] = _forward(name)
    body["_processor"] = property(lambda self: self._original._processor)
    return type(face.__name__, (face,), body)


def _forward(name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **options: Any) -> Any:
        engine = self._original
        for setting in SETTINGS:
            setattr(engine, setting, getattr(self, setting))
        if isinstance(pool := options.get("thread_pool"), ThreadPool):
            theirs = original()
            options["thread_pool"] = None if theirs is None else theirs.ThreadPool(pool.num_threads())
        with errors_of_fastbpe():
            return getattr(engine, name)(*args, **options)

    call.__name__ = name
    return call


def _state(self: Any) -> dict[str, Any]:
    state = {name: getattr(self, name) for name in SETTINGS} | self.__dict__
    del state["_original"]
    return {**state, "model_proto": self._original.serialized_model_proto()}


def _reduce(self: Any, protocol: int) -> Any:
    return _new, (type(self)._face,), _state(self)


def _new(face: Any) -> Any:
    return face.__new__(face)

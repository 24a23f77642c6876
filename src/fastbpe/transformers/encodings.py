"""Encodings of a batch, which the original tokenizer computes when a program first reads them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.transformers.panics import as_errors
from fastbpe.transformers.snapshot import Twin

_PLAIN: dict[str, Any] = {"add_special_tokens": True, "is_pretokenized": False}
_lock = threading.Lock()  # twins are shared, and their settings change from call to call


class Call(NamedTuple):
    """A call of `encode_batch`, with the settings of the original at that time.

    twin: copy of the original.
    batch: texts, pairs or lists of words.
    options: keyword arguments of `encode_batch`.
    truncation, padding: values of the original's properties.
    splits_special: value of the original's `encode_special_tokens`.
    overflowing: list the parts that truncation cut off as separate encodings.
    """

    twin: Twin
    batch: list[Any]
    options: dict[str, Any]
    truncation: Mapping[str, Any] | None
    padding: Mapping[str, Any] | None
    splits_special: bool
    overflowing: bool

    def encode(self) -> list[Any]:
        """Encode the batch with the copy.

        Raises BackendPanic if tokenizers panics: the ids of the call have already been returned.
        """
        with _lock, as_errors():
            tokenizer = self.twin.get()
            tokenizer.encode_special_tokens = self.splits_special
            if self.truncation is None:
                tokenizer.no_truncation()
            else:
                tokenizer.enable_truncation(**self.truncation)
            if self.padding is None:
                tokenizer.no_padding()
            else:
                tokenizer.enable_padding(**self.padding)
            made = tokenizer.encode_batch(self.batch, **self.options)
        if not self.overflowing:
            return list(made)
        return [part for encoding in made for part in (encoding, *encoding.overflowing)]


class LazyEncodings(list[Any]):
    """List of `tokenizers.Encoding`, filled at its first use; pickled as a plain list.

    Args:
        call: the call whose encodings are listed; for single texts without settings, only the twin and the texts.
        n: number of encodings.
    """

    __slots__ = ("_call", "_n")

    def __init__(self, call: Call | tuple[Twin, list[Any]], n: int) -> None:
        self._call: Call | tuple[Twin, list[Any]] | None = call
        self._n = n

    def _fill(self) -> None:
        call = self._call
        if call is not None:
            made = (call if isinstance(call, Call) else Call(*call, _PLAIN, None, None, False, False)).encode()
            if self._call is not None:  # no other thread has filled the list
                list.extend(self, made)
                self._call = None

    def __len__(self) -> int:
        return self._n if self._call is not None else super().__len__()

    def __iter__(self) -> Iterator[Any]:
        self._fill()
        return super().__iter__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        self._fill()
        return list, (list(self),)

    def __radd__(self, other: Any) -> list[Any]:
        """Return other + self. Without this method, `list + self` would read this list before it is filled."""
        self._fill()
        return list.__add__(other, self) if isinstance(other, list) else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__reduce_ex__(2)

    def __repr__(self) -> str:
        self._fill()
        return super().__repr__()


def _filled(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    def filled(self: LazyEncodings, *args: Any, **options: Any) -> Any:
        self._fill()
        return method(self, *args, **options)

    filled.__name__ = name
    filled.__doc__ = method.__doc__
    return filled


_FILLING = """
    __getitem__ __setitem__ __delitem__ __contains__ __reversed__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
    __add__ __iadd__ __mul__ __rmul__ __imul__
    append clear copy count extend index insert pop remove reverse sort
"""
for _name in _FILLING.split():
    setattr(LazyEncodings, _name, _filled(_name))

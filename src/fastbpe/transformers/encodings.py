"""Encodings of a batch, which a copy of the original tokenizer computes when a program first needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fastbpe._utils.threads import ForkSafeLock
from fastbpe.huggingface.encoding import Encoding
from fastbpe.huggingface.inputs import Inputs
from fastbpe.huggingface.rows import Plan
from fastbpe.transformers.engine import Engine
from fastbpe.transformers.handled_call import Call
from fastbpe.transformers.readings import readings_of
from fastbpe.transformers.snapshot import Twin
from fastbpe.transformers.watching import EPOCH

_filling = ForkSafeLock()
_Texts = tuple[Engine, object, Twin, Plan, list[str], bool]  # fields of a Call of single texts, and adds_special


def _whole(call: Call | _Texts) -> Call:
    if isinstance(call, Call):
        return call
    engine, epoch, twin, plan, texts, adds_special = call
    return Call(engine, epoch, twin, plan, Inputs(texts, None, texts, True), False, adds_special, False)


class LazyEncodings(list[Any]):
    """List of `tokenizers.Encoding`, filled at its first use; pickled as a plain list.

    call: the call whose encodings are listed; or, for rows of one text each, a tuple from which `_whole` makes it.
    n: number of encodings.
    """

    __slots__ = ("_call", "_n", "_own")

    def __init__(self, call: Call | _Texts, n: int) -> None:
        self._call: Call | _Texts | None = call
        self._n = n
        self._own: list[Encoding] | None = None

    def own(self) -> list[Encoding] | None:
        """Return encodings of fastbpe for a program that only reads them.

        They have no parts that truncation cut off, and raise HandOver for a column that fastbpe does not compute.

        Returns None if the program may have changed the list or its items, or the original since the call.
        """
        call = self._call
        if call is None or call[1] is not EPOCH[0]:  # 1: the epoch, in a Call and in _Texts
            return None
        if self._own is None:
            self._own = readings_of(_whole(call))
        return self._own

    def _fill(self) -> None:
        call = self._call
        if call is not None:
            made = _whole(call).encode()
            with _filling:
                if self._call is not None:  # no other thread has filled the list
                    list.__setitem__(self, slice(None), made)  # after a fork in between, the child does it again
                    self._call = self._own = None

    def __len__(self) -> int:
        return self._n if self._call is not None else super().__len__()

    def __iter__(self) -> Iterator[Any]:
        self._fill()
        return super().__iter__()

    def __reduce__(self) -> tuple[Any, ...]:
        self._fill()
        return list, (list(self),)

    def __radd__(self, other: Any) -> list[Any]:
        """Return other + self. Without this method, `list + self` would read this list before it is filled."""
        self._fill()
        return list.__add__(other, self) if isinstance(other, list) else NotImplemented

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

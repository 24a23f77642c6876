"""`cached_property` without the lock that functools.cached_property has before Python 3.12.

A thread holds that lock while it computes the value. A child process forked at that time would wait for the lock
for ever.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:
    from collections.abc import Callable
    from typing import Any, Generic, TypeVar, overload

    T = TypeVar("T")

    class cached_property(Generic[T]):
        """Attribute that a method computes at the first access. The instance keeps the result."""

        def __init__(self, make: Callable[[Any], T]) -> None:
            self._make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> cached_property[T]: ...
        @overload
        def __get__(self, instance: object, owner: type | None = None) -> T: ...
        def __get__(self, instance: object | None, owner: type | None = None) -> cached_property[T] | T:
            if instance is None:
                return self
            value: T = instance.__dict__.setdefault(self._name, self._make(instance))
            return value

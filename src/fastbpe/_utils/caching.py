"""`cached_property` without the lock that functools.cached_property has before Python 3.12.

A thread holds that lock while it computes the value. A child process forked at that time would wait for the lock
forever. Later versions have no lock, but importing functools takes 0.8 ms (CPython 3.11, 2026-11-29).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:
        """Attribute that a method computes at the first access. The instance keeps the result."""

        def __init__(self, make):
            self._make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            # If several threads compute the value at once, all return the value of the first.
            return instance.__dict__.setdefault(self._name, self._make(instance))

"""Original modules of the drop-ins that hand over some calls."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

#: Name → its original while fastbpe is imported under the name; None: it is not installed.
_kept: dict[str, ModuleType | None] = {}


def find(name: str) -> ModuleType | None:
    """Import the original module with a name; None if it is not installed."""
    if name in _kept:
        return _kept[name]
    try:
        return import_module(name)
    except ImportError:
        return None


def keep(name: str) -> None:
    """Remember the original, before fastbpe's module takes its name."""
    _kept[name] = find(name)


def forget(name: str) -> None:
    """Forget the remembered module, so that the name means the original again."""
    _kept.pop(name, None)

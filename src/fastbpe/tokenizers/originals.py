"""Objects of tokenizers itself, where it is installed: found, recognised, and made."""

from __future__ import annotations

from typing import Any

from fastbpe._utils import originals
from fastbpe.tokenizers.added_token import AddedToken
from fastbpe.tokenizers.components import needs_tokenizers


def find(what: str) -> Any:
    """Return the original module. Raises ImportError if it is not installed; what: what needs it."""
    return originals.find("tokenizers") or needs_tokenizers(what)


def handed_over(base: Any, name: str) -> Any:
    """Return a class that only the original has: a call of it makes an object of the original's class.

    Where the original is not installed, the call is an ImportError that says what to install.

    Args:
        base: its base class.
        name: module and name, such as "trainers.ParityBpeTrainer".
    """
    module, _, kind = name.rpartition(".")

    def theirs() -> Any:
        return getattr(getattr(find(name), module), kind)

    def __new__(cls: Any, *args: Any, **options: Any) -> Any:
        return theirs()(*map(to_theirs, args), **{key: to_theirs(value) for key, value in options.items()})

    body = {
        "__doc__": f"A call gives an object of `tokenizers.{name}`, if tokenizers is installed.",
        "__new__": __new__,
        "__module__": f"fastbpe.tokenizers.{module}",
        "_theirs": staticmethod(theirs),
    }
    return _HandedOver(kind, (base,), body)


class _HandedOver(type):
    """Class of classes whose objects are the original's."""

    def __instancecheck__(cls, value: Any) -> bool:
        return is_theirs(value) and isinstance(value, cls._theirs())  # type: ignore[attr-defined]


def is_theirs(value: Any) -> bool:
    """Tell whether an object is one of the original's, or of a subclass."""
    return any(one.__module__.partition(".")[0] == "tokenizers" for one in type(value).__mro__)


def to_theirs(value: Any) -> Any:
    """Return the original's token for one of fastbpe's; lists item by item, any other value unchanged."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_theirs, value)) if type(value) in (list, tuple) else value
    if isinstance(value, AddedToken):
        given = {name: one for name, one in value.arguments().items() if one is not None}
        return find("AddedToken").AddedToken(**given)
    return value

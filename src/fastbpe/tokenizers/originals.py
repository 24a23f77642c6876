"""Objects of tokenizers itself, where it is installed: made, recognised, and translated to fastbpe's and back."""

from __future__ import annotations

import json
from typing import Any

from fastbpe._utils import originals
from fastbpe.tokenizers.added_token import AddedToken
from fastbpe.tokenizers.components import Component, needs_tokenizers
from fastbpe.tokenizers.encoding import Encoding, of_described

#: Module of the original → what a tokenizer calls such a component.
_PARTS = {
    "normalizers": "normalizer",
    "pre_tokenizers": "pre_tokenizer",
    "processors": "post_processor",
    "decoders": "decoder",
}
_NO_MODEL = {"type": "BPE", "vocab": {}, "merges": []}

#: Class of the tokenizers that the original answers; `other_models` puts it here.
OTHER: list[Any] = []


def find(what: str) -> Any:
    """Return the original module. Raises ImportError if it is not installed; what: what needs it."""
    return originals.find("tokenizers") or needs_tokenizers(what)


def handed_over(base: Any, name: str, *methods: str) -> Any:
    """Return a class that only the original has: a call of it makes an object of the original's class.

    Where the original is not installed, the call is an ImportError that says what to install.

    Args:
        base: its base class.
        name: module and name, such as "models.WordPiece".
        *methods: its methods that need no object, such as "from_file".
    """
    module, _, kind = name.rpartition(".")

    def theirs() -> Any:
        return getattr(getattr(find(name), module), kind)

    def __new__(cls: Any, *args: Any, **options: Any) -> Any:
        return theirs()(*map(to_theirs, args), **{key: to_theirs(value) for key, value in options.items()})

    def of_class(method: str) -> Any:
        return staticmethod(lambda *args, **options: getattr(theirs(), method)(*args, **options))

    body: dict[str, Any] = {method: of_class(method) for method in methods}
    body |= {
        "__doc__": f"A call gives an object of `tokenizers.{name}`, if tokenizers is installed.",
        "__new__": __new__,
        "__module__": f"fastbpe.tokenizers.{module}",
    }
    return _HandedOver(kind, (base,), {**body, "_theirs": staticmethod(theirs)})


class _HandedOver(type):
    """Class of classes whose objects are the original's."""

    def __instancecheck__(cls, value: Any) -> bool:
        return is_theirs(value) and isinstance(value, cls._theirs())  # type: ignore[attr-defined]


def is_theirs(value: Any) -> bool:
    """Tell whether an object is one of the original's, or of a subclass."""
    return any(one.__module__.partition(".")[0] == "tokenizers" for one in type(value).__mro__)


def to_theirs(value: Any) -> Any:
    """Return the original's object for one of fastbpe's; lists item by item, any other value unchanged."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_theirs, value)) if type(value) in (list, tuple) else value
    if isinstance(value, AddedToken):
        given = {name: one for name, one in value.arguments().items() if one is not None}
        return find("AddedToken").AddedToken(**given)
    if isinstance(value, Encoding):
        made = find("Encoding").Encoding()
        made.__setstate__(value.__getstate__())
        return made
    return _component(value) if isinstance(value, Component) else value


def _component(value: Any) -> Any:
    """Return the original's component for one of fastbpe's."""
    original = find(type(value).__name__)
    module = next(base for base in type(value).__mro__ if base.__base__ is Component).__module__.rpartition(".")[2]
    if getattr(value, "written", None) is not None:
        base = {"normalizers": "Normalizer", "pre_tokenizers": "PreTokenizer"}.get(module, "Decoder")
        return getattr(getattr(original, module), base).custom(value.written)
    if module == "trainers":
        trainer = getattr(original.trainers, type(value).__name__)()
        trainer.__setstate__(value.__getstate__())
        return trainer
    if module == "models":
        return original.Tokenizer.from_str(json.dumps({"version": "1.0", "model": value.state()})).model
    part = _PARTS[module]
    made = original.Tokenizer.from_str(json.dumps({"version": "1.0", "model": _NO_MODEL, part: value.state()}))
    return getattr(made, part)


def to_ours(value: Any) -> Any:
    """Return fastbpe's encodings for the original's; any other value unchanged."""
    if isinstance(value, list):
        return [*map(to_ours, value)]
    if type(value).__name__ != "Encoding":
        return value
    return Encoding.of_source(_Translated(value), 0, value.ids)


class _Translated:
    """Source of the encoding that the original has made."""

    may_overflow = True

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    @property
    def n_sequences(self) -> int:
        """Number of texts."""
        return int(self._encoding.n_sequences)

    def column(self, encoding: Encoding, name: str, i: int) -> list[Any] | None:
        """Return a column."""
        names = {"words": "word_ids", "sequences": "sequence_ids"}
        found: list[Any] = getattr(self._encoding, names.get(name, name))
        return found

    def whole(self, i: int) -> Encoding:
        """Return the encoding with all its columns."""
        return of_described(json.loads(self._encoding.__getstate__()))

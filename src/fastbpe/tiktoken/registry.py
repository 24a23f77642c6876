"""Encodings by name: the published ones, and those that packages register for tiktoken.

Such a package puts modules into the namespace package `tiktoken_ext`. Each has a dict ENCODING_CONSTRUCTORS that
maps a name to a function that returns the arguments of `Encoding`. The modules import from `tiktoken`; if tiktoken
is not installed, fastbpe.tiktoken is available under that name while they run.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from functools import lru_cache

from fastbpe._utils.threads import ForkSafeLock
from fastbpe.errors import VocabularyError
from fastbpe.tiktoken.core import Encoding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Constructor = Callable[[], dict[str, Any]]

_lock = ForkSafeLock()
#: Name → encoding, for each encoding that get_encoding has made.
ENCODINGS: dict[str, Encoding] = {}
#: Name → constructor; None until plug-ins have been looked for.
ENCODING_CONSTRUCTORS: dict[str, Constructor] | None = None

_NAMESPACE = "tiktoken_ext"
_OWN = f"{_NAMESPACE}.openai_public"  # tiktoken's own plug-in; `published` takes its place


def get_encoding(encoding_name: str) -> Encoding:
    """Return an encoding by name. The first call creates it, and later calls return the same object.

    Args:
        encoding_name: str – name such as "o200k_base", or the name of a plug-in's encoding.

    Raises:
        ValueError: no encoding has this name, or its file is not the published one.
        OSError: its file is not in the cache and cannot be downloaded; the message says where to put it.
    """
    if not isinstance(encoding_name, str):
        raise VocabularyError(f"the name of an encoding must be a str, not {type(encoding_name).__name__}")
    if encoding_name in ENCODINGS:
        return ENCODINGS[encoding_name]
    with _lock:
        if encoding_name not in ENCODINGS:
            constructors = _find_constructors()
            if encoding_name not in constructors:
                raise VocabularyError(
                    f"Unknown encoding {encoding_name}; fastbpe knows {', '.join(constructors)}; "
                    f"plug-ins found: {', '.join(_available_plugin_modules()) or 'none'}"
                )
            ENCODINGS[encoding_name] = _made(constructors[encoding_name])
        return ENCODINGS[encoding_name]


def _made_by_name(encoding: Encoding) -> Callable[[str], Encoding] | None:
    return get_encoding if ENCODINGS.get(encoding.name) is encoding else None


Encoding._made_by_name = staticmethod(_made_by_name)  # type: ignore[method-assign]
Encoding._by_name = staticmethod(get_encoding)  # type: ignore[method-assign, assignment]


def _made(constructor: Constructor) -> Encoding:
    from fastbpe.tiktoken.published import Published  # here: see _find_constructors

    if isinstance(constructor, Published):
        return Encoding._of_model(constructor.model())
    with _known_as_tiktoken():
        return Encoding(**constructor())


def list_encoding_names() -> list[str]:
    """Return the names that `get_encoding` accepts.

    >>> list_encoding_names()[:7]
    ['gpt2', 'r50k_base', 'p50k_base', 'p50k_edit', 'cl100k_base', 'o200k_base', 'o200k_harmony']
    """
    with _lock:
        return list(_find_constructors())


def _find_constructors() -> dict[str, Constructor]:
    global ENCODING_CONSTRUCTORS
    if ENCODING_CONSTRUCTORS is None:
        from fastbpe.tiktoken import published  # here: some programs create all their encodings

        found: dict[str, Any] = {**published.ENCODING_CONSTRUCTORS}
        with _known_as_tiktoken():
            for name in _available_plugin_modules():
                _add(name, found)
        ENCODING_CONSTRUCTORS = found
    return ENCODING_CONSTRUCTORS


def _add(module: str, found: dict[str, Constructor]) -> None:
    plugin = importlib.import_module(module)
    try:
        constructors = plugin.ENCODING_CONSTRUCTORS
    except AttributeError:
        raise VocabularyError(f"tiktoken plugin {module} does not define ENCODING_CONSTRUCTORS") from None
    for name, constructor in constructors.items():
        if name in found:
            raise VocabularyError(f"Duplicate encoding name {name} in tiktoken plugin {module}")
        found[name] = constructor


@lru_cache
def _available_plugin_modules() -> Sequence[str]:
    try:
        namespace = importlib.import_module(_NAMESPACE)
    except ModuleNotFoundError:
        return []
    from pkgutil import iter_modules  # here: few programs have such a package

    names = [module.name for module in iter_modules(namespace.__path__, f"{_NAMESPACE}.")]
    return [name for name in names if name != _OWN]


@contextmanager
def _known_as_tiktoken() -> Iterator[None]:
    """Make fastbpe.tiktoken importable as tiktoken while the block runs, if tiktoken is not installed."""
    from importlib.util import find_spec  # here: few programs have plug-ins

    if "tiktoken" in sys.modules or find_spec("tiktoken") is not None:
        yield
        return
    here = __name__.rpartition(".")[0]
    names = ("", ".core", ".load", ".model", ".registry")  # all that tiktoken has, except its _educational
    ours = {f"tiktoken{name}": importlib.import_module(here + name) for name in names}
    sys.modules.update(ours)
    try:
        yield
    finally:
        for name in ours:
            sys.modules.pop(name, None)

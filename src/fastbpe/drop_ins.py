"""install() and uninstall(): fastbpe's drop-ins under the names of other modules, for programs you cannot edit.

After `install`, `sys.modules` has a stand-in under the module's name: a module with the public names of the
drop-in. The drop-in's submodules are there too (`tiktoken.load`, …). A finder at the front of `sys.meta_path`
handles all other names below the module. It raises an error for a submodule that the drop-in lacks, except for a
few submodules of the original that need nothing else of the original. `uninstall` removes the stand-ins, and with
the last one the finder, and restores the earlier modules.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from fastbpe._utils import originals
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.suggestions import did_you_mean
from fastbpe._utils.threads import ForkSafeLock


class _Face(NamedTuple):
    """A module of fastbpe that can replace another (a drop-in).

    submodules: names of submodules for which fastbpe has a module.
    borrowed: names of submodules that are taken from the original, if it is installed.
    messages: borrowed names that need protobuf; without it, or without the original, fastbpe's modules are used.
    hands_over: whether the drop-in calls the original for features that it lacks.
    """

    submodules: tuple[str, ...] = ()
    borrowed: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    hands_over: bool = False


_FACES = {
    "minbpe": _Face(submodules=("base", "basic", "gpt4", "regex")),
    "rustbpe": _Face(),
    "sentencepiece": _Face(
        borrowed=("sentencepiece_model_pb2", "sentencepiece_pb2"),
        messages=("sentencepiece_model_pb2",),
        hands_over=True,
    ),
    "tiktoken": _Face(submodules=("_educational", "core", "load", "model", "registry")),
    "tokenizers": _Face(
        submodules=(
            "decoders",
            "implementations",
            "models",
            "normalizers",
            "pre_tokenizers",
            "processors",
            "trainers",
        ),
        borrowed=("tokenizers", "tools"),  # tokenizers.tokenizers is the original's compiled module
        hands_over=True,
    ),
}

_lock = ForkSafeLock()
#: Name of a drop-in that is installed → the modules that were imported under this name and below it before.
_replaced: dict[str, dict[str, ModuleType]] = {}


def install(*names: str) -> None:
    """Make `import tiktoken`, `sentencepiece`, `tokenizers`, `minbpe` or `rustbpe` import fastbpe's module.

    This applies to imports after the call, in the whole process. A module that has already imported the original
    keeps it. The original need not be installed. Calling `install` again changes nothing.

    Args:
        names: str – one or more of "tiktoken", "sentencepiece", "tokenizers", "minbpe" and "rustbpe".

    Raises:
        TypeError: a name is not a str; nothing is installed.
        ValueError: no name is given, or fastbpe has no such drop-in; nothing is installed.

    >>> import fastbpe
    >>> fastbpe.install("rustbpe")
    >>> import rustbpe
    >>> rustbpe.Tokenizer is fastbpe.rustbpe.Tokenizer
    True
    >>> fastbpe.uninstall()
    """
    if not names:
        raise ValueError(f"install() needs at least one module name: {', '.join(_FACES)}")
    _check(names)
    with _lock:
        for name in names:
            if name not in _replaced:
                if _FACES[name].hands_over:
                    originals.keep(name)
                _put(name)
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)


def uninstall(*names: str) -> None:
    """Undo `install`: the names refer to the earlier modules again (the same objects).

    A module that has imported a drop-in in the meantime keeps it. Calling `uninstall` again changes nothing.

    Args:
        names: str – as for `install`; without names: all installed ones.

    Raises:
        TypeError: a name is not a str.
        ValueError: fastbpe has no such drop-in.

    >>> import fastbpe
    >>> fastbpe.uninstall()
    """
    _check(names)
    with _lock:
        for name in names or list(_replaced):
            if name in _replaced:
                _take_away(name)
        if not _replaced and _FINDER in sys.meta_path:
            sys.meta_path.remove(_FINDER)


def _check(names: Sequence[str]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"the name of a module must be a str, not {type(name).__name__}")
        if name not in _FACES:
            near = did_you_mean(name, _FACES)
            raise ValueError(
                f"fastbpe cannot replace the module {name!r}: {near + ' ' if near else ''}choose from "
                f"{', '.join(_FACES)}"
            )


def _put(name: str) -> None:
    """Put a drop-in and its submodules into `sys.modules`, and remove the original's other submodules.

    Other threads may import the drop-in's names meanwhile, so these names have a module there at all times.
    """
    face, stand_in = _FACES[name], _stand_in(name)
    ours = {name: stand_in, **{f"{name}.{last}": getattr(stand_in, last) for last in face.submodules}}
    before = _modules_of(name)
    _replaced[name] = before
    sys.modules.update(ours)
    for old in before.keys() - ours.keys():
        parent, _, last = old.rpartition(".")
        if parent == name and last in face.borrowed:
            setattr(stand_in, last, before[old])  # an import sets it only when it loads the submodule
        else:
            sys.modules.pop(old, None)


def _take_away(name: str) -> None:
    before = _replaced.pop(name)
    originals.forget(name)
    sys.modules.update(before)
    for module in _modules_of(name).keys() - before.keys():
        sys.modules.pop(module, None)


def _modules_of(name: str) -> dict[str, ModuleType]:
    """Return the modules under a name and below it."""
    return {key: module for key, module in list(sys.modules.items()) if key.split(".")[0] == name}


class _StandIn(ModuleType):
    """Module under the name of another, with the public names of a drop-in."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}: {_way_out(self.__name__)}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name, as dill and cloudpickle do for the modules that a function uses."""
        return importlib.import_module, (self.__name__,)


def _stand_in(name: str) -> _StandIn:
    face = importlib.import_module(f"fastbpe.{name}")
    module = _StandIn(name, face.__doc__)
    spec = ModuleSpec(name, _FINDER, origin=face.__file__, is_package=True)
    names = [*face.__all__, *(("__version__",) if hasattr(face, "__version__") else ())]
    vars(module).update(
        {key: getattr(face, key) for key in names},
        __all__=list(face.__all__),
        __file__=face.__file__,
        __loader__=_FINDER,
        __package__=name,
        __path__=spec.submodule_search_locations,
        __spec__=spec,
    )
    for submodule in _FACES[name].submodules:
        setattr(module, submodule, importlib.import_module(f"fastbpe.{name}.{submodule}"))
    return module


def _way_out(name: str) -> str:
    return (
        f"fastbpe.{name} stands in for it; to use the original, if it is installed, call "
        f"fastbpe.uninstall({name!r}) and import it again"
    )


def _has_protobuf() -> bool:
    try:
        return find_spec("google.protobuf") is not None
    except ImportError:  # there is no package google
        return False


class _Finder(MetaPathFinder, Loader):
    """Finder for the names of installed drop-ins, and loader of their stand-ins."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module that a program has removed from `sys.modules`, or a borrowed submodule (or one below).

        Returns None for names outside the installed drop-ins.

        Raises:
            ModuleNotFoundError: the drop-in has no such submodule.
        """
        name, _, submodule = fullname.partition(".")
        if name not in _replaced:
            return None
        face = _FACES[name]
        if not submodule or submodule in face.submodules:
            return ModuleSpec(fullname, self, is_package=not submodule)
        outermost, _, inner = submodule.partition(".")
        if outermost in face.borrowed:
            original = None if inner else PathFinder.find_spec(name)
            # A submodule of a borrowed package (tokenizers.tools.visualizer) is in the folders of this package.
            folders = path if inner else original and original.submodule_search_locations
            found = PathFinder.find_spec(fullname, folders) if folders else None
            if submodule in face.messages and (found is None or not _has_protobuf()):
                return ModuleSpec(fullname, self)
            if found is not None:
                return found
        # name= is fastbpe's module: with the original's name, `from tiktoken import x` would hide this error.
        missing = f"fastbpe.{fullname}"
        raise ModuleNotFoundError(f"no module named {fullname!r}: {_way_out(name)}", name=missing)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Create a stand-in again, or return a submodule of the drop-in."""
        is_face = "." not in spec.name
        module = _stand_in(spec.name) if is_face else importlib.import_module(f"fastbpe.{spec.name}")
        spec.loader_state = module.__spec__  # for `exec_module`
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the spec of the already created module, which the import has replaced.

        `importlib.reload` creates no module, so there is no spec to restore.
        """
        if module.__spec__ is not None and module.__spec__.loader_state is not None:
            module.__spec__ = module.__spec__.loader_state


_FINDER = _Finder()

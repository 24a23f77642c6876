"""Train and run byte-pair-encoding tokenizers, id for id as the originals do, and fast."""

try:
    import fastbpe._core.vocabulary  # noqa: F401
except ModuleNotFoundError as error:  # the sources without their compiled half
    if error.name is None or not error.name.startswith("fastbpe."):
        raise
    raise ImportError(
        "fastbpe's compiled core is missing: build it with `pip install .` in the project's folder"
    ) from error

from typing import TYPE_CHECKING, Any

from fastbpe._version import __version__
from fastbpe.errors import (
    FastbpeError,
    FormatError,
    FormatWarning,
    InvalidTokenError,
    OptionError,
    PatternError,
    SpecialTokenError,
    TrainingError,
    TrainingWarning,
    VocabularyError,
)
from fastbpe.loading import load
from fastbpe.patterns import PATTERNS
from fastbpe.tokenizer import Tokenizer

if TYPE_CHECKING:
    from fastbpe.counts import PieceCounts, count_pieces
    from fastbpe.files import FilesSummary
    from fastbpe.releasing import release_memory
    from fastbpe.training import train

__all__ = [
    "PATTERNS",
    "FastbpeError",
    "FilesSummary",
    "FormatError",
    "FormatWarning",
    "InvalidTokenError",
    "OptionError",
    "PatternError",
    "PieceCounts",
    "SpecialTokenError",
    "Tokenizer",
    "TrainingError",
    "TrainingWarning",
    "VocabularyError",
    "__version__",
    "count_pieces",
    "load",
    "release_memory",
    "train",
]

# What few programs need is imported when it is first asked for: a third of the time that all takes.
_LATER = {
    "FilesSummary": "files",
    "PieceCounts": "counts",
    "count_pieces": "counts",
    "release_memory": "releasing",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'fastbpe' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"fastbpe.{_LATER[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

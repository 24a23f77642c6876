"""Train and run byte-pair-encoding tokenizers, id for id as the originals do, and fast."""

try:
    import fastbpe._core.vocabulary  # noqa: F401
except ImportError as error:  # the sources without their compiled half
    raise ImportError(
        "fastbpe's compiled core is missing: build it with `pip install .` in the project's folder"
    ) from error

from fastbpe._version import __version__
from fastbpe.counts import PieceCounts, count_pieces
from fastbpe.errors import (
    FastbpeError,
    FormatError,
    InvalidTokenError,
    PatternError,
    SpecialTokenError,
    TrainingError,
    TrainingWarning,
    VocabularyError,
)
from fastbpe.files import FilesSummary
from fastbpe.loading import load
from fastbpe.patterns import PATTERNS
from fastbpe.tokenizer import Tokenizer
from fastbpe.training import train

__all__ = [
    "PATTERNS",
    "FastbpeError",
    "FilesSummary",
    "FormatError",
    "InvalidTokenError",
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
    "train",
]

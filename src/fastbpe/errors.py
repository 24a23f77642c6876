"""The exceptions fastbpe raises, each also the builtin that a caller would already catch."""

from __future__ import annotations


class FastbpeError(Exception):
    """Base class of every error that fastbpe raises on purpose."""


class PatternError(FastbpeError, ValueError):
    """A split pattern that does not parse, or that cannot be used to split text."""


class VocabularyError(FastbpeError, ValueError):
    """A vocabulary that contradicts itself: a missing byte, a rank or a token given twice, …"""


class SpecialTokenError(FastbpeError, ValueError):
    """A special token that cannot be used, or text that holds one which is not allowed there."""


class InvalidTokenError(FastbpeError, KeyError):
    """An id that is no token of the vocabulary."""

    # KeyError shows the repr of its argument; a sentence should read as one.
    __str__ = Exception.__str__


class FormatError(FastbpeError, ValueError):
    """A file that is not what its format says it must be."""


class TrainingError(FastbpeError, ValueError):
    """Training that cannot start or cannot give what was asked for."""

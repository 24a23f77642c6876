"""What sentencepiece raises, by class and in words; each is an error of fastbpe too."""

from __future__ import annotations

from fastbpe.errors import FastbpeError


class ModelError(FastbpeError, RuntimeError):
    """A model that cannot be read, or is none of type BPE; or a call that needs a model, or another one."""


class PieceIdError(FastbpeError, IndexError):
    """An id that no piece has."""


class ArgumentError(FastbpeError, ValueError):
    """An argument that the model does not go with."""


def not_loaded() -> ModelError:
    """The error of a processor without a model."""
    return ModelError("INTERNAL: Model is not initialized.")


def out_of_range() -> PieceIdError:
    """The error for an id beyond the vocabulary."""
    return PieceIdError("OUT_OF_RANGE: piece id is out of range.")

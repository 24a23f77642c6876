"""Errors of the classes that sentencepiece raises; each is an error of fastbpe too."""

from __future__ import annotations

from fastbpe.errors import FastbpeError


class ModelError(FastbpeError, RuntimeError):
    """Error for an unreadable or missing model, and for a call, text or number that a model does not support."""


class PieceIdError(FastbpeError, IndexError):
    """Error for an id without a piece."""


class ArgumentError(FastbpeError, ValueError):
    """Error for an argument that is invalid, contradicts another one, or does not suit the model."""


class ArgumentTypeError(FastbpeError, TypeError):
    """Error for an argument of the wrong type."""


class MissingItemError(FastbpeError, KeyError):
    """Error for a dict without the key 0 in place of a list of ids: sentencepiece reads item 0."""

    __str__ = Exception.__str__  # KeyError's is the repr of the argument, which quotes the message


class TrainerError(FastbpeError, RuntimeError):
    """Error for options, sentences or files that training refuses."""


def not_loaded() -> ModelError:
    return ModelError("INTERNAL: Model is not initialized.")


def out_of_range() -> PieceIdError:
    return PieceIdError("OUT_OF_RANGE: piece id is out of range.")

"""Encodings of OpenAI's models, as OpenAI publishes them."""

from __future__ import annotations

from fastbpe.known_vocabularies import MODEL_PREFIX_TO_ENCODING as MODEL_PREFIX_TO_ENCODING
from fastbpe.known_vocabularies import MODEL_TO_ENCODING as MODEL_TO_ENCODING
from fastbpe.known_vocabularies import encoding_of_model
from fastbpe.tiktoken.core import Encoding
from fastbpe.tiktoken.registry import get_encoding


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of a model's encoding.

    Args:
        model_name: str – name of a model of OpenAI, such as "gpt-4o".

    Raises:
        KeyError: the model is unknown.

    >>> encoding_name_for_model("gpt-4o-mini"), encoding_name_for_model("text-davinci-003")
    ('o200k_base', 'p50k_base')
    """
    if (encoding := encoding_of_model(model_name)) is not None:
        return encoding
    # Callers look for the beginning of tiktoken's message, so it is the same here.
    raise KeyError(
        f"Could not automatically map {model_name} to a tokeniser; if you know its encoding, pass the encoding's "
        "name to `tiktoken.get_encoding`"
    )


def encoding_for_model(model_name: str) -> Encoding:
    """Return a model's encoding.

    Args:
        model_name: str – name of a model of OpenAI, such as "gpt-4o".

    Raises:
        KeyError: the model is unknown.
        ValueError, OSError: as for `get_encoding`.
    """
    return get_encoding(encoding_name_for_model(model_name))

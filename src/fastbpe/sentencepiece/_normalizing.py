"""Normalization of texts given as str or as bytes, with offsets in characters or bytes."""

from __future__ import annotations

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe.sentencepiece._errors import ArgumentTypeError
from fastbpe.sentencepiece._messages import normalized_in_characters
from fastbpe.sentencepiece._model import to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def normalize(normalizer: Normalizer, input: Any, with_offsets: bool | None) -> Any:
    """Normalize a text, or each text of a list.

    with_offsets: return (text, positions in the input from which its characters and its end come).
    """
    if isinstance(input, list):
        return [_normalized(normalizer, text, with_offsets) for text in input]
    return _normalized(normalizer, input, with_offsets)


def _normalized(normalizer: Normalizer, text: Any, with_offsets: bool | None) -> Any:
    if not isinstance(text, (str, bytes)):
        raise ArgumentTypeError("Input must be str or bytes")
    data = to_bytes(text)
    if not with_offsets:
        normalized = normalizer.normalize(data)
        return normalized if isinstance(text, bytes) else normalized.decode()
    normalized, places = normalizer.normalize_with_offsets(data)
    if isinstance(text, bytes):
        return normalized, places
    return normalized.decode(), normalized_in_characters(data, normalized, places)

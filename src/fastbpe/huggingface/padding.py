"""Padding of a batch by the rules of tokenizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def padded_length(lengths: Sequence[int], padding: Mapping[str, Any]) -> int:
    """Return the length to which rows of these lengths are padded. Longer rows do not change.

    Args:
        lengths: numbers of ids.
        padding: settings as the property `padding` of a `tokenizers.Tokenizer` gives them.
    """
    length: int = max(lengths) if padding["length"] is None else padding["length"]
    multiple = padding["pad_to_multiple_of"]
    if multiple:
        length += -length % multiple
    return length

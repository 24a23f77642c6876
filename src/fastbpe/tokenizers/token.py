"""Token: a part of a piece, found by a model."""

from __future__ import annotations

from fastbpe.huggingface.checked_arguments import number, of_type, token_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Token:
    """Token of a model.

    Args:
        id: its id.
        value: its text, spelled as in the vocabulary.
        offsets: its start and end in the piece; models count them in bytes of UTF-8.

    Raises:
        TypeError, OverflowError, ValueError: an argument has the wrong type, a number is negative or too large,
            or offsets are not two numbers.

    >>> from fastbpe.tokenizers import models
    >>> [token] = models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).tokenize("ab")
    >>> token.id, token.value, token.offsets
    (2, 'ab', (0, 2))
    """

    def __init__(self, id: int, value: str, offsets: tuple[int, int]) -> None:
        self._values: tuple[int, str, tuple[int, int]] = token_id(id), of_type(value, str), _offsets(offsets)

    @property
    def id(self) -> int:
        """Id of the token."""
        return self._values[0]

    @property
    def value(self) -> str:
        """Text of the token, spelled as in the vocabulary; for Unigram's unknown token, the unknown text."""
        return self._values[1]

    @property
    def offsets(self) -> tuple[int, int]:
        """Start and end of the token in its piece."""
        return self._values[2]

    def as_tuple(self) -> tuple[int, str, tuple[int, int]]:
        """Return (id, value, offsets)."""
        return self._values


def _offsets(value: Any) -> tuple[int, int]:
    if len(of_type(value, tuple)) != 2:
        raise ValueError(f"expected tuple of length 2, but got tuple of length {len(value)}")
    return number(value[0]), number(value[1])

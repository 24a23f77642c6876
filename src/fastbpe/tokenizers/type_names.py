"""Type names for annotations, and enumerations, with tokenizers' names."""

from __future__ import annotations

from enum import Enum
from typing import List, Tuple, Union  # noqa: UP035  # programs compare with these objects

Offsets = Tuple[int, int]  # noqa: UP006
TextInputSequence = str
PreTokenizedInputSequence = Union[List[str], Tuple[str]]  # noqa: UP006, UP007
TextEncodeInput = Union[  # noqa: UP007
    TextInputSequence, Tuple[TextInputSequence, TextInputSequence], List[TextInputSequence]  # noqa: UP006
]
PreTokenizedEncodeInput = Union[  # noqa: UP007
    PreTokenizedInputSequence,
    Tuple[PreTokenizedInputSequence, PreTokenizedInputSequence],  # noqa: UP006
    List[PreTokenizedInputSequence],  # noqa: UP006
]
InputSequence = Union[TextInputSequence, PreTokenizedInputSequence]  # noqa: UP007
EncodeInput = Union[TextEncodeInput, PreTokenizedEncodeInput]  # noqa: UP007


class OffsetReferential(Enum):
    """Text to which offsets refer."""

    ORIGINAL = "original"
    NORMALIZED = "normalized"


class OffsetType(Enum):
    """Unit of offsets."""

    BYTE = "byte"
    CHAR = "char"


class SplitDelimiterBehavior(Enum):
    """Handling of the separator in a split."""

    REMOVED = "removed"
    ISOLATED = "isolated"
    MERGED_WITH_PREVIOUS = "merged_with_previous"
    MERGED_WITH_NEXT = "merged_with_next"
    CONTIGUOUS = "contiguous"

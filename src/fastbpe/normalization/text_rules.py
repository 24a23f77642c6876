"""Changes to texts before the rules of a sentencepiece model, as classes of transformers make them in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastbpe._core.normalize.text_steps import Front
from fastbpe._utils.named_tuples import NamedTuple


class TextRules(NamedTuple):
    """Changes to the text between special tokens.

    Attributes:
        front: the compiled object that makes them.
        change: function that makes them, for a text within a longer one.
        described: normalizers of a tokenizer.json that make nearly the same changes.
    """

    front: Front
    change: Callable[[str], str]
    described: list[dict[str, Any]]

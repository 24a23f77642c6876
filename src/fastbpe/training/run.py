"""Run: what `train` was asked for, as each mode takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastbpe._utils.arguments import integer
from fastbpe._utils.choices import BaseSpecial
from fastbpe._utils.progress import Reporter
from fastbpe.errors import TrainingError
from fastbpe.training.options import ReadingOptions


class Run(NamedTuple):
    """Arguments of one call of `train` that all modes have.

    vocab_size: number of ids to end with, or a text that the mode knows.
    options: keyword arguments of the mode.
    reading: how to read and count the source.
    reporter: gets the phases "counting" and "learning".
    base_special: what becomes of the special tokens of a base; None: it was not said.
    """

    vocab_size: int | str
    options: Mapping[str, Any]
    reading: ReadingOptions
    reporter: Reporter
    base_special: BaseSpecial | None = None


def number_of_ids(vocab_size: int | str, n_of_base: int | None) -> int | str:
    """Return the vocab_size that a caller means: "+N" is N more than a base has. Other texts stay.

    Raises:
        TrainingError: "+N" without a base, or N is not a number.
        TypeError: vocab_size is neither an integer nor a text.
    """
    if not isinstance(vocab_size, str):
        return integer("vocab_size", vocab_size)
    if not vocab_size.startswith("+"):
        return vocab_size
    if not vocab_size[1:].isdecimal() or not vocab_size.isascii():
        raise TrainingError(f"vocab_size={vocab_size!r}: give a number behind the '+'")
    if n_of_base is None:
        raise TrainingError(f"vocab_size={vocab_size!r} adds tokens to a base; give base=, or a number")
    return n_of_base + int(vocab_size)

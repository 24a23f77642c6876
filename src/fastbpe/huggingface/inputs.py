"""Inputs of a call, sorted by kind: texts, words, or pairs of either."""

from __future__ import annotations

from fastbpe._core.text.utf8_text import has_surrogates
from fastbpe._utils.named_tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Inputs(NamedTuple):
    """Inputs that fastbpe encodes.

    firsts: first text of each row, or its words.
    seconds: second text of each row, or its words; None: there are no second texts.
    batch: the same inputs in the form that `encode_batch` of tokenizers accepts, in lists that the caller does not
        have; [] in fastbpe.tokenizers, which does not call it.
    is_batched: the caller passed a batch, not a single row.
    """

    firsts: list[Any]
    seconds: list[Any] | None
    batch: list[Any]
    is_batched: bool

    @property
    def texts(self) -> list[list[Any]]:
        """The first texts of all rows and, if there are any, the second texts."""
        return [self.firsts] if self.seconds is None else [self.firsts, self.seconds]


def sort_inputs(text: Any, text_pair: Any, *, is_split_into_words: bool) -> Inputs | None:
    """Arrange the inputs of a call by kind. Returns None if the call must go to the original library.

    One reason is a text that is not exactly of type str or contains a lone surrogate: tokenizers may raise an
    error for it. An empty text_pair of a single row counts as None, as in transformers.
    """
    if is_split_into_words:
        return _sort_words(text, text_pair)
    if type(text) is str:
        if text_pair is None or (type(text_pair) is str and not text_pair):
            return Inputs([text], None, [text], False) if are_texts((text,)) else None
        if type(text_pair) is str and are_texts((text, text_pair)):
            return Inputs([text], [text_pair], [(text, text_pair)], False)
        return None
    if type(text) not in (list, tuple) or not text:
        return None
    if text_pair is not None:
        if type(text_pair) not in (list, tuple) or len(text_pair) != len(text):
            return None
        if not (are_texts(text) and are_texts(text_pair)):
            return None
        return Inputs(list(text), list(text_pair), [*zip(text, text_pair, strict=True)], True)
    if type(text[0]) is tuple:
        if not all(type(row) is tuple and len(row) == 2 and are_texts(row) for row in text):
            return None
        return Inputs([row[0] for row in text], [row[1] for row in text], list(text), True)
    return Inputs(list(text), None, list(text), True) if are_texts(text) else None


def _sort_words(text: Any, text_pair: Any) -> Inputs | None:
    """Do the work of `sort_inputs` for lists of words."""
    if type(text) not in (list, tuple) or not text:
        return None
    is_batched = type(text[0]) in (list, tuple)
    rows = list(text) if is_batched else [text]
    if text_pair is not None and type(text_pair) not in (list, tuple):
        return None
    if text_pair is not None and (is_batched or text_pair):
        pairs = list(text_pair) if is_batched else [text_pair]
        if len(pairs) != len(rows):
            return None
        rows = [*zip(rows, pairs, strict=True)]
    if all(map(_are_words, rows)):
        firsts = [*map(list, rows)]
        return Inputs(firsts, None, firsts, is_batched)
    if all(map(_is_pair_of_words, rows)):
        firsts, seconds = ([list(row[number]) for row in rows] for number in (0, 1))
        return Inputs(firsts, seconds, [*zip(firsts, seconds, strict=True)], is_batched)
    return None


def _are_words(row: Any) -> bool:
    return type(row) in (list, tuple) and are_texts(row)


def _is_pair_of_words(row: Any) -> bool:
    return type(row) in (list, tuple) and len(row) == 2 and all(map(_are_words, row))


def are_texts(texts: Any) -> bool:
    """Tell whether all items are exactly of type str and contain no lone surrogates."""
    for text in texts:
        if type(text) is not str:
            return False
        if not text.isascii() and has_surrogates(text):
            return False
    return True

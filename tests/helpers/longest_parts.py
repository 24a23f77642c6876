"""The longest part of a text with a given number of ids, found by trying all."""

from __future__ import annotations

from fastbpe import Tokenizer
from reference import longest_prefix, longest_suffix

_OF_SIDE = {"right": longest_prefix, "left": longest_suffix}


def longest_part(tokenizer: Tokenizer, text: str, n: int, side: str) -> str:
    """Return the longest part with at most n ids; a surrogate pair counts as one character, and is not split.

    Args:
        tokenizer: counts the ids of a part.
        text: the text.
        n: most ids.
        side: side on which the text is cut off, "left" or "right".
    """
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    part = _OF_SIDE[side](joined, tokenizer.count, n)
    size = len(part.encode("utf-16-le", "surrogatepass")) - len(part)  # surrogate pairs, which the text may hold
    for length in range(len(part), len(part) + size + 1):
        own = text[:length] if side == "right" else text[len(text) - length :]
        if own.encode("utf-16-le", "surrogatepass") == part.encode("utf-16-le", "surrogatepass"):
            return own
    raise AssertionError((text, part))

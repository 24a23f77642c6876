"""How text is cut into pieces: Unicode character sets, the parser of split patterns, and what runs them."""

from __future__ import annotations

from fastbpe._core.splitter import RegexSplitter, Splitter
from fastbpe.splitting.to_regex import compile_regex


def make_splitter(pattern: str | None) -> Splitter:
    """What cuts text by a pattern; None: nothing is cut. Raises PatternError for a pattern of no use.

    >>> make_splitter(r"[a-z]+").ends("one 2 three")
    [3, 6, 11]
    """
    return Splitter() if pattern is None else RegexSplitter(compile_regex(pattern))

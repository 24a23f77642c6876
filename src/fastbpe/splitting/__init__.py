"""How text is cut into pieces: Unicode character sets, the parser of split patterns, and what runs them."""

from __future__ import annotations

from dataclasses import asdict

from fastbpe._core.scanner import Scanner
from fastbpe._core.splitter import RegexSplitter, Splitter
from fastbpe.splitting.recognise import recognise
from fastbpe.splitting.to_regex import compile_regex


def make_splitter(pattern: str | None) -> Splitter:
    """What cuts text by a pattern; None: nothing is cut. Raises PatternError for a pattern of no use.

    A scanner where the pattern means what a known one does; the `regex` package, with our own classes, else.

    >>> make_splitter(r"[a-z]+").ends("one 2 three")
    [3, 6, 11]
    """
    if pattern is None:
        return Splitter()
    spec = recognise(pattern)
    return RegexSplitter(compile_regex(pattern)) if spec is None else Scanner(**asdict(spec))

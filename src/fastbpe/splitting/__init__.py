"""How text is cut into pieces: Unicode character sets, the parser of split patterns, and what runs them."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import asdict
from functools import reduce

from fastbpe._core.scanner import Scanner
from fastbpe._core.sequence import Sequence
from fastbpe._core.splitter import RegexSplitter, Splitter
from fastbpe.errors import PatternError
from fastbpe.patterns import PatternLike
from fastbpe.splitting.recognise import recognise
from fastbpe.splitting.to_regex import compile_regex

MAX_STEPS = 64  # each is one more level of calls


def make_splitter(pattern: PatternLike, *, drop_unmatched: bool = False) -> Splitter:
    """What cuts text by a pattern, or by several one after another; None: nothing is cut.

    A scanner where a pattern means what a known one does; the `regex` package, with our own classes, else.

    >>> make_splitter(r"[a-z]+").ends("one 2 three")
    [3, 6, 11]

    drop_unmatched: what a pattern does not match is no piece, but left out.

    >>> make_splitter(r"[a-z]+", drop_unmatched=True).pieces("one 2 three")
    [(0, 3), (6, 11)]

    Raises PatternError for a pattern of no use.
    """
    if pattern is None:
        return Splitter()
    if not isinstance(pattern, str):
        return chain([make_splitter(part, drop_unmatched=drop_unmatched) for part in pattern])
    spec = recognise(pattern)
    if spec is not None:
        return Scanner(**asdict(spec))  # all of these match any text whole
    return RegexSplitter(compile_regex(pattern), keep_gaps=not drop_unmatched)


def chain(splitters: SequenceOf[Splitter]) -> Splitter:
    """Splitters one after another, each of which cuts the pieces of the one before; without any, no splitting."""
    if len(splitters) > MAX_STEPS:
        raise PatternError(f"{len(splitters)} splits one after another; the limit is {MAX_STEPS}")
    return reduce(Sequence, splitters) if splitters else Splitter()

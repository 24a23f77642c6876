"""How text is cut into pieces: Unicode character sets, the parser of split patterns, and what runs them."""

from __future__ import annotations

from dataclasses import asdict

from fastbpe._core.engine import Engine
from fastbpe._core.scanner import Scanner
from fastbpe._core.splitter import RegexSplitter, Splitter
from fastbpe.splitting.program import compile_program
from fastbpe.splitting.recognise import recognise
from fastbpe.splitting.syntax import parse
from fastbpe.splitting.to_regex import compile_regex, refuse_empty_matches


def make_splitter(pattern: str | None) -> Splitter:
    r"""What cuts text by a pattern; None: nothing is cut. Raises PatternError for a pattern of no use.

    A scanner where the pattern means what a known one does, else the engine, and the `regex` package, with our
    own classes, for what the engine does not take. Its repr says which.

    >>> make_splitter(r"[a-z]+").ends("one 2 three")
    [3, 6, 11]
    >>> make_splitter(r"[a-z]+"), make_splitter(r"([a-z])\1")
    (engine, regex)
    """
    if pattern is None:
        return Splitter()
    spec = recognise(pattern)
    if spec is not None:
        return Scanner(**asdict(spec))
    return engine_of(pattern) or RegexSplitter(compile_regex(pattern))


def engine_of(pattern: str) -> Engine | None:
    """The engine for a pattern; None if it does not take it. Raises PatternError for a pattern of no use."""
    node = parse(pattern)
    refuse_empty_matches(pattern, node)
    program = compile_program(node)
    return None if program is None else Engine(pattern, **vars(program))

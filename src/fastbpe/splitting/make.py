"""Create the splitter for a split pattern: a scanner, the regex engine, or the `regex` package."""

from __future__ import annotations

from functools import lru_cache, reduce

from fastbpe._core.split.composite import Sequence
from fastbpe._core.split.regex_engine import Engine
from fastbpe._core.split.scanner import RunScanner, Scanner
from fastbpe._core.split.splitter import RegexSplitter, Splitter
from fastbpe._core.text.utf8_text import plain
from fastbpe.errors import PatternError
from fastbpe.patterns import PATTERNS, PatternLike
from fastbpe.splitting.named import SPECS_OF_TEXTS, ScannerSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from fastbpe.splitting.charset import CharSet
    from fastbpe.splitting.program import Program

MAX_STEPS = 64  # splitters one after another: each is one more level of calls


def splitter_of_runs(*runs: tuple[CharSet, bool], keep_gaps: bool = False) -> RunScanner:
    """Create the splitter whose pieces are runs of characters of disjoint sets, or single characters of a set.

    runs: each set, and whether each of its characters is a piece.
    keep_gaps: text of no set is a piece, too.

    >>> from fastbpe.splitting.charset import CharSet
    >>> splitter_of_runs((CharSet.of("ab"), False), (CharSet.of("!"), True)).pieces("ab!! b")
    [(0, 2), (2, 3), (3, 4), (5, 6)]
    """
    return RunScanner([(characters.ranges, single) for characters, single in runs], keep_gaps=keep_gaps)


def make_splitter(pattern: PatternLike, *, drop_unmatched: bool = False) -> Splitter:
    r"""Create the splitter for a pattern, or for several applied in order; None: the whole text is a piece.

    It is a scanner if the patterns are equivalent to a known pattern, or if each piece is a run of characters of
    one set, or one such character; `superbpe_lines` has its own splitter. Else it is the engine, or, if the engine
    cannot run the pattern, the `regex` package with fastbpe's own character classes. The repr tells which. Several
    patterns that are not a known pattern become a chain of such splitters.

    >>> make_splitter(r"[a-z]+").ends("one 2 three")
    [3, 6, 11]
    >>> make_splitter(r"[a-z]{2,}"), make_splitter(r"(?<=[a-z]+)[0-9]")
    (engine, regex)

    drop_unmatched: text that a pattern does not match is left out instead of being pieces.

    >>> make_splitter(r"[a-z]+", drop_unmatched=True).pieces("one 2 three")
    [(0, 3), (6, 11)]

    Raises PatternError for a pattern that is invalid, can match the empty string, or cannot be compiled; and for
    more than MAX_STEPS patterns.
    """
    if pattern is None:
        return Splitter()
    pattern = plain(pattern) if isinstance(pattern, str) else pattern
    spec = _scanner_spec(pattern if isinstance(pattern, str) else tuple(pattern), drop_unmatched)
    if spec is not None:
        return Scanner(**spec._asdict())
    if pattern == PATTERNS["superbpe_lines"] and not drop_unmatched:
        from fastbpe._core.split.superbpe_lines import SuperbpeLines  # here: few programs need it

        return SuperbpeLines()
    if not isinstance(pattern, str):
        return chain([make_splitter(part, drop_unmatched=drop_unmatched) for part in pattern])
    for make in (_run_scanner, engine_of):
        splitter = make(pattern, keep_gaps=not drop_unmatched)
        if splitter is not None:
            return splitter
    from fastbpe.splitting.to_regex import compile_regex

    return RegexSplitter(compile_regex(pattern), keep_gaps=not drop_unmatched, shown=pattern)


# Parser, compiler and `regex` are imported where they are used: importing them takes as long as importing all the
# rest of fastbpe, and a named pattern does not need them.


def _scanner_spec(pattern: str | tuple[str, ...], drop_unmatched: bool) -> ScannerSpec | None:
    if isinstance(pattern, str) and pattern in SPECS_OF_TEXTS:
        return SPECS_OF_TEXTS[pattern]  # a single pattern with a scanner leaves no text unmatched
    from fastbpe.splitting.recognise import recognise

    return recognise(pattern, drop_unmatched=drop_unmatched)


def engine_of(pattern: str, *, keep_gaps: bool = True) -> Engine | None:
    """Create the engine for a pattern; None if the engine cannot run the pattern.

    Raises PatternError for an invalid pattern, or a pattern that can match the empty string.
    """
    program = _compiled(pattern)
    return None if program is None else Engine(pattern, **vars(program), keep_gaps=keep_gaps)


def _run_scanner(pattern: str, *, keep_gaps: bool) -> RunScanner | None:
    """Create the scanner for a pattern of runs or single characters of sets; None for any other pattern."""
    from fastbpe.splitting.nodes import runs_of
    from fastbpe.splitting.syntax import parse

    runs = runs_of(parse(pattern))
    return None if runs is None else splitter_of_runs(*runs, keep_gaps=keep_gaps)


@lru_cache(maxsize=16)
def _compiled(pattern: str) -> Program | None:
    """Compile a pattern; None if the engine cannot run it. `release_memory` empties the cache."""
    from fastbpe.splitting.program import compile_program
    from fastbpe.splitting.syntax import parse
    from fastbpe.splitting.to_regex import refuse_empty_matches

    node = parse(pattern)
    refuse_empty_matches(pattern, node)
    return compile_program(node)


def chain(splitters: SequenceOf[Splitter]) -> Splitter:
    """Chain splitters: each splits the pieces of the splitter before it.

    An empty list results in a splitter that splits nothing. Raises PatternError for more than MAX_STEPS.
    """
    if len(splitters) > MAX_STEPS:
        raise PatternError(
            f"{len(splitters)} splits one after another; the limit is {MAX_STEPS}; use fewer split patterns or "
            "pre-tokenizers"
        )
    return reduce(Sequence, splitters) if splitters else Splitter()

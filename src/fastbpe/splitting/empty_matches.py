r"""Matches of patterns that match the empty string, and `Split` at them, as tokenizers does with Oniguruma.

An empty match directly after another match is skipped, and the search continues one character later, even if a
match that is not empty begins at that place: `|a` matches "aa" three times, each time the empty string. Empty
matches are parts of the text like others, but not pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import thread_time
from typing import TYPE_CHECKING

from fastbpe._core.split.composite import GroupedFromRight
from fastbpe._core.split.scanner import RunScanner
from fastbpe._core.split.splitter import RegexSplitter, Splitter, regex_limit_error, regex_seconds
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.splitting.nodes import Chars, Concat, Group, Look, Repeat
from fastbpe.splitting.syntax import parse
from fastbpe.splitting.to_regex import compile_regex

if TYPE_CHECKING:
    import regex

Span = tuple[int, int]
Part = tuple[int, int, bool]  # start, end, whether it is a match or, with invert, is none


def matches(compiled: regex.Pattern[str], text: str, timeout: float | None = None) -> Iterator[Span]:
    """Yield (start, end) of each match, from left to right.

    timeout: seconds of processor time for all matches together. Raises TimeoutError when exceeded. None: the limit
        for a text, beyond which PatternError is raised.
    """
    at, last_end = 0, -1
    deadline = thread_time() + (regex_seconds(len(text)) if timeout is None else timeout)
    while at <= len(text):
        try:
            found = compiled.search(text, at, timeout=max(deadline - thread_time(), 0))  # below 0: no limit
        except TimeoutError:
            if timeout is not None:
                raise
            raise regex_limit_error(compiled.pattern, len(text[:at].encode(errors="surrogatepass"))) from None
        if found is None:
            return
        start, end = found.span()
        if start == end == last_end:
            at += 1
            continue
        at = last_end = end
        yield start, end


def split_spans(
    compiled: regex.Pattern[str], text: str, behavior: str, invert: bool, timeout: float | None = None
) -> list[Span]:
    """Split a text as `Split` of tokenizers does (`steps.Split`). Parts may be empty. timeout: as in `matches`."""
    parts: list[Part] = []
    at = 0
    for start, end in matches(compiled, text, timeout):
        if start > at:
            parts.append((at, start, invert))
        parts.append((start, end, not invert))
        at = end
    if at < len(text) or not parts:
        parts.append((at, len(text), invert))
    if behavior == "isolated":
        return [(start, end) for start, end, _ in parts]
    if behavior == "removed":
        return [(start, end) for start, end, is_match in parts if not is_match]
    return _joined(parts, _JOINS[behavior])


#: Behavior → function from (a part is a match, the next part is a match) to whether the two are joined.
_JOINS: dict[str, Callable[[bool, bool], bool]] = {
    "merged_with_previous": lambda is_match, next_is_match: next_is_match and not is_match,
    "merged_with_next": lambda is_match, next_is_match: is_match and not next_is_match,
    "contiguous": lambda is_match, next_is_match: is_match == next_is_match,
}


def _joined(parts: Sequence[Part], joins: Callable[[bool, bool], bool]) -> list[Span]:
    out: list[Span] = []
    previous: bool | None = None
    for start, end, is_match in parts:
        if previous is not None and joins(previous, is_match):
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
        previous = is_match
    return out


class _Piece(NamedTuple):
    """Piece of a text, in the form of a match, for `RegexSplitter`."""

    start: int
    end: int

    def span(self) -> Span:
        return self.start, self.end


class _Pieces:
    """Splitter in the form of a compiled pattern, for `RegexSplitter`."""

    def __init__(self, pattern: str, behavior: str, invert: bool) -> None:
        self.pattern = pattern
        self._compiled = compile_regex(pattern, may_be_empty=True)
        self._behavior, self._invert = behavior, invert

    def finditer(self, text: str, timeout: float) -> Iterator[_Piece]:
        for start, end in split_spans(self._compiled, text, self._behavior, self._invert, timeout):
            if start < end:
                yield _Piece(start, end)


def _grouped_from_right(pattern: str) -> GroupedFromRight | None:
    r"""Create the splitter for a pattern like `(?=(\d{3})+(?!\d))`, which counts groups from the end of a run.

    Returns None for any other pattern.

    `regex` would try each place of a run and read the run from there, which takes quadratic time.
    """
    match parse(pattern):
        case Look(
            Concat((Repeat(groups, 1, None), Look(Chars(end), behind=False, negative=True))),
            behind=False,
            negative=False,
        ):
            group = groups.child if isinstance(groups, Group) else groups
        case _:
            return None
    match group:
        case Repeat(Chars(characters), length, most) if characters == end and length == most and length > 0:
            return GroupedFromRight(RunScanner([(characters.ranges, False)], keep_gaps=False), length)
        case _:
            return None


def make_empty_splitter(pattern: str, behavior: str, *, invert: bool) -> Splitter:
    r"""Create the splitter for a pattern that matches the empty string.

    >>> make_empty_splitter(r"(?=(\d{3})+(?!\d))", "isolated", invert=False).pieces("1234567")
    [(0, 1), (1, 4), (4, 7)]

    Raises PatternError if the pattern cannot be used.
    """
    grouped = _grouped_from_right(pattern)
    if grouped is not None and behavior == "isolated" and not invert:
        return grouped
    return RegexSplitter(_Pieces(pattern, behavior, invert), keep_gaps=False, shown=pattern)

r"""Compilation of a split pattern for the `regex` package, without using its Unicode data.

The module writes the parsed pattern with every class as ranges of code points, so the Unicode version of the
installed `regex` does not matter. `regex` tests the members of a class one by one. So a class is written as its
ASCII members, then as a tree of blocks with four blocks per level, without negated classes. That is about as fast
as `\p{L}` and `\s`. Tried and found slower: plain ranges; two, three or eight blocks per level; negated classes as
`[^...]`. Not faster: the longest ranges (Han, Hangul, …) before the tree; four zones of scripts as its top level.

The pattern is not simplified first, which would leave fewer kinds of nodes to write: tests compare the engine,
which runs simplified patterns, with these.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from fastbpe.errors import PatternError
from fastbpe.splitting.charset import MAX_CODE_POINT, CharSet, Range
from fastbpe.splitting.nodes import (
    Alternation,
    Anchor,
    AnchorKind,
    Atomic,
    Backreference,
    BoundaryKind,
    Chars,
    Concat,
    Group,
    Look,
    Mode,
    Node,
    Repeat,
    WordBoundary,
    can_match_empty,
    children,
    referenced_groups,
)
from fastbpe.splitting.syntax import parse

if TYPE_CHECKING:
    import regex

# Parts that `regex` may add by unrolling: it copies a group as often as it must repeat, and once more. 20,000 take
# about a second to compile.
MAX_ADDED_PARTS = 20_000

_BLOCKS_PER_LEVEL = 4
_FIRST_NON_ASCII = 0x80

_ANCHORS = {
    AnchorKind.TEXT_START: r"\A",
    AnchorKind.TEXT_END: r"\Z",
    AnchorKind.LAST_LINE_END: r"(?=\n*\Z)",
    AnchorKind.LINE_START: r"(?<![^\n])",
    AnchorKind.LINE_END: r"(?![^\n])",
}
_MODES = {Mode.GREEDY: "", Mode.LAZY: "?", Mode.POSSESSIVE: "+"}


class EmptyMatchError(PatternError):
    """Error for a pattern that can match the empty string where this is not allowed."""


@lru_cache(maxsize=64)
def compile_regex(pattern: str, *, may_be_empty: bool = False) -> regex.Pattern[str]:
    r"""Compile a split pattern so that it matches as in tiktoken.

    The text to match must not contain lone surrogates, which are in no class. Capturing groups are kept only if a
    back-reference needs them; then `.groups` of the result is not 0 and `findall` returns groups: use
    `finditer`.

    >>> compile_regex(r"\p{L}+|\s+").findall("one two")
    ['one', ' ', 'two']

    may_be_empty: the pattern may match the empty string.

    Raises PatternError if the pattern is invalid, repeats too much, cannot be compiled by `regex`, or can match
    the empty string and may_be_empty is False.
    """
    import regex  # here: slow to import, and few patterns need it

    node = parse(pattern)
    if not may_be_empty:
        refuse_empty_matches(pattern, node)
    if _parts(node, unrolled=True) - _parts(node, unrolled=False) > MAX_ADDED_PARTS:
        raise PatternError(
            f"the split pattern {_shortened(pattern)!r} repeats groups within repeated groups more than "
            f"{MAX_ADDED_PARTS:,} times in all; use smaller counts, or nest fewer repetitions"
        )
    try:
        return regex.compile(to_regex(node), regex.VERSION1)
    except regex.error as error:
        raise PatternError(
            f"the Python package regex cannot compile the split pattern {_shortened(pattern)!r}: {error}"
        ) from error


def refuse_empty_matches(pattern: str, node: Node) -> None:
    """Raise PatternError if the pattern, parsed, can match the empty string."""
    if can_match_empty(node):
        raise EmptyMatchError(
            f"the split pattern {_shortened(pattern)!r} can match the empty string, so splitting would never "
            "advance; make every alternative consume a character, for instance + in place of *"
        )


def to_regex(node: Node) -> str:
    r"""Write a parsed pattern in the syntax of `regex.VERSION1`; no flag is needed or set.

    >>> to_regex(parse(r"(?i:'s)+?"))
    '(?:\\x27[Ss\u017f])+?'
    """
    return _print(node, referenced_groups(node))


def _parts(node: Node, unrolled: bool) -> int:
    """Count the nodes of a pattern, as written or as `regex` unrolls it: repetitions, except of one character."""
    times = 1
    if unrolled and isinstance(node, Repeat) and not isinstance(node.child, Chars):
        times = max(1, node.minimum + (node.maximum is None or node.maximum > node.minimum))
    return 1 + times * sum(_parts(child, unrolled) for child in children(node))


def _print(node: Node, kept: frozenset[int]) -> str:
    inner = partial(_print, kept=kept)
    if isinstance(node, Chars):
        return _print_set(node.characters)
    if isinstance(node, Concat):
        return "".join(
            f"(?:{inner(part)})" if isinstance(part, Alternation) else inner(part) for part in node.parts
        )
    if isinstance(node, Alternation):
        return "|".join(map(inner, node.branches))
    if isinstance(node, Repeat):
        child = inner(node.child)
        child = child if isinstance(node.child, Chars) else f"(?:{child})"
        return child + _print_bounds(node.minimum, node.maximum) + _MODES[node.mode]
    if isinstance(node, Group):
        return f"(?P<g{node.index}>{inner(node.child)})" if node.index in kept else f"(?:{inner(node.child)})"
    if isinstance(node, Atomic):
        return f"(?>{inner(node.child)})"
    if isinstance(node, Look):
        return f"(?{'<' if node.behind else ''}{'!' if node.negative else '='}{inner(node.child)})"
    if isinstance(node, Anchor):
        return _ANCHORS[node.kind]
    if isinstance(node, Backreference):
        return f"(?P=g{node.index})"
    return _print_boundary(node)


def _print_bounds(minimum: int, maximum: int | None) -> str:
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((minimum, maximum))
    if short is not None:
        return short
    return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{'' if maximum is None else maximum}}}"


def _print_boundary(node: WordBoundary) -> str:
    word = _print_set(CharSet.word())
    before, not_before, after, not_after = f"(?<={word})", f"(?<!{word})", f"(?={word})", f"(?!{word})"
    if node.kind is BoundaryKind.START:
        return not_before + after
    if node.kind is BoundaryKind.END:
        return before + not_after
    if node.kind is BoundaryKind.EITHER:
        return f"(?:{before}{not_after}|{not_before}{after})"
    return f"(?:{before}{after}|{not_before}{not_after})"


@lru_cache(maxsize=256)
def _print_set(characters: CharSet) -> str:
    """Write a class that accepts and rejects in few steps: ASCII first, then the rest as a tree of blocks."""
    if len(characters) == 1:
        return _print_code_point(characters.ranges[0][0])
    if not characters:
        return r"[^\x00-\U0010FFFF]"
    # Never as [^...]: `regex` 2026.11 reads `[^a]|[^b]` as `[^ab]`.
    ascii_ranges = [(low, min(high, 0x7F)) for low, high in characters.ranges if low < _FIRST_NON_ASCII]
    # Likely characters first: small letters, then the longer ranges.
    ascii_ranges.sort(key=lambda ends: (not ends[0] <= ord("e") <= ends[1], ends[0] - ends[1]))
    other_ranges = [(max(low, 0x80), high) for low, high in characters.ranges if high >= _FIRST_NON_ASCII]
    rest = _print_tree(other_ranges)
    if ascii_ranges and len(other_ranges) > _BLOCKS_PER_LEVEL:
        rest = f"[{_print_range((_FIRST_NON_ASCII, MAX_CODE_POINT))}&&[{rest}]]"
    return f"[{''.join(map(_print_range, ascii_ranges))}{rest}]"


def _print_tree(ranges: list[Range]) -> str:
    """Write the inside of a class: up to four blocks, each after one test of the range that it spans."""
    if len(ranges) <= _BLOCKS_PER_LEVEL:
        return "".join(map(_print_range, ranges))
    size = 1
    while size * _BLOCKS_PER_LEVEL < len(ranges):
        size *= _BLOCKS_PER_LEVEL
    blocks = [ranges[start : start + size] for start in range(0, len(ranges), size)]
    return "".join(
        _print_range(block[0])
        if len(block) == 1
        else f"[{_print_range((block[0][0], block[-1][1]))}&&[{_print_tree(block)}]]"
        for block in blocks
    )


def _print_range(ends: Range) -> str:
    low, high = ends
    return _print_code_point(low) if low == high else f"{_print_code_point(low)}-{_print_code_point(high)}"


def _print_code_point(code_point: int) -> str:
    """Write a character so that it has no special meaning anywhere."""
    character = chr(code_point)
    if character.isascii() and not character.isalnum():
        return f"\\x{code_point:02x}"
    # Unescaped: an escape is up to ten times as long, and slower to compile. A class has no surrogates.
    return character


def _shortened(pattern: str) -> str:
    return pattern if len(pattern) <= 60 else pattern[:57] + "..."

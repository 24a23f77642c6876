"""Nodes of the tree that a split pattern is parsed into.

The parser resolves case, flags and class names: `(?i:s)` is a `Chars` of s, S and ſ; `.` is a `Chars`;
`(?m)^` is an `Anchor` of a separate kind. Non-capturing groups only shape the tree. The parser allows 63 nested
groups, so plain recursion over a tree is safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from fastbpe.splitting.charset import CharSet

MAX_SETS = 3  # sets of a RunScanner


class Mode(Enum):
    """Order in which a repetition tries its lengths."""

    GREEDY = "greedy"
    LAZY = "lazy"
    POSSESSIVE = "possessive"


class AnchorKind(Enum):
    """Position in the text that an anchor matches. Lines end at U+000A only."""

    TEXT_START = "text start"
    TEXT_END = "text end"
    #: `\\Z`: only line feeds follow, or nothing.
    LAST_LINE_END = "last line end"
    LINE_START = "line start"
    LINE_END = "line end"


class BoundaryKind(Enum):
    r"""`\b`, `\B`, `\b{start}` and `\b{end}`."""

    EITHER = "either"
    NEITHER = "neither"
    START = "start"
    END = "end"


@dataclass(frozen=True)
class Chars:
    """One character out of a set; an empty set never matches."""

    characters: CharSet


@dataclass(frozen=True)
class Concat:
    """A sequence of parts; the empty string without parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Alternation:
    """The first branch, from the left, that leads to a match."""

    branches: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """The child `minimum` to `maximum` times; None: no limit."""

    child: Node
    minimum: int
    maximum: int | None
    mode: Mode


@dataclass(frozen=True)
class Group:
    """A capturing group, numbered from 1 by its opening parenthesis."""

    child: Node
    index: int
    name: str | None


@dataclass(frozen=True)
class Atomic:
    """The first match of the child, never taken back."""

    child: Node


@dataclass(frozen=True)
class Look:
    """Look-around: the child must match, or must not match, right after or right before the position."""

    child: Node
    behind: bool
    negative: bool


@dataclass(frozen=True)
class Anchor:
    kind: AnchorKind


@dataclass(frozen=True)
class WordBoundary:
    kind: BoundaryKind


@dataclass(frozen=True)
class Backreference:
    """The text that the group matched; fails if the group has not matched."""

    index: int


Node: TypeAlias = (
    Chars | Concat | Alternation | Repeat | Group | Atomic | Look | Anchor | WordBoundary | Backreference
)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below a node."""
    if isinstance(node, Concat):
        return node.parts
    if isinstance(node, Alternation):
        return node.branches
    if isinstance(node, Repeat | Group | Atomic | Look):
        return (node.child,)
    return ()


def referenced_groups(node: Node) -> frozenset[int]:
    """Return the numbers of the groups that a back-reference refers to."""
    if isinstance(node, Backreference):
        return frozenset((node.index,))
    return frozenset().union(*map(referenced_groups, children(node)))


def runs_of(node: Node) -> list[tuple[CharSet, bool]] | None:
    """Return the sets whose runs or single characters a pattern matches, and whether they are single.

    None if it may match anything else, has more than MAX_SETS sets, or has two sets with a common character.
    """
    sets: list[tuple[CharSet, bool]] = []
    seen = CharSet(())
    for branch in node.branches if isinstance(node, Alternation) else (node,):
        match branch:
            case Chars(characters):
                single = True
            case Repeat(Chars(characters), 1, None, Mode.GREEDY | Mode.POSSESSIVE):
                single = False
            case _:
                return None
        if seen & characters or len(sets) == MAX_SETS:
            return None
        sets.append((characters, single))
        seen |= characters
    return sets


def can_match(node: Node) -> bool:
    """Return False if the node never matches, such as `[^\\s\\S]`; True if it may match."""
    if isinstance(node, Chars):
        return bool(node.characters)
    if isinstance(node, Concat):
        return all(map(can_match, node.parts))
    if isinstance(node, Alternation):
        return any(map(can_match, node.branches))
    if isinstance(node, Repeat):
        return node.minimum == 0 or can_match(node.child)
    if isinstance(node, Look):
        return not _always_empty_match(node.child) if node.negative else can_match(node.child)
    return all(map(can_match, children(node)))


def can_match_empty(node: Node) -> bool:
    """Tell whether the node may match without consuming a character.

    The answer is exact except for back-references and zero-width parts that exclude one another, as in
    `(?=a)(?=b)`, for which it is True.
    """
    if isinstance(node, Chars) or not can_match(node):
        return False
    if isinstance(node, Concat):
        return all(map(can_match_empty, node.parts))
    if isinstance(node, Alternation):
        return any(map(can_match_empty, node.branches))
    if isinstance(node, Repeat):
        return node.minimum == 0 or can_match_empty(node.child)
    if isinstance(node, Group | Atomic):
        return can_match_empty(node.child)
    return True


def _always_empty_match(node: Node) -> bool:
    """Tell whether the node matches the empty string wherever it is tried, so that `(?!node)` always fails."""
    if isinstance(node, Concat):
        return all(map(_always_empty_match, node.parts))
    if isinstance(node, Alternation):
        return any(map(_always_empty_match, node.branches))
    if isinstance(node, Repeat):
        return node.minimum == 0 or _always_empty_match(node.child)
    if isinstance(node, Group | Atomic):
        return _always_empty_match(node.child)
    return False

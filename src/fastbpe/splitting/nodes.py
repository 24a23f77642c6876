"""Nodes of the tree that a split pattern is parsed into.

The parser resolves case, flags and class names: `(?i:s)` is a `Chars` of s, S and ſ; `.` is a `Chars`;
`(?m)^` is an `Anchor` of a separate kind. Non-capturing groups only shape the tree. The parser allows 63 nested
groups, so plain recursion over a tree is safe.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from fastbpe.splitting.charset import CharSet

MAX_RUN_SETS = 3  # sets of a RunScanner


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

    None if it may match anything else, has more than MAX_RUN_SETS sets, or has two sets with a common character.
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
        if seen & characters or len(sets) == MAX_RUN_SETS:
            return None
        sets.append((characters, single))
        seen |= characters
    return sets


def can_match(node: Node) -> bool:
    """Return False if the node never matches, such as `[^\\s\\S]`; True if it may match."""

    def leaf_can_match(leaf: Node) -> bool:
        if isinstance(leaf, Look):
            return not always_matches(leaf.child) if leaf.negative else can_match(leaf.child)
        return not isinstance(leaf, Chars) or bool(leaf.characters)

    return _holds(node, leaf_can_match)


def can_match_empty(node: Node) -> bool:
    """Tell whether the node may match without consuming a character.

    The answer is exact except for back-references and zero-width parts that exclude one another, as in
    `(?=a)(?=b)`, for which it is True.
    """
    return _holds(node, lambda leaf: not isinstance(leaf, Chars) and can_match(leaf))


def always_matches(node: Node) -> bool:
    """Return True if the node surely matches wherever it is tried, so that `(?!node)` fails; else False."""
    return _holds(node, lambda leaf: False)


def _holds(node: Node, of_leaf: Callable[[Node], bool]) -> bool:
    """Tell whether a node has a property that follows from its parts.

    A sequence needs it in all parts, an alternation in one branch, a repetition in its child or a minimum of 0.

    of_leaf: function that tells whether a node without parts, or a look-around, has the property.
    """
    if isinstance(node, Concat):
        return all(_holds(part, of_leaf) for part in node.parts)
    if isinstance(node, Alternation):
        return any(_holds(branch, of_leaf) for branch in node.branches)
    if isinstance(node, Repeat):
        return node.minimum == 0 or _holds(node.child, of_leaf)
    if isinstance(node, Group | Atomic):
        return _holds(node.child, of_leaf)
    return of_leaf(node)

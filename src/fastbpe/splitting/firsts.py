"""Compute which characters can begin a match of a part of a pattern, so that the engine skips all others.

All functions accept patterns that `simplify.simplified` returns. Their results may include a character that cannot
come next in a match, but never exclude one that can.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from fastbpe.splitting import _ranges
from fastbpe.splitting.charset import ANY, CharSet
from fastbpe.splitting.nodes import (
    Alternation,
    Atomic,
    Backreference,
    Chars,
    Concat,
    Group,
    Look,
    Node,
    Repeat,
    can_match_empty,
)

#: One bit for each byte that can come next, and bit 256 for the end of the text.
ByteMask: TypeAlias = int

END_BIT = 256


@dataclass(frozen=True)
class First:
    """The characters that can come next, and whether the text may end here."""

    characters: CharSet
    end: bool

    def __or__(self, other: First) -> First:
        return First(self.characters | other.characters, self.end or other.end)

    def __and__(self, other: First) -> First:
        return First(self.characters & other.characters, self.end and other.end)

    @property
    def mask(self) -> ByteMask:
        """First bytes of the characters, and bit `END_BIT` if the text may end here."""
        return first_bytes(self.characters) | int(self.end) << END_BIT


ANYTHING = First(ANY, True)


def first(node: Node, follow: First) -> First:
    r"""Return the characters that can come next if the node matches and `follow` comes after it.

    >>> from fastbpe.splitting.syntax import parse
    >>> first(parse("a?b?"), ANYTHING & first(parse("c"), ANYTHING))
    First(characters=CharSet('a-c'), end=False)
    """
    if isinstance(node, Chars):
        return First(node.characters, False)
    if isinstance(node, Concat):
        for part in reversed(node.parts):
            follow = first(part, follow)
        return follow
    if isinstance(node, Alternation):
        firsts = [first(branch, follow) for branch in node.branches]
        ranges = [ends for each in firsts for ends in each.characters.ranges]
        return First(CharSet.from_ranges(ranges), any(each.end for each in firsts))
    if isinstance(node, Repeat):
        begun = first_of_round(node, follow)
        return begun | follow if node.minimum == 0 or can_match_empty(node.child) else begun
    if isinstance(node, Atomic | Group):
        return first(node.child, follow)
    if isinstance(node, Backreference):
        return ANYTHING
    if isinstance(node, Look) and not node.behind:
        return follow & _first_of_look(node)
    return follow


def first_of_round(repeat: Repeat, follow: First) -> First:
    """Return the characters that can come next if one more round of a repetition begins."""
    # `follow` can come next only if the round may be empty. After a round, another one may begin: allow anything.
    return first(repeat.child, follow if repeat.maximum == 1 else ANYTHING)


def width(node: Node) -> int | None:
    """Return the number of characters that the node matches; None if it varies."""
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Concat):
        widths = [width(part) for part in node.parts]
        return None if None in widths else sum(each for each in widths if each is not None)
    if isinstance(node, Alternation):
        (one, *others) = {width(branch) for branch in node.branches}
        return None if others else one
    if isinstance(node, Repeat):
        inner = width(node.child)
        return None if inner is None or node.minimum != node.maximum else inner * node.minimum
    if isinstance(node, Backreference):
        return None
    return width(node.child) if isinstance(node, Atomic | Group) else 0


@lru_cache(maxsize=1024)
def first_bytes(characters: CharSet) -> ByteMask:
    """Return a mask of the first bytes of the characters' UTF-8, without `END_BIT`."""
    return _ranges.first_bytes(characters.ranges)


def _first_of_look(node: Look) -> First:
    """Return the characters that a look-ahead allows next."""
    if not node.negative:
        return first(node.child, ANYTHING)
    # A negative look-ahead excludes a next character only if its child is a single character: a longer child may
    # still fail after its first character.
    return First(~node.child.characters, True) if isinstance(node.child, Chars) else ANYTHING

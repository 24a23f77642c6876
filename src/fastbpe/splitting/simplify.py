r"""Simplification of a parsed pattern, to fewer kinds of nodes and less backtracking.

Chars, Concat, Alternation, Repeat, Atomic and Look remain, and back-references with the groups that they refer to.
Other groups disappear; anchors and word boundaries become look-arounds (`$` is `(?![\s\S])`), and possessive
repetitions become atomic groups, except repetitions of one character. The pattern matches the same as before.
"""

from __future__ import annotations

from functools import partial
from typing import TypeGuard

from fastbpe.splitting.charset import ANY, CharSet
from fastbpe.splitting.nodes import (
    Alternation,
    Anchor,
    AnchorKind,
    Atomic,
    BoundaryKind,
    Chars,
    Concat,
    Group,
    Look,
    Mode,
    Node,
    Repeat,
    WordBoundary,
)

_ANY = Chars(ANY)
_LINE_FEED = Chars(CharSet.of("\n"))
_NO_LINE_FEED = Chars(~CharSet.of("\n"))
_AT_END = Look(_ANY, behind=False, negative=True)
_ANCHORS: dict[AnchorKind, Node] = {
    AnchorKind.TEXT_START: Look(_ANY, behind=True, negative=True),
    AnchorKind.TEXT_END: _AT_END,
    AnchorKind.LAST_LINE_END: Look(
        Concat((Repeat(_LINE_FEED, 0, None, Mode.POSSESSIVE), _AT_END)), behind=False, negative=False
    ),
    AnchorKind.LINE_START: Look(_NO_LINE_FEED, behind=True, negative=True),
    AnchorKind.LINE_END: Look(_NO_LINE_FEED, behind=False, negative=True),
}
EMPTY = Concat(())


def simplified(node: Node, kept: frozenset[int] = frozenset()) -> Node:
    r"""Return an equivalent pattern with fewer kinds of nodes. kept: groups that back-references need.

    >>> from fastbpe.splitting.syntax import parse
    >>> simplified(parse("((a|b)+)*")) == parse("[ab]*")
    True
    """
    inner = partial(simplified, kept=kept)
    if isinstance(node, Group):
        child = inner(node.child)
        return Group(child, node.index, node.name) if node.index in kept else child
    if isinstance(node, Concat):
        return _concat(list(map(inner, node.parts)))
    if isinstance(node, Alternation):
        return _alternation(list(map(inner, node.branches)))
    if isinstance(node, Repeat):
        return _repeat(inner(node.child), node.minimum, node.maximum, node.mode)
    if isinstance(node, Atomic):
        return _atomic(inner(node.child))
    if isinstance(node, Look):
        return Look(inner(node.child), node.behind, node.negative)
    if isinstance(node, Anchor):
        return _ANCHORS[node.kind]
    return _boundary(node.kind) if isinstance(node, WordBoundary) else node


def _atomic(child: Node) -> Node:
    if isinstance(child, Repeat) and isinstance(child.child, Chars) and child.mode is Mode.GREEDY:
        return Repeat(child.child, child.minimum, child.maximum, Mode.POSSESSIVE)
    return Atomic(child)


def _concat(parts: list[Node]) -> Node:
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Concat) else [part])
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


def _alternation(branches: list[Node]) -> Node:
    """Join neighbouring branches of one character each into a set: whichever comes first, both match the same."""
    flat: list[Node] = []
    singles: list[Chars] = []
    for branch in branches:
        for inner in branch.branches if isinstance(branch, Alternation) else [branch]:
            if isinstance(inner, Chars):
                singles.append(inner)
                continue
            _add_singles(flat, singles)
            flat.append(inner)
    _add_singles(flat, singles)
    return flat[0] if len(flat) == 1 else Alternation(tuple(flat))


def _add_singles(flat: list[Node], singles: list[Chars]) -> None:
    if singles:
        flat.append(Chars(CharSet.from_ranges(ends for each in singles for ends in each.characters.ranges)))
        singles.clear()


def _repeat(child: Node, minimum: int, maximum: int | None, mode: Mode) -> Node:
    if maximum == 0:
        return EMPTY
    if (minimum, maximum) == (1, 1):  # {1}; possessive as {1}+, an atomic group
        return Atomic(child) if mode is Mode.POSSESSIVE else child
    if mode is Mode.GREEDY and maximum is None and _is_greedy_run(child):
        # (a+)+ tries the same lengths as a+, in the same order, but each of them in 2**length ways. (a{2,})* is
        # something else than a*: it does not match one a.
        return Repeat(child.child, minimum * child.minimum, None, mode)
    if mode is Mode.POSSESSIVE and not isinstance(child, Chars):
        return Atomic(_repeat(child, minimum, maximum, Mode.GREEDY))
    return Repeat(child, minimum, maximum, mode)


def _is_greedy_run(node: Node) -> TypeGuard[Repeat]:
    """Tell whether the node is `a*` or `a+`, where a is one character."""
    return (
        isinstance(node, Repeat)
        and isinstance(node.child, Chars)
        and node.mode is Mode.GREEDY
        and node.maximum is None
        and node.minimum <= 1
    )


def _boundary(kind: BoundaryKind) -> Node:
    word = Chars(CharSet.word())
    before, not_before = (Look(word, behind=True, negative=negative) for negative in (False, True))
    after, not_after = (Look(word, behind=False, negative=negative) for negative in (False, True))
    if kind is BoundaryKind.START:
        return Concat((not_before, after))
    if kind is BoundaryKind.END:
        return Concat((before, not_after))
    if kind is BoundaryKind.EITHER:
        return Alternation((Concat((before, not_after)), Concat((not_before, after))))
    return Alternation((Concat((before, after)), Concat((not_before, not_after))))

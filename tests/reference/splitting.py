r"""Split text into pieces by a pattern, character by character, with backtracking.

A pattern is a tree of nodes, of any classes with the names and fields of `fastbpe.splitting.nodes`. For each kind
of node a function yields the ways in which it can match at a position, best first. The first way of the whole
pattern is the match. Backtracking is asking a part for its next way when a later part has failed.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

Node: TypeAlias = Any


class Text(NamedTuple):
    characters: str
    #: Characters of `\w`, for word boundaries.
    word: Container[str]

    def has(self, at: int, characters: Container[str]) -> bool:
        """Tell whether the character at a position exists and is one of these."""
        return 0 <= at < len(self.characters) and self.characters[at] in characters


class Way(NamedTuple):
    #: Index of the end of the match.
    end: int
    #: Number of a group → the text that it has matched so far.
    groups: Mapping[int, str]


class Stretch(NamedTuple):
    start: int
    end: int
    is_match: bool


def split(text: str, *patterns: Node, word: Container[str] = ()) -> list[str]:
    r"""Split a text by a pattern. Further patterns split each piece of the one before like a whole text.

    >>> from fastbpe.splitting.syntax import parse
    >>> split("one 2 three", parse("[a-z]+"))
    ['one', ' 2 ', 'three']
    >>> split("one 2 three", parse("[a-z]+"), parse("o| "))
    ['o', 'ne', ' ', '2', ' ', 'three']

    word: the characters of `\w`, for patterns with word boundaries.
    """
    pieces = [text] if text else []
    for pattern in patterns:
        pieces = [piece[start:end] for piece in pieces for start, end, _ in stretches(piece, pattern, word)]
    return pieces


def stretches(text: str, pattern: Node, word: Container[str] = ()) -> list[Stretch]:
    """Return the matches of a pattern and the gaps between them, which cover the text.

    A match begins at the end of the one before, or at the first later position where one can. An empty match does
    not count.
    """
    found: list[Stretch] = []
    start = at = 0
    while at < len(text):
        match = next(ways(pattern, Text(text, word), at, {}), None)
        if match is None or match.end == at:
            at += 1
            continue
        if start < at:
            found.append(Stretch(start, at, False))
        found.append(Stretch(at, match.end, True))
        start = at = match.end
    if start < len(text):
        found.append(Stretch(start, len(text), False))
    return found


def ways(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    """Yield the ways in which a node matches at a position, best first.

    groups: texts of the groups matched before.
    """
    return _WAYS[type(node).__name__](node, text, at, groups)


def _chars(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    if text.has(at, node.characters):
        yield Way(at + 1, groups)


def _concat(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    def from_part(number: int, here: Way) -> Iterator[Way]:
        if number == len(node.parts):
            yield here
            return
        for way in ways(node.parts[number], text, *here):
            yield from from_part(number + 1, way)

    return from_part(0, Way(at, groups))


def _alternation(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    for branch in node.branches:
        yield from ways(branch, text, at, groups)


def _repeat(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    """Yield rounds of the child: as many as possible first; lazy: as few; possessive: only the most.

    An empty round beyond the required ones is the last; otherwise empty rounds would never end.
    """

    def from_round(number: int, here: Way) -> Iterator[Way]:
        may_stop = number >= node.minimum
        if may_stop and mode == "lazy":
            yield here
        if node.maximum is None or number < node.maximum:
            for way in ways(node.child, text, *here):
                if way.end == here.end and may_stop:
                    yield way
                else:
                    yield from from_round(number + 1, way)
        if may_stop and mode != "lazy":
            yield here

    mode = node.mode.value
    found = from_round(0, Way(at, groups))
    return islice(found, 1) if mode == "possessive" else found


def _group(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    for end, inner in ways(node.child, text, at, groups):
        yield Way(end, {**inner, node.index: text.characters[at:end]})


def _backreference(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    if node.index in groups and text.characters.startswith(groups[node.index], at):
        yield Way(at + len(groups[node.index]), groups)


def _atomic(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    return islice(ways(node.child, text, at, groups), 1)


def _look(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    """Look ahead: the child matches from here. Look behind: it matches from an earlier position up to here."""
    starts = range(at, -1, -1) if node.behind else (at,)
    found = (way for start in starts for way in ways(node.child, text, start, groups))
    match = next((way for way in found if not node.behind or way.end == at), None)
    if node.negative and match is None:
        yield Way(at, groups)
    elif not node.negative and match is not None:
        yield Way(at, match.groups)


def _anchor(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    before, after = text.characters[:at], text.characters[at:]
    holds = {
        "text start": not before,
        "text end": not after,
        "last line end": not after.strip("\n"),
        "line start": not before or before.endswith("\n"),
        "line end": not after or after.startswith("\n"),
    }
    if holds[node.kind.value]:
        yield Way(at, groups)


def _word_boundary(node: Node, text: Text, at: int, groups: Mapping[int, str]) -> Iterator[Way]:
    before, after = text.has(at - 1, text.word), text.has(at, text.word)
    holds = {
        "either": before != after,
        "neither": before == after,
        "start": after and not before,
        "end": before and not after,
    }
    if holds[node.kind.value]:
        yield Way(at, groups)


_WAYS: Mapping[str, Callable[[Node, Text, int, Mapping[int, str]], Iterator[Way]]] = {
    "Chars": _chars,
    "Concat": _concat,
    "Alternation": _alternation,
    "Repeat": _repeat,
    "Group": _group,
    "Backreference": _backreference,
    "Atomic": _atomic,
    "Look": _look,
    "Anchor": _anchor,
    "WordBoundary": _word_boundary,
}

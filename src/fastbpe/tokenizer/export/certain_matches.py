r"""Proof that a split pattern leaves no text unmatched.

A look at the matches in some text proves nothing: `[^b]|(?<=a)b` matches each character of "abc", but not "b".
Instead, collect characters before which a match begins whatever the rest of the text is. If these are all
characters, each match ends where another begins.
"""

from __future__ import annotations

from fastbpe.splitting.charset import ANY, CharSet
from fastbpe.splitting.firsts import First, first
from fastbpe.splitting.nodes import Alternation, Atomic, Chars, Concat, Group, Mode, Node, Repeat, always_matches
from fastbpe.splitting.simplify import simplified
from fastbpe.splitting.syntax import parse

_NONE = CharSet(())


def perhaps_unmatched(pattern: str) -> str:
    r"""Return a character before which the pattern may not match in some text; "" if it leaves no text unmatched.

    pattern: a pattern that never matches the empty string.

    >>> perhaps_unmatched(r" ?[a-z]+|[^a-z]"), perhaps_unmatched("[^b]|(?<=a)b")
    ('', 'b')
    """
    others = ~_certain(simplified(parse(pattern)))
    return chr(others.ranges[0][0]) if others else ""


def _certain(node: Node) -> CharSet:
    """Collect characters such that the node surely matches before each of them, with what comes before and after.

    Nothing that must match may follow the node: it could refuse the match.
    """
    if isinstance(node, Chars):
        return node.characters
    if isinstance(node, Alternation):
        return CharSet.from_ranges(ends for branch in node.branches for ends in _certain(branch).ranges)
    if isinstance(node, Repeat):
        return _certain(node.child) if node.minimum <= 1 else _NONE
    if isinstance(node, Atomic | Group):
        return _certain(node.child)
    if isinstance(node, Concat):
        return _certain_of_sequence(node.parts)
    return _NONE  # look-arounds and back-references depend on the text around


def _certain_of_sequence(parts: tuple[Node, ...]) -> CharSet:
    r"""Collect the characters for which one part surely matches, and the parts around it may be empty.

    A part before it might take the character: `a?[ab]` gives it back, `a?+[ab]` does not match "a" alone.
    """
    found, free = _NONE, ANY  # free: characters that no part so far takes and keeps
    for i, part in enumerate(parts):
        if all(map(always_matches, parts[i + 1 :])):
            found |= _certain(part) & free
        if not always_matches(part):
            break
        if not (isinstance(part, Repeat) and part.minimum == 0 and part.mode is not Mode.POSSESSIVE):
            free -= first(part, First(_NONE, end=False)).characters
    return found

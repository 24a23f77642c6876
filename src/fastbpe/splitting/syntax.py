r"""Parser of split patterns, in the syntax of tiktoken's engine (fancy-regex 0.19 over Rust's regex).

It differs from Python's: `$` matches only at the end of the text, `\Z` also before trailing line feeds; `\h` is a
hex digit; `\<` and `\>` are word boundaries. As in Python, `.` excludes only U+000A, and `{,n}` counts from 0.

Features that no tokenizer uses raise PatternError: subroutines, conditionals, `\K`, `\G`, `(?U)`, `(?R)`,
back-references that ignore case, quantifiers on assertions, repeated quantifiers, and flags such as `(?i)` within
all but non-capturing groups. (tiktoken's engine reads `a{1}{2}` as `a{1}` and the literal text `{2}`.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from fastbpe.splitting.bracket_classes import parse_class
from fastbpe.splitting.charset import ANY, CharSet
from fastbpe.splitting.cursor import MAX_NESTING, MAX_PATTERN_CHARS, MAX_RANGES, Cursor
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
)

__all__ = ["MAX_NESTING", "MAX_PATTERN_CHARS", "MAX_RANGES", "MAX_REPEAT", "parse"]

MAX_REPEAT = 10_000  # a choice

_NOT_LINE_FEED = ~CharSet.of("\n")
_SIGNS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
# {2} {2,} {,3} {2,3} {,}; any other brace is a literal character.
_BRACES = re.compile(r"\{(?!\})([0-9]*)(,?)([0-9]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FLAGS = re.compile(r"([imsxu]*)(?:-([imsx]*))?([:)])")
_LOOKS = (("?=", False, False), ("?!", False, True), ("?<=", True, False), ("?<!", True, True))
_ANCHORS = {"A": AnchorKind.TEXT_START, "z": AnchorKind.TEXT_END, "Z": AnchorKind.LAST_LINE_END}
_MATCH_BOUNDS = {
    "G": "leave it out; it changes nothing at the start of a pattern that matches all text",
    "K": "use a look-behind, (?<=...), for the part before it",
}
_BOUNDARIES = {
    "b": BoundaryKind.EITHER,
    "b{start}": BoundaryKind.START,
    "b{end}": BoundaryKind.END,
    "B": BoundaryKind.NEITHER,
    "<": BoundaryKind.START,
    ">": BoundaryKind.END,
}
_ANY_LINE_END = Atomic(
    Alternation(
        (
            Concat((Chars(CharSet.of("\r")), Chars(CharSet.of("\n")))),
            Chars(CharSet.of("\n\v\f\r\x85\u2028\u2029")),
        )
    )
)


@lru_cache(maxsize=16)
def parse(pattern: str) -> Node:
    r"""Read a pattern into a tree. `release_memory` empties the cache.

    >>> parse("(?i:k)")
    Chars(characters=CharSet('K k U+212A'))

    Raises PatternError, with the position, if the pattern is malformed, not supported, or too large.
    """
    parser = _Parser(Cursor(pattern))
    node = parser.alternation()
    if parser.cursor.next:
        parser.cursor.fail(parser.cursor.at, "a ')' without its '('", r"write \) for the character")
    return node


@dataclass(frozen=True)
class _Flags:
    """The active inline flags: `i`, `m`, `s`, `x`."""

    i: bool = False
    m: bool = False
    s: bool = False
    x: bool = False


class _Parser:
    """Recursive descent: alternation > concatenation > quantified atom."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.flags = _Flags()
        self.n_groups = 0
        self.closed: set[int] = set()
        self.names: dict[str, int] = {}

    def alternation(self) -> Node:
        branches = [self._concatenation()]
        while self.cursor.eat("|"):
            branches.append(self._concatenation())
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def _concatenation(self) -> Node:
        parts: list[Node] = []
        while True:
            self._skip_layout()
            if self.cursor.next in ("", "|", ")"):
                return parts[0] if len(parts) == 1 else Concat(tuple(parts))
            atom = self._atom()
            if atom is not None:
                parts.append(self._quantified(atom))

    def _skip_layout(self) -> None:
        """Skip white space and comments if the flag x is set."""
        while self.flags.x and self.cursor.next:
            if self.cursor.next == "#":
                end = self.cursor.text.find("\n", self.cursor.at)
                self.cursor.at = len(self.cursor.text) if end < 0 else end
            elif self.cursor.next in " \t\r\n":
                self.cursor.at += 1
            else:
                return

    def _atom(self) -> Node | None:
        """Read one atom; return None for flags and comments, which match nothing."""
        cursor = self.cursor
        start = cursor.at
        character = cursor.next
        if character == "(":
            return self._group()
        if character == "[":
            return Chars(parse_class(cursor, self.flags.i))
        if character == "\\":
            return self._escape()
        if character in "*+?" or (character == "{" and _is_count(cursor)):
            cursor.fail(
                start,
                f"there is nothing before it that {character!r} could repeat",
                rf"write \{character} for the character",
            )
        if character == "{" and self.flags.x:
            cursor.fail(start, "a brace that is not a count, with the flag x", r"write \{ for the character")
        cursor.at += 1
        if character == ".":
            return Chars(ANY if self.flags.s else _NOT_LINE_FEED)
        if character == "^":
            return Anchor(AnchorKind.LINE_START if self.flags.m else AnchorKind.TEXT_START)
        if character == "$":
            return Anchor(AnchorKind.LINE_END if self.flags.m else AnchorKind.TEXT_END)
        return self._literal(character)

    def _literal(self, character: str) -> Chars:
        members = CharSet.of(character)
        return Chars(members.case_closure() if self.flags.i else members)

    def _escape(self) -> Node:
        cursor = self.cursor
        start = cursor.at
        kind = cursor.text[start + 1 : start + 2]
        if kind.isascii() and kind.isdigit():
            return self._numbered_reference()
        if kind == "k":
            cursor.at += 2
            if not cursor.eat("<"):
                cursor.fail(start, r"expected <name> after \k", r"as in \k<name>")
            return self._named_reference(start, ">")
        if kind in _ANCHORS:
            cursor.at += 2
            return Anchor(_ANCHORS[kind])
        if kind in _BOUNDARIES:
            return self._word_boundary(kind)
        if kind in _MATCH_BOUNDS:
            cursor.fail(start, rf"\{kind} is not an escape here", _MATCH_BOUNDS[kind])
        if kind and kind in "NOR":
            cursor.at += 2
            return _ANY_LINE_END if kind == "R" else Chars(ANY if kind == "O" else _NOT_LINE_FEED)
        read = cursor.escape(self.flags.i)
        return Chars(read) if isinstance(read, CharSet) else self._literal(read)

    def _word_boundary(self, kind: str) -> Node:
        cursor = self.cursor
        start = cursor.at
        cursor.at += 2
        if kind == "b":
            kind += next((name for name in ("{start}", "{end}") if cursor.eat(name)), "")
        if kind in ("b", "B") and cursor.sees("{"):
            problem = "expected {start} or {end}" if kind == "b" else r"a brace after \B"
            cursor.fail(cursor.at, problem, r"write \{ for the character")
        cursor.spend(CharSet.word(), start)  # `simplify` and `to_regex` write it as look-arounds for this class
        return WordBoundary(_BOUNDARIES[kind])

    def _numbered_reference(self) -> Node:
        start = self.cursor.at
        self.cursor.at += 1
        digits = ""
        while self.cursor.next.isascii() and self.cursor.next.isdigit():
            digits += self.cursor.take()
        if digits.startswith("0"):
            self.cursor.fail(start, r"\0 is not an escape", r"write \x00 for U+0000")
        # No pattern has 100,000 groups, and int() refuses thousands of digits.
        return self._reference(start, int(digits) if len(digits) < 6 else -1, digits)

    def _named_reference(self, start: int, end: str) -> Node:
        name = self.cursor.take_until(end, start, "the name")
        return self._reference(start, self.names.get(name, -1), repr(name))

    def _reference(self, start: int, index: int, shown: str) -> Node:
        if index not in self.closed:
            self.cursor.fail(start, f"no group {shown} ends before this position", "refer to an earlier group")
        if self.flags.i:
            self.cursor.fail(start, "a back-reference that ignores case is not supported", "put (?-i) before it")
        return Backreference(index)

    def _quantified(self, atom: Node) -> Node:
        self._skip_layout()
        cursor = self.cursor
        start = cursor.at
        bounds = self._bounds()
        if bounds is None:
            return atom
        if isinstance(atom, Look | Anchor | WordBoundary):
            cursor.fail(
                start,
                "the part before it consumes nothing, so it cannot be repeated",
                "leave the quantifier out",
            )
        mode = Mode.POSSESSIVE if cursor.eat("+") else Mode.LAZY if cursor.eat("?") else Mode.GREEDY
        if (cursor.next and cursor.next in "*+?") or _is_count(cursor):
            cursor.fail(cursor.at, "a quantifier follows a quantifier", "put the repeated part into (?:...)")
        return Repeat(atom, *bounds, mode)

    def _bounds(self) -> tuple[int, int | None] | None:
        """Read a quantifier without its mode; None if no quantifier comes next."""
        cursor = self.cursor
        start = cursor.at
        if cursor.next and cursor.next in _SIGNS:
            return _SIGNS[cursor.take()]
        found = _BRACES.match(cursor.text, start)
        if found is None:
            return None
        cursor.at = found.end()
        low, comma, high = found.groups()
        # First the number of digits: int() refuses thousands.
        if max(len(low), len(high)) > 9 or max(int(low or 0), int(high or 0)) > MAX_REPEAT:
            cursor.fail(start, f"a count above {MAX_REPEAT:,}", "use + or * for any number")
        minimum = int(low or 0)
        if not comma:
            return minimum, minimum
        maximum = int(high) if high else None
        if maximum is not None and maximum < minimum:
            cursor.fail(
                start, f"the repetition is at least {minimum} but at most {maximum}", "swap the two numbers"
            )
        return minimum, maximum

    def _group(self) -> Node | None:
        cursor = self.cursor
        start = cursor.at
        cursor.at += 1
        if cursor.eat("?#"):
            cursor.take_until(")", start, "the comment")
            return None
        for sign, behind, negative in _LOOKS:
            if cursor.eat(sign):
                return Look(self._inside(start), behind, negative)
        if cursor.eat("?>"):
            return Atomic(self._inside(start))
        if cursor.eat("?P="):
            return self._named_reference(start, ")")
        if cursor.eat("?P<") or cursor.eat("?<"):
            return self._capture(start, self._new_name(start))
        if cursor.eat("?"):
            return self._flagged(start)
        if cursor.sees("*"):
            cursor.fail(start, "(*...) is not supported", r"write \( for the character")
        return self._capture(start, None)

    def _inside(self, start: int, flags_end: bool = False) -> Node:
        """Read up to and including the closing parenthesis; if `flags_end`, flags set inside end there.

        In tiktoken's engine, flags end with their group only in (?:...) and (?i:...). Flags set in other groups
        stay active after the group, unlike in any other engine; here they raise PatternError.
        """
        cursor = self.cursor
        outer = self.flags
        cursor.enter(start)
        node = self.alternation()
        if not cursor.eat(")"):
            cursor.fail(start, "the group is not closed", "expected ')' after it")
        cursor.leave()
        if self.flags != outer and not flags_end:
            cursor.fail(start, "flags set inside this kind of group are ambiguous", "use (?i:...) inside it")
        self.flags = outer
        return node

    def _capture(self, start: int, name: str | None) -> Node:
        self.n_groups += 1
        index = self.n_groups
        if name is not None:
            self.names[name] = index
        node = Group(self._inside(start), index, name)
        self.closed.add(index)
        return node

    def _new_name(self, start: int) -> str:
        name = self.cursor.take_until(">", start, "the name")
        if not _NAME.fullmatch(name) or name in self.names:
            self.cursor.fail(
                start, f"{name!r} cannot name a group", "use ASCII letters, digits and _, each name once"
            )
        return name

    def _flagged(self, start: int) -> Node | None:
        """Read `(?i:...)`; or `(?i)`, which applies to the end of the enclosing group, and return None."""
        cursor = self.cursor
        found = _FLAGS.match(cursor.text, cursor.at)
        if found is None or (not found[1] and not found[2] and found[3] == ")"):
            cursor.fail(
                start,
                "fastbpe does not support this kind of group",
                "expected (?:, (?=, (?!, (?<=, (?<!, (?>, (?<name>, or flags out of i, m, s, x, such as (?i:",
            )
        cursor.at = found.end()
        changed = replace(
            self.flags,
            **{flag: flag not in (found[2] or "") for flag in found[1] + (found[2] or "") if flag != "u"},
        )
        if found[3] == ")":
            self.flags = changed
            return None
        outer, self.flags = self.flags, changed
        node = self._inside(start, flags_end=True)
        self.flags = outer
        return node


def _is_count(cursor: Cursor) -> bool:
    return _BRACES.match(cursor.text, cursor.at) is not None

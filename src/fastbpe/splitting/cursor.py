"""Reader of a pattern from left to right: position, escapes, and errors that state the position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NoReturn

from fastbpe.errors import PatternError
from fastbpe.splitting.charset import FIRST_SURROGATE, LAST_SURROGATE, MAX_CODE_POINT, CharSet

# Maximum depth of nested groups and classes, since the reader is recursive. tiktoken's engine has the same limit
# for groups; its limit for classes is 250.
MAX_NESTING = 63
MAX_PATTERN_CHARS = 65_536  # a choice
# Maximum number of ranges in all classes of a pattern. o200k has 12,000; the `regex` package compiles 23,000 a
# second (2026.11.19, sets of 500 characters, one busy core of an AMD EPYC, 2026-11-30).
MAX_RANGES = 50_000

HEX_DIGITS = CharSet.of("0123456789abcdefABCDEF")

_CONTROLS = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEX_LENGTHS = {"x": 2, "u": 4, "U": 8}
# Properties of fancy-regex alone: Rust's regex has none of these, and in Oniguruma, word, graph and print differ.
_OF_FANCY_REGEX: Mapping[str, Callable[[], CharSet]] = MappingProxyType({
    "alnum": lambda: CharSet.property("Alphabetic") | CharSet.digit(),
    "blank": lambda: CharSet.category("Zs") | CharSet.of("\t"),
    "graph": lambda: _of_categories("LMNPS"),
    "print": lambda: _of_categories("LMNPSZ"),
    "word": CharSet.word,
})  # fmt: skip


class Cursor:
    """Position in a pattern. `at` is the index of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.n_ranges = 0
        if len(text) > MAX_PATTERN_CHARS:
            raise PatternError(
                f"the split pattern has {len(text):,} characters; the limit is {MAX_PATTERN_CHARS:,}; "
                r"write classes as \p{...} instead of listing their members"
            )
        for index, character in enumerate(text):
            if FIRST_SURROGATE <= ord(character) <= LAST_SURROGATE:
                self.fail(index, "a lone surrogate is not a character", "take it out; no text contains one")

    def fail(self, at: int, problem: str, way_out: str) -> NoReturn:
        """Raise PatternError at a position."""
        around = self.text[max(0, at - 12) : at + 12]
        raise PatternError(f"split pattern, position {at} (near {around!r}): {problem}; {way_out}")

    @property
    def next(self) -> str:
        """The next character, or "" at the end."""
        return self.text[self.at : self.at + 1]

    def sees(self, wanted: str) -> bool:
        """Tell whether `wanted` comes next."""
        return self.text.startswith(wanted, self.at)

    def eat(self, wanted: str) -> bool:
        """Skip `wanted` if it comes next, and tell whether it did."""
        if self.sees(wanted):
            self.at += len(wanted)
            return True
        return False

    def take(self) -> str:
        """Return the next character, and skip it."""
        character = self.next
        self.at += 1
        return character

    def take_until(self, end: str, opened_at: int, what: str) -> str:
        """Return the text before `end`, and skip both."""
        stop = self.text.find(end, self.at)
        if stop < 0:
            self.fail(opened_at, f"{what} is not closed", f"expected {end!r} after it")
        taken = self.text[self.at : stop]
        self.at = stop + len(end)
        return taken

    def enter(self, at: int) -> None:
        """Enter a group or class that begins at `at`. Fails if it is nested too deeply."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.fail(at, f"nested deeper than {MAX_NESTING} levels", "flatten the groups or classes")

    def leave(self) -> None:
        """Leave a group or class."""
        self.depth -= 1

    def spend(self, characters: CharSet, at: int) -> CharSet:
        """Count the ranges of a set against the limit, and return the set."""
        self.n_ranges += len(characters.ranges)
        if self.n_ranges > MAX_RANGES:
            self.fail(
                at,
                f"the classes have more than {MAX_RANGES:,} ranges in total",
                "use fewer or simpler classes",
            )
        return characters

    def escape(self, ignore_case: bool) -> str | CharSet:
        r"""Read an escape that means the same in and outside of brackets: one character, or a set."""
        start = self.at
        self.at += 1
        character = self.take()
        if not character:
            self.fail(start, "a backslash with nothing after it", r"write \\ for a backslash")
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character in _HEX_LENGTHS:
            return self._hex_escape(start, character)
        if character in "pP":
            return self.spend(self._property_escape(start, character == "P", ignore_case), start)
        named = _named_class(character.lower())
        if named is not None:
            return self.spend(~named if character.isupper() else named, start)
        if character.isascii() and character.isalnum():
            self.fail(start, rf"\{character} is not an escape here", f"write {character} for the character itself")
        return character

    def _hex_escape(self, start: int, kind: str) -> str:
        if self.eat("{"):
            digits = self.take_until("}", start, rf"\{kind}{{")
        else:
            digits = self.text[self.at : self.at + _HEX_LENGTHS[kind]]
            self.at += len(digits)
            if len(digits) < _HEX_LENGTHS[kind]:
                digits = ""
        # At most 8 in braces, as in tiktoken's engine: it refuses \x{000000041}.
        if not digits or len(digits) > 8 or any(digit not in HEX_DIGITS for digit in digits):
            self.fail(
                start,
                rf"expected {_HEX_LENGTHS[kind]} hex digits after \{kind}, or some in braces",
                r"such as \x{e9}",
            )
        code_point = int(digits, 16)
        if code_point > MAX_CODE_POINT or FIRST_SURROGATE <= code_point <= LAST_SURROGATE:
            self.fail(start, f"U+{code_point:04X} is not a character", "use 0..D7FF or E000..10FFFF")
        return chr(code_point)

    def _property_escape(self, start: int, negative: bool, ignore_case: bool) -> CharSet:
        if self.eat("{"):
            name = self.take_until("}", start, r"\p{")
            if name.startswith("^"):
                name, negative = name[1:], not negative
        else:
            name = self.take()
        try:
            members = _OF_FANCY_REGEX.get(name.lower(), lambda: CharSet.property(name))()
        except KeyError:
            self.fail(
                start,
                f"fastbpe knows no property {name!r}" if name else r"expected the name of a property after \p",
                r"use a category such as L or Lu, a script such as Greek, or a property such as Alphabetic",
            )
        # tiktoken's engine folds case before it negates: (?i)\P{Lu} contains no cased letters at all.
        members = members.case_closure() if ignore_case else members
        return ~members if negative else members


def _of_categories(names: str) -> CharSet:
    return CharSet.from_ranges(ends for name in names for ends in CharSet.category(name).ranges)


def _named_class(letter: str) -> CharSet | None:
    if letter == "d":
        return CharSet.digit()
    if letter == "s":
        return CharSet.white_space()
    if letter == "w":
        return CharSet.word()
    return HEX_DIGITS if letter == "h" else None

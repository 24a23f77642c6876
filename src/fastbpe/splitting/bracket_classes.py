r"""Parse classes in brackets into sets: `[a-z&&[^aeiou]]`, `[[:alpha:]_]`, `[\p{L}--\p{Lu}]`."""

from __future__ import annotations

import re

from fastbpe.splitting.charset import CharSet
from fastbpe.splitting.cursor import Cursor

# First and last character of each range of a POSIX class; ASCII only, as in Rust's regex.
_POSIX = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZ__az",
    "xdigit": "09AFaf",
}
_POSIX_CLASS = re.compile(r"\[:(\^?)([a-z]*):\]")
_OPERATORS = ("&&", "--", "~~")


def parse_class(cursor: Cursor, ignore_case: bool) -> CharSet:
    """Read a class from its `[` to its `]`.

    ignore_case: add all cases of each character and range, before operators and negation apply.
    """
    start = cursor.at
    cursor.enter(start)
    cursor.at += 1
    negative = cursor.eat("^")
    total = _operand(cursor, start, ignore_case, first=True)
    while not cursor.eat("]"):
        operator = cursor.take() + cursor.take()
        total = _combine(total, operator, _operand(cursor, start, ignore_case, first=False))
    cursor.leave()
    return cursor.spend(~total if negative else total, start)


def _combine(left: CharSet, operator: str, right: CharSet) -> CharSet:
    """Apply an operator. The caller applies them from left to right: all have the same precedence."""
    if operator == "&&":
        return left & right
    return left - right if operator == "--" else left ^ right


def _operand(cursor: Cursor, class_start: int, ignore_case: bool, first: bool) -> CharSet:
    """Return the union of the items up to the closing bracket or an operator, which is not read yet."""
    singles: list[tuple[int, int]] = []
    sets: set[CharSet] = set()
    if first:  # right after [ or [^, hyphens and a ] mean themselves
        while cursor.eat("-"):
            singles.append((ord("-"), ord("-")))
        if not singles and cursor.eat("]"):  # but "[-]" is a hyphen
            singles.append((ord("]"), ord("]")))
    while not cursor.sees("]") and not cursor.text.startswith(_OPERATORS, cursor.at):
        if not cursor.next:
            cursor.fail(class_start, "the class is not closed", "expected ']' after it")
        if cursor.sees("["):
            sets.add(_posix_class(cursor, ignore_case) or parse_class(cursor, ignore_case))
            continue
        at = cursor.at
        item = _item(cursor, ignore_case)
        high = _range_end(cursor, at, item, ignore_case)
        if isinstance(item, CharSet):
            sets.add(item)
        else:
            singles.append((ord(item), ord(high or item)))
    listed = CharSet.from_ranges(singles)
    if ignore_case:
        listed = listed.case_closure()
    return CharSet.from_ranges(each for members in (listed, *sets) for each in members.ranges)


def _item(cursor: Cursor, ignore_case: bool) -> str | CharSet:
    if not cursor.sees("\\"):
        return cursor.take()
    if cursor.eat("\\b"):
        return "\b"
    return cursor.escape(ignore_case)


def _range_end(cursor: Cursor, low_at: int, low: str | CharSet, ignore_case: bool) -> str | None:
    """Return the upper end if a hyphen makes the item the lower end of a range; else None."""
    if not cursor.sees("-") or cursor.sees("-]") or cursor.sees("--"):
        return None
    cursor.at += 1
    high_at = cursor.at
    high = "" if cursor.sees("[") else _item(cursor, ignore_case)
    if isinstance(low, CharSet) or isinstance(high, CharSet) or not high:
        cursor.fail(high_at, "a range needs one character at each end", r"write \- for a hyphen")
    if high < low:
        cursor.fail(low_at, f"the range {low!r} to {high!r} runs backwards", "swap its ends")
    return high


def _posix_class(cursor: Cursor, ignore_case: bool) -> CharSet | None:
    """Read `[:alpha:]` or `[:^alpha:]`; None if neither comes next."""
    found = _POSIX_CLASS.match(cursor.text, cursor.at)
    if found is None:
        return None
    ends = _POSIX.get(found[2])
    if ends is None:
        cursor.fail(cursor.at, f"[:{found[2]}:] is not a class", f"fastbpe knows {', '.join(_POSIX)}")
    cursor.at = found.end()
    members = CharSet.from_ranges(zip(map(ord, ends[::2]), map(ord, ends[1::2]), strict=True))
    if ignore_case:
        members = members.case_closure()
    return cursor.spend(~members if found[1] else members, found.start())

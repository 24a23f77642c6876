r"""Translation of tokenizers' regexes (Oniguruma, Ruby's syntax) into fastbpe's syntax.

The two syntaxes are mostly the same. These parts look alike but differ in meaning, and are translated:

- in Oniguruma, `^` and `$` match at the beginning and end of a line, not of the text; `^` never matches at the end
  of the text;
- `\Z` matches at the end, or before one last line feed;
- `\w` (and so `\b`) does not include U+200C and U+200D; outside of brackets it includes ² ³ ¹ ¼ ½ ¾;
- `[[:alpha:]]` and the like are classes of Unicode, not of ASCII;
- the flag that lets `.` match a line feed is m.

Parts without a translation, and some that are too rare to translate, raise PatternError: `{1,3}+` (in Ruby's
syntax a repetition of the repetition), `{2}?` (an optional repetition), `--` within brackets, back-references into
look-arounds or to groups that are not complete; and, if case is ignored, back-references, classes of letters, and
all that matches characters such as ß and ligatures, which become several letters in another case.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NoReturn

from fastbpe.errors import PatternError
from fastbpe.splitting.charset import CharSet

_LINE_START, _LINE_END = r"(?:\A|(?<=\n)(?!\z))", r"(?:(?=\n)|\z)"
_LAST_LINE_END = r"(?:(?=\n\z)|\z)"
_WORD_MEMBERS = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"
_IN_BRACKETS = {"w": _WORD_MEMBERS, "W": f"[^{_WORD_MEMBERS}]"}
_WORD, _NOT_WORD = f"[{_WORD_MEMBERS}²³¹¼½¾]", f"[^{_WORD_MEMBERS}²³¹¼½¾]"
_ESCAPES = {
    "w": _WORD,
    "W": _NOT_WORD,
    "b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    "B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
    "Z": _LAST_LINE_END,
    **{letter: f"\\{letter}" for letter in ("s", "S", "d", "D", "h", "H", "r", "n", "t", "f", "v", "a", "A", "z")},
}
#: Names of POSIX classes → their members.
_POSIX = {
    "alnum": r"\p{Alphabetic}\p{Nd}",
    "alpha": r"\p{Alphabetic}",
    "ascii": r"\x{0}-\x{7F}",
    "blank": r"\p{Zs}\t",
    "cntrl": r"\p{Cc}",
    "digit": r"\p{Nd}",
    "graph": r"[^\s\p{Cc}\p{Cn}]",
    "lower": r"\p{Lowercase}",
    "print": r"[^\p{Cc}\p{Cn}\p{Zl}\p{Zp}]",
    "punct": r"\p{P}\p{S}",
    "space": r"\s",
    "upper": r"\p{Uppercase}",
    "word": _WORD_MEMBERS,
    "xdigit": "0-9A-Fa-f",
}
_OUTSIDE_BRACKETS_ONLY = "bBZAz"
_CODE_POINT = re.compile(r"\\(?:x\{([0-9A-Fa-f]{1,8})\}|x([0-7][0-9A-Fa-f])|u([0-9A-Fa-f]{4}))")
_PROPERTY = re.compile(r"\\[pP]\{\^?([A-Za-z][A-Za-z_ ]*)\}")
_POSIX_CLASS = re.compile(r"\[:(\^?)([a-z]+):\]")
_COUNT = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}(?=([+?]?))")
_GROUP = re.compile(r"\((?:\?(?:(?::|=|!|<=|<!|>)|<[A-Za-z_][A-Za-z0-9_]*>|([im]*)(?:-([im]*))?([:)])))?")
_NAMED_GROUP = re.compile(r"\(\?<[A-Za-z_]")
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_SEVERAL_LETTERS = re.compile("ff|fi|fl|ss|st")


@cache
def _of_several() -> frozenset[str]:
    """Return the characters that occur in a sequence equal to one character in another case, as ʼ and n in ŉ."""
    folded = (chr(code).casefold() for code in range(0x20000))  # no character above has a case
    return frozenset(character for text in folded if len(text) > 1 for character in text)


def _folds_alone(character: str) -> bool:
    """Tell whether every case variant of a character is one character, and it is not part of a longer variant."""
    cases = [*CharSet.of(character).case_closure()]
    return all(len(one.casefold()) == 1 for one in cases) and _of_several().isdisjoint(cases)


@lru_cache(maxsize=64)
def from_oniguruma(pattern: str) -> str:
    r"""Return a pattern for fastbpe that matches the same as the given pattern in tokenizers.

    >>> from_oniguruma(r"\p{L}+|^\s$")
    '\\p{L}+|(?:\\A|(?<=\\n)(?!\\z))\\s(?:(?=\\n)|\\z)'

    Raises PatternError for a part that fastbpe's syntax cannot express.
    """
    return _Translation(pattern).run()


def check_regex(pattern: str) -> None:
    """Raise PatternError for a regex of tokenizers that fastbpe cannot read."""
    from fastbpe.splitting.syntax import parse  # here: few files have a regex

    parse(from_oniguruma(pattern))


class _Translation:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        self.ignore_case = [False]  # stack: flag of each open group, the innermost last
        self.letters = ""  # the last two literals, if nothing is between them
        self.opened: list[str] = []  # what opened each group: "(", "(?=" ...
        self.numbers: list[int] = []  # number of each group that captures, else 0
        self.n_groups = 0
        self.closed: set[int] = set()  # numbers that a back-reference may name

    def run(self) -> str:
        while self.at < len(self.pattern):
            character = self.pattern[self.at]
            if character == "\\":
                self.escape(in_brackets=False)
            elif character == "[":
                self.brackets()
            elif character == "(":
                self.group()
            elif character == "{":
                self.count()
            elif character == "^":
                self.give(character, _LINE_START)
            elif character == "$":
                self.give(character, _LINE_END)
            elif character == ")":
                self.give(character, character)
                if len(self.ignore_case) > 1:  # else fastbpe's parser reports the error
                    self.close()
            else:
                self.literal(character)
        return "".join(self.out)

    def refuse(self, what: str, way_out: str) -> NoReturn:
        shown = self.pattern if len(self.pattern) <= 60 else self.pattern[:57] + "..."
        raise PatternError(f"the split pattern {shown!r} at position {self.at}: {what}; {way_out}")

    def give(self, taken: str, given: str) -> None:
        """Read `taken` and write `given`."""
        self.at += len(taken)
        self.out.append(given)

    def literal(self, character: str) -> None:
        if self.ignore_case[-1]:
            if not character.isascii() and not _folds_alone(character):
                self.refuse(
                    f"{character!r} where case is ignored may match several characters in tokenizers",
                    "write both cases out",
                )
            # Any other element is between two letters, which then cannot match one character together.
            if character not in "*+?":
                self.letters = self.letters[-1:] + character.lower()
            if _SEVERAL_LETTERS.search(self.letters):
                self.refuse(
                    f"{self.letters!r} where case is ignored matches one character too in tokenizers",
                    "write both cases out, as in [Ss][Ss]",
                )
        self.give(character, character)

    def escape(self, *, in_brackets: bool) -> None:
        rest = self.pattern[self.at : self.at + 80]
        kind = rest[1:2]
        found = _CODE_POINT.match(rest)
        if found is not None:
            self.code_point(found)
        elif kind and kind in "pP":
            self.property(rest)
        elif kind in _ESCAPES and not (in_brackets and kind in _OUTSIDE_BRACKETS_ONLY):
            if kind in "wW" and self.ignore_case[-1]:
                self.refuse(rf"\{kind} where case is ignored", "take it out of the (?i:...)")
            given = _IN_BRACKETS.get(kind) if in_brackets else None
            self.give(rest[:2], given or _ESCAPES[kind])
        elif not in_brackets and kind.isdecimal() and self.refers(rest):
            self.letters = ""
            self.give(rest[:2], rest[:2])
        elif kind and kind.isascii() and not kind.isalnum():
            self.letters = ""
            self.give(rest[:2], kind if kind in "<>" else rest[:2])  # \< of fastbpe begins a word
        else:
            self.refuse(rf"\{kind} is unknown to fastbpe, or differs from tokenizers", "write it in another way")

    def refers(self, rest: str) -> bool:
        """Tell whether an escape refers to a complete group. With named groups, tokenizers captures no others."""
        is_number = rest[1:2] in "123456789" and not rest[2:3].isdecimal()
        is_plain = is_number and not self.ignore_case[-1] and _NAMED_GROUP.search(self.pattern) is None
        return is_plain and int(rest[1]) in self.closed

    def code_point(self, found: re.Match[str]) -> None:
        digits = found[1] or found[2] or found[3]
        if self.ignore_case[-1]:
            self.refuse(f"{found[0]} where case is ignored", "write the character itself")
        self.give(found[0], rf"\x{{{digits}}}")

    def property(self, rest: str) -> None:
        found = _PROPERTY.match(rest)
        if found is None:
            self.refuse(r"expected \p{...} with the name of a category or a script", r"as in \p{Lu} or \p{Greek}")
        if self.ignore_case[-1]:
            self.refuse(f"{found[0]} where case is ignored", "take it out of the (?i:...)")
        try:
            CharSet.property(found[1])
        except KeyError:
            self.refuse(
                f"{found[1]!r} is not a property that fastbpe knows", "pass a general category or a script"
            )
        self.give(found[0], found[0])

    def brackets(self) -> None:
        """Translate a class, with the classes inside it."""
        depth = 0
        self.letters = ""
        while self.at < len(self.pattern):
            character = self.pattern[self.at]
            pair = self.pattern[self.at : self.at + 2]
            if character == "\\":
                self.escape(in_brackets=True)
            elif pair == "[:" and depth:
                self.posix_class()
            elif character == "[":
                opening = "[^" if pair == "[^" else "["
                self.give(opening, opening)
                depth += 1
                if self.pattern.startswith("]", self.at):
                    self.refuse("']' right after '['", r"write \] for the character")
            elif pair in ("--", "~~"):
                self.refuse(f"{pair!r} is an operator here but not in tokenizers", r"write \- or \~")
            elif character == "]":
                self.give(character, character)
                depth -= 1
                if not depth:
                    return
            elif self.ignore_case[-1] and not character.isascii() and not self.stands_alone():
                self.refuse(f"{character!r} where case is ignored", "take it out of the (?i:...)")
            else:
                self.give(character, character)

    def posix_class(self) -> None:
        """Translate `[:alpha:]` or `[:^alpha:]`."""
        found = _POSIX_CLASS.match(self.pattern, self.at)
        if found is None or found[2] not in _POSIX:
            self.refuse("'[:' begins no class of a known name", f"known are {', '.join(_POSIX)}")
        if self.ignore_case[-1]:
            self.refuse(f"{found[0]} where case is ignored", "take it out of the (?i:...)")
        if self.pattern[found.end() :].startswith("-") and not self.pattern.startswith("-]", found.end()):
            self.refuse(f"{found[0]} cannot be the end of a range", r"write \- for the character")
        self.give(found[0], f"[{found[1]}{_POSIX[found[2]]}]")

    def stands_alone(self) -> bool:
        """Tell whether the next character folds by itself, and is not the end of a range."""
        around = self.pattern[self.at - 1] + self.pattern[self.at + 1 : self.at + 2]
        return "-" not in around and _folds_alone(self.pattern[self.at])

    def group(self) -> None:
        found = _GROUP.match(self.pattern, self.at)
        assert found is not None  # it matches only "("
        opening, on, off, end = found[0], found[1] or "", found[2] or "", found[3]
        if opening == "(" and self.pattern[self.at + 1 : self.at + 2] in ("?", "*"):
            self.refuse("this kind of group is unknown to fastbpe, or differs from tokenizers", "use (?:...)")
        if end == ")":
            if self.at:
                self.refuse(
                    "flags in the middle of a pattern apply to more of it in tokenizers than in fastbpe",
                    "use (?i:...)",
                )
            self.ignore_case[-1] = "i" in on
        else:
            ignored = (self.ignore_case[-1] or "i" in on) and "i" not in off
            self.ignore_case.append(ignored)
            self.n_groups += opening == "("
            self.numbers.append(self.n_groups if opening == "(" else 0)
            self.opened.append(opening)
        self.give(opening, opening.replace("m", "s") if end else opening)

    def close(self) -> None:
        """Leave the innermost group. A look-around may forget what it captured, and a group that ignores case."""
        captures = not self.ignore_case.pop() and not any(opening in _LOOK_AROUND for opening in self.opened)
        number = self.numbers.pop()
        self.opened.pop()
        if number and captures:
            self.closed.add(number)

    def count(self) -> None:
        found = _COUNT.match(self.pattern, self.at)
        if found is None or not (found[1] or found[3]):
            self.give("{", "{")
            return
        if found[4] == "+" or (found[4] == "?" and not found[2]):
            self.refuse(
                f"{found[0]}{found[4]} repeats the repeated part in tokenizers",
                f"write (?:...{found[0]}){found[4]}",
            )
        self.give(found[0], found[0])

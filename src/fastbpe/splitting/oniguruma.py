r"""Translation of tokenizers' regexes (Oniguruma, Ruby's syntax) into fastbpe's syntax.

The two syntaxes are mostly the same. These parts look alike but differ in meaning, and are translated:

- in Oniguruma, `^` and `$` match at the beginning and end of a line, not of the text; `^` does not match after a
  line feed that ends the text;
- `\Z` matches at the end, or before one last line feed;
- `\w` (and so `\b`) does not include U+200C and U+200D; outside of brackets it includes ² ³ ¹ ¼ ½ ¾;
- `[[:alpha:]]` and the like are classes of Unicode, not of ASCII;
- the flag that lets `.` match a line feed is m;
- `{1,3}+` repeats the repetition, and `{2}?` makes it optional;
- flags in the middle of a group apply to all that follows in it, also beyond a `|`;
- with a named group, groups without a name capture nothing.

Parts without a translation, and some that are too rare to translate, raise PatternError (docs/formats.md lists
them): among others `--` within brackets, back-references into look-arounds or to groups that are not complete;
and, if case is ignored, back-references, classes of letters, and everything that matches characters such as ß and
ligatures, which become several letters in another case.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NoReturn

from fastbpe.errors import PatternError
from fastbpe.splitting.charset import CharSet
from fastbpe.splitting.cursor import MAX_NESTING

_LINE_ANCHORS = {"^": r"(?:\A|(?<=\n)(?!\z))", "$": r"(?:(?=\n)|\z)"}
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
    "R": r"(?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}])",
    "N": r"[^\n]",
    "O": r"[\s\S]",
    "e": r"\x{1B}",
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
_OUTSIDE_BRACKETS_ONLY = "bBZAzRNO"
#: Letters that mean themselves after a backslash, outside of brackets and inside. Outside, tokenizers also reads
#: g, k, u and x so where no escape such as \x41 begins; here, they are refused.
_PLAIN_LETTERS = ("ijlmopqEFILJPQTUV", "gijklmopqyzABEFGIJKLNOPQRTUVXYZ")
_CONTROL = re.compile(r"\\(?:c|C-)([A-Za-z])")
_FAILS = "(*FAIL)"
# Code points. Without braces, \x80 to \xFF are bytes of UTF-8 in tokenizers.
_CODE_POINT = re.compile(r"\\(?:x\{([0-9A-Fa-f]{1,8})\}|x([0-7][0-9A-Fa-f])|u([0-9A-Fa-f]{4}))")
_PROPERTY = re.compile(r"\\[pP]\{\^?([A-Za-z][A-Za-z_ ]*)\}")
_POSIX_CLASS = re.compile(r"\[:(\^?)([a-z]+):\]")
_COUNT = re.compile(r"\{(?=,?[0-9])([0-9]*)(,?)([0-9]*)\}(?=([+?]?))")  # fourth group: the sign after the count
_GROUP = re.compile(r"\((?:\?(?:(?::|=|!|<=|<!|>)|<([A-Za-z_][A-Za-z0-9_]*)>|([imx]*)(?:-([imx]*))?([:)])))?")
_NAMED_GROUP = re.compile(r"\(\?<[A-Za-z_]")
_REFERENCE = re.compile(r"\\(?:k<(?:([A-Za-z_][A-Za-z0-9_]*)|(-?[1-9][0-9]?))>|([1-9])(?![0-9]))")
_COMMENT = re.compile(r"\(\?#(?:[^)\\]|\\.)*\)", re.DOTALL)
_LAYOUT = re.compile(r"[ \t\n\r\v\f]+|#[^\n]*\n?")
#: A quantifier, perhaps after layout and comments.
_QUANTIFIER = re.compile(rf"(?:{_LAYOUT.pattern}|{_COMMENT.pattern})*[*+?{{]", re.DOTALL)
_LOOK_AHEAD, _LOOK_BEHIND = frozenset(("(?=", "(?!")), frozenset(("(?<=", "(?<!"))
_LOOK_AROUND = _LOOK_AHEAD | _LOOK_BEHIND
# Group whose letters tokenizers joins to no letter before it: it has a "|", or a quantifier other than {1}.
_APART = re.compile(rf"\(\?[imx-]*:[^()\[\]\\#|]*(?:\||\)(?:[*+?]|(?!\{{0*1(?:,0*1)?\}}){_COUNT.pattern}))")
_SEVERAL_LETTERS = re.compile("ff|fi|fl|ss|st")  # also ffi, ffl; each equals one character: ﬀ ﬁ ﬂ ß ﬆ


@cache
def _of_several() -> frozenset[str]:
    """Return the characters that occur in a sequence equal to one character in another case, as ʼ and n in ŉ."""
    folded = (chr(code).casefold() for code in range(0x20000))  # no character above has a case
    return frozenset(character for text in folded if len(text) > 1 for character in text)


def _folds_alone(character: str) -> bool:
    """Tell whether every case variant of a character is one character, and none occurs in a longer variant."""
    cases = [*CharSet.of(character).case_closure()]
    return all(len(variant.casefold()) == 1 for variant in cases) and _of_several().isdisjoint(cases)


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
        # The last two literals, if tokenizers joins them where case is ignored: only comments, layout, the ends of
        # groups that do not capture and have no "|", and {1} are between them. Of `st*`, it joins nothing.
        self.letters = ""
        self.has_branches = [False]  # stack: the group has a "|"
        self.opened: list[str] = []  # what opened each group: "(", "(?=" ...
        self.numbers: list[int] = []  # for each open group, its number if it captures, else 0
        self.n_groups = 0
        self.closed: set[int] = set()  # numbers that a back-reference may name
        # Also found within brackets, where it is no group; then back-references are refused that need not be.
        self.has_names = _NAMED_GROUP.search(pattern) is not None
        self.names: dict[str, int] = {}
        self.skips_layout = [False]  # stack, as ignore_case: flag x
        self.n_inner = [0]  # stack: groups opened for flags in the middle of the group
        self.starts: list[int] = []  # where in `out` each open group begins
        self.element = 0  # where in `out` the last element begins

    def run(self) -> str:
        while self.at < len(self.pattern):
            if self.skips_layout[-1] and (found := _LAYOUT.match(self.pattern, self.at)):
                self.skip(found)
                continue
            character = self.pattern[self.at]
            if character not in "*+?{(":
                self.element = len(self.out)
            if character == "\\":
                self.escape(in_brackets=False)
            elif character == "[":
                self.brackets()
            elif character == "(":
                self.group()
            elif character == "{":
                self.count()
            elif character in "^$*+?":
                self.letters = ""
                self.give(character, _LINE_ANCHORS.get(character, character))
            elif character == ")":
                self.give(character, character * (1 + self.n_inner[-1]))
                if len(self.ignore_case) > 1:  # else fastbpe's parser reports the error
                    self.close()
            else:
                self.has_branches[-1] |= character == "|"
                self.literal(character)
        return "".join(self.out) + ")" * self.n_inner[0]

    def skip(self, found: re.Match[str]) -> None:
        """Leave out layout or a comment. A count after it repeats the whole element: `a+ ?` is `(?:a+)?`."""
        self.at = found.end()
        follows = self.pattern[self.at : self.at + 1] in ("*", "+", "?") or _COUNT.match(self.pattern, self.at)
        if follows and self.element < len(self.out):
            self.out.insert(self.element, "(?:")
            self.out.append(")")

    def refuse(self, what: str, way_out: str) -> NoReturn:
        shown = self.pattern if len(self.pattern) <= 60 else self.pattern[:57] + "..."
        raise PatternError(f"the split pattern {shown!r} at position {self.at}: {what}; {way_out}")

    def give(self, taken: str, given: str) -> None:
        """Move past `taken` in the pattern, and append its translation."""
        self.at += len(taken)
        self.out.append(given)

    def literal(self, character: str) -> None:
        if self.ignore_case[-1]:
            if not character.isascii() and not _folds_alone(character):
                self.refuse(
                    f"{character!r} where case is ignored may match several characters in tokenizers",
                    "write both cases out in (?-i:...)",
                )
            next_at = self.at + 1
            count = _COUNT.match(self.pattern, next_at)
            is_repeated = self.pattern[next_at : next_at + 1] in ("*", "+", "?") or (count and not _is_one(count))
            self.letters = "" if is_repeated else self.letters[-1:] + character.lower()
            if _SEVERAL_LETTERS.search(self.letters):
                self.refuse(
                    f"{self.letters!r} where case is ignored also matches a single character in tokenizers",
                    "write both cases out, such as [Ss][Ss]",
                )
        else:
            self.letters = ""
        self.give(character, character)

    def escape(self, *, in_brackets: bool) -> None:
        rest = self.pattern[self.at : self.at + 3]
        kind = rest[1:2]
        letters, self.letters = self.letters, ""
        found = _CODE_POINT.match(self.pattern, self.at)
        if found is not None:
            self.code_point(found)
        elif kind and kind in "pP" and rest[2:3] == "{":
            self.property()
        elif kind and kind in _PLAIN_LETTERS[in_brackets] and rest[2:3] != "{":  # \o{...} is an escape
            self.at += 1
            if in_brackets:
                self.give(kind, kind)
            else:
                self.letters = letters
                self.literal(kind)
        elif (control := _CONTROL.match(self.pattern, self.at)) is not None:
            self.give(control[0], rf"\x{{{ord(control[1]) & 31:X}}}")
        elif kind in _ESCAPES and not (in_brackets and kind in _OUTSIDE_BRACKETS_ONLY):
            if kind in "wW" and self.ignore_case[-1]:
                self.refuse(
                    rf"fastbpe does not support \{kind} where case is ignored", "put this part into (?-i:...)"
                )
            given = _IN_BRACKETS.get(kind) if in_brackets else None
            self.give(rest[:2], given or _ESCAPES[kind])
        elif (
            not in_brackets
            and (reference := _REFERENCE.match(self.pattern, self.at))
            and (number := self.referred(reference))
        ):
            self.give(reference[0], rf"(?:\{number})")  # a digit after it is not part of the number
        elif kind and kind.isascii() and not kind.isalnum():
            self.give(rest[:2], kind if kind in "<>" else rest[:2])  # \< of fastbpe begins a word
        else:
            self.refuse(
                rf"\{kind} is unknown to fastbpe, or has another meaning in tokenizers", "write it in another way"
            )

    def referred(self, found: re.Match[str]) -> int:
        r"""Return the number of the group in `closed` that `\1`, `\k<1>` or `\k<name>` names; 0: refused."""
        digits = found[2] or found[3]
        if self.ignore_case[-1] or (self.has_names and digits):
            return 0
        number = int(digits) if digits else self.names.get(found[1], 0)
        number += self.n_groups + 1 if number < 0 else 0
        return number if number in self.closed else 0

    def code_point(self, found: re.Match[str]) -> None:
        digits = found[1] or found[2] or found[3]
        if self.ignore_case[-1]:
            self.refuse(f"fastbpe does not support {found[0]} where case is ignored", "write the character itself")
        self.give(found[0], rf"\x{{{digits}}}")

    def property(self) -> None:
        found = _PROPERTY.match(self.pattern, self.at)
        if found is None:
            self.refuse(
                r"expected \p{...} with the name of a category or a script", r"such as \p{Lu} or \p{Greek}"
            )
        if self.ignore_case[-1]:
            self.refuse(
                f"fastbpe does not support {found[0]} where case is ignored", "put this part into (?-i:...)"
            )
        if found[1].lower().startswith("is"):
            self.refuse(f"tokenizers knows no property {found[1]!r}", "leave out the 'Is'")
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
            elif pair == "[:" and depth:  # "[:x]" is a class of two characters
                self.posix_class()
            elif character == "[":
                opening = "[^" if pair == "[^" else "["
                self.give(opening, opening)
                depth += 1
                if self.pattern.startswith("]", self.at):  # "[]a]" has two members
                    self.give("]", r"\]")
            elif pair in ("--", "~~"):
                self.refuse(f"{pair!r} is an operator in fastbpe but not in tokenizers", r"write \- or \~")
            elif character == "]":
                self.give(character, character)
                depth -= 1
                if not depth:
                    return
            elif self.ignore_case[-1] and not character.isascii() and not self.stands_alone():
                self.refuse(
                    f"fastbpe does not support {character!r} where case is ignored", "put this part into (?-i:...)"
                )
            else:
                self.give(character, character)

    def posix_class(self) -> None:
        """Translate `[:alpha:]` or `[:^alpha:]`."""
        found = _POSIX_CLASS.match(self.pattern, self.at)
        if found is None or found[2] not in _POSIX:
            self.refuse("'[:' does not begin a class that fastbpe knows", f"it knows {', '.join(_POSIX)}")
        if self.ignore_case[-1]:
            self.refuse(
                f"fastbpe does not support {found[0]} where case is ignored", "put this part into (?-i:...)"
            )
        if self.pattern.startswith("-", found.end()) and not self.pattern.startswith("-]", found.end()):
            self.refuse(f"{found[0]} cannot begin a range", r"write \- for the character")
        self.give(found[0], f"[{found[1]}{_POSIX[found[2]]}]")

    def stands_alone(self) -> bool:
        """Tell whether the next character folds by itself, and is not an end of a range."""
        around = self.pattern[self.at - 1] + self.pattern[self.at + 1 : self.at + 2]
        return "-" not in around and _folds_alone(self.pattern[self.at])

    def group(self) -> None:
        comment = _COMMENT.match(self.pattern, self.at)
        if comment is not None:
            self.skip(comment)
            return
        if self.pattern.startswith(_FAILS, self.at):
            self.element = len(self.out)
            self.give(_FAILS, "(?!)")
            return
        found = _GROUP.match(self.pattern, self.at)
        assert found is not None  # it matches only "("
        opening, name, on, off, end = found[0], found[1], found[2] or "", found[3] or "", found[4]
        if opening == "(" and self.pattern[self.at + 1 : self.at + 2] in ("?", "*"):
            self.refuse(
                "this kind of group is unknown to fastbpe, or has another meaning in tokenizers", "use (?:...)"
            )
        ignored = (self.ignore_case[-1] or "i" in on) and "i" not in off
        skips = (self.skips_layout[-1] or "x" in on) and "x" not in off
        captures = name is not None or (opening == "(" and not self.has_names)
        if captures or opening not in ("(", "(?:") or _APART.match(self.pattern, self.at):
            self.letters = ""
        if end == ")":
            self.flags(opening, on, off)
            self.ignore_case[-1], self.skips_layout[-1] = ignored, skips
            return
        if len(self.opened) == MAX_NESTING:  # here, too: the checks below look at all open groups
            self.refuse(f"groups are nested deeper than {MAX_NESTING} levels", "flatten them")
        self.ignore_case.append(ignored)
        self.has_branches.append(False)
        self.skips_layout.append(skips)
        self.n_inner.append(0)
        self.starts.append(len(self.out))
        in_negative_look_behind = "(?<!" in self.opened
        if (
            (opening in _LOOK_AHEAD and not _LOOK_BEHIND.isdisjoint(self.opened))
            or (captures and in_negative_look_behind)
            or (opening == "(?<!" and "(?<=" in self.opened)
        ):
            self.refuse(f"tokenizers refuses {opening!r} within a look-behind", "write it in another way")
        self.n_groups += captures
        self.numbers.append(self.n_groups if captures else 0)
        self.opened.append(opening)
        if name in self.names:
            self.refuse(f"a second group named {name!r}", "give each group another name")
        if name is not None:
            self.names[name] = self.n_groups
        if end:
            self.give(opening, _flagged(on, off) + ":")
        else:
            plain = opening if name is None else "("
            self.give(opening, "(?:" if plain == "(" and not captures else plain)

    def flags(self, opening: str, on: str, off: str) -> None:
        """Read flags that apply to the rest of the innermost group."""
        given = _flagged(on, off)
        if not self.out:  # at the start of the pattern, flags apply to all of it in both syntaxes
            self.give(opening, "" if given == "(?" else given + ")")
            return
        self.n_inner[-1] += 1
        self.give(opening, given + ":")

    def close(self) -> None:
        """Leave the innermost group. Back-references may name it unless it is in a look-around."""
        can_be_named = not any(opening in _LOOK_AROUND for opening in self.opened)
        number = self.numbers.pop()
        opening = self.opened.pop()
        if self.has_branches.pop() or number or opening not in ("(", "(?:"):
            self.letters = ""
        self.ignore_case.pop()
        self.skips_layout.pop()
        self.n_inner.pop()
        self.element = self.starts.pop()
        if number and can_be_named:
            self.closed.add(number)

    def count(self) -> None:
        found = _COUNT.match(self.pattern, self.at)
        if found is None:
            self.letters = ""
            self.element = len(self.out)
            self.give("{", r"\{")  # of `a{,}` and, with the flag x, `a{ 1}`, fastbpe would make a count
            return
        taken, sign = found[0], found[4]
        is_lazy = sign == "?" and found[2] == ","
        if _is_one(found):
            is_plain_group = self.out[self.element : self.element + 1] == ["(?:"]
            if is_plain_group and _QUANTIFIER.match(self.pattern, found.end() + is_lazy):
                self.refuse(
                    f"tokenizers applies a quantifier after {taken} to the last letter alone", f"leave {taken} out"
                )
        else:
            self.letters = ""
        if is_lazy or not sign:
            self.give(taken + sign, taken + sign)
        else:  # the sign itself comes next, after the group
            self.out.insert(self.element, "(?:")
            self.give(taken, taken + ")")


def _is_one(count: re.Match[str]) -> bool:
    low, high = count[1], count[3] if count[2] else count[1]
    return low.lstrip("0") == high.lstrip("0") == "1"


def _flagged(on: str, off: str) -> str:
    """Return the beginning of a group with flags, in fastbpe's syntax."""
    on, off = (flags.replace("m", "s").replace("x", "") for flags in (on, off))
    return f"(?{on}-{off}" if off else f"(?{on}"

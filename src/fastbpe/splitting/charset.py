"""Sets of Unicode 16.0.0 characters, for the classes of split patterns.

tiktoken and tokenizers classify characters by Unicode 16.0.0. Python's tables and the `regex` package may have
another version, so all data comes from unicode_tables.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import accumulate, groupby
from types import MappingProxyType

from fastbpe.splitting import _ranges, unicode_tables

MAX_CODE_POINT = 0x10FFFF
FIRST_SURROGATE, LAST_SURROGATE = 0xD800, 0xDFFF

Range = tuple[int, int]

_CATEGORY_NAMES = {
    "c": "other", "cc": "control cntrl", "cf": "format", "cn": "unassigned", "co": "privateuse",
    "cs": "surrogate",
    "l": "letter", "lc": "casedletter", "ll": "lowercaseletter", "lm": "modifierletter", "lo": "otherletter",
    "lt": "titlecaseletter", "lu": "uppercaseletter",
    "m": "mark combiningmark", "mc": "spacingmark", "me": "enclosingmark", "mn": "nonspacingmark",
    "n": "number", "nd": "decimalnumber digit", "nl": "letternumber", "no": "othernumber",
    "p": "punctuation punct", "pc": "connectorpunctuation", "pd": "dashpunctuation", "pe": "closepunctuation",
    "pf": "finalpunctuation", "pi": "initialpunctuation", "po": "otherpunctuation", "ps": "openpunctuation",
    "s": "symbol", "sc": "currencysymbol", "sk": "modifiersymbol", "sm": "mathsymbol", "so": "othersymbol",
    "z": "separator", "zl": "lineseparator", "zp": "paragraphseparator", "zs": "spaceseparator",
}  # fmt: skip


class CharSet:
    """An immutable set of characters (code points without the surrogates) as sorted ranges.

    >>> letters = CharSet.category("L")
    >>> "é" in letters, "1" in letters
    (True, False)
    >>> (letters & CharSet.from_ranges([(0, 127)])).ranges
    ((65, 90), (97, 122))
    """

    __slots__ = ("_hash", "ranges")

    #: Sorted, disjoint, not adjacent; both ends belong to the range.
    ranges: tuple[Range, ...]
    _hash: int

    def __init__(self, ranges: tuple[Range, ...]) -> None:
        """Create a set from ranges in the form of `ranges`; use `from_ranges` for other ranges."""
        object.__setattr__(self, "ranges", ranges)
        object.__setattr__(self, "_hash", hash(ranges))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a CharSet does not change; make a new one with |, &, - or ^")

    @classmethod
    def from_ranges(cls, ranges: Iterable[Range]) -> CharSet:
        """Create a set from ranges in any order; surrogates are left out.

        >>> CharSet.from_ranges([(98, 99), (97, 97)])
        CharSet('a-c')
        """
        return cls(_ranges.merged(ranges))

    @classmethod
    def of(cls, characters: str) -> CharSet:
        """Create a set of the characters of a string.

        >>> CharSet.of("cab")
        CharSet('a-c')
        """
        return cls.from_ranges((ord(character), ord(character)) for character in characters)

    @staticmethod
    def category(name: str) -> CharSet:
        """Return a general category by its short or long name: `L`, `Lu`, `Letter`, `uppercase_letter`.

        Raises KeyError for an unknown name.
        """
        return _category(_category_codes()[_loose(name)])

    @staticmethod
    def property(name: str) -> CharSet:
        r"""Return the set for `\p{name}`: a general category, a script, or one of 29 binary properties.

        Case, spaces, hyphens and underscores are ignored, and so is `is` before the name. The name may follow
        `gc=` or `script=` (`sc=`), with `:` for `=`; `!=` means all other characters. Raises KeyError for an
        unknown name.
        """
        return _property(name)

    @staticmethod
    def white_space() -> CharSet:
        r"""Return the 25 characters of `\s`."""
        return _decoded("WHITE_SPACE")

    @staticmethod
    def digit() -> CharSet:
        r"""Return the characters of `\d`: category Nd."""
        return _category("nd")

    @staticmethod
    def word() -> CharSet:
        r"""Return the characters of `\w` in Rust's regex: Alphabetic, categories M, Nd and Pc, and two joiners."""
        return _word()

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet.from_ranges((*self.ranges, *other.ranges))

    def __and__(self, other: CharSet) -> CharSet:
        return CharSet(_ranges.common(self.ranges, other.ranges))

    def __sub__(self, other: CharSet) -> CharSet:
        return self & ~other

    def __xor__(self, other: CharSet) -> CharSet:
        return (self | other) - (self & other)

    def __invert__(self) -> CharSet:
        """Return the characters that are not in the set; surrogates are in neither."""
        return CharSet(_ranges.others(self.ranges))

    def case_closure(self) -> CharSet:
        """Return the set together with every character that differs from a member only by case.

        >>> sorted("k" + "K" + "\\u212a") == sorted(CharSet.of("k").case_closure())
        True
        """
        return _case_closure(self)

    def __contains__(self, character: str | int) -> bool:
        code_point = ord(character) if isinstance(character, str) else character
        index = bisect_right(self.ranges, (code_point, MAX_CODE_POINT)) - 1
        return index >= 0 and self.ranges[index][0] <= code_point <= self.ranges[index][1]

    def __iter__(self) -> Iterator[str]:
        for low, high in self.ranges:
            yield from map(chr, range(low, high + 1))

    def __len__(self) -> int:
        return sum(high - low + 1 for low, high in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __eq__(self, other: object) -> bool:
        return self.ranges == other.ranges if isinstance(other, CharSet) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[CharSet], tuple[tuple[Range, ...]]]:
        return CharSet, (self.ranges,)

    def __repr__(self) -> str:
        shown = [_show(low) if low == high else f"{_show(low)}-{_show(high)}" for low, high in self.ranges]
        more = f" and {len(shown) - 8} ranges more" if len(shown) > 8 else ""
        return f"CharSet({' '.join(shown[:8])!r}{more})"


@cache
def blanks() -> str:
    r"""Return the characters of `\s`, for `str.strip`."""
    return "".join(CharSet.white_space())


def _show(code_point: int) -> str:
    return chr(code_point) if 0x21 <= code_point <= 0x7E else f"U+{code_point:04X}"


def _loose(name: str) -> str:
    """Return a property name in the form for loose matching (UAX #44)."""
    plain = "".join(character for character in name.lower() if character not in " _-\t")
    # "isc" is no class C: in Unicode, it is short for the property ISO_Comment.
    return plain[2:] if plain.startswith("is") and plain != "isc" else plain


@cache
def _decoded(table: str) -> CharSet:
    """Decode a table of `gap.length`."""
    return unpacked(getattr(unicode_tables, table))


def unpacked(table: str) -> CharSet:
    """Decode ranges of a table: `gap.length` in base 36; the gap is counted from the end of the previous range."""
    return CharSet(_ranges.unpacked(table))


@cache
def _category_codes() -> Mapping[str, str]:
    """Map every loose name of a category to its code."""
    codes = {code: code for code in _CATEGORY_NAMES}
    codes |= {name: code for code, names in _CATEGORY_NAMES.items() for name in names.split()}
    return MappingProxyType(codes)


@cache
def _category(code: str) -> CharSet:
    return _categories("lu", "ll", "lt") if code == "lc" else _categories(code)


def _categories(*codes: str) -> CharSet:
    """Return the characters of several general categories."""
    return CharSet(_ranges.of_names(unicode_tables.CATEGORY_RUNS, 2, *codes))


@cache
def _script(loose_name: str) -> CharSet:
    code_of: dict[str, str] = {"qaac": "copt", "qaai": "zinh"}  # Unicode's second codes of two scripts
    for pair in unicode_tables.SCRIPT_NAMES.split():
        code, name = pair.split(":")
        code_of[code] = code_of[name] = code
    return CharSet(_ranges.of_names(unicode_tables.SCRIPT_RUNS, 4, code_of[loose_name])) - without_script()


@cache
def without_script() -> CharSet:
    """Return the characters without a script: unassigned characters, and characters for private use."""
    return _categories("cn", "co")


@cache
def scripts_in_order() -> tuple[list[int], list[str]]:
    """Return the first code point of each run, and the run's script: capitalized, "" for surrogates.

    Characters without a script belong to the run before them. The last entry, 0x110000 with "", ends the last run.
    """
    names = dict(pair.split(":") for pair in unicode_tables.SCRIPT_NAMES.split())
    words = unicode_tables.SCRIPT_RUNS.split()
    starts = accumulate((int(word[4:], 36) for word in words), initial=0)
    return [*starts], [*(names.get(word[:4].lower(), "").capitalize() for word in words), ""]


def script_of(character: str) -> str:
    """Return the script of a character, such as `Latin`, `Han` or `Common`; "" for a character without a script.

    >>> script_of("é"), script_of("漢"), script_of("1")
    ('Latin', 'Han', 'Common')
    """
    if character in without_script():
        return ""
    starts, scripts = scripts_in_order()
    return scripts[bisect_right(starts, ord(character)) - 1]


@cache
def _alphabetic() -> CharSet:
    return _categories("l", "nl") | _decoded("OTHER_ALPHABETIC")


@cache
def _word() -> CharSet:
    joiners = CharSet.of("\u200c\u200d")
    return _categories("l", "m", "nd", "nl", "pc") | _decoded("OTHER_ALPHABETIC") | joiners


@cache
def _lowercase() -> CharSet:
    return _category("ll") | _decoded("OTHER_LOWERCASE")


@cache
def _uppercase() -> CharSet:
    return _category("lu") | _decoded("OTHER_UPPERCASE")


ANY = CharSet.from_ranges([(0, MAX_CODE_POINT)])

#: Binary properties that `unicode_tables.BINARY_PROPERTIES` does not list.
_YES_OR_NO: Mapping[str, Callable[[], CharSet]] = MappingProxyType({
    "any": lambda: ANY,
    "ascii": lambda: CharSet(((0, 0x7F),)),
    "assigned": lambda: ~_category("cn"),
    "alphabetic": _alphabetic, "alpha": _alphabetic,
    "lowercase": _lowercase, "lower": _lowercase,
    "uppercase": _uppercase, "upper": _uppercase,
    "whitespace": CharSet.white_space, "wspace": CharSet.white_space, "space": CharSet.white_space,
})  # fmt: skip


@cache
def _binary_properties() -> Mapping[str, tuple[str, list[str]]]:
    """Map the long and short name of each property in the table to its long name and the words of its ranges."""
    found: dict[str, tuple[str, list[str]]] = {}
    words: list[str] = []
    for word in unicode_tables.BINARY_PROPERTIES.split():
        if word.endswith(":"):
            words = []
            name, _, short = word[:-1].partition(".")
            found[name] = found[short] = name, words
        else:
            words.append(word)
    return MappingProxyType(found)


@cache
def _binary_property(loose_name: str) -> CharSet:
    name, words = _binary_properties()[loose_name]
    listed = unpacked(" ".join(words))  # for the two below: the differences from their categories
    if name.endswith("idstart"):
        return listed ^ _categories("l", "nl")
    if name.endswith("idcontinue"):
        return listed ^ _categories("l", "mc", "mn", "nd", "nl", "pc")
    return listed


@lru_cache(maxsize=1024)
def _property(name: str) -> CharSet:
    for separator in ("!=", "=", ":"):  # "!=" first: it contains "="
        kind, found, value = name.partition(separator)
        if found:
            members = _named_kind(_loose(kind), _loose(value))
            return ~members if separator == "!=" else members
    loose_name = _loose(name)
    if loose_name in _category_codes():
        return _category(_category_codes()[loose_name])
    if loose_name in _YES_OR_NO:
        return _YES_OR_NO[loose_name]()
    if loose_name in _binary_properties():
        return _binary_property(loose_name)
    return _script(loose_name)


def _named_kind(kind: str, value: str) -> CharSet:
    if kind in ("gc", "generalcategory"):
        return _category(_category_codes()[value])
    if kind in ("sc", "script"):
        return _script(value)
    raise KeyError(kind)


@cache
def _alike() -> tuple[list[int], list[list[int]]]:
    """Return the characters that have case variants, sorted, and the variants of each."""
    variants: dict[int, list[int]] = {}
    for word in unicode_tables.CASE_PAIRS.split():
        first, count, step, distance = (int(number, 36) for number in word.split("."))
        for code_point in range(first, first + count * step, step):
            variants[code_point] = [code_point + distance]
            variants[code_point + distance] = [code_point]
    for word in unicode_tables.CASE_CLASSES.split():
        members = [int(number, 16) for number in word.split("+")]
        for code_point in members:
            variants[code_point] = [other for other in members if other != code_point]
    cased = sorted(variants)
    return cased, [variants[code_point] for code_point in cased]


@lru_cache(maxsize=1024)
def _case_closure(characters: CharSet) -> CharSet:
    cased, variants = _alike()
    added = set()
    for low, high in characters.ranges:
        for index in range(bisect_right(cased, low - 1), bisect_right(cased, high)):
            added.update(variants[index])
    # Make ranges of neighbours first: a closure of all letters adds some 1,400 single characters.
    ranges = []
    for _, run in groupby(enumerate(sorted(added)), key=lambda item: item[1] - item[0]):
        block = [code_point for _, code_point in run]
        ranges.append((block[0], block[-1]))
    return characters | CharSet(tuple(ranges))

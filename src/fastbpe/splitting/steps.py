r"""Pre-tokenizers of Hugging Face tokenizers that only split text, and sequences of them.

A test compares them with tokenizers 0.23 on every code point. A step reads each piece of the previous step as if
it were the whole text: look-around, `^` and `$` do not see beyond the piece. Text that a step removes is gone for
later steps and has no ids.

Pre-tokenizers that change text (`Metaspace`, `ByteLevel(add_prefix_space=True)`) are not here. A pattern that can
match the empty string also splits at its empty matches (`empty_matches`), mostly with the `regex` package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

from fastbpe._core.split.by_character import ByText
from fastbpe._core.split.by_character import FixedLength as FixedLengthSplitter
from fastbpe._core.split.composite import Regrouped, StandIns
from fastbpe._core.split.splitter import Splitter
from fastbpe.errors import PatternError
from fastbpe.patterns import PATTERNS, Pattern, as_regex
from fastbpe.splitting.charset import CharSet
from fastbpe.splitting.empty_matches import make_empty_splitter
from fastbpe.splitting.make import chain, make_splitter, splitter_of_runs
from fastbpe.splitting.oniguruma import from_oniguruma
from fastbpe.splitting.scripts import make_script_splitter
from fastbpe.splitting.to_regex import EmptyMatchError

Behavior: TypeAlias = Literal["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]


# Characters that \p{P} gained after Unicode 8; it lost U+166D and U+111C9. A test compares every code point.
_LATER = (
    "61d 9fd a76 c77 c84 1b4e-1b4f 1b7d-1b7f 2e43-2e4f 2e52-2e5d 10d6e 10ead 10f55-10f59 10f86-10f89 113d4-113d5 "
    "113d7-113d8 1144b-1144f 1145a-1145b 1145d 11660-1166c 116b9 1183b 11944-11946 119e2 11a3f-11a46 11a9a-11a9c "
    "11a9e-11aa2 11b00-11b09 11be1 11c41-11c45 11c70-11c71 11ef7-11ef8 11f43-11f4f 11fff 12ff1-12ff2 16d6d-16d6f "
    "16e97-16e9a 16fe2 1e5ff 1e95e-1e95f"
)


@dataclass(frozen=True, kw_only=True)
class Split:
    r"""`Split(pattern, behavior, invert)`: split at the matches of a pattern.

    >>> make_sequence([Split(pattern=r"\d", behavior="merged_with_previous")]).pieces("ab1c23")
    [(0, 3), (3, 5), (5, 6)]

    Attributes:
        pattern: a regex, read as tokenizers reads it (see `from_oniguruma`).
        behavior: a match becomes a piece ("isolated"), is removed ("removed"), is joined to the text between
            matches right before it ("merged_with_previous") or right after it ("merged_with_next"), or forms one
            piece with adjacent matches ("contiguous").
        invert: first swap the matches and the text between them.
        literal: the pattern is the text to find, not a regex.
    """

    pattern: str
    behavior: Behavior = "isolated"
    invert: bool = False
    literal: bool = False


@dataclass(frozen=True, kw_only=True)
class Digits:
    r"""`Digits(individual_digits)`: each digit is a piece, or each run of digits.

    Digits are defined by Rust's `char::is_numeric`, which uses Unicode 17: \p{N} and 13 more characters.
    """

    individual_digits: bool = False


@dataclass(frozen=True, kw_only=True)
class Punctuation:
    r"""`Punctuation(behavior)`: ASCII's 32 punctuation characters, and \p{P} of Unicode 8."""

    behavior: Behavior = "isolated"


@dataclass(frozen=True, kw_only=True)
class ByteLevel:
    """`ByteLevel(add_prefix_space=False, use_regex)`: GPT-2's pieces, or only its characters for bytes.

    Later steps see, for every byte of the text, its character in GPT-2's files. Some of these are ² and ½, so
    `Digits` splits many Asian characters in two.
    """

    use_regex: bool = True


@dataclass(frozen=True)
class Whitespace:
    r"""`Whitespace()`: words (\w+) and runs of other characters; white space is removed."""


@dataclass(frozen=True)
class WhitespaceSplit:
    """`WhitespaceSplit()`: text between white space, which is removed."""


@dataclass(frozen=True)
class BertPreTokenizer:
    """`BertPreTokenizer()`: text between white space, which is removed; each punctuation mark is a piece."""


@dataclass(frozen=True)
class UnicodeScripts:
    """`UnicodeScripts()`: text of one script. Spaces and characters without a script go with the text before.

    At the start of the text they are removed. See `scripts`.
    """


@dataclass(frozen=True, kw_only=True)
class FixedLength:
    """`FixedLength(length)`: pieces of `length` characters; the last one may be shorter."""

    length: int = 5


Step: TypeAlias = (
    Split
    | Digits
    | Punctuation
    | ByteLevel
    | Whitespace
    | WhitespaceSplit
    | BertPreTokenizer
    | UnicodeScripts
    | FixedLength
)
#: Steps without options.
_PLAIN: Mapping[str, type[Whitespace | WhitespaceSplit | BertPreTokenizer | UnicodeScripts]] = {
    cls.__name__: cls for cls in (Whitespace, WhitespaceSplit, BertPreTokenizer, UnicodeScripts)
}

_BEHAVIORS: Mapping[str, Behavior] = {
    "Isolated": "isolated",
    "Removed": "removed",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}


def step_of(described: Mapping[str, Any]) -> Step:
    """Return the step that an object of a tokenizer.json describes. All its members must be there.

    Raises PatternError for a type that is not in this module.

    >>> step_of({"type": "Digits", "individual_digits": True})
    Digits(individual_digits=True)
    """
    match described:
        case {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}:
            text = next(iter(pattern.values()))
            return Split(
                pattern=text,
                behavior=_BEHAVIORS[behavior],
                invert=invert,
                literal="String" in pattern and text != "",  # tokenizers turns an empty text into an empty regex
            )
        case {"type": "CharDelimiterSplit", "delimiter": delimiter}:
            return Split(pattern=delimiter, behavior="removed", literal=True)
        case {"type": "Digits", "individual_digits": individual_digits}:
            return Digits(individual_digits=individual_digits)
        case {"type": "Punctuation", "behavior": behavior}:
            return Punctuation(behavior=_BEHAVIORS[behavior])
        case {"type": "ByteLevel", "use_regex": use_regex}:
            return ByteLevel(use_regex=use_regex)
        case {"type": "FixedLength", "length": length}:
            return FixedLength(length=length)
        case {"type": kind} if kind in _PLAIN:
            return _PLAIN[kind]()
    raise PatternError(
        f"the pre-tokenizer {described!r:.80} is not known to this version of fastbpe; upgrade fastbpe"
    )


def as_pattern(steps: Sequence[Step]) -> tuple[bool, Pattern]:
    r"""Return (True, regexes that, applied in order, split as the steps do); (False, None) if none are found.

    (True, None): the steps split nothing. Raises PatternError for a regex that cannot be translated.

    >>> as_pattern([Split(pattern=r"\d"), ByteLevel(use_regex=False)])
    (True, '\\d')
    >>> as_pattern([ByteLevel(use_regex=False), Digits()])
    (False, None)
    """
    steps = list(steps)
    if sum(isinstance(step, ByteLevel) for step in steps) > 1:
        return False, None  # `make_sequence` refuses them
    if steps and steps[-1] == ByteLevel(use_regex=False):
        steps.pop()
    texts: list[str] = []
    for number, step in enumerate(steps):
        if isinstance(step, Split) and step.behavior == "isolated":
            texts.append(_escaped(step.pattern) if step.literal else as_regex(from_oniguruma(step.pattern)))
        elif isinstance(step, ByteLevel) and step.use_regex and number == len(steps) - 1:
            gpt2 = PATTERNS["gpt2"]
            assert isinstance(gpt2, str)  # for type checkers: other names stand for several patterns
            texts.append(gpt2)
        else:
            return False, None
    return True, (texts[0] if len(texts) == 1 else tuple(texts) or None)


def make_sequence(steps: Sequence[Step]) -> Splitter:
    r"""Return a splitter that splits text by the first step, each piece by the next, and so on.

    >>> steps = [Split(pattern=" ", literal=True, behavior="removed"), Digits(individual_digits=True)]
    >>> make_sequence(steps).pieces("no 42")
    [(0, 2), (3, 4), (4, 5)]

    Without steps, the whole text is a piece. Raises PatternError if a pattern cannot be used, or cannot be
    translated from tokenizers' syntax; for a second `ByteLevel`; and for more than `make.MAX_STEPS` steps,
    where all steps after a `ByteLevel` count as one, and have the same limit among themselves.
    """
    places = [number for number, step in enumerate(steps) if isinstance(step, ByteLevel)]
    if len(places) > 1:
        raise PatternError(
            "two ByteLevel steps: the second would convert bytes to characters again; leave one out"
        )
    splitters = [_splitter(step) for step in steps]
    if places and places[0] + 1 < len(steps):
        after = places[0] + 1
        splitters[after:] = [StandIns(chain(splitters[after:]))]
    return chain(splitters)


def _splitter(step: Step) -> Splitter:
    if isinstance(step, Split):
        if step.literal:
            return _regrouped(_escaped(step.pattern), step.behavior, step.invert)
        pattern = from_oniguruma(step.pattern)
        try:
            return _regrouped(pattern, step.behavior, step.invert)
        except EmptyMatchError:
            return make_empty_splitter(pattern, step.behavior, invert=step.invert)
    if isinstance(step, Digits):
        return splitter_of_runs((_numeric(), step.individual_digits), keep_gaps=True)
    if isinstance(step, Punctuation):
        marks = splitter_of_runs((_punctuation(), True), keep_gaps=step.behavior == "isolated")
        return marks if step.behavior == "isolated" else Regrouped(marks, step.behavior)
    if isinstance(step, ByteLevel):
        return make_splitter(PATTERNS["gpt2"] if step.use_regex else None)
    if isinstance(step, Whitespace):
        word = CharSet.word()
        return splitter_of_runs((word, False), (~(word | CharSet.white_space()), False))
    if isinstance(step, WhitespaceSplit):
        return splitter_of_runs((~CharSet.white_space(), False))
    if isinstance(step, BertPreTokenizer):
        mark = _punctuation()
        return splitter_of_runs((mark, True), (~(mark | CharSet.white_space()), False))
    if isinstance(step, UnicodeScripts):
        return make_script_splitter()
    return FixedLengthSplitter(step.length)


def _regrouped(pattern: str, behavior: Behavior, invert: bool = False) -> Splitter:
    if behavior == "isolated":  # `invert` changes nothing
        return make_splitter(pattern)
    matches = make_splitter(pattern, drop_unmatched=True)
    if behavior == "removed" and invert:
        return matches
    return Regrouped(matches, behavior, invert=invert)


def literal_matches(text: str) -> Splitter:
    """Create the splitter whose pieces are the occurrences of a text; other text is unmatched."""
    return ByText(text.encode(), "matches")


def _escaped(text: str) -> str:
    """Return a pattern that matches a text literally."""
    return "".join(rf"\x{{{ord(character):x}}}" for character in text)


@cache
def _numeric() -> CharSet:
    return CharSet.category("N") | CharSet.from_ranges([(0x11DE0, 0x11DE9), (0x16FF4, 0x16FF6)])


@cache
def _punctuation() -> CharSet:
    later = CharSet.from_ranges(
        (int(low, 16), int(high or low, 16)) for low, _, high in (word.partition("-") for word in _LATER.split())
    )
    return CharSet.category("P") - later | CharSet.of("$+<=>^`|~\u166d\U000111c9")

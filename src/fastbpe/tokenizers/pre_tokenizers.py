"""Pre-tokenizers, as in the module `pre_tokenizers` of tokenizers."""

from __future__ import annotations

from fastbpe.formats.byte_level import BYTE_OF_CHARACTER
from fastbpe.formats.huggingface.decoder_json import metaspace
from fastbpe.huggingface.checked_arguments import character, number, of_type
from fastbpe.tokenizers.components import Component, Indexed, field, finder, flat, pattern_field, plain
from fastbpe.tokenizers.components import behavior as _checked_behavior
from fastbpe.tokenizers.components import pattern as _pattern
from fastbpe.tokenizers.pre_tokenized_string import PreTokenizedString

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

__all__ = [
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "PreTokenizer",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
]

SCHEMES = ("first", "never", "always")


class PreTokenizer(Component):
    """Base of all pre-tokenizers."""

    written_name = "PreTokenizer"

    def pre_tokenize_str(self, s: str) -> list[tuple[str, tuple[int, int]]]:
        """Split a text, and return each piece with its start and end in the text.

        Args:
            s: the text.

        Raises:
            TypeError: it is not a str.
            UnicodeEncodeError: it has a lone surrogate.
            PatternError: fastbpe cannot run the pattern.

        >>> from fastbpe.tokenizers import pre_tokenizers
        >>> pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str("a bc")
        [('a', (0, 1)), ('Ġbc', (1, 4))]
        """
        whole = PreTokenizedString(s)
        whole.apply(flat(self.described()))
        return [(text, span) for text, span, _ in whole.get_splits()]

    def pre_tokenize(self, pretok: PreTokenizedString) -> None:
        """Split the pieces of a `PreTokenizedString`, in place. Raises TypeError for any other object.

        >>> from fastbpe.tokenizers import PreTokenizedString, pre_tokenizers
        >>> text = PreTokenizedString("a bc")
        >>> pre_tokenizers.Whitespace().pre_tokenize(text)
        >>> text.get_splits()
        [('a', (0, 1), None), ('bc', (2, 4), None)]
        """
        of_type(pretok, PreTokenizedString).apply(flat(self.described()))

    @staticmethod
    def custom(pretok: Any) -> PreTokenizer:
        """Create a pre-tokenizer from an object written in Python. It cannot be saved or pickled.

        Args:
            pretok: object with a method `pre_tokenize`, which takes a `PreTokenizedString` and splits it.

        >>> class Halves:
        ...     def pre_tokenize(self, text):
        ...         text.split(lambda i, piece: [piece[:2], piece[2:]])
        >>> from fastbpe.tokenizers import pre_tokenizers
        >>> pre_tokenizers.PreTokenizer.custom(Halves()).pre_tokenize_str("abcd")
        [('ab', (0, 2)), ('cd', (2, 4))]
        """
        made = PreTokenizer.__new__(PreTokenizer)
        made.written = pretok
        return made


class ByteLevel(PreTokenizer):
    """Turn texts into bytes, written as GPT-2's characters.

    Args:
        add_prefix_space: put a space before texts that do not begin with one.
        trim_offsets: has no effect here: the post-processor trims offsets.
        use_regex: split texts with GPT-2's pattern.
        ignored: other arguments have no effect.
    """

    kind = "ByteLevel"
    fields: ClassVar[Mapping[str, type]] = {"add_prefix_space": bool, "trim_offsets": bool, "use_regex": bool}
    defaults: ClassVar[Mapping[str, Any]] = {"use_regex": True}

    def __init__(
        self, add_prefix_space: bool = True, trim_offsets: bool = True, use_regex: bool = True, **ignored: Any
    ) -> None:
        self._set(add_prefix_space=add_prefix_space, trim_offsets=trim_offsets, use_regex=use_regex)

    add_prefix_space = field("add_prefix_space", "Put a space before texts that do not begin with one.")
    trim_offsets = field("trim_offsets", "Has no effect here.")
    use_regex = field("use_regex", "Split by GPT-2's pattern.")

    @staticmethod
    def alphabet() -> list[str]:
        """Return the characters that represent bytes."""
        return [*BYTE_OF_CHARACTER]


def _behavior_field(doc: str) -> Any:
    """Return a property for a behavior; its value is in lower case."""
    as_in_json = field("behavior", doc, _checked_behavior)
    return property(lambda self: str(as_in_json.fget(self)).lower(), as_in_json.fset, None, doc)


class Split(PreTokenizer):
    """Split at occurrences of a string, or at matches of a `Regex`.

    Args:
        pattern: str or `Regex`.
        behavior: "removed", "isolated", "merged_with_previous", "merged_with_next" or "contiguous".
        invert: split at the text between the matches.
    """

    kind = "Split"
    fields: ClassVar[Mapping[str, type]] = {"pattern": dict, "behavior": str, "invert": bool}
    checked: ClassVar[Mapping[str, str]] = {"pattern": "pattern", "behavior": "behavior"}

    def __init__(self, pattern: Any, behavior: str, invert: bool = False) -> None:
        self._set(pattern=_pattern(pattern), behavior=_checked_behavior(behavior), invert=invert)

    pattern = pattern_field()
    behavior = _behavior_field("Handling of the matches, or, with invert, of the text between them.")
    invert = field("invert", "Split at the text between the matches.")


class Digits(PreTokenizer):
    """Split at digits.

    Args:
        individual_digits: make each digit a piece.
    """

    kind = "Digits"
    fields: ClassVar[Mapping[str, type]] = {"individual_digits": bool}

    def __init__(self, individual_digits: bool = False) -> None:
        self._set(individual_digits=individual_digits)

    individual_digits = field("individual_digits", "Make each digit a separate piece.")


class Punctuation(PreTokenizer):
    """Split at punctuation.

    Args:
        behavior: as for `Split`.
    """

    kind = "Punctuation"
    fields: ClassVar[Mapping[str, type]] = {"behavior": str}
    checked: ClassVar[Mapping[str, str]] = {"behavior": "behavior"}
    defaults: ClassVar[Mapping[str, Any]] = {"behavior": "Isolated"}

    def __init__(self, behavior: str = "isolated") -> None:
        self._set(behavior=_checked_behavior(behavior))

    behavior = _behavior_field("Handling of the punctuation.")


Whitespace = plain(
    PreTokenizer, "Whitespace", "Splits into words and runs of other characters, and removes white space."
)
BertPreTokenizer = plain(
    PreTokenizer,
    "BertPreTokenizer",
    "Splits at white space, which is left out, and around each punctuation character.",
)
UnicodeScripts = plain(PreTokenizer, "UnicodeScripts", "Splits where the script changes; Japanese is one script.")
WhitespaceSplit = plain(PreTokenizer, "WhitespaceSplit", "Splits at white space, which is left out.")


class CharDelimiterSplit(PreTokenizer):
    """Split at a character, and remove it.

    Args:
        delimiter: the character.
    """

    kind = "CharDelimiterSplit"
    fields: ClassVar[Mapping[str, type]] = {"delimiter": str}
    checked: ClassVar[Mapping[str, str]] = {"delimiter": "character"}

    def __init__(self, delimiter: str) -> None:
        self._set(delimiter=character(delimiter))

    delimiter = field("delimiter", "Character at which texts are split.", character)


class FixedLength(PreTokenizer):
    """Split into pieces of a fixed number of characters.

    Args:
        length: number of characters of a piece.
    """

    kind = "FixedLength"
    fields: ClassVar[Mapping[str, type]] = {"length": int}
    checked: ClassVar[Mapping[str, str]] = {"length": "number"}
    defaults: ClassVar[Mapping[str, Any]] = {"length": 5}

    def __init__(self, length: int = 5) -> None:
        self._set(length=number(length))

    length = field("length", "Number of characters of a piece.", number)


def scheme(value: Any) -> str:
    """Return a prepend_scheme. Raises ValueError if there is no such scheme."""
    found: str = of_type(value, str)
    if found not in SCHEMES:
        raise ValueError(f"{found:.60} is an unknown variant, should be one of ['first', 'never', 'always']")
    return found


class Metaspace(PreTokenizer):
    """Replace spaces by a character such as U+2581, and split before each of them.

    Args:
        replacement: the character that represents a space.
        prepend_scheme: which pieces get the replacement character at the start if they do not begin with it:
            "always" (all), "first" (the first of a text) or "never".
        split: split before each replacement character.
    """

    kind = "Metaspace"
    fields: ClassVar[Mapping[str, type]] = {"replacement": str, "prepend_scheme": str, "split": bool}

    def __init__(self, replacement: str = "\u2581", prepend_scheme: str = "always", split: bool = True) -> None:
        self._set(replacement=character(replacement), prepend_scheme=scheme(prepend_scheme), split=split)

    @classmethod
    def from_state(cls, described: Mapping[str, Any]) -> Metaspace:
        return super().from_state(metaspace(described, ""))  # "": see `found_at`

    replacement = field("replacement", "Character that represents a space.", character)
    prepend_scheme = field(
        "prepend_scheme", "Pieces that get the replacement character at the start: always, first or never.", scheme
    )
    split = field("split", "Split before each replacement character.")


class Sequence(Indexed, PreTokenizer):
    """Several pre-tokenizers, applied in order.

    Args:
        pre_tokenizers: list of pre-tokenizers.
    """

    key = "pretokenizers"
    base = PreTokenizer

    def __init__(self, pre_tokenizers: list[Any]) -> None:
        super().__init__(pre_tokenizers)


find = finder(
    "pre-tokenizer",
    *(ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit),
    *(BertPreTokenizer, FixedLength, UnicodeScripts, Metaspace, Sequence),
)
Sequence.find = staticmethod(find)

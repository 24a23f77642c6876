"""Normalizers, as in the module `normalizers` of tokenizers."""

from __future__ import annotations

from fastbpe.formats.huggingface.step_parts import typed_normalizer
from fastbpe.huggingface.checked_arguments import of_type, sequence
from fastbpe.tokenizers.components import WRITTEN, Component, Indexed, field, finder, flat, pattern_field, plain
from fastbpe.tokenizers.components import pattern as _pattern
from fastbpe.tokenizers.normalized_string import NormalizedString

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

__all__ = [
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "NORMALIZERS",
    "BertNormalizer",
    "ByteLevel",
    "Lowercase",
    "Nmt",
    "Normalizer",
    "Precompiled",
    "Prepend",
    "Replace",
    "Sequence",
    "Strip",
    "StripAccents",
    "unicode_normalizer_from_str",
]


class Normalizer(Component):
    """Base of all normalizers."""

    written_name = "Normalizer"

    def normalize_str(self, sequence: str) -> str:
        """Normalize a text.

        Args:
            sequence: the text.

        Raises:
            TypeError: it is not a str.
            UnicodeEncodeError: it has a lone surrogate.
            PatternError: fastbpe cannot run the regex of a Replace.

        >>> from fastbpe.tokenizers import normalizers
        >>> normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]).normalize_str("é")
        'e'
        """
        sequence = of_type(sequence, str)
        steps = flat(self.described())
        if any(step["type"] == WRITTEN for step in steps):
            text = NormalizedString(sequence)
            text.normalize_by(steps)
            return text.normalized
        from fastbpe.normalization.huggingface import make_change  # here: few programs need it

        change = make_change(steps)
        return sequence if change is None else change(sequence)

    def normalize(self, normalized: NormalizedString) -> None:
        """Normalize a `NormalizedString`, in place. Raises TypeError for any other object.

        >>> from fastbpe.tokenizers import NormalizedString, normalizers
        >>> text = NormalizedString("\ufb01n")
        >>> normalizers.NFKC().normalize(text)
        >>> text
        NormalizedString(original="\ufb01n", normalized="fin")
        """
        of_type(normalized, NormalizedString).normalize_by(flat(self.described()))

    @staticmethod
    def custom(obj: Any) -> Normalizer:
        """Create a normalizer from an object written in Python. It cannot be saved or pickled.

        Args:
            obj: object with a method `normalize`, which takes a `NormalizedString` and changes it. The method must
                not keep the string.

        >>> class Joined:
        ...     def normalize(self, text):
        ...         text.replace("-", "")
        >>> from fastbpe.tokenizers import normalizers
        >>> normalizers.Normalizer.custom(Joined()).normalize_str("to-day")
        'today'
        """
        made = Normalizer.__new__(Normalizer)
        made.written = obj
        return made


NFC = plain(Normalizer, "NFC", "Unicode's form NFC.")
NFD = plain(Normalizer, "NFD", "Unicode's form NFD.")
NFKC = plain(Normalizer, "NFKC", "Unicode's form NFKC.")
NFKD = plain(Normalizer, "NFKD", "Unicode's form NFKD.")
Lowercase = plain(Normalizer, "Lowercase", "Makes texts lower case.")
StripAccents = plain(Normalizer, "StripAccents", "Removes combining marks, such as those that NFD separates.")
ByteLevel = plain(Normalizer, "ByteLevel", "Replaces each character by GPT-2's characters for its bytes.")
Nmt = plain(
    Normalizer,
    "Nmt",
    "Removes control characters; tabs, line endings, zero-width characters, U+1680, U+2581, U+FFFD become spaces.",
)


class BertNormalizer(Normalizer):
    """Normalizer of BERT.

    Args:
        clean_text: remove control characters, and turn all white space into spaces.
        handle_chinese_chars: put spaces around Chinese characters.
        strip_accents: remove accents; None: only if lowercase is True.
        lowercase: make texts lower case.
    """

    kind = "BertNormalizer"
    fields: ClassVar[Mapping[str, Any]] = {
        "clean_text": bool,
        "handle_chinese_chars": bool,
        "strip_accents": (bool, type(None)),
        "lowercase": bool,
    }
    defaults: ClassVar[Mapping[str, Any]] = {"strip_accents": None}

    def __init__(
        self,
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
    ) -> None:
        self._set(
            clean_text=clean_text,
            handle_chinese_chars=handle_chinese_chars,
            strip_accents=strip_accents,
            lowercase=lowercase,
        )

    clean_text = field("clean_text", "Remove control characters, and turn all white space into spaces.")
    handle_chinese_chars = field("handle_chinese_chars", "Put spaces around Chinese characters.")
    strip_accents = field("strip_accents", "Remove accents; None: only if lowercase is True.")
    lowercase = field("lowercase", "Make texts lower case.")


class Strip(Normalizer):
    """Remove white space at the ends of a text.

    Args:
        left: remove it at the start.
        right: remove it at the end.
    """

    kind = "Strip"
    fields: ClassVar[Mapping[str, type]] = {"strip_left": bool, "strip_right": bool}

    def __init__(self, left: bool = True, right: bool = True) -> None:
        self._set(strip_left=left, strip_right=right)

    left = field("strip_left", "Strip the start.")
    right = field("strip_right", "Strip the end.")


class Prepend(Normalizer):
    """Put a text before each text that is not empty.

    Args:
        prepend: the text to put there.
    """

    kind = "Prepend"
    fields: ClassVar[Mapping[str, type]] = {"prepend": str}

    def __init__(self, prepend: str = "\u2581") -> None:
        self._set(prepend=prepend)

    prepend = field("prepend", "Text that is put before each text.")


class Replace(Normalizer):
    """Replace each occurrence of a text, or each match of a `Regex`.

    Args:
        pattern: str or `Regex`.
        content: replacement text.
    """

    kind = "Replace"
    fields: ClassVar[Mapping[str, type]] = {"pattern": dict, "content": str}
    checked: ClassVar[Mapping[str, str]] = {"pattern": "pattern"}

    def __init__(self, pattern: Any, content: str) -> None:
        self._set(pattern=_pattern(pattern), content=content)

    pattern = pattern_field()
    content = field("content", "Replacement text.")


class Precompiled(Normalizer):
    """Replace characters by the rules of a sentencepiece model, grapheme by grapheme.

    Args:
        precompiled_charsmap: the rules: the field of this name in the model's file, as bytes or as numbers.

    Raises:
        TypeError: it is neither.
        OverflowError: a number is not from 0 to 255.
        FormatError: it is damaged.

    >>> from fastbpe.normalization.sentencepiece_rules import charsmap
    >>> Precompiled(charsmap("nmt_nfkc")).normalize_str("\ufb01n")
    'fin'
    """

    kind = "Precompiled"
    fields: ClassVar[Mapping[str, type]] = {"precompiled_charsmap": str}

    def __init__(self, precompiled_charsmap: bytes) -> None:
        try:
            data = bytes([*sequence(precompiled_charsmap)])
        except ValueError:
            raise OverflowError("precompiled_charsmap must be bytes, or numbers from 0 to 255") from None
        from binascii import b2a_base64  # here, as below: few programs need it

        from fastbpe.normalization.precompiled import checked_charsmap

        self._set(precompiled_charsmap=b2a_base64(checked_charsmap(data), newline=False).decode())

    @classmethod
    def from_state(cls, described: Mapping[str, Any]) -> Precompiled:
        made = super().from_state(described)
        from fastbpe.normalization.huggingface import make_change  # here: few programs need it

        make_change([made.state()])  # checks the charsmap
        return made


class Sequence(Indexed, Normalizer):
    """Several normalizers, applied in order.

    Args:
        normalizers: list of normalizers.
    """

    key = "normalizers"
    base = Normalizer

    def __init__(self, normalizers: list[Any]) -> None:
        super().__init__(normalizers)

    def __len__(self) -> int:
        return len(self._steps)


find = finder(
    "normalizer",
    *(NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, ByteLevel, Nmt),
    *(Precompiled, BertNormalizer, Strip, Prepend, Replace, Sequence),
    typed=lambda part: typed_normalizer(part).value,
)
Sequence.find = staticmethod(find)

#: Unicode's normalization forms by name.
NORMALIZERS = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """Return the normalizer for a Unicode normalization form by name. Raises ValueError for an unknown name."""
    if normalizer not in NORMALIZERS:
        raise ValueError(
            f"{normalizer!s:.60} is not a known unicode normalizer. Available are {NORMALIZERS.keys()}"
        )
    return NORMALIZERS[normalizer]()

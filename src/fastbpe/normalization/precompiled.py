"""Precompiled of tokenizers: the rules of a sentencepiece model, applied grapheme by grapheme.

A grapheme is a character with its combining marks and so on (UAX #29). If it has fewer than six bytes, it is
looked up: of the rules whose source is a prefix of it, the one with the shortest source replaces all of it. If
there is no such rule, each of its characters is replaced separately. sentencepiece matches the longest source
anywhere, so it differs from tokenizers on marks. Tests compare this module with tokenizers 0.23 for all rules that
fastbpe contains.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import cache

from fastbpe._core.normalize.grapheme_rules import GraphemeRules
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe.errors import FormatError
from fastbpe.formats.charsmap import Charsmap
from fastbpe.splitting.charset import CharSet, unpacked

_MAX_BYTES = 5  # longest grapheme that is looked up
_MAX_KEPT = 4096  # characters for which a step keeps the replacement


class Precompiled:
    """Step that replaces characters by the rules of a charsmap in base64. Raises FormatError if it is damaged.

    >>> from fastbpe.normalization.sentencepiece_rules import charsmap
    >>> Precompiled(base64.b64encode(charsmap("nmt_nfkc")).decode())("\ufb01n\u3000½")
    'fin 1⁄2'
    """

    def __init__(self, encoded: str) -> None:
        try:
            data = base64.b64decode(encoded, validate=True)
        except ValueError as error:  # binascii.Error is one
            raise FormatError(f"precompiled_charsmap is not base64: {error}") from None
        self._rules = Charsmap(checked_charsmap(data))
        self._characters = _Characters(self._rules)
        self.compiled = GraphemeRules(data, _classes(), self.parts, self.sources)

    def __call__(self, text: str) -> str:
        if not _several().search(text):
            return text.translate(self._characters)
        return "".join(target for _, target in self.parts(text))

    def changes(self, text: str) -> list[tuple[str, int]]:
        """Return each new character and its change, in the form of `NormalizedString.transform` of tokenizers.

        The change is 0 for a character that replaces one, 1 for an added one, and -n for one that replaces n + 1
        characters.
        """
        made: list[tuple[str, int]] = []
        for source, target in self.parts(text):
            made += [(character, int(i >= len(source))) for i, character in enumerate(target)]
            removed = len(source) - len(target)
            if removed > 0 and made:  # at the beginning of a text they are not counted, as in tokenizers
                made[-1] = made[-1][0], made[-1][1] - removed
        return made

    def sources(self, text: str, normalized: str = "") -> list[int]:
        """Return for each character of the normalized text the index of the character of `text` it comes from.

        The indices equal tokenizers', which does not count characters removed at the beginning of a text.
        """
        found: list[int] = []
        at = 0
        for _, change in self.changes(text):
            found.append(at - 1 if change > 0 else at)
            at += 0 if change > 0 else 1 - change
        return found

    def parts(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each part of a text with its replacement; an unchanged character is its own replacement."""
        for match in _grapheme().finditer(text):
            whole = match[0]
            if len(whole) > 1 and len(whole.encode()) <= _MAX_BYTES:
                target = self._rules.shortest(whole)
                if target is not None:
                    yield whole, target
                    continue
            for character in whole:
                yield character, self._characters[ord(character)]


class _Characters(dict[int, str]):
    """Table for str.translate: code point → its target, or itself."""

    def __init__(self, rules: Charsmap) -> None:
        super().__init__()
        self._rules = rules

    def __missing__(self, code: int) -> str:
        found = self._rules.shortest(chr(code))
        target = chr(code) if found is None else found
        if len(self) < _MAX_KEPT:
            self[code] = target
        return target


def checked_charsmap(charsmap: bytes) -> bytes:
    """Check and return a charsmap. Raises FormatError if it is empty or damaged, or a target is not UTF-8."""
    if not charsmap:  # tokenizers refuses it; for `Normalizer` it means no rules
        raise FormatError("precompiled_charsmap is empty")
    # Creating it checks the double array.
    Normalizer(charsmap, add_dummy_prefix=False, remove_extra_whitespaces=False, escape_whitespaces=False)
    try:
        charsmap[4 + int.from_bytes(charsmap[:4], "little") :].decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"precompiled_charsmap: a replacement is not UTF-8: {error}") from None
    return charsmap


@cache
def _several() -> re.Pattern[str]:
    """Return a pattern that matches in every grapheme of several characters and fewer than six bytes.

    Syllables of Hangul, flags, joined consonants and joined pictures have six bytes or more.
    """
    return re.compile(rf"\r\n|[{_class('JOINING', 'PREPENDED')}]")


@cache
def _grapheme() -> re.Pattern[str]:
    """Return the pattern of a grapheme, by the rules of UAX #29 and the classes of tokenizers."""
    joining, breaks = _class("JOINING"), _class("BREAKS")
    extending, picture = _class("EXTENDING"), _class("PICTURES")
    vowel, lead, tail = _class("VOWELS"), _class("LEADS"), _class("TAILS")
    open_syllable = "".join(map(chr, range(0xAC00, 0xD7A4, 28)))
    hangul = (
        rf"[{lead}]*(?:[{vowel}]+|[{open_syllable}][{vowel}]*|(?![{open_syllable}])[\uac00-\ud7a3])[{tail}]*"
        rf"|[{lead}]+|[{tail}]+"
    )
    # Between two consonants, there may be a linker and extending characters, except U+200C.
    consonant, linker = _class("CONSONANTS"), _class("LINKERS")
    between = rf"(?!\u200c)[{extending}\u200d]"
    conjunct = rf"[{consonant}](?:(?:(?![{linker}]){between})*[{linker}](?:{between})*[{consonant}])*"
    pictures = rf"[{picture}](?:[{extending}]*\u200d[{picture}])*"
    flags = "[\U0001f1e6-\U0001f1ff]{2}"
    return re.compile(
        rf"\r\n|[{breaks}]"
        rf"|[{_class('PREPENDED')}]*(?:{hangul}|{pictures}|{conjunct}|{flags}|[^{breaks}])[{joining}]*"
    )


def _class(*names: str) -> str:
    """Return tables of characters as a character class of a pattern, without the brackets."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _ranges(*names))


def _ranges(*names: str) -> list[tuple[int, int]]:
    return [one for name in names for one in grapheme_class(name).ranges]


def grapheme_class(name: str) -> CharSet:
    """Return the characters in a table."""
    from fastbpe.normalization import huggingface_tables as tables

    found = unpacked(getattr(tables, f"GRAPHEME_{name}"))
    for category in {"JOINING": ("M",), "EXTENDING": ("Mn", "Me")}.get(name, ()):  # the table has the difference
        found ^= CharSet.category(category)
    return found


@cache
def _classes() -> tuple[tuple[int, int, int], ...]:
    """Return (first, last, class) of the characters that continue graphemes, as GraphemeRules needs them.

    The classes are bits 0 to 4: JOINING, PREPENDED, JOINED, HANGUL, FLAG (see grapheme_rules.pyx).
    """
    names = (("JOINING",), ("PREPENDED",), ("CONSONANTS", "PICTURES"), ("LEADS", "VOWELS", "TAILS"))
    found = [(*one, 1 << i) for i, some in enumerate(names) for one in _ranges(*some)]
    return (*found, (0xAC00, 0xD7A3, 1 << 3), (0x1F1E6, 0x1F1FF, 1 << 4))

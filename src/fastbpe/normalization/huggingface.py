"""Normalizers of Hugging Face's tokenizers, which change a text before it is split.

Tests compare them with tokenizers 0.23 on every code point. tokenizers uses the normal forms of Unicode 9 and the
lower case of a later version; both tables are generated (huggingface_tables.py).

A normalizer also returns the sources of a changed text: for each new character, the index of the character from
which it comes according to tokenizers, or -1 if it comes from none. Offsets of tokens are computed from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial, reduce
from typing import TYPE_CHECKING, Any, Protocol

from fastbpe._core.encode.offsets import pieces
from fastbpe._core.normalize.text_steps import Changed, Front, Mapped, TextStep
from fastbpe._core.normalize.unicode_forms import Form
from fastbpe._core.text.bytes_to_unicode import bytes_to_unicode
from fastbpe._utils.caching import cached_property
from fastbpe.errors import PatternError
from fastbpe.normalization.precompiled import Precompiled
from fastbpe.splitting.charset import CharSet, blanks, unpacked

if TYPE_CHECKING:
    from fastbpe._core.split.splitter import Splitter

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
Change = Callable[[str], str]
#: For each character of a changed text, the index of its source in the text, -1: none; None: its own index.
Sources = Sequence[int] | None

# Flags of characters, as in _core/normalize/unicode_forms.pyx; the low byte is the combining class.
_FORWARD = 0x100  # may combine with the next character
_MAYBE = 0x200  # may combine with the previous character
_NEVER = 0x400  # does not occur in the form

_NONE = CharSet(())


class Step(Protocol):
    """One normalizer."""

    def __call__(self, text: str) -> str:
        """Normalize a text."""

    def sources(self, text: str, normalized: str) -> Sources:
        """Return the sources, as defined by tokenizers, of the result of calling this step with a text."""


def make_front(normalizers: Sequence[Mapping[str, Any]], *, prefix_space: bool = False) -> Front | None:
    """Create the compiled object that normalizes text for an encoder; None if there is nothing to do.

    Args:
        normalizers: steps as described in a tokenizer.json.
        prefix_space: put a space before text that does not begin with one.

    Raises:
        PatternError: a normalizer is not known, or the pattern of a Replace cannot be used, or would match
            differently than in tokenizers.
        FormatError: a charsmap is damaged.
    """
    if not normalizers and not prefix_space:
        return None
    only = form(normalizers[0]["type"]) if len(normalizers) == 1 and normalizers[0]["type"] in FORMS else None
    steps = [_compiled(step) for step in _with_joined_maps(make_steps(normalizers))]
    return Front(steps, form=only, prefix_space=prefix_space)


def _with_joined_maps(steps: Iterable[Step]) -> list[Step]:
    """Combine adjacent steps that replace single characters into one."""
    joined: list[Step] = []
    for step in steps:
        last = joined[-1] if joined else None
        both = last.then(step) if isinstance(last, _Each) and isinstance(step, _Each) else None
        if both is not None:
            joined.pop()
        joined.append(both or step)
    return joined


def _compiled(step: Step) -> TextStep:
    """Create the compiled object that is equivalent to a step."""
    match step:
        case _Form():
            return step.form
        case _Each():
            return Mapped(dict(step.table), step.gone.ranges, step.spaced.ranges)
        case Precompiled() if step.compiled.are_utf8:
            return step.compiled
        case _Replace():
            from fastbpe.splitting.steps import literal_matches  # here: few tokenizers replace text

            return _replacing(literal_matches(step.replaced), step.content)
        case _ReplaceMatches() if step.splitter is not None:
            return _replacing(step.splitter, step.content)
    return Changed(step, lambda text: step.sources(text, step(text)))


def _replacing(matches: Splitter, content: str) -> TextStep:
    from fastbpe._core.split.stages import Replaced

    return Replaced(matches, content.encode())


def make_change(normalizers: Sequence[Mapping[str, Any]]) -> Change | None:
    """Return a function that normalizes a text; None if there is nothing to do. Raises the errors of `make_front`.

    >>> make_change([{"type": "Lowercase"}, {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}])("A")
    'b'
    """
    steps = make_steps(normalizers)
    if not steps:
        return None
    return lambda text: _changed(steps, text)


def _changed(steps: Sequence[Step], text: str) -> str:
    return reduce(lambda changed, step: step(changed), steps, text)


def make_steps(normalizers: Sequence[Mapping[str, Any]]) -> list[Step]:
    made: list[Step] = []
    for described in normalizers:
        made += _bert(described) if described["type"] == "BertNormalizer" else [_step(described)]
    return made


def upper_case_step() -> Step:
    """Create the step for `NormalizedString.uppercase` of tokenizers, which no tokenizer.json contains."""
    return _Each(other_case("UPPER"))


def _bert(described: Mapping[str, Any]) -> list[Step]:
    """Create the steps of a BertNormalizer, in its order. By default, lowercasing also strips accents."""
    strips, lowers = described["strip_accents"], described["lowercase"]
    steps: list[Step] = []
    if described["clean_text"]:
        steps.append(_spaces_and_gone("BLANKS", "UNCLEAN"))
    if described["handle_chinese_chars"]:
        steps.append(_Each({}, spaced=_characters_of("IDEOGRAPHS")))
    if lowers if strips is None else strips:
        steps += [_Form(form("NFD")), _Each({}, gone=_characters_of("MARKS"))]
    if lowers:
        steps.append(_Each(other_case("LOWER")))
    return steps


def _step(described: Mapping[str, Any]) -> Step:
    match described:
        case {"type": ("NFC" | "NFD" | "NFKC" | "NFKD") as name}:
            return _Form(form(name))
        case {"type": "Lowercase"}:
            return _Each(other_case("LOWER"))
        case {"type": "PythonLowercase"}:  # from `Symbols.lowers`: no tokenizer.json has it
            return _PythonLower()
        case {"type": "StripAccents"}:
            return _Each({}, gone=_characters_of("ACCENTS"))
        case {"type": "Nmt"}:
            return _spaces_and_gone("NMT_SPACES", "NMT_REMOVED")
        case {"type": "ByteLevel"}:
            return _Bytes()
        case {"type": "Precompiled", "precompiled_charsmap": encoded}:
            return _precompiled(encoded)
        case {"type": "Strip", "strip_left": left, "strip_right": right}:
            return _Strip(left, right)
        case {"type": "Prepend", "prepend": prefix}:
            return _Prepend(prefix)
        case {"type": "Replace", "pattern": {"String": ""}, "content": content}:
            return _ReplaceMatches("", content)
        case {"type": "Replace", "pattern": {"String": text_}, "content": content}:
            return _Replace(text_, content)
        case {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}:
            return _ReplaceMatches(pattern, content)
    raise PatternError(
        f"the normalizer {described!r:.80} is not known to this version of fastbpe; upgrade fastbpe"
    )


@lru_cache(maxsize=4)
def _precompiled(encoded: str) -> Precompiled:
    """Return the step for a charsmap in base64; `release_memory` empties the cache."""
    return Precompiled(encoded)


@dataclass(frozen=True)
class _Form:
    form: Form

    def __call__(self, text: str) -> str:
        return self.form.normalize(text).decode()

    def sources(self, text: str, normalized: str) -> Sources:
        return self.form.sources(text)


@dataclass(frozen=True)
class _Each:
    """Step that replaces single characters. If a character is in several arguments, the first of them counts.

    table: code point → replacement.
    gone: characters to remove.
    spaced: characters that get a space on both sides.
    """

    table: Mapping[int, str]
    gone: CharSet = _NONE
    spaced: CharSet = _NONE

    def __call__(self, text: str) -> str:
        if text.isascii():  # as thousands of added tokens are
            return text.translate(self._ascii)
        if not self.gone and not self.spaced:
            return text.translate(self.table)
        return "".join(map(self.replacement, text))

    @cached_property
    def _ascii(self) -> dict[int, str]:
        """Code point → replacement, for ASCII."""
        return {code: self.replacement(chr(code)) for code in range(128)}

    def replacement(self, character: str) -> str:
        found = self.table.get(ord(character))
        if found is not None:
            return found
        if character in self.gone:
            return ""
        return f" {character} " if character in self.spaced else character

    def then(self, step: _Each) -> _Each | None:
        """Return one step equivalent to this one followed by the next; None if none is found."""
        after = CharSet.from_ranges((code, code) for code in step.table)
        # `step` would have to leave a spaced character and the spaces around it as they are.
        if self.spaced and (after | step.gone | step.spaced) & (self.spaced | CharSet.of(" ")):
            return None
        table = dict(step.table)
        for character in after & self.gone:  # gone before `step` sees it; but in one step, the table would win
            del table[ord(character)]
        table |= {code: step(text) for code, text in self.table.items()}
        return _Each(table, self.gone | step.gone, self.spaced | step.spaced)

    def sources(self, text: str, normalized: str) -> Sources:
        # No step of `make_steps` both removes and adds characters. One of `then` may, but that one is compiled.
        if len(normalized) == len(text):
            return None
        out: list[int] = []
        for i, character in enumerate(text):
            out += [i] * len(self.replacement(character))
        return out


class _PythonLower:
    """Step that makes text lower case as Python does: a final sigma depends on the letters beside it."""

    def __call__(self, text: str) -> str:
        return text.lower()

    def sources(self, text: str, normalized: str) -> Sources:
        return [i for i, character in enumerate(text) for _ in character.lower()]


class _Bytes:
    """Step that replaces characters with GPT-2's characters for their bytes."""

    def __call__(self, text: str) -> str:
        shown = bytes_to_unicode()
        return "".join(map(shown.__getitem__, text.encode()))

    def sources(self, text: str, normalized: str) -> Sources:
        return [i for i, character in enumerate(text) for _ in character.encode()]


class _Strip:
    def __init__(self, left: bool, right: bool) -> None:
        self._left = left
        self._right = right
        self._blanks = blanks()

    def __call__(self, text: str) -> str:
        text = text.lstrip(self._blanks) if self._left else text
        return text.rstrip(self._blanks) if self._right else text

    def sources(self, text: str, normalized: str) -> Sources:
        start = len(text) - len(text.lstrip(self._blanks)) if self._left else 0
        return range(start, start + len(normalized)) if start else None


@dataclass(frozen=True)
class _Prepend:
    prefix: str

    def __call__(self, text: str) -> str:
        return self.prefix + text if text else text

    def sources(self, text: str, normalized: str) -> Sources:
        if not self.prefix and text:  # tokenizers loses the first character's place
            return [-1, *range(1, len(text))]
        return [0] * (len(normalized) - len(text)) + [*range(len(text))]


@dataclass(frozen=True)
class _Replace:
    replaced: str
    content: str

    def __call__(self, text: str) -> str:
        return text.replace(self.replaced, self.content)

    def sources(self, text: str, normalized: str) -> Sources:
        spans = [match.span() for match in re.finditer(re.escape(self.replaced), text)]
        return _replaced(spans, len(text), len(self.content))


class _ReplaceMatches:
    """Step that replaces the matches of a regex."""

    def __init__(self, pattern: str, content: str) -> None:
        from fastbpe.splitting import make_splitter
        from fastbpe.splitting.empty_matches import matches
        from fastbpe.splitting.oniguruma import from_oniguruma
        from fastbpe.splitting.to_regex import EmptyMatchError, compile_regex

        regex = from_oniguruma(pattern)
        #: Its pieces are the matches; None: the pattern may match the empty text.
        self.splitter: Splitter | None = None
        self._find: Callable[[str], Iterable[tuple[int, int]]]
        try:
            self.splitter = make_splitter(regex, drop_unmatched=True)
            self._find = partial(pieces, self.splitter)
        except EmptyMatchError:
            self._find = partial(matches, compile_regex(regex, may_be_empty=True))
        self.content = content

    def __call__(self, text: str) -> str:
        out: list[str] = []
        at = 0
        for start, end in self._spans(text):
            out += text[at:start], self.content
            at = end
        return "".join([*out, text[at:]])

    def _spans(self, text: str) -> list[tuple[int, int]]:
        return [*self._find(text)] if text else []  # tokenizers leaves the empty text as it is

    def sources(self, text: str, normalized: str) -> Sources:
        spans = self._spans(text)
        return _replaced(spans, len(text), len(self.content)) if spans else None


def _replaced(spans: Sequence[tuple[int, int]], n: int, n_content: int) -> list[int]:
    """Return the sources of a text in which each span was replaced.

    The source of a replacement is the index before the span's end; it is -1 for an empty span at index 0.

    n, n_content: numbers of characters of the text, and of the replacement.
    """
    out: list[int] = []
    at = 0
    for start, end in spans:
        out += range(at, start)
        out += [end - 1] * n_content
        at = end
    return [*out, *range(at, n)]


# Each table is unpacked when a tokenizer first needs it.


@cache
def form(name: str) -> Form:
    """Return the step for one of FORMS, as applied by tokenizers."""
    from fastbpe.normalization import huggingface_tables as tables

    orders = tables.ORDERS.split(":")
    parts = [(marks, int(order, 36)) for order, marks in zip(orders[::2], orders[1::2], strict=True)]
    parts.append((tables.NOT[name], _NEVER))
    classes = []
    if name in ("NFC", "NFKC"):
        # Hangul syllables without a final consonant may take one.
        classes = [(syllable, syllable, _FORWARD) for syllable in range(0xAC00, 0xD7A4, 28)]
        parts += [(tables.FORWARD, _FORWARD), (tables.MAYBE, _MAYBE)]
    classes += [(first, last, flag) for table, flag in parts for first, last in unpacked(table).ranges]
    return Form(name, classes)


@cache
def other_case(name: str) -> dict[int, str]:
    """Return code point → its lower or upper case. name: LOWER or UPPER."""
    from fastbpe.normalization import huggingface_tables as tables

    made = {}
    for word in getattr(tables, name).split():
        numbers = [int(number, 36) for number in word.replace("+", ".").split(".")]
        if "+" in word:
            made[numbers[0]] = "".join(map(chr, numbers[1:]))
            continue
        first, count, step, distance = numbers
        for code_point in range(first, first + count * step, step):
            made[code_point] = chr(code_point + distance)
    return made


@cache
def _spaces_and_gone(spaces: str, gone: str) -> _Each:
    """Return the step that turns the characters of one table into spaces, and removes all in another table."""
    from fastbpe.normalization import huggingface_tables as tables

    return _Each(dict.fromkeys(_characters(getattr(tables, spaces)), " "), gone=_characters_of(gone))


@cache
def _characters_of(name: str) -> CharSet:
    """Return the characters in a table."""
    from fastbpe.normalization import huggingface_tables as tables

    return unpacked(getattr(tables, name))


def _characters(table: str) -> Iterator[int]:
    for first, last in unpacked(table).ranges:
        yield from range(first, last + 1)

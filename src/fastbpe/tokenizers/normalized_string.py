"""NormalizedString: a text that is changed step by step, with the position in the original of each character."""

from __future__ import annotations

from operator import index

from fastbpe._utils.arguments import is_text
from fastbpe.errors import FastbpeError
from fastbpe.huggingface.checked_arguments import number, of_type
from fastbpe.tokenizers.components import WRITTEN, call_written
from fastbpe.tokenizers.components import behavior as _behavior
from fastbpe.tokenizers.components import pattern as _pattern
from fastbpe.tokenizers.pieces import Piece, Span, characters_of, places_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

_EMPTY = {"String": ""}  # a pattern


class NormalizedString:
    """Text that is changed step by step, with the position in the original of each character.

    Args:
        sequence: the text.

    Raises:
        TypeError: it is not a str.
        UnicodeEncodeError: it has a lone surrogate.

    >>> from fastbpe.tokenizers import NormalizedString
    >>> text = NormalizedString("\u00c9 b")
    >>> text.nfd()
    >>> text.filter(lambda character: character != "\u0301")
    >>> text.lowercase()
    >>> text.normalized, text.slice(0).original
    ('e b', '\u00c9')
    """

    def __init__(self, sequence: str) -> None:
        self._whole: str = of_type(sequence, str)
        #: The text as it is now, with the position of each character in the whole text.
        self._piece = Piece(self._whole, [(i, i + 1) for i in range(len(self._whole))])
        #: Start and end of the original of this text in the whole text.
        self._span: Span = (0, len(self._whole))

    def part(self, piece: Piece, span: Span | None = None) -> NormalizedString:
        """Return the part of this text that a piece describes.

        span: start and end of the part's origin in the whole original text; None: from the start of its first
            character's origin to the end of its last character's.
        """
        made = NormalizedString.__new__(NormalizedString)
        start = self._span[0]
        found = (piece.spans[0][0], piece.spans[-1][1]) if piece.spans else (start, start)
        made._whole, made._piece, made._span = self._whole, piece, found if span is None else span
        return made

    @property
    def original(self) -> str:
        """The text before all changes."""
        return self._whole[slice(*self._span)]

    @property
    def normalized(self) -> str:
        """The text as it is now."""
        return self._piece.text

    # Changes

    def normalize_by(self, described: Iterable[Mapping[str, Any]]) -> None:
        """Apply the steps that a tokenizer.json describes; a step may also be an object written in Python."""
        for step in described:
            if step["type"] == WRITTEN:
                lent = LentString.__new__(LentString)
                lent.__dict__.update(self.__dict__)
                try:
                    call_written(step["written"], "normalize", lent)
                finally:
                    self.__dict__.update(lent.__dict__)
                    lent.__dict__.clear()
            else:
                self._run(step)

    def _apply(self, steps: Iterable[Any]) -> None:
        for step in steps:
            text, spans = self._piece
            changed = step(text)
            sources = step.sources(text, changed)  # see `normalization.huggingface`
            if sources is None:
                sources = range(len(changed))
            added_at = spans[0][:1] * 2 if spans else (0, 0)  # for a character without a source, -1
            self._piece = Piece(changed, [spans[source] if source >= 0 else added_at for source in sources])

    def _run(self, described: Mapping[str, Any]) -> None:
        """Apply a normalizer. described: its description in a tokenizer.json."""
        from fastbpe.normalization.huggingface import make_steps  # here: few programs need it

        self._apply(make_steps([described]))

    def nfd(self) -> None:
        """Apply Unicode's form NFD."""
        self._run({"type": "NFD"})

    def nfkd(self) -> None:
        """Apply Unicode's form NFKD."""
        self._run({"type": "NFKD"})

    def nfc(self) -> None:
        """Apply Unicode's form NFC."""
        self._run({"type": "NFC"})

    def nfkc(self) -> None:
        """Apply Unicode's form NFKC."""
        self._run({"type": "NFKC"})

    def lowercase(self) -> None:
        """Make the text lower case."""
        self._run({"type": "Lowercase"})

    def uppercase(self) -> None:
        """Make the text upper case."""
        from fastbpe.normalization.huggingface import upper_case_step  # here: few programs need it

        self._apply([upper_case_step()])

    def strip(self) -> None:
        """Remove white space at both ends."""
        self._run({"type": "Strip", "strip_left": True, "strip_right": True})

    def lstrip(self) -> None:
        """Remove white space at the start."""
        self._run({"type": "Strip", "strip_left": True, "strip_right": False})

    def rstrip(self) -> None:
        """Remove white space at the end."""
        self._run({"type": "Strip", "strip_left": False, "strip_right": True})

    def prepend(self, s: str) -> None:
        """Prepend a text, with the position of the first character. An empty NormalizedString stays empty."""
        self._run({"type": "Prepend", "prepend": of_type(s, str)})

    def append(self, s: str) -> None:
        """Append a text, which gets the position of the last character."""
        text, spans = self._piece
        start = self._span[0]
        last = spans[-1] if spans else (start, start)
        added = of_type(s, str)
        self._piece = Piece(text + added, [*spans, *[last] * len(added)])

    def clear(self) -> None:
        """Remove all characters."""
        self._piece = Piece("", [])

    def replace(self, pattern: Any, content: str) -> None:
        """Replace each occurrence of a text, or each match of a `Regex`.

        The replacement gets the position of the last character that it replaces. An empty str matches
        nowhere, and an empty `Regex` everywhere, as in tokenizers.

        Args:
            pattern: str or `Regex`.
            content: replacement text.

        Raises:
            TypeError: an argument has the wrong type.
            PatternError: fastbpe cannot run the pattern.
        """
        described = {"type": "Replace", "pattern": _pattern(pattern), "content": of_type(content, str)}
        if described["pattern"] != _EMPTY:
            self._run(described)

    def filter(self, func: Callable[[str], bool]) -> None:
        """Keep the characters for which a function returns True.

        Raises:
            TypeError: func cannot be called.
            ValueError: func does not return a bool.
        """
        check_function(func, "`filter` expects a callable with the signature: `fn(char) -> bool`")
        text, spans = self._piece
        kept = []
        for i, character in enumerate(text):
            keeps = func(character)
            try:
                if of_type(keeps, bool):
                    kept.append(i)
            except TypeError:
                raise ValueError(
                    f"`filter` expects a callable that returns a bool, not {type(keeps).__name__}"
                ) from None
        self._piece = Piece("".join(text[i] for i in kept), [spans[i] for i in kept])

    def map(self, func: Callable[[str], str]) -> None:
        """Replace each character by the first character of what a function returns for it.

        Raises:
            TypeError: func cannot be called.
            ValueError: func does not return a str, or returns an empty one or one with a lone surrogate.
        """
        check_function(func, "`map` expects a callable with the signature: `fn(char) -> char`")
        text, spans = self._piece
        made = []
        for character in text:
            found = func(character)
            new = str.__str__(found) if is_text(found) else ""
            if not new:
                raise ValueError(f"`map` expects a callable that returns a character, not {found!r:.60}")
            made.append(new[0])
        self._piece = Piece("".join(made), [*spans])

    def for_each(self, func: Callable[[str], Any]) -> None:
        """Call a function with each character. Raises TypeError if func cannot be called."""
        check_function(func, "`for_each` expects a callable with the signature: `fn(char)`")
        for character in self._piece.text:
            func(character)

    # Parts

    def split(self, pattern: Any, behavior: str) -> list[NormalizedString]:
        """Split at a text, or at matches of a `Regex`.

        Args:
            pattern: str or `Regex`.
            behavior: "removed", "isolated", "merged_with_previous", "merged_with_next" or "contiguous".

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: the behavior is unknown, or an empty pattern would split within a character.
            PatternError: fastbpe cannot run the pattern.
        """
        from fastbpe.tokenizers.splits import spans_with_empty, split_piece  # here: few programs need it

        described = {
            "type": "Split",
            "pattern": _pattern(pattern),
            "behavior": _behavior(behavior),
            "invert": False,
        }
        text = self._piece.text
        if not text:
            return [self.part(self._piece)]
        if described["pattern"] == _EMPTY:  # tokenizers uses the number of characters as a number of bytes
            n = len(text.encode()[: len(text)].decode())
            return [self.part(self._piece.part(0, n))]
        if (spans := spans_with_empty(text, described)) is not None:
            return [self.part(self._piece.part(*span)) for span in spans]
        return [self.part(piece) for piece in split_piece(self._piece, described)]

    def slice(self, range: Any) -> NormalizedString | None:
        """Return a part of the text as it is now; None: there is no such part.

        Args:
            range: the index of a character, a tuple of start and end, or a slice. As in tokenizers, a negative
                index or bound of a slice is added to the number of UTF-8 bytes of the text, and the sum counts
                characters. An end before the start or beyond the end of the text means the end of the text.
                The step of a slice is ignored.

        Raises:
            TypeError: it has another type, an index is too large, or a number of a tuple is negative.
            ValueError: a negative index goes beyond the start of the text.
        """
        n = len(self._piece.text)
        start, end = self._bounds(range)
        if start >= n and not (n == start == end == 0):  # as in tokenizers, "" has the part (0, 0)
            return None
        return self.part(self._piece.part(start, end if start <= end <= n else n))

    def __getitem__(self, range: Any) -> NormalizedString | None:
        return self.slice(range)

    def _bounds(self, range: Any) -> Span:
        """Return start and end, which may be beyond the text, of the argument of `slice`. Raises its errors."""
        n_bytes = len(self._piece.text.encode())
        if isinstance(range, slice):
            start, end, _ = range.indices(n_bytes)
            return start, end
        if isinstance(range, tuple) and len(range) == 2:
            try:
                return number(range[0]), number(range[1])
            except OverflowError:
                raise TypeError("a number of a range must be from 0 to 2**64 - 1") from None
        at = index(range)
        if not -(1 << 63) <= at < 1 << 63:
            raise TypeError("the index of a character must be from -2**63 to 2**63 - 1")
        if at < -n_bytes:
            raise ValueError(f"{-at} is bigger than max len")
        at += n_bytes if at < 0 else 0
        return at, at + 1

    # For PreTokenizedString

    def pre_tokenized(self, step: Mapping[str, Any]) -> list[NormalizedString]:
        """Return the pieces that a pre-tokenizer's step makes. step: its description in a tokenizer.json."""
        if not self._piece.text:
            return []
        from fastbpe.tokenizers.splits import split_piece  # here: few programs need it

        pieces = split_piece(self._piece, step, is_first=self._span[0] == 0)
        # A Metaspace and a ByteLevel may only change the text: then the one piece keeps the whole span.
        splits = step.get("split", True) and step.get("use_regex", True)
        return [self.part(piece, None if splits else self._span) for piece in pieces]

    def places(self, parts: Iterable[Span]) -> list[Span]:
        """Convert spans in bytes of the present text into spans in characters of the whole original text."""
        text, spans = self._piece
        places, places_in_whole = places_of(text), None
        made = []
        for start, end in parts:
            if start < end <= len(places):
                made.append((spans[places[start]][0], spans[places[end - 1]][1]))
                continue
            if places_in_whole is None:
                places_in_whole = places_of(self._whole)
                before = len(self._whole[: self._span[0]].encode())
            shift = before if start == end else 0  # as in tokenizers
            made.append(characters_of(places_in_whole, shift + start, shift + end))
        return made

    def __repr__(self) -> str:
        return f'NormalizedString(original="{self.original}", normalized="{self.normalized}")'

    def __str__(self) -> str:
        return self.normalized


class LentString(NormalizedString):
    """Text that is lent to a normalizer written in Python, which may change the text until it returns."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise FastbpeError("Cannot use a NormalizedStringRefMut outside `normalize`")


def check_function(func: Any, message: str) -> None:
    """Raise TypeError with a message unless an argument is a function."""
    if not callable(func):
        raise TypeError(message)

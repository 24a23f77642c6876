"""Ids of texts in code-point mode with the span of each."""

from typing import final

from typing_extensions import Self

from fastbpe._core.encode.codepoint_pieces import TokenEncoder
from fastbpe._core.ids.id_lists import Array
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._utils.choices import Unit

@final
class SectionRules:
    """Rules for a text between two tokens."""

    plain: TokenEncoder
    prefixed: TokenEncoder
    dummy_prefix: bool
    as_tokenizers: bool
    removes_spaces: bool

    def __new__(
        cls,
        plain: TokenEncoder,
        prefixed: TokenEncoder,
        *,
        dummy_prefix: bool,
        prefix: str,
        as_tokenizers: bool,
        removes_spaces: bool,
    ) -> Self: ...
    def puts_space(self, data: bytes, start: int, end: int) -> bool:
        """Tell whether the rule `prefix` puts a space before data[start:end]."""

@final
class TracedIds:
    """Ids of texts, one text after another, each in parts, with the span of each id."""

    def __new__(cls, n_units: int) -> Self: ...
    def __len__(self) -> int: ...
    @property
    def n(self) -> int:
        """Number of ids of the text at hand."""

    def begin(self) -> None:
        """Begin a text: the ids added from now on belong to it."""

    def add(self, token_id: int, start: int, end: int) -> None:
        """Append an id and its span, in bytes."""

    def add_section(
        self, encoder: TokenEncoder, data: bytes, start: int, end: int, has_dummy: bool, last: int
    ) -> None:
        """Append the ids and spans of data[start:end], text between two tokens."""

    def add_texts(
        self,
        texts: list[str | bytes],
        ends: list[int],
        rules: SectionRules,
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
        unit: Unit,
    ) -> None:
        """Add texts, and append to `ends`, until one needs more than this."""

    def end_as_tokenizers(self, data: bytes, prefixed: list[int], removes_spaces: bool) -> None:
        """Change the spans of the text to the spans that tokenizers gives; data: the text."""

    def finish(self, text: str | bytes, data: bytes, unit: Unit) -> None:
        """Turn the spans of the text to a unit; data: its UTF-8."""

    def lists(self) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the lists of all ids and of their spans."""

    def arrays(self) -> tuple[Array, Array]:
        """Return the arrays of all ids and of their spans, and forget them."""

from collections.abc import Callable, Iterable, Sequence
from typing import final

from typing_extensions import Self

@final
class Form:
    """One of Unicode's normalization forms (UAX #15), restricted to given characters: all others do not change.

    A quick check finds the stretches that may not be in the form yet; only for these, a few characters each, is
    Python's `unicodedata` called. It knows all characters that tokenizers know, and Unicode never changes a
    character's normalization.

    name: "NFC", "NFD", "NFKC" or "NFKD".
    characters: iterable of (first, last, class) – code points of a range and the class of all its characters.
    """

    def __new__(cls, name: str, characters: Iterable[tuple[int, int, int]]) -> Self: ...
    @property
    def name(self) -> str: ...
    def normalize(self, text: str | bytes) -> bytes:
        """Return the UTF-8 of a text in the form."""

    def sources(self, text: str | bytes) -> list[int] | None:
        """Return, for each character of `normalize(text)`, the index of the character that it comes from.

        None: the text does not change.
        """

@final
class Front:
    """Normalizer of the text between special tokens.

    form: Form or None – a Unicode form.
    change: callable or None – change(str) returns the normalized str; in place of a form.
    sources: callable – given if change is; sources(str) returns for each character of change(str) the index of the
        character it comes from, or None: each its own.
    prefix_space: bool – the caller puts a space before text that does not begin with one.
    """

    def __new__(
        cls,
        *,
        form: Form | None = None,
        change: Callable[[str], str] | None = None,
        sources: Callable[[str], Sequence[int] | None] | None = None,
        prefix_space: bool = False,
    ) -> Self: ...
    @property
    def form(self) -> Form | None: ...
    @property
    def change(self) -> Callable[[str], str] | None: ...
    @property
    def sources(self) -> Callable[[str], Sequence[int] | None] | None: ...
    @property
    def prefix_space(self) -> bool: ...

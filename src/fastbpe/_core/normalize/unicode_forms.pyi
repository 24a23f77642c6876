from collections.abc import Iterable
from typing import final

from typing_extensions import Self

from fastbpe._core.normalize.text_steps import TextStep

@final
class Form(TextStep):
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

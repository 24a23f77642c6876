from collections.abc import Sequence
from typing import final

@final
class LanguageChoice:
    """Choice of the language that needs the next merge most.

    n_symbols: list of int – symbols of the text of each language, before the first merge.
    ratio: list of float, or None – the language whose text shrank the least needs a merge: symbols before by
    symbols
        now, by its ratio. A language without text is exhausted. None: the language with the most symbols.
    window: int or None – recent merges in which no language has a larger share than alpha / number of languages.
    alpha: float – see window.
    """

    def __init__(
        self,
        n_symbols: Sequence[int],
        ratio: Sequence[float] | None = None,
        window: int | None = None,
        alpha: float = 2.0,
    ) -> None: ...
    @property
    def n_languages(self) -> int: ...
    @property
    def n_exhausted(self) -> int: ...
    def exhaust(self, language: int) -> None:
        """Note that a language has no pair left."""

    def set_symbols(self, language: int, n_symbols: int) -> None:
        """Set the number of symbols that the text of a language has now."""

    def choose(self) -> int:
        """Choose the language of the next merge. Requires: not all are exhausted.

        The language may be an exhausted one, the first; then ask again.
        """

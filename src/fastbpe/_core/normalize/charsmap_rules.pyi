from typing import final

@final
class Rules:
    """The rules of a charsmap."""

    @property
    def are_utf8(self) -> bool:
        """True: each replacement is UTF-8."""

def words_stay(rules: Rules) -> bool:
    """Tell whether every letter or number before a space ends a word, and the space begins the next."""

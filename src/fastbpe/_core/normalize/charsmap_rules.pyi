from typing import final

@final
class Rules:
    """The rules of a charsmap."""

def words_stay(rules: Rules) -> bool:
    """Tell whether every letter or number before a space ends a word, and the space begins the next."""

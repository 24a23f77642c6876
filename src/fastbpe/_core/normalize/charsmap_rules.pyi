from typing import final

@final
class Rules:
    @property
    def are_utf8(self) -> bool:
        """True: each replacement is UTF-8."""

def words_stay(rules: Rules) -> bool: ...

from typing import final

@final
class Rules:
    @property
    def are_utf8(self) -> bool: ...

def words_stay(rules: Rules) -> bool: ...

from typing import final

from typing_extensions import Self

@final
class SpecialMatcher:
    def __new__(cls, tokens: list[bytes], ids: list[int]) -> Self: ...
    @property
    def tokens(self) -> list[bytes]: ...
    def search(self, text: str | bytes) -> tuple[int, int, int] | None: ...

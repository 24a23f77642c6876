"""Search for special and added tokens in text."""

from typing import final

from typing_extensions import Self

@final
class SpecialMatcher:
    every: str

    def __new__(
        cls,
        tokens: list[bytes],
        ids: list[int],
        flags: bytes = b"",
        then: SpecialMatcher | None = None,
        words: bytes = b"",
    ) -> Self: ...
    @property
    def tokens(self) -> list[bytes]: ...
    @property
    def then(self) -> SpecialMatcher | None: ...
    @property
    def cuttable(self) -> bool: ...
    @property
    def ends_in_word(self) -> bool: ...
    def find_all(self, text: str | bytes) -> list[tuple[int, int, int]]: ...
    def search(self, text: str | bytes) -> tuple[int, int, int] | None: ...

def use_path(path: str) -> None: ...

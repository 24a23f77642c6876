from typing import final

@final
class TokenLimits:
    def __new__(
        cls,
        tokens: list[bytes],
        *,
        max_bytes: int | None = None,
        max_words: int | None = None,
        forbidden: tuple[bytes, ...] = (),
    ) -> TokenLimits: ...
    @property
    def max_bytes(self) -> int: ...
    @property
    def max_words(self) -> int: ...
    @property
    def forbidden(self) -> tuple[bytes, ...]: ...
    def tokens(self) -> list[bytes]: ...

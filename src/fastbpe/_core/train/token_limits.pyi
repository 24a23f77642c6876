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
    def tokens(self) -> list[bytes]: ...

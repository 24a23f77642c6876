from typing import final

@final
class TokenLimits:
    """Tokens by id, and which of them may be joined.

    tokens: list of bytes – the tokens to begin with.
    max_bytes: int or None – greatest length of a new token in bytes; None: no limit.
    max_words: int or None – most words of a new token: parts between spaces that are not empty; None: no limit.
    forbidden: tuple of bytes – texts that no new token holds.
    """

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
    def tokens(self) -> list[bytes]:
        """List the tokens."""

class SpelledSymbols:
    def __init__(
        self,
        *,
        prefix: bytes = b"",
        suffix: bytes = b"",
        unknown_id: int | None = None,
        fuses: bool = False,
        byte_ids: list[int] | None = None,
    ) -> None: ...

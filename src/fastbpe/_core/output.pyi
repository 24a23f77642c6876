from typing import final

@final
class Array:
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class KeptInts:
    def __init__(self, n_ids: int) -> None: ...

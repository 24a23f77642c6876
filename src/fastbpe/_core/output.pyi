from typing import final

from typing_extensions import Self

@final
class Array:
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class KeptInts:
    def __new__(cls, n_ids: int) -> Self: ...

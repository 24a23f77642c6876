from typing import final

@final
class Array:
    def __len__(self) -> int: ...

@final
class KeptInts:
    def __init__(self, n_ids: int) -> None: ...

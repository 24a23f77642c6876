from array import array
from typing import final

from fastbpe._core.split.splitter import Splitter

@final
class Engine(Splitter):
    def __init__(
        self,
        pattern: str,
        *,
        code: array[int],
        tables: array[int],
        lists: array[int],
        follows: bytes,
        set_bytes: bytes,
        set_index: array[int],
        set_blocks: array[int],
        n_groups: int,
        track_after: int = 4096,
        keep_gaps: bool = True,
    ) -> None: ...

from array import array
from typing import final

from fastbpe._core.split.splitter import Splitter

@final
class Engine(Splitter):
    """Splitter whose pieces are the matches of a program, and the text between them.

    pattern: str – the pattern, for errors.
    code, tables, lists, follows, set_bytes, set_index, set_blocks, n_groups: the program as
        `splitting.program.compile_program` made it; trusted.
    track_after: int – steps after which an attempt begins to remember visited states; patterns in use never get
        there.
    keep_gaps: bool – text between matches makes pieces; False: it is a gap.
    """

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

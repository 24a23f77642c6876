from typing import Literal, final

from typing_extensions import Self

from fastbpe._core.split.splitter import Splitter

@final
class FixedLength(Splitter):
    """Splitter whose pieces have `length` characters, the last one the rest.

    length: int – at least 1.
    """

    def __new__(cls, length: int) -> Self: ...
    @property
    def length(self) -> int: ...

@final
class ByScript(Splitter):
    """Splitter that begins a piece where the script changes. Text before the first one with a script is a gap.

    index: bytes – for each block of 256 code points, the number of its row.
    rows: bytes – rows of 256 numbers, the script of each code point; 0: the character goes with what is before it.
    """

    def __new__(cls, index: bytes, rows: bytes) -> Self: ...

@final
class ByText(Splitter):
    """Splitter that finds a text, from left to right, without overlaps.

    text: bytes – UTF-8, not empty.
    how: "matches": pieces are the text, and all else is a gap; "begins": a piece begins at each; "runs": a piece
        begins at each that does not follow another.
    """

    def __new__(cls, text: bytes, how: Literal["matches", "begins", "runs"]) -> Self: ...

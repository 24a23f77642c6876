from typing import Literal, final

from typing_extensions import Self

from fastbpe._core.split.splitter import Splitter

@final
class Sequence(Splitter):
    """Splitter that applies `second` to each piece of `first`, as if the piece were the whole text."""

    def __new__(cls, first: Splitter, second: Splitter) -> Self: ...
    @property
    def first(self) -> Splitter: ...
    @property
    def second(self) -> Splitter: ...

@final
class Uncut(Splitter):
    """Splitter that cuts text as another does, for work that does not allow a text to be divided at safe cuts."""

    def __new__(cls, splitter: Splitter) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...

@final
class Regrouped(Splitter):
    """Splitter that regroups the matches and gaps of another splitter, as `Split` of tokenizers does.

    splitter: Splitter – its pieces are the matches; text that it leaves out is the gaps.
    behavior: str – "removed": the gaps are the pieces, and matches are left out. "merged_with_previous": a match
        joins the gap right before it. "merged_with_next": it joins the gap right after it. "contiguous": matches
        that touch become one piece. Except with "removed", gaps are pieces too.
    invert: bool – swap matches and gaps first.
    """

    def __new__(
        cls,
        splitter: Splitter,
        behavior: Literal["removed", "merged_with_previous", "merged_with_next", "contiguous"],
        *,
        invert: bool = False,
    ) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...
    @property
    def behavior(self) -> str: ...

@final
class GroupedFromRight(Splitter):
    """Splitter that cuts before each group of `length` characters, counted from the right end of a run.

    splitter: Splitter – its pieces are the runs; it leaves other text out.
    length: int – characters of a group, at least 1. What is left of a run stays with the text before it.
    """

    def __new__(cls, splitter: Splitter, length: int) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...
    @property
    def length(self) -> int: ...

@final
class StandIns(Splitter):
    """Splitter that gives `splitter` GPT-2's stand-in character (`bytes_to_unicode`) for each byte of the text.

    So a piece may end within a character of the text.
    """

    def __new__(cls, splitter: Splitter) -> Self: ...
    @property
    def splitter(self) -> Splitter: ...

from typing import Any, final

from typing_extensions import disjoint_base

@disjoint_base
class Splitter:
    """Splitter that does not split: the whole text is one piece. Base of all splitters."""

    @property
    def cuttable(self) -> bool: ...
    @property
    def holds_gil(self) -> bool: ...
    def quiet_bytes(self) -> bytes | None:
        """Return bool by byte, as bytes: a text of only such bytes is one piece. None if that is not known."""

    def by_neighbours(self) -> bool:
        """Tell whether the two characters beside a position alone decide if a piece ends there."""

    def ends(self, text: str | bytes) -> list[int]:
        """Return the ends of the pieces of a text and of the gaps between them, as byte offsets into its UTF-8."""

    def ends_in(self, data: bytes) -> list[int]:
        """Return the ends that split() finds in any bytes, UTF-8 or not. For tests.

        The bytes are copied to memory of just their size, so that AddressSanitizer sees a read past them.
        """

    def count(self, text: str | bytes) -> int:
        """Count the pieces of a text, without gaps."""

    def pieces(self, text: str | bytes) -> list[tuple[int, int]]:
        """Return (start, end) of each piece of a text, as byte offsets into its UTF-8; gaps are left out."""

@final
class RegexSplitter(Splitter):
    """Splitter whose pieces are the matches of a compiled pattern of the `regex` package, and the text between
    them.

    pattern: compiled pattern of `regex`.
    keep_gaps: bool – text between matches makes pieces; False: it is a gap.
    shown: str or None – the pattern for errors, as the user wrote it; None: as `regex` has it.
    """

    def __init__(self, pattern: Any, *, keep_gaps: bool = True, shown: str | None = None) -> None: ...

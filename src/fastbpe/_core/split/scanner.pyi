from collections.abc import Iterable
from typing import Literal, final

from typing_extensions import Self

from fastbpe._core.merge.codepoint_symbols import CodePoints
from fastbpe._core.split.splitter import Splitter

def paths() -> list[str]:
    """Return the names of the instruction sets that this machine can scan with, best first."""

@final
class Scanner(Splitter):
    """Splitter of the patterns of a family.

    family: "gpt2", "cl100k", "o200k" or "deepseek".
    n_digits: int – digits of a piece of a number, at most; up to 9; 0: no limit.
    contractions: bool – English contractions are pieces of their own (cl100k) or the end of a word (o200k).
    end_is_one_piece: bool – white space up to the end of the text is one piece.
    path: str or None – an instruction set, one of `paths()`; None: the one that the environment variable
        FASTBPE_SIMD names, or the best one.
    """

    def __init__(
        self,
        family: Literal["gpt2", "cl100k", "o200k", "deepseek"],
        *,
        n_digits: int,
        contractions: bool = True,
        end_is_one_piece: bool = False,
        path: str | None = None,
    ) -> None: ...
    @property
    def family(self) -> str: ...
    @property
    def path(self) -> str:
        """Name of the instruction set in use."""

@final
class WordScanner(Splitter):
    """Splitter into pieces that no token of a code-point vocabulary crosses.

    Pieces are words, and shorter if no token holds two neighbours.

    code_points: CodePoints – the vocabulary.
    path: as for Scanner.
    """

    def __init__(self, code_points: CodePoints, *, path: str | None = None) -> None: ...
    @property
    def path(self) -> str:
        """Name of the instruction set in use."""

@final
class RunScanner(Splitter):
    """Splitter into runs of characters of one set, or into single characters, as `[a-z]+|[0-9]`.

    sets: list of (ranges, single) – at most three sets without a common character: pairs (first, last) of code
        points, and whether each character is a piece. A run of other characters is unmatched.
    keep_gaps: bool – unmatched text makes pieces; False: it is a gap.
    path: as for Scanner.
    """

    def __new__(
        cls,
        sets: list[tuple[Iterable[tuple[int, int]], bool]],
        *,
        keep_gaps: bool = True,
        path: str | None = None,
    ) -> Self: ...
    @property
    def path(self) -> str:
        """Name of the instruction set in use."""

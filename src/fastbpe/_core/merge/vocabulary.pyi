"""Vocabulary: the tokens by id, the tokens by their bytes, and the pair table. Immutable."""

from typing import Any, Final, final

from typing_extensions import Self

from fastbpe._core.merge.codepoint_symbols import CodePoints
from fastbpe._core.merge.spelled_symbols import SpelledSymbols
from fastbpe._core.segment.segmenter import Segmenter
from fastbpe.model import Buffer

MAX_IDS: Final[int]
SECTIONS: Final[tuple[str, ...]]

@final
class Vocabulary:
    """Tokens and pairs of a vocabulary, over four buffers (see table_builder.build_tables)."""

    def __new__(
        cls,
        *,
        token_bytes: Buffer,
        token_ends: Buffer,
        pieces: Buffer,
        pairs: Buffer | None = None,
        pair_lines: Buffer | None = None,
        whole_piece_first: bool = True,
        code_points: CodePoints | None = None,
        spelled: SpelledSymbols | None = None,
        segmenter: Any = None,  # Segmenter or None; callers pass their tables by **
        drops_bytes: bool = False,
    ) -> Self: ...
    @property
    def n_ids(self) -> int:
        """One more than the greatest id."""

    @property
    def n_tokens(self) -> int:
        """Number of ids that are tokens."""

    @property
    def drops_bytes(self) -> bool:
        """True if some byte is not a token."""

    @property
    def spelled(self) -> SpelledSymbols | None:
        """Spelling of a piece before merging, or None."""

    @property
    def segmenter(self) -> Segmenter | None:
        """Rules by which pieces are cut without merging, or None."""

    @property
    def whole_piece_first(self) -> bool:
        """True if a piece that is a token becomes that token, even if merging would make other ids of it."""

    def find(self, token: bytes | str) -> int | None:
        """Return the id of the token with these bytes, the lowest if several have them, or None."""

    def has(self, token_id: int) -> bool:
        """Return True if the id is a token."""

    def tokens(self) -> list[bytes]:
        """List the bytes of every id in order; `b""` where an id is not a token."""

    def pair(self, left: int, right: int) -> tuple[int, int] | None:
        """Return (priority, merged id) of a pair of ids, or None if it is not in the table.

        In code-point mode pairs of the same score share their priority.
        """

    def sections(self) -> dict[str, memoryview]:
        """Return the four buffers by name, as read-only memory views."""

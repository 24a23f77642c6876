from typing import Any, Final, final

from typing_extensions import Self

from fastbpe._core.segment.segmenter import Segmenter
from fastbpe.model import Buffer

MAX_IDS: Final[int]
NO_SLOTS: Final[bytes]
SECTIONS: Final[tuple[str, ...]]

@final
class Vocabulary:
    def __new__(
        cls,
        *,
        token_bytes: Buffer,
        token_ends: Buffer,
        pieces: Buffer,
        pairs: Buffer | None = None,
        pair_lines: Buffer | None = None,
        whole_piece_first: bool = True,
        # None, or CodePoints, SpelledSymbols and Segmenter. They are Any because callers pass them with **.
        code_points: Any = None,
        spelled: Any = None,
        segmenter: Any = None,
        drops_bytes: bool = False,
    ) -> Self: ...
    @property
    def n_ids(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def drops_bytes(self) -> bool: ...
    @property
    def spelled(self) -> SpelledSymbols | None: ...
    @property
    def segmenter(self) -> Segmenter | None: ...
    @property
    def whole_piece_first(self) -> bool: ...
    def find(self, token: bytes | str) -> int | None: ...
    def has(self, token_id: int) -> bool: ...
    def tokens(self) -> list[bytes]: ...
    def pair(self, left: int, right: int) -> tuple[int, int] | None: ...
    def sections(self) -> dict[str, memoryview]: ...

@final
class SpelledSymbols:
    def __new__(
        cls,
        *,
        prefix: bytes = b"",
        suffix: bytes = b"",
        unknown_id: int | None = None,
        fuses: bool = False,
        byte_ids: list[int] | None = None,
        tokens: bytes | None = None,
        in_rounds: bool = False,
    ) -> Self: ...

from collections.abc import Iterable
from typing import final

from typing_extensions import Self

from fastbpe._core.special import SpecialMatcher
from fastbpe._core.splitter import Splitter
from fastbpe._core.vocabulary import Vocabulary

@final
class IdBuffer:
    def __len__(self) -> int: ...

@final
class Encoder:
    def __new__(cls, vocabulary: Vocabulary, splitter: Splitter, n_ids: int) -> Self: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def splitter(self) -> Splitter: ...
    def encode(
        self,
        text: str | bytes,
        allowed: SpecialMatcher | None = None,
        disallowed: SpecialMatcher | None = None,
    ) -> list[int]: ...
    def encode_parts(
        self, parts: Iterable[tuple[str | bytes, bool]], trusted: SpecialMatcher | None = None
    ) -> list[int]: ...
    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        allowed: SpecialMatcher | None = None,
        disallowed: SpecialMatcher | None = None,
    ) -> list[list[int]]: ...
    def encode_to_buffer(
        self,
        texts: Iterable[str | bytes],
        allowed: SpecialMatcher | None = None,
        disallowed: SpecialMatcher | None = None,
    ) -> tuple[IdBuffer, list[int]]: ...
    def count(self, text: str | bytes) -> int: ...

"""Tables of a loaded sentencepiece model."""

from typing_extensions import disjoint_base

from fastbpe._core.encode.encoder import Encoder

@disjoint_base
class Facts:
    def __init__(self, encoder: Encoder | None, types: bytes) -> None: ...
    def bytes_of_ids(self, ids: list[int]) -> list[bytes] | None: ...

"""The fast twin of `read_segmented.scored`."""

from typing import final

def read(data: bytes) -> ScoredVocab | None: ...

@final
class ScoredVocab:
    pieces: list[str]
    token_bytes: bytes
    token_ends: bytes
    scores: bytes
    rest: bytes
    ids: dict[str, int] | None

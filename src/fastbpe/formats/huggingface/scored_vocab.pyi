"""The fast twin of `read_segmented.scored`."""

def read(data: bytes) -> ScoredVocab | None: ...

class ScoredVocab:
    pieces: list[str]
    token_bytes: bytes
    token_ends: bytes
    scores: bytes
    rest: bytes

from fastbpe._core.vocabulary import Vocabulary
from fastbpe.model import Buffer

def rank_merges(
    token_bytes: Buffer, token_ends: Buffer, merges: Buffer, whole_piece_first: bool
) -> tuple[dict[str, Buffer], list[int]] | None: ...
def left_apart(vocabulary: Vocabulary, ids: list[int]) -> bool: ...

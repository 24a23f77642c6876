from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import Buffer

def recover_merges(vocabulary: Vocabulary, limits: Buffer | None = None) -> dict[int, tuple[int, int]]: ...

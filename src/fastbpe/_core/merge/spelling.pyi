from fastbpe._core.merge.vocabulary import Vocabulary

def base_symbols(vocabulary: Vocabulary, piece: bytes) -> list[int]:
    """Return the ids of the base symbols of a piece, before any merge."""

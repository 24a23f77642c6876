"""Merges one piece: the pair of lowest priority first, leftmost on ties, until no pair is left."""

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import Buffer

def merge_alone(vocabulary: Vocabulary, piece: Buffer) -> list[int]: ...
def recover_merges(vocabulary: Vocabulary, limits: Buffer | None = None) -> dict[int, tuple[int, int]]: ...
def symbol_makers(vocabulary: Vocabulary) -> dict[int, tuple[int, int]]:
    """Return {symbol: (left symbol, right symbol)}: the last merge of each symbol of a code-point vocabulary."""

def merge_pieces(vocabulary: Vocabulary, pieces: list[bytes]) -> list[tuple[int, ...]]:
    """Return the ids that merging yields for each piece, token or not. Code points: valid UTF-8."""

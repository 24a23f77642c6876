from typing import final

from fastbpe._core.train.merge_learner import MergeLearner
from fastbpe._core.train.piece_table import PieceTable

@final
class CodePointLearner(MergeLearner):
    """Learner of pieces over counted words. The table must not change while the learner lives.

    words: PieceTable – the words.
    alphabet: list of int – code points, ascending.
    classes: bytes, one per code point – classes of characters, as in scripts.pxd.
    n_merges: int – number of pieces to learn.
    max_length: int – characters of a piece, at most.
    split_by_whitespace, treat_whitespace_as_suffix, allow_whitespace_only_pieces: as for WordCounter.
    base: list of list of int – the symbols of each base piece, two or more; symbols are places in the alphabet.
    cuts: bytes – uint32 for each part of each word, in the order of the table: its characters if it is a symbol or
        a base piece; 0 for a character that ends the word. b"": words begin as characters.
    """

    def __init__(
        self,
        words: PieceTable,
        alphabet: list[int],
        classes: bytes,
        *,
        n_merges: int,
        max_length: int = 16,
        split_by_whitespace: bool = True,
        treat_whitespace_as_suffix: bool = False,
        allow_whitespace_only_pieces: bool = False,
        base: list[list[int]] = [],
        cuts: bytes = b"",
    ) -> None: ...
    def last_pairs(self) -> list[tuple[int, int]]:
        """Return (left id, right id) of the pieces without occurrences, which come after the merges and have no
        ids.
        """

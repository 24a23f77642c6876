"""Vocabulary over sequences of integers: base symbols 0 … base_size - 1, and the merges of a list."""

from typing import Final, final

MAX_SEQUENCE_IDS: Final[int]

@final
class SequenceVocabulary:
    """Base symbols and merges.

    base_size: number of base symbols, 1 or more.
    merges: bytes – uint32 pairs (left id, right id), best first.

    Raises VocabularyError if a merge names an id that no earlier one makes, a pair stands twice, or there are too
    many ids.
    """

    def __new__(cls, base_size: int, merges: bytes) -> SequenceVocabulary: ...
    @property
    def base_size(self) -> int: ...
    @property
    def packed_merges(self) -> bytes: ...
    @property
    def n_ids(self) -> int:
        """Number of ids."""

    @property
    def longest(self) -> int:
        """Number of symbols of the longest token."""

    def merges(self) -> list[tuple[int, int]]:
        """List the merges, (left id, right id) each."""

    def length(self, token_id: int) -> int:
        """Return the number of symbols of an id."""

    def ids_of_length(self, n_symbols: int) -> list[int]:
        """List the ids of tokens of n symbols, lowest first."""

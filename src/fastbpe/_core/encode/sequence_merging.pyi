"""Encoding and decoding of sequences of integers."""

from typing import final

from fastbpe._core.ids.id_lists import Array
from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.merge.sequence_vocabulary import SequenceVocabulary

def plan(vocabulary: SequenceVocabulary, sequences: Sequences) -> list[tuple[int, int, int, int]]:
    """Divide sequences into jobs: a list of (first, last, start, end).

    A job is the sequences first to last (exclusive), all of items[start:end]. If last is first, it is a part of a
    sequence; if last is -1, it is the last part.
    """

@final
class Merged:
    """Ids of sequences, end to end."""

    def __new__(cls, vocabulary: SequenceVocabulary) -> Merged: ...
    def __len__(self) -> int: ...
    @property
    def n_ids(self) -> int:
        """Number of ids of all sequences."""

    def merge(self, sequences: Sequences, first: int, last: int) -> None:
        """Append the ids of the sequences first to last (exclusive)."""

    def merge_part(self, sequences: Sequences, start: int, end: int) -> None:
        """Append the ids of items[start:end], a part of a sequence, and end no sequence."""

    def append(self, job: Merged) -> None:
        """Append the ids of a job of whole sequences."""

    def append_part(self, part: Merged, start: int) -> bool:
        """Append the ids of the next part of a sequence, and join both; return False if they share no token.

        part: the ids of items[start:]. The first part of a sequence has nothing to be joined to.
        """

    def drop_parts(self) -> None:
        """Drop the ids after the last sequence that was ended."""

    def end_parts(self) -> None:
        """End the sequence of the parts that were appended."""

    def lists(self) -> list[list[int]]:
        """Return a list of ids for each sequence."""

    def arrays(self) -> tuple[Array, Array]:
        """Return (ids, offsets) as arrays of uint32 and int64, and be empty afterwards."""

@final
class Expanded:
    """Symbols of sequences of ids, end to end.

    sequences: the ids, each below the vocabulary's n_ids.
    """

    def __new__(cls, vocabulary: SequenceVocabulary, sequences: Sequences) -> Expanded: ...
    def lists(self) -> list[list[int]]:
        """Return a list of symbols for each sequence."""

    def arrays(self) -> tuple[Array, Array]:
        """Return (symbols, offsets) as arrays of uint32 and int64, and be empty afterwards."""

"""Merge long pieces in linear time: a linked list of symbols, and a priority queue of their pairs."""

from fastbpe._core.merge.vocabulary import Vocabulary

def merge_in_windows(vocabulary: Vocabulary, piece: bytes, size: int) -> list[int]: ...

"""Ids of a piece of a vocabulary that segments pieces without merging."""

from fastbpe._core.merge.vocabulary import Vocabulary

def best_ids(vocabulary: Vocabulary, pieces: list[bytes]) -> list[tuple[int, ...]]: ...

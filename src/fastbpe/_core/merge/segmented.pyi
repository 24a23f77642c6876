"""Ids of a piece of a vocabulary that segments pieces without merging."""

from fastbpe._core.merge.vocabulary import Vocabulary

def best_ids(vocabulary: Vocabulary, pieces: list[bytes]) -> list[tuple[int, ...]]:
    """Return for each piece the ids of its best path, as if the piece began a text.

    Requires: the vocabulary is one of sentencepiece's unigram models.
    """

"""Ids of a piece of a vocabulary that cuts pieces without merging."""

from fastbpe._core.merge.vocabulary import Vocabulary

def best_ids(vocabulary: Vocabulary, pieces: list[bytes]) -> list[tuple[int, ...]]:
    """Return for each piece the ids of its best path, as if it stood at the beginning of a text.

    Requires: the vocabulary is one of sentencepiece's unigram models.
    """

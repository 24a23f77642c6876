"""Encode pieces by WordPiece and WordLevel of tokenizers: the slow twin of `_core.merge.segmented`."""

from __future__ import annotations

from collections.abc import Mapping

Token = tuple[int, int, int]  # id, begin and end in characters


def word_piece(
    word: str, vocabulary: Mapping[str, int], unknown: str, prefix: str = "##", longest: int = 100
) -> list[Token]:
    """Take the longest token at each place of a word. If no token begins at a place, the whole word is unknown.

    Args:
        word: one piece; not empty.
        unknown: the unknown token. KeyError: it is needed, and the vocabulary lacks it.
        prefix: text before the tokens that do not begin a word.
        longest: most characters of a word; a longer one is unknown.

    >>> vocabulary = {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "##a": 4}
    >>> word_piece("unaffable", vocabulary, "[UNK]")
    [(1, 0, 2), (2, 2, 5), (3, 5, 9)]
    >>> word_piece("unaffected", vocabulary, "[UNK]")
    [(0, 0, 10)]
    """
    tokens: list[Token] = []
    begin = 0
    while begin < len(word) <= longest:
        before = prefix if begin else ""
        ends = [end for end in range(begin + 1, len(word) + 1) if before + word[begin:end] in vocabulary]
        if not ends:
            break
        tokens.append((vocabulary[before + word[begin : ends[-1]]], begin, ends[-1]))
        begin = ends[-1]
    return tokens if begin == len(word) else [(vocabulary[unknown], 0, len(word))]


def word_level(word: str, vocabulary: Mapping[str, int], unknown: str) -> list[Token]:
    """Look up a whole word. KeyError: neither it nor the unknown token is in the vocabulary.

    >>> word_level("low", {"[UNK]": 0, "low": 1}, "[UNK]"), word_level("lo", {"[UNK]": 0, "low": 1}, "[UNK]")
    ([(1, 0, 3)], [(0, 0, 2)])
    """
    return [(vocabulary[word] if word in vocabulary else vocabulary[unknown], 0, len(word))]

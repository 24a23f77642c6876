"""minbpe's module `gpt4`: the tokenizer, and how its merges are found from ranks, in plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from fastbpe.minbpe.tokenizers import GPT4_SPECIAL_TOKENS, GPT4Tokenizer, Pair, RegexTokenizer
from fastbpe.patterns import GPT4_SPLIT_PATTERN

__all__ = ["GPT4_SPECIAL_TOKENS", "GPT4_SPLIT_PATTERN", "GPT4Tokenizer", "RegexTokenizer", "bpe", "recover_merges"]


def bpe(mergeable_ranks: Mapping[bytes, int], token: bytes, max_rank: int | None = None) -> list[bytes]:
    """Merge the bytes of a token by rank, and stop before the first merge of max_rank or above.

    >>> bpe({b"a": 0, b"b": 1, b"ab": 2, b"abb": 3}, b"abb", max_rank=3)
    [b'ab', b'b']
    """
    parts = [token[i : i + 1] for i in range(len(token))]
    limit = float("inf") if max_rank is None else max_rank
    while len(parts) > 1:
        ranks = [mergeable_ranks.get(left + right, limit) for left, right in pairwise(parts)]
        least = min(ranks)
        if least >= limit:
            break
        at = ranks.index(least)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def recover_merges(mergeable_ranks: Mapping[bytes, int]) -> dict[Pair, int]:
    """Map pairs of ids to merged ids, for tokens of several bytes, in the order of mergeable_ranks.

    >>> recover_merges({b"a": 0, b"b": 1, b"ab": 2})
    {(0, 1): 2}
    """
    merges = {}
    for token, rank in mergeable_ranks.items():
        if len(token) > 1:
            left, right = bpe(mergeable_ranks, token, rank)
            merges[mergeable_ranks[left], mergeable_ranks[right]] = rank
    return merges

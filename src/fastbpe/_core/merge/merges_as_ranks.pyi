"""Builds a ranked vocabulary from a list of merges, if ranks give every text the same ids as the list."""

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import Buffer

def rank_merges(
    token_bytes: Buffer, token_ends: Buffer, merges: Buffer, whole_piece_first: bool
) -> tuple[dict[str, Buffer], list[int]] | None:
    """Return the buffers of a ranked Vocabulary, and the ids of tokens of several bytes that no merge makes."""

def left_apart(vocabulary: Vocabulary, ids: list[int]) -> bool:
    """Tell whether merging the bytes of each of these tokens leaves at least three ids: then no pair makes it."""

def last_merges(listed: Vocabulary, merges: Buffer) -> dict[int, tuple[int, int]]:
    """Return {merged id: (left id, right id)}: for each token, the only merge of a list that makes it."""

def follows_ranks(listed: Vocabulary, merges: Buffer) -> bool:
    """Tell whether ranks give every text the same ids as this list of merges."""

"""Models from a caller's data: ranks as in tiktoken, merges as in minbpe."""

from __future__ import annotations

import operator
from collections.abc import Mapping

from fastbpe._core.merge.vocabulary import MAX_IDS
from fastbpe._utils.arguments import integer
from fastbpe._utils.short_reprs import short_repr
from fastbpe.errors import VocabularyError
from fastbpe.model import Model, pack_merges
from fastbpe.patterns import PatternLike

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MAX_BYTES = 1 << 28  # of all tokens together, as in formats.minbpe: each merge may double the longest


def of_ranks(
    ranks: Mapping[bytes, int], pattern: PatternLike, special_tokens: Mapping[str, int] | None, name: str | None
) -> Model:
    """Return the model of a caller's ranks. Arguments and errors: as in `Tokenizer.from_ranks`."""
    tokens = _tokens_of_ranks(ranks)  # checks the ranks
    # A list of tokens has b"" for an id without a token, too, so the id of the empty token is kept apart.
    parts = {"empty_token": int(ranks[b""])} if b"" in ranks else {}
    return Model(tokens, pattern, _with_ids(special_tokens), name=name, huggingface=parts)


def of_merges(
    merges: Iterable[tuple[int, int]],
    pattern: PatternLike,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
) -> Model:
    """Return the model of a caller's merges. Arguments and errors: as in `Tokenizer.from_merges`."""
    tokens, packed = _tokens_of_merges(merges)
    rules: dict[str, Any] = {"merges": packed, "merges_rule": "merges", "whole_piece_first": False}
    return Model(tokens, pattern, _with_ids(special_tokens), name=name, **rules)


def _with_ids(special_tokens: Mapping[str, int] | None) -> Mapping[str, int]:
    if not isinstance(special_tokens, Mapping | None):
        raise TypeError(
            f"special_tokens must be a dict of texts to ids, not {type(special_tokens).__name__}; "
            "with_special_tokens also accepts a list of texts"
        )
    return special_tokens or {}


def _tokens_of_ranks(ranks: Mapping[bytes, int]) -> list[bytes]:
    """List tokens by rank, b"" for a rank without a token. Raises VocabularyError for bad tokens and ranks."""
    for token in ranks:
        if not isinstance(token, bytes):
            raise VocabularyError(f"token {token!r} must be bytes")
    for token, rank in ranks.items():
        if not (type(rank) is int or hasattr(rank, "__index__")) or not 0 <= operator.index(rank) < MAX_IDS:
            raise VocabularyError(
                f"token {token!r} has the rank {short_repr(rank)}, which is not an integer from 0 to {MAX_IDS - 1}"
            )
    if not all(type(rank) is int for rank in ranks.values()):
        ranks = {token: operator.index(rank) for token, rank in ranks.items()}
    tokens = [b""] * (max(ranks.values(), default=-1) + 1)
    for token, rank in sorted(ranks.items(), key=lambda item: not item[0]):
        # The empty token comes last: before another token of its rank, it would look like a free rank.
        if tokens[rank]:
            raise VocabularyError(f"tokens {tokens[rank]!r} and {token!r} have the same rank {rank}")
        tokens[rank] = token
    return tokens


def _tokens_of_merges(merges: Iterable[tuple[int, int]]) -> tuple[list[bytes], bytes]:
    """List the tokens that merges make after the 256 bytes, and pack the merges in the form of a Model.

    Raises VocabularyError if a merge names an id that no earlier merge makes, or the tokens exceed MAX_BYTES.
    """
    tokens = [bytes([byte]) for byte in range(256)]
    n_bytes = len(tokens)
    triples: list[tuple[int, int, int]] = []
    for left, right in ((integer("an id in merges", a), integer("an id in merges", b)) for a, b in merges):
        if not (0 <= left < len(tokens) and 0 <= right < len(tokens)):
            raise VocabularyError(
                f"merge {len(triples)}: ({left}, {right}) names an id that no earlier merge makes"
            )
        n_bytes += len(tokens[left]) + len(tokens[right])
        if n_bytes > MAX_BYTES:
            raise VocabularyError(f"merge {len(triples)}: the tokens up to here have more than {MAX_BYTES} bytes")
        triples.append((left, right, len(tokens)))
        tokens.append(tokens[left] + tokens[right])
    return tokens, pack_merges(triples)

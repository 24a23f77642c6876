"""Merging of one piece by a BPE model of any options, in Python: characters become tokens, then pairs are merged.

It runs the models that fastbpe's core does not: base symbols are characters with the model's prefix and suffix,
unknown ones are its unknown token, or bytes. The rules were found by experiments with tokenizers 0.23.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

_KEPT_PIECES = 1 << 14
_NONE = -1


class Tokens(NamedTuple):
    """Tokens of a piece.

    ids: their ids.
    ends: end of each in the piece, in bytes of UTF-8. They begin where the one before ends.
    """

    ids: list[int]
    ends: list[int]


class WordMerger:
    """Merges pieces.

    Args:
        vocab: token → id.
        merges: pair of ids → rank, id of what they become.
        options: JSON of the model without vocabulary and merges. Its dropout is not applied.
    """

    def __init__(
        self,
        vocab: Mapping[str, int],
        merges: Mapping[tuple[int, int], tuple[int, int]],
        options: Mapping[str, Any],
    ) -> None:
        self._vocab, self._merges = vocab, merges
        self._prefix = options["continuing_subword_prefix"] or ""
        self._suffix = options["end_of_word_suffix"] or ""
        self._unknown = options["unk_token"]
        self._fuses, self._falls_back = options["fuse_unk"], options["byte_fallback"]
        self._whole_first = options["ignore_merges"]
        self.merge = lru_cache(_KEPT_PIECES)(self._merge)

    def _merge(self, piece: str) -> Tokens:
        """Return the tokens of a piece. Raises ValueError if it needs an unknown token that is none."""
        if self._whole_first and piece in self._vocab:
            return Tokens([self._vocab[piece]], [len(piece.encode())])
        symbols = [*self._symbols(piece)]
        ids, lengths = self._merged([one for one, _ in symbols], [length for _, length in symbols])
        ends, end = [], 0
        for length in lengths:
            end += length
            ends.append(end)
        return Tokens(ids, ends)

    def _symbols(self, piece: str) -> Iterable[tuple[int, int]]:
        """Yield the id and the bytes of each base symbol."""
        vocab, last = self._vocab, len(piece) - 1
        waiting: tuple[int, int] | None = None  # an unknown token, to which more may be fused
        for i, character in enumerate(piece):
            length = len(character.encode())
            spelled = f"{self._prefix if i else ''}{character}{self._suffix if i == last else ''}"
            found = vocab.get(spelled)
            if found is not None:
                if waiting is not None:
                    yield waiting
                    waiting = None
                yield found, length
                continue
            in_bytes = self._in_bytes(spelled) if self._falls_back else None
            if in_bytes is not None:  # before an unknown token that waits, as in tokenizers
                for one in in_bytes:
                    yield one, 1
            elif self._unknown is not None:
                if waiting is not None and self._fuses:
                    waiting = waiting[0], waiting[1] + length
                else:
                    if waiting is not None:
                        yield waiting
                    waiting = self._unknown_id(), length
        if waiting is not None:
            yield waiting

    def _in_bytes(self, spelled: str) -> list[int] | None:
        """Return the tokens of the bytes of a text; None if one of them is not a token."""
        found = [self._vocab.get(f"<0x{byte:02X}>") for byte in spelled.encode()]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None

    def _unknown_id(self) -> int:
        found = self._vocab.get(self._unknown)
        if found is None:
            raise ValueError(
                f"unk_token={self._unknown!r:.60} is not a token of the vocabulary, and a text needs it; add it"
            )
        return found

    def _merged(self, ids: list[int], lengths: list[int]) -> tuple[list[int], list[int]]:
        """Merge pairs of symbols, best first, leftmost of equals, until none is left."""
        n, merges = len(ids), self._merges
        before, behind = [*range(-1, n - 1)], [*range(1, n), _NONE]
        queue: list[tuple[int, int, int]] = []  # rank, place of the left symbol, id of what they become

        def offer(left: int, right: int) -> None:
            found = merges.get((ids[left], ids[right]))
            if found is not None:
                heapq.heappush(queue, (found[0], left, found[1]))

        for i in range(n - 1):
            offer(i, i + 1)
        while queue:
            _, left, made = heapq.heappop(queue)
            right = behind[left]
            if not lengths[left] or right == _NONE:
                continue
            found = merges.get((ids[left], ids[right]))
            if found is None or found[1] != made:
                continue  # one of the two has been merged since
            ids[left] = made
            lengths[left] += lengths[right]
            lengths[right] = 0
            behind[left] = behind[right]
            if behind[left] != _NONE:
                before[behind[left]] = left
                offer(left, behind[left])
            if before[left] != _NONE:
                offer(before[left], left)
        kept = [i for i in range(n) if lengths[i]]
        return [ids[i] for i in kept], [lengths[i] for i in kept]

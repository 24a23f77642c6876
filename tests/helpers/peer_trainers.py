"""Train with the peers, and give back what they learned in one form: (left bytes, right bytes) in order.

Vocabulary sizes count the 256 bytes. All three packages stop when it is reached or no pair is left: a pair
that occurs once is still made. Below 256, rustbpe panics, bpeasy raises ValueError, tokenizers learns
nothing. Text that the pattern does not match is dropped by rustbpe and bpeasy, while tokenizers makes pieces
of it: compare them with a pattern that matches every character.
"""

import heapq
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import bpeasy
import rustbpe
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from reference import STAND_IN_ORDER

BytePair = tuple[bytes, bytes]
Pair = tuple[int, int]

WHOLE_TEXT = r"[\s\S]+"
WORDS = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"
"""A simple split pattern that matches every character and means the same to every peer."""


def rustbpe_merges(texts: Iterable[str], vocab_size: int, pattern: str) -> list[BytePair]:
    """Train with rustbpe; fewer merges than asked for means that no pair was left."""
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(iter(texts), vocab_size, pattern=pattern)
    ranked = [(rank, bytes(token)) for token, rank in tokenizer.get_mergeable_ranks()]
    return merges_of_tokens([token for _, token in sorted(ranked)])


def bpeasy_merges(
    texts: Iterable[str], vocab_size: int, pattern: str, *, max_token_length: int = 1 << 20
) -> list[BytePair]:
    """Train with bpeasy; `max_token_length=n` forbids pairs of n bytes or more, except two single bytes."""
    ranks = bpeasy.train_bpe(iter(texts), pattern, max_token_length, vocab_size)
    return merges_of_tokens(sorted(ranks, key=ranks.__getitem__))


def huggingface_merges(
    texts: Iterable[str],
    vocab_size: int,
    pattern: str,
    *,
    min_frequency: int = 0,
    max_token_length: int | None = None,
) -> list[BytePair]:
    """Train with tokenizers, byte-level, no special tokens; `max_token_length` means what bpeasy means."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    stand_ins = sorted(pre_tokenizers.ByteLevel.alphabet())
    byte_of = dict(zip(stand_ins, STAND_IN_ORDER, strict=True))
    if [model["vocab"][character] for character in stand_ins] != list(range(256)):
        raise AssertionError("tokenizers no longer numbers its byte alphabet in the order of the characters")
    if len(model["vocab"]) != 256 + len(model["merges"]):
        raise AssertionError("tokenizers learned the same token twice")
    return [
        (bytes(byte_of[character] for character in left), bytes(byte_of[character] for character in right))
        for left, right in model["merges"]
    ]


def minbpe_merges(pieces: Mapping[bytes, int] | Iterable[tuple[bytes, int]], n_merges: int) -> list[BytePair]:
    """Learn merges by minbpe's rule from pieces in the order of the text, with a heap instead of recounts.

    A pair is born complete, in the merge that makes its younger token; afterwards its count only falls and
    its first occurrence only moves right. So a heap entry can only be too good: look again when it comes up.
    """
    return _FirstTies(pieces).learn(n_merges)


def merges_of_tokens(tokens: Sequence[bytes]) -> list[BytePair]:
    """Find the two parts of every learned token: the tokens that the merges before it make of its bytes.

    rustbpe and bpeasy give tokens by rank and no merges; `tests/reference` proves that tokens determine
    them.
    """
    if list(tokens[:256]) != [bytes([byte]) for byte in range(256)]:
        raise AssertionError("the first 256 tokens are not the bytes in order")
    ranks: dict[bytes, int] = {}
    merges: list[BytePair] = []
    for rank, token in enumerate(tokens):
        parts = [token[at : at + 1] for at in range(len(token))]
        while len(parts) > 2:
            known = [(ranks[a + b], at) for at, (a, b) in enumerate(pairwise(parts)) if a + b in ranks]
            if not known:
                raise AssertionError(f"{token!r} is not a pair of earlier tokens")
            at = min(known)[1]
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        if token in ranks:
            raise AssertionError(f"{token!r} is there twice")
        ranks[token] = rank
        if rank >= 256:
            left, right = parts
            merges.append((left, right))
    return merges


class _FirstTies:
    """Distinct pieces cut into ids, the pairs in them, and a heap of (-count, piece, byte offset, pair)."""

    def __init__(self, pieces: Mapping[bytes, int] | Iterable[tuple[bytes, int]]) -> None:
        counts: dict[bytes, int] = {}
        for piece, count in pieces.items() if isinstance(pieces, Mapping) else pieces:
            counts[piece] = counts.get(piece, 0) + count
        self.tokens = [bytes([byte]) for byte in range(256)]
        self.cut = [list(piece) for piece in counts]
        self.weights = list(counts.values())
        self.pair_counts: dict[Pair, int] = {}
        self.homes: dict[Pair, list[int]] = {}  # the pieces a pair was born in, ascending
        self.searched: dict[Pair, int] = {}  # how many homes from the front have lost the pair since
        for number, ids in enumerate(self.cut):
            for pair in pairwise(ids):
                self._add(pair, number)
        self.heap = [self._entry(pair) for pair in self.pair_counts]
        heapq.heapify(self.heap)

    def learn(self, n_merges: int) -> list[BytePair]:
        merges: list[BytePair] = []
        while self.heap and len(merges) < n_merges:
            entry = heapq.heappop(self.heap)
            pair = entry[3]
            if self.pair_counts[pair] == 0:
                continue
            current = self._entry(pair)
            if current != entry:
                heapq.heappush(self.heap, current)
                continue
            left, right = self.tokens[pair[0]], self.tokens[pair[1]]
            merges.append((left, right))
            self.tokens.append(left + right)
            self._merge_everywhere(pair, len(self.tokens) - 1)
        return merges

    def _add(self, pair: Pair, number: int) -> None:
        self.pair_counts[pair] = self.pair_counts.get(pair, 0) + self.weights[number]
        homes = self.homes.setdefault(pair, [])
        if not homes or homes[-1] != number:
            homes.append(number)

    def _entry(self, pair: Pair) -> tuple[int, int, int, Pair]:
        """Place the pair in the heap's order by its count and first occurrence as they are now."""
        homes = self.homes[pair]
        for at in range(self.searched.get(pair, 0), len(homes)):
            offset = 0
            for here in pairwise(self.cut[homes[at]]):
                if here == pair:
                    self.searched[pair] = at
                    return -self.pair_counts[pair], homes[at], offset, pair
                offset += len(self.tokens[here[0]])
        raise AssertionError(f"{pair} is counted and is in no piece")

    def _merge_everywhere(self, pair: Pair, new_id: int) -> None:
        born: dict[Pair, None] = {}
        for number in self.homes.pop(pair):
            ids = self.cut[number]
            merged: list[int] = []
            at = 0
            while at < len(ids):
                if ids[at] == pair[0] and at + 1 < len(ids) and ids[at + 1] == pair[1]:
                    merged.append(new_id)
                    at += 2
                else:
                    merged.append(ids[at])
                    at += 1
            if len(merged) == len(ids):
                continue
            for old in pairwise(ids):
                self.pair_counts[old] -= self.weights[number]
            for new in pairwise(merged):
                if new_id in new:
                    self._add(new, number)
                    born[new] = None
                else:
                    self.pair_counts[new] += self.weights[number]
            self.cut[number] = merged
        for new in born:
            heapq.heappush(self.heap, self._entry(new))

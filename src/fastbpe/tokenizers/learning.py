"""Merges learned from counted words, as tokenizers' BpeTrainer learns them, with any prefix and suffix.

The fast learner of the core requires that each merge makes a new token. If a merge makes a token that another
merge has made, or that is a symbol of the words, tokenizers reuses that token; only the learner here, in Python,
does the same. Merges can make such a token if texts contain the prefix or the suffix.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from typing import Any, Protocol

from fastbpe.tokenizers.bpe_trainer import BpeTrainer

_UNLIMITED = 1 << 62  # a count or length above all others
_MAX_IDS = (1 << 31) - 2  # within the limit of the core's learner; vocab_size may be up to 2**64 - 1
#: Counts are modulo this: a negative count becomes a large one, as in tokenizers. A count gets negative if pairs
#: go that were too long to be counted when they came; see `_Word.merge`.
_UINT64 = 1 << 64


class Affixing(Protocol):
    """Options of a trainer that determine how words become symbols."""

    special_tokens: Any
    limit_alphabet: Any
    initial_alphabet: Any
    continuing_subword_prefix: Any
    end_of_word_suffix: Any


def learn_words(words: Mapping[str, int], trainer: BpeTrainer) -> tuple[dict[str, int], list[list[str]]]:
    """Learn a vocabulary and its merges.

    words: word → count. Characters with a prefix or suffix get ids in the order of the words.

    >>> learn_words({"abab": 2}, BpeTrainer(vocab_size=4, end_of_word_suffix="."))
    ({'a': 0, 'b': 1, 'b.': 2, 'ab': 3}, [['a', 'b']])
    """
    vocab = {token: i for i, token in enumerate(_first_tokens(words, trainer))}
    counts = _counted(words, vocab, trainer)
    used = {symbol for symbols in counts for symbol in symbols}
    free = {token: i for token, i in vocab.items() if i not in used}
    merges = _core_merges(counts, [*vocab], free, trainer)
    listed = _spelled(merges, [*vocab], trainer)
    made = [_joined(left, right, trainer) for left, right in listed]
    if _collide(made, vocab, used):
        return _Learner(counts, vocab, trainer).learn()
    for token in made:
        vocab.setdefault(token, len(vocab))
    return vocab, listed


def _collide(made: Sequence[str], vocab: Mapping[str, int], used: Container[int | None]) -> bool:
    """Tell whether merges make a token twice, or make a token that is a symbol of the words.

    made: result of each merge. used: ids of the symbols.
    """
    return len({*made}) < len(made) or any(vocab.get(token) in used for token in made)


def _counted(words: Mapping[str, int], vocab: dict[str, int], trainer: Affixing) -> Counter[tuple[int, ...]]:
    """Return symbols of a word → count, and add new symbols to the vocabulary."""
    counts: Counter[tuple[int, ...]] = Counter()
    for word, n in words.items():
        counts[tuple(_symbols(word, vocab, trainer))] += n
    return counts


def _first_tokens(words: Mapping[str, int], trainer: Affixing) -> list[str]:
    """Return the special tokens, then the characters of the alphabet, sorted."""
    special = [token.content for token in trainer.special_tokens]
    n_occurrences: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            n_occurrences[character] += count
    for character in trainer.initial_alphabet:
        n_occurrences[character] = _UNLIMITED  # limit_alphabet leaves it out last
    kept = sorted(n_occurrences, key=lambda character: (-n_occurrences[character], character))
    return [*dict.fromkeys([*special, *sorted(kept[: trainer.limit_alphabet])])]


def _symbols(word: str, vocab: dict[str, int], trainer: Affixing) -> list[int]:
    """Return the ids of a word's symbols, and add new symbols. Skips characters that are not in the vocabulary."""
    symbols = []
    for character, spelled in zip(word, _spelled_characters(word, trainer), strict=True):
        if character in vocab:
            symbols.append(vocab.setdefault(spelled, len(vocab)))
    return symbols


def _spelled_characters(word: str, trainer: Affixing) -> list[str]:
    """Return the characters of a word with prefix and suffix."""
    prefix, suffix = trainer.continuing_subword_prefix or "", trainer.end_of_word_suffix or ""
    spelled = [*word[:1], *(prefix + character for character in word[1:])]
    if spelled:
        spelled[-1] += suffix
    return spelled


def _joined(left: str, right: str, trainer: Affixing) -> str:
    return left + right.removeprefix(trainer.continuing_subword_prefix or "")


def _spelled(merges: Sequence[tuple[int, int]], names: Sequence[str], trainer: Affixing) -> list[list[str]]:
    """Return the two tokens of each merge. merges: pairs of ids; each merge makes the next id."""
    spelled, known = [], [*names]
    for left, right in merges:
        spelled.append([known[left], known[right]])
        known.append(_joined(known[left], known[right], trainer))
    return spelled


def _core_merges(
    counts: Mapping[tuple[int, ...], int], names: Sequence[str], free: Mapping[str, int], trainer: BpeTrainer
) -> list[tuple[int, int]]:
    """Return the pairs of ids that the core merges, in order. counts: symbols of a word → count.

    free: tokens that are not a symbol of any word, such as special tokens. A merge may make one of them.
    """
    # Imported here: few programs train.
    from fastbpe._core.train.byte_learner import Learner
    from fastbpe._utils.progress import Reporter
    from fastbpe.training.ids import read_sequences

    not_empty = {symbols: n for symbols, n in counts.items() if symbols}
    sequences = read_sequences(not_empty, len(names), lambda n: None)
    limit = trainer.max_token_length
    # tokenizers does not check the length of a token that consists of two characters.
    longest = None if limit is None else max(limit - 1, 2)
    learner = Learner(
        sequences,
        max_ids=min(trainer.vocab_size, _MAX_IDS),
        min_count=min(max(trainer.min_frequency, 1), _UNLIMITED),
        max_token_length=longest,
        n_base=len(names),
        names=[name.encode() for name in names],
        known={token.encode(): i for token, i in free.items()},
        prefix=(trainer.continuing_subword_prefix or "").encode(),
    )
    n_merges = max(min(trainer.vocab_size, _MAX_IDS) - len(names), 0)
    with Reporter(trainer.progress()).phase("learning", n_merges, unit=" merges") as phase:
        learner.learn(lambda n_ids: phase.reach(n_ids - len(names)))
    return [(left, right) for left, right, _ in learner.merges()]


class _Learner:
    """Learner that reuses an existing token if a merge makes it, and adds new ones to the vocabulary."""

    def __init__(self, counts: Mapping[tuple[int, ...], int], vocab: dict[str, int], trainer: BpeTrainer) -> None:
        self._words = [_Word(symbols) for symbols in counts]
        self._counts = [*counts.values()]
        self._vocab, self._names = vocab, [*vocab]
        self._trainer = trainer
        self._pair_counts: defaultdict[tuple[int, int], int] = defaultdict(int)
        #: Negative count, pair, number of the entry (of equal ones, the older is first), numbers of the words in
        #: which the pair was found. A count may be out of date.
        self._queue: list[tuple[int, tuple[int, int], int, list[int]]] = []
        self._n_entries = 0

    def learn(self) -> tuple[dict[str, int], list[list[str]]]:
        """Return the vocabulary and the merges. A pair that is merged again is listed only at its last place."""
        found: defaultdict[tuple[int, int], dict[int, None]] = defaultdict(dict)
        for number, word in enumerate(self._words):
            for pair in zip(word.ids, word.ids[1:], strict=False):
                self._pair_counts[pair] += self._counts[number]
                found[pair][number] = None
        self._offer(found)
        merges: dict[tuple[int, int], None] = {}
        trainer, vocab, names = self._trainer, self._vocab, self._names
        while len(vocab) < trainer.vocab_size and self._queue:
            negative_count, pair, _, numbers = heapq.heappop(self._queue)
            count = self._pair_counts[pair] % _UINT64
            if count != -negative_count:
                self._push(count, pair, numbers)
                continue
            if count < max(trainer.min_frequency, 1):
                break
            token = _joined(names[pair[0]], names[pair[1]], trainer)
            made = vocab.setdefault(token, len(vocab))
            if made == len(names):  # a new token
                names.append(token)
            merges.pop(pair, None)
            merges[pair] = None
            self._merge(pair, made, numbers)
        return vocab, [[names[left], names[right]] for left, right in merges]

    def _merge(self, pair: tuple[int, int], made: int, numbers: Sequence[int]) -> None:
        """Merge a pair into the id `made` in the words with these numbers. The count of the pair itself stays."""
        limit = self._trainer.max_token_length
        found: defaultdict[tuple[int, int], dict[int, None]] = defaultdict(dict)
        for number in numbers:
            for changed, change in self._words[number].merge(pair, made, _UNLIMITED if limit is None else limit):
                self._pair_counts[changed] += change * self._counts[number]
                if change > 0:
                    found[changed][number] = None
        self._offer(found)

    def _offer(self, found: Mapping[tuple[int, int], Mapping[int, None]]) -> None:
        """Queue pairs. found: pair → numbers of the words in which it has appeared, in order."""
        for pair, numbers in found.items():
            if self._pair_counts[pair] > 0:
                self._push(self._pair_counts[pair], pair, [*numbers])

    def _push(self, count: int, pair: tuple[int, int], numbers: list[int]) -> None:
        self._n_entries += 1
        heapq.heappush(self._queue, (-count, pair, self._n_entries, numbers))


class _Word:
    """Word of symbols, with the number of characters of each symbol."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = [*ids]
        self.lengths = [1] * len(self.ids)

    def merge(self, pair: tuple[int, int], made: int, limit: int) -> list[tuple[tuple[int, int], int]]:
        """Merge every occurrence of a pair, from left to right.

        Returns (pair, 1 or -1) for each other pair of neighbours that appears or disappears.

        limit: a pair of the new token and a neighbour is counted only if both together have fewer characters.
        """
        changes: list[tuple[tuple[int, int], int]] = []
        ids, lengths, i = self.ids, self.lengths, 0
        while i + 1 < len(ids):
            if (ids[i], ids[i + 1]) == pair:
                length = lengths[i] + lengths[i + 1]
                if i:
                    changes.append(((ids[i - 1], pair[0]), -1))
                    if lengths[i - 1] + length < limit:
                        changes.append(((ids[i - 1], made), 1))
                ids[i : i + 2], lengths[i : i + 2] = [made], [length]
                if i + 1 < len(ids):
                    changes.append(((pair[1], ids[i + 1]), -1))
                    if lengths[i + 1] + length < limit:
                        changes.append(((made, ids[i + 1]), 1))
            i += 1
        return changes

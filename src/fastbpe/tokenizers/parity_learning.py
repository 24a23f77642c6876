"""Merges learned from the words of several languages, as tokenizers' ParityBpeTrainer learns them.

The fast learner of the core requires that no merge makes a token that another merge has made, or that is a symbol
of the texts. If a merge does (only if texts contain the prefix or suffix), the learner here reuses the token, as
tokenizers does.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fastbpe._core.train.language_choice import LanguageChoice
from fastbpe._core.train.parity_learner import ParityLearner
from fastbpe._utils.progress import Reporter
from fastbpe.splitting.charset import CharSet
from fastbpe.tokenizers.learning import (
    _MAX_IDS,
    _UNLIMITED,
    _collide,
    _counted,
    _first_tokens,
    _joined,
    _spelled,
    _spelled_characters,
    _Word,
)
from fastbpe.tokenizers.parity_trainer import ParityBpeTrainer
from fastbpe.tokenizers.training import texts_of, words_of
from fastbpe.training.ids import read_sequences

Symbols = Counter[tuple[int, ...]]


def learn(
    tokenizer: Any,
    trainer: ParityBpeTrainer,
    languages: Sequence[Iterable[Any]],
    dev: Sequence[Iterable[Any]] | None,
    ratio: Sequence[float] | None,
) -> tuple[dict[str, int], list[list[str]]]:
    """Learn a vocabulary and its merges, with the checked arguments of `ParityBpeTrainer.train_from_iterator`."""
    words = [_words(texts, tokenizer, trainer) for texts in languages]
    dev_words = [_words(texts, tokenizer, trainer) for texts in dev or ()]
    return learn_languages(words, dev_words, trainer, ratio)


def _words(texts: Iterable[Any], tokenizer: Any, trainer: ParityBpeTrainer) -> dict[str, int]:
    """Return the words of texts, sorted, with their counts.

    Unlike in other trainings, the pre-tokenizer reads the normalized text as if it were the original one, added
    tokens are not searched for, and without a pre-tokenizer a text loses white space at both ends.
    """
    normalizer, pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    read: Iterator[str] = texts_of(texts)
    if normalizer is not None:
        read = map(normalizer.normalize_str, read)
    if pre_tokenizer is None:
        space = "".join(
            chr(code) for first, last in CharSet.white_space().ranges for code in range(first, last + 1)
        )
        return dict(sorted(Counter(word for text in read if (word := text.strip(space))).items()))
    described = {
        "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": pre_tokenizer.described(),
    }  # fmt: skip
    found = words_of(read, described, frozenset(), trainer.progress())
    return {word: n for word, n in sorted(found.items()) if word}


def learn_languages(
    languages: Sequence[Mapping[str, int]],
    dev: Sequence[Mapping[str, int]],
    trainer: ParityBpeTrainer,
    ratio: Sequence[float] | None = None,
) -> tuple[dict[str, int], list[list[str]]]:
    """Learn a vocabulary and its merges.

    languages: for each language, word → count. Characters with a prefix or suffix get ids in the order of words.
    dev: the same for the dev texts; empty: no dev texts. ratio: as in `ParityBpeTrainer.train_from_iterator`.

    >>> learn_languages([{"aab": 2}, {"cc": 1}], [{"a": 1}, {"ccc": 1}], ParityBpeTrainer(num_merges=1))
    ({'a': 0, 'b': 1, 'c': 2, 'cc': 3}, [['c', 'c']])
    """
    whole: Counter[str] = Counter()
    for words in (*languages, *dev):
        whole.update(words)
    vocab = {token: i for i, token in enumerate(_first_tokens(whole, trainer))}
    texts = [_counted(words, vocab, trainer) for words in languages]
    judged = [_known(words, vocab, trainer) for words in dev]
    n_merges = trainer.num_merges
    if trainer.total_symbols:
        n_merges = max(n_merges - len(vocab), 0)
    n_merges = min(n_merges, _MAX_IDS - len(vocab))
    merges = _core_merges(texts, judged, [*vocab], n_merges, trainer, ratio)
    listed = _spelled(merges, [*vocab], trainer)
    made = [_joined(left, right, trainer) for left, right in listed]
    used = {symbol for counts in (*texts, *judged) for symbols in counts for symbol in symbols}
    if _collide(made, vocab, used):
        return _Learner(texts, judged, vocab, n_merges, trainer, ratio).learn()
    for token in made:
        vocab.setdefault(token, len(vocab))
    return vocab, listed


def _known(words: Mapping[str, int], vocab: Mapping[str, int], trainer: ParityBpeTrainer) -> Symbols:
    """Return symbols of a word → count. Leaves out words with a character or symbol that is not in `vocab`."""
    counts: Symbols = Counter()
    for word, n in words.items():
        symbols = [vocab.get(spelled) for spelled in _spelled_characters(word, trainer)]
        if None not in symbols and all(character in vocab for character in word):
            counts[tuple(symbols)] += n  # type: ignore[arg-type]  # no None
    return counts


def _core_merges(
    texts: Sequence[Symbols],
    judged: Sequence[Symbols],
    names: Sequence[str],
    n_merges: int,
    trainer: ParityBpeTrainer,
    ratio: Sequence[float] | None,
) -> list[tuple[int, int]]:
    """Return the pairs of ids that the core merges, in order; each makes the next id.

    texts: for each language, symbols of a word → count; judged: the same for the dev texts; empty: no dev texts.
    """

    def read(counts: Symbols) -> Any:
        return read_sequences({symbols: n for symbols, n in counts.items() if symbols}, len(names), lambda n: None)

    whole: Symbols = Counter()
    if trainer.global_merges:
        for counts in texts:
            whole.update(counts)
    limit = trainer.max_token_length
    learner = ParityLearner(
        [read(counts) for counts in texts],
        [name.encode() for name in names],
        n_merges=n_merges,
        dev=[read(counts) for counts in judged] or None,
        ratio=ratio,
        window=trainer.window_size if trainer.variant == "window" else None,
        alpha=trainer.alpha,
        whole=read(whole),
        global_merges=trainer.global_merges,
        min_count=min(max(trainer.min_frequency, 1), _UNLIMITED),
        max_token_length=None if limit is None else max(limit - 1, 2),  # see `learning`
        prefix=(trainer.continuing_subword_prefix or "").encode(),
    )
    with Reporter(trainer.progress()).phase("learning", n_merges, unit=" merges") as phase:
        learner.learn(phase.reach)
    return [(left, right) for left, right, _ in learner.merges()]


class _Greatest:
    """Texts of a pair's tokens, with the order reversed: the greatest sorts first."""

    __slots__ = ("texts",)

    def __init__(self, texts: tuple[str, str]) -> None:
        self.texts = texts

    def __lt__(self, other: _Greatest) -> bool:
        return self.texts > other.texts


class _Queue:
    """Priority queue of pairs by count, then by their texts. A pair whose count changed is queued again."""

    def __init__(self, counts: Mapping[tuple[int, int], int], names: Sequence[str]) -> None:
        self._counts, self._names = counts, names
        self._entries: list[tuple[int, _Greatest, tuple[int, int]]] = []
        self.push(counts)

    def push(self, pairs: Iterable[tuple[int, int]]) -> None:
        for pair in pairs:
            count = self._counts.get(pair, 0)
            if count > 0:
                texts = _Greatest((self._names[pair[0]], self._names[pair[1]]))
                heapq.heappush(self._entries, (-count, texts, pair))

    def pop(self, min_count: int) -> tuple[int, int] | None:
        """Return the best pair; None: no pair has min_count occurrences."""
        while self._entries:
            negative_count, texts, pair = heapq.heappop(self._entries)
            count = self._counts.get(pair, 0)
            if count > 0 and count != -negative_count:  # out of date
                heapq.heappush(self._entries, (-count, texts, pair))
            elif count > 0:
                return pair if count >= min_count else None
        return None


class _Language:
    """Words of one language, its number of symbols, and the number of occurrences of each pair."""

    def __init__(self, counts: Symbols) -> None:
        self._words = [_Word(symbols) for symbols in counts]
        self._word_counts = [*counts.values()]
        self.n_symbols = sum(len(symbols) * n for symbols, n in counts.items())
        self.counts: defaultdict[tuple[int, int], int] = defaultdict(int)
        #: Pair → numbers of the words in which it has appeared, in order.
        self._found: defaultdict[tuple[int, int], dict[int, None]] = defaultdict(dict)
        for number, word in enumerate(self._words):
            for pair in zip(word.ids, word.ids[1:], strict=False):
                self.counts[pair] += self._word_counts[number]
                self._found[pair][number] = None

    def merge(self, pair: tuple[int, int], made: int, limit: int) -> set[tuple[int, int]]:
        """Merge a pair in all words that contain it, and return the pairs whose counts changed."""
        numbers = self._found.pop(pair, None)
        if numbers is None:
            return set()
        changed: set[tuple[int, int]] = set()
        for number in numbers:
            word = self._words[number]
            n_before = len(word.ids)
            for other, change in word.merge(pair, made, limit):
                self.counts[other] += change * self._word_counts[number]
                changed.add(other)
                if change > 0:
                    self._found[other][number] = None
            self.n_symbols -= (n_before - len(word.ids)) * self._word_counts[number]
        self.counts[pair] = 0
        return changed


class _Learner:
    """Learner that reuses an existing token if a merge makes it, and adds new ones to `vocab`.

    The other arguments are as for `_core_merges`.
    """

    def __init__(
        self,
        texts: Sequence[Symbols],
        judged: Sequence[Symbols],
        vocab: dict[str, int],
        n_merges: int,
        trainer: ParityBpeTrainer,
        ratio: Sequence[float] | None,
    ) -> None:
        self._vocab, self._names = vocab, [*vocab]
        self._n_merges, self._trainer = n_merges, trainer
        self._languages = [_Language(counts) for counts in texts]
        self._judged = [_Language(counts) for counts in judged] or self._languages
        window = trainer.window_size if trainer.variant == "window" else None
        self._choice = LanguageChoice([one.n_symbols for one in self._judged], ratio, window, trainer.alpha)
        self._queues = [_Queue(language.counts, self._names) for language in self._languages]
        #: Pair → its count in all languages together; empty without global merges.
        self._whole: dict[tuple[int, int], int] = {}
        if trainer.global_merges:
            self._note_whole({pair for language in self._languages for pair in language.counts})
        self._whole_queue = _Queue(self._whole, self._names)

    def learn(self) -> tuple[dict[str, int], list[list[str]]]:
        """Return the vocabulary and the merges. A pair that is merged again is listed only at its last place."""
        trainer, choice, vocab, names = self._trainer, self._choice, self._vocab, self._names
        merges: dict[tuple[int, int], None] = {}
        n_merged = 0
        while n_merged < self._n_merges and choice.n_exhausted < choice.n_languages:
            language = None if n_merged < trainer.global_merges else choice.choose()
            queue = self._whole_queue if language is None else self._queues[language]
            pair = queue.pop(max(trainer.min_frequency, 1))
            if pair is None:
                if language is None:
                    break
                choice.exhaust(language)
                continue
            token = _joined(names[pair[0]], names[pair[1]], trainer)
            made = vocab.setdefault(token, len(vocab))
            if made == len(names):
                names.append(token)
            merges.pop(pair, None)
            merges[pair] = None
            n_merged += 1
            self._merge(pair, made)
        return vocab, [[names[left], names[right]] for left, right in merges]

    def _merge(self, pair: tuple[int, int], made: int) -> None:
        limit = self._trainer.max_token_length
        all_changed = {pair}
        for language, queue in zip(self._languages, self._queues, strict=True):
            changed = language.merge(pair, made, _UNLIMITED if limit is None else limit)
            queue.push(changed)
            all_changed |= changed
        if self._trainer.global_merges:
            self._note_whole(all_changed)
            self._whole_queue.push(all_changed)
        for i, judged in enumerate(self._judged):
            if judged is not self._languages[i]:  # dev texts: their pairs are never chosen, so no limit
                judged.merge(pair, made, _UNLIMITED)
            self._choice.set_symbols(i, judged.n_symbols)

    def _note_whole(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Update the counts of pairs in all languages together."""
        for pair in pairs:
            self._whole[pair] = sum(language.counts.get(pair, 0) for language in self._languages)

"""Order of sentences, on which unigram models depend although threads count batches in any order.

sentencepiece reads beyond a sentence into the beginning of the next one, and it moves sentences: it removes those
that are empty after normalization, and puts the last sentence in the place of each.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Protocol

from fastbpe._core.train.sentence_store import SentenceStore

CHUNK_BYTES = 500 << 20  # bytes of normalized text that sentencepiece searches for strings at once
# Longer texts have several chunks even if each character (4 bytes at most) becomes U+2585 (3 bytes).
_ONE_CHUNK_BYTES = CHUNK_BYTES // 3 * 4


class Kept(Protocol):
    """Collector of sentences, or of parts of them."""

    @property
    def keeps(self) -> str:
        """Kind of parts of sentences that the counters keep; see `WordCounter`."""

    def take(self, kept: SentenceStore, n_bytes: int) -> None:
        """Store what was kept of the next batch.

        Args:
            kept: the sentences, or parts of them.
            n_bytes: bytes of the whole sentences.
        """


class KeptSentences:
    """Collector of all sentences.

    Args:
        store: store to which they are added.
    """

    keeps = "sentences"

    def __init__(self, store: SentenceStore) -> None:
        self._store = store

    def take(self, kept: SentenceStore, n_bytes: int) -> None:
        """Store the sentences of the next batch."""
        self._store.extend(kept)


class LastWords:
    """Collector of the last word of each sentence that may become the last sentence.

    Let n be the number of sentences that are not empty. sentencepiece treats as the last one the n-th of all
    sentences, or if that is empty the next one that is not (see `SentenceStore.drop_empty`). So this collector
    keeps about as many words as there are empty sentences.
    """

    keeps = "last words"

    def __init__(self) -> None:
        self._stores: deque[SentenceStore] = deque()
        #: Numbers of sentences dropped from the stores, of all sentences that are not empty, and of their bytes.
        self._n_before = self._n_full = self._n_bytes = 0

    def take(self, kept: SentenceStore, n_bytes: int) -> None:
        """Store the last words of the next batch, and drop those that are too far back."""
        self._stores.append(kept)
        self._n_full += kept.n - kept.n_empty
        self._n_bytes += n_bytes
        while self._stores and (
            self._n_before + self._stores[0].n < self._n_full
            # Counts of a text of several chunks give only nearly the same model anyway: bound the memory.
            or (self._n_bytes > _ONE_CHUNK_BYTES and len(self._stores) > 1)
        ):
            self._n_before += self._stores.popleft().n

    def last_word(self) -> bytes:
        """Return the last word of the last sentence; b"" if there is no sentence."""
        at = max(self._n_full - 1 - self._n_before, 0)
        for store in self._stores:
            for i in range(at, store.n):
                if word := store.sentence(i):
                    return word
            at = 0
        return b""


class InOrder:
    """Queue that gets the sentences of each batch from threads, and passes them on in the order of the batches.

    Args:
        kept: collector to which it passes them.
    """

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._waiting: dict[int, tuple[SentenceStore, int]] = {}  # by number of the batch
        self._next = 0  # number of the batch that comes next
        self._lock = Lock()

    def add(self, number: int, kept: SentenceStore, n_bytes: int) -> None:
        """Pass on what was kept of a batch, as soon as all earlier batches have been passed on.

        Args:
            number: number of the batch.
            kept, n_bytes: as for `take`.
        """
        with self._lock:
            self._waiting[number] = kept, n_bytes
            while waiting := self._waiting.pop(self._next, None):
                self._kept.take(*waiting)
                self._next += 1

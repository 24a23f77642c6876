"""Sentences of code-point and unigram training: their source, the sample, and their order.

A sentence is a line of text. Unigram models depend on the order of sentences although threads count batches in any
order: sentencepiece reads beyond a sentence into the beginning of the next one, and it moves sentences. It removes
those that are empty after normalization, and puts the last sentence in the place of each.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Protocol

from fastbpe._core.train.sentence_store import SentenceStore
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.short_reprs import short_repr
from fastbpe.corpus.corpora import Corpus, ReadingOptions, Source
from fastbpe.corpus.skipping import Skipped
from fastbpe.corpus.source_kinds import Document
from fastbpe.corpus.sources import Block, each_document
from fastbpe.errors import SpecError, TrainingError
from fastbpe.training import counting_threads
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.count_checks import checked_count
from fastbpe.training.piece_counts import PieceCounts

UNKNOWN_CHARACTER = 0x2585  # "▅": sentencepiece reserves it for unknown characters
CHUNK_BYTES = 500 << 20  # bytes of normalized text that sentencepiece searches for strings at once
# Longer texts have several chunks even if each character (4 bytes at most) becomes U+2585 (3 bytes).
_ONE_CHUNK_BYTES = CHUNK_BYTES // 3 * 4
_SEED = 1  # seed of random samples: the same text results in the same model


class Pretokenizer(NamedTuple):
    """Function of the caller that cuts sentences into parts; no piece crosses their boundaries.

    cut: function from a normalized sentence to its parts.
    is_checked: bool – whether to raise SpecError if the joined parts differ from the sentence.
    """

    cut: Callable[[str], Sequence[str]]
    is_checked: bool = True


@dataclass(frozen=True, kw_only=True)
class SentenceSource:
    """Text whose sentences are counted, for a model of any of sentencepiece's types.

    Attributes:
        texts: documents or blocks of them, whose lines are the sentences; or sentences.
        are_sentences: bool – each text is a sentence.
        must_be_utf8: bool – whether invalid UTF-8 is an error; False: each invalid byte becomes U+FFFD.
        pretokenizer: function that first cuts each sentence, in one thread; None: sentences are not cut.
        n_bytes: int or None – number of bytes of all texts, for the progress bar; None: not known.
        skipped: documents that are left out while the texts are read, because they cannot be read.
        left_out: files in folders of the source that, by their names, contain no documents.
    """

    texts: Iterable[Document | Block]
    are_sentences: bool = False
    must_be_utf8: bool = False
    pretokenizer: Pretokenizer | None = None
    n_bytes: int | None = None
    skipped: Skipped = field(default_factory=Skipped)
    left_out: Skipped = field(default_factory=Skipped)

    def sentences(self) -> Iterator[Document]:
        """Yield the sentences."""
        for document in each_document(self.texts):
            if self.are_sentences:
                yield document
                continue
            start = 0
            while start < len(document):
                end = _line_end(document, start)
                yield document[start : end - 1 if document[end - 1 : end] in ("\n", b"\n") else end]
                start = end

    def parts(self, document: Document, number: int) -> Iterator[tuple[int, int]] | None:
        """Cut a long document into parts of whole lines; None: it is short, or a sentence."""
        is_long = not self.are_sentences and len(document) >= counting_threads.LONG_TEXT_UNITS
        return _line_ranges(document) if is_long else None


def sentences_of(source: Source, reading: ReadingOptions) -> SentenceSource:
    """Open a source of sentences.

    Args:
        source: as for `train`; the lines of a document are the sentences. A mapping contains sentences with their
            counts.
        reading: how to read it.

    Raises TrainingError if the source is counted already, or options for reading are given with a mapping.
    """
    if isinstance(source, PieceCounts):
        raise TrainingError("the source is counted already, so there is nothing to count; pass it to train")
    has_counts = isinstance(source, Mapping)
    if isinstance(source, Mapping):  # threads and memory matter for counting words, the others only for reading
        replace(reading, num_threads=None, max_memory_bytes=None).check_unused()
        source = _tsv_lines(source)
    corpus = Corpus(source, reading)
    return SentenceSource(
        texts=corpus.blocks(lambda data: data.rfind(b"\n") + 1),
        n_bytes=corpus.n_bytes,
        are_sentences=has_counts,
        must_be_utf8=True,
        skipped=corpus.skipped,
        left_out=corpus.left_out,
    )


def with_tsv(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Add input_format="tsv", for a mapping of sentences to counts, to options.

    Raises:
        SpecError: the options contain another format.
    """
    if (given := keywords.get("input_format", "tsv")) != "tsv":
        raise SpecError(f"input_format={given!r}: for sentences with counts, use 'tsv'", "")
    return {**keywords, "input_format": "tsv"}


def _tsv_lines(counts: Mapping[Any, Any]) -> Iterator[bytes]:
    """Write each sentence with a count above 0 as a line of input_format="tsv"."""
    for sentence, number in counts.items():
        data, n = checked_count(sentence, number, "sentence")
        if b"\t" in data:
            raise SpecError(
                f"sentence {short_repr(sentence)} contains a tab, but fastbpe reads what follows a tab as the "
                "count of the sentence; replace the tab",
                "",
            )
        if n:
            yield b"%s\t%d" % (data, n)


def _line_ranges(document: Document) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(document):
        end = _line_end(document, min(start + counting_threads.BATCH_UNITS, len(document)))
        yield start, end
        start = end


def _line_end(document: Document, position: int) -> int:
    """Return the position after the end of the line that contains a position."""
    found = document.find("\n", position) if isinstance(document, str) else document.find(b"\n", position)
    return found + 1 if found >= 0 else len(document)


class SentenceFilter:
    """Take a sample of input_sentence_size sentences, and count the sentences that cannot be used.

    With shuffle_input_sentence the sample is random (reservoir sampling: Vitter 1985, algorithm R), otherwise it
    consists of the first sentences.
    """

    def __init__(self, options: CodePointOptions) -> None:
        self.n_empty = self.n_too_long = self.n_reserved = self.n_bytes_left_out = 0
        self._size = options.trainer["input_sentence_size"]
        self._shuffle = options.trainer["shuffle_input_sentence"]
        self._max_bytes = options.trainer["max_sentence_length"]
        self._has_counts = options.trainer["input_format"] == "tsv"

    def sample(self, sentences: Iterable[Document]) -> Iterator[Document]:
        """Choose sentences. Keeps the whole sample in memory."""
        rng = random.Random(_SEED)
        chosen: list[Document] = []
        for n_before, sentence in enumerate(filter(self._is_kept, sentences)):
            if len(chosen) < self._size:
                chosen.append(sentence)
            elif not self._shuffle:
                break
            elif (i := rng.randrange(n_before + 1)) < self._size:
                chosen[i] = sentence
        yield from chosen

    def _is_kept(self, sentence: Document) -> bool:
        """Tell whether training uses a sentence, as `WordCounter` does."""
        data = sentence.encode("utf-8", "surrogatepass") if isinstance(sentence, str) else sentence
        if self._has_counts:
            data = data.split(b"\t")[0]
        if not data:
            self.n_empty += 1
            return False
        if len(data) > self._max_bytes:
            self.n_too_long += 1
        elif chr(UNKNOWN_CHARACTER).encode() in data:
            self.n_reserved += 1
        else:
            return True
        self.n_bytes_left_out += len(data)
        return False


# Order


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
        first = max(self._n_full - 1 - self._n_before, 0)  # 0: without sentences, or if its store was dropped
        for store in self._stores:
            for i in range(first, store.n):
                if word := store.sentence(i):
                    return word
            first = 0
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

"""Counting the pieces of a source, in several threads: the calling one reads it, and counts as the others do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, Protocol, TypeVar

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.train.piece_counter import PieceCounter, parts
from fastbpe._utils.threads import start_beside, usable_threads, wait_for
from fastbpe.corpus.sources import Document
from fastbpe.training.spill import Spill

BATCH = 1 << 18  # units of text that are counted at once; fewer and the threads would talk more than work
_BATCH_TEXTS = 1 << 14
LONG = 1 << 21  # units of a text that is counted in parts
LEAST = 1 << 18  # bytes of memory for each thread, or it would do nothing but spill
_AHEAD = 2  # batches for each thread that are read before they can be counted


class Counter(Protocol):
    """What counts in one thread."""

    @property
    def n_bytes(self) -> int:
        """The bytes of text that it has counted."""

    def abandon(self) -> None:
        """Stop soon, with an error."""


C = TypeVar("C", bound=Counter)
#: The parts of a document, from where to where, or None if it is counted whole; told its number in the source.
Parts = Callable[[Document, int], "Iterable[tuple[int, int]] | None"]


class Batch(NamedTuple):
    """Some texts, or a part of one."""

    number: int
    texts: list[Document]
    first: int  # the number of the first text in the source
    part: tuple[int, int] | None


def count(
    documents: Iterable[Document],
    splitter: Splitter,
    special: SpecialMatcher | None,
    *,
    num_threads: int | None = None,
    max_memory_bytes: int | None = None,
    report: Callable[[int], object] = lambda n_bytes: None,
) -> tuple[PieceCounter, int]:
    """The pieces of all documents, in the same order of first appearance for any number of threads; and the bytes.

    max_memory_bytes: what the tables may take; what is more goes to temporary files. report: told now and then how
    many bytes are counted.
    """
    n_threads = 1 if splitter.holds_gil else usable_threads(num_threads)
    may_cut = splitter.cuttable and (special is None or special.cuttable)
    spill = Spill() if max_memory_bytes is not None else None
    limit = 0 if max_memory_bytes is None else max(max_memory_bytes // n_threads, LEAST)

    def add(counter: PieceCounter, batch: Batch) -> None:
        if batch.part is None:
            counter.add_batch(batch.texts, special, number=batch.number, first=batch.first)
        else:
            counter.add_part(batch.texts[0], *batch.part, special, number=batch.number)

    def parts_of(document: Document, index: int) -> Iterable[tuple[int, int]] | None:
        is_long = may_cut and len(document) >= LONG
        return parts(document, BATCH, f"document {index} of the source") if is_long else None

    crew = Crew(lambda: PieceCounter(splitter, spill=spill, limit=limit), add)
    try:
        crew.count(batches(documents, parts_of), n_threads - 1, report)
        n_bytes = crew.n_bytes
        report(n_bytes)
        return added_up(crew.counters, spill), n_bytes
    finally:
        if spill is not None:
            spill.close()


def added_up(counters: list[PieceCounter], spill: Spill | None) -> PieceCounter:
    """What several counters have counted, of batches of one source."""
    if spill is not None and spill.is_used():
        for counter in counters:
            spill(counter)
        total = spill.total()
    else:
        total = max(counters, key=len)
        for counter in counters:
            if counter is not total:
                total.add_table(counter, behind=False)
    total.finish()
    return total


def batches(documents: Iterable[Document], parts_of: Parts) -> Iterator[Batch]:
    """Documents in batches; a document that has parts makes one of each."""
    number, first, n_units = 0, 0, 0
    texts: list[Document] = []
    for index, document in enumerate(documents):
        document_parts = parts_of(document, index)
        if texts and (document_parts is not None or n_units >= BATCH or len(texts) == _BATCH_TEXTS):
            yield Batch(number, texts, first, None)
            number, texts, n_units = number + 1, [], 0
        if document_parts is not None:
            for part in document_parts:
                yield Batch(number, [document], index, part)
                number += 1
        else:
            first = first if texts else index
            texts.append(document)
            n_units += len(document)
    if texts:
        yield Batch(number, texts, first, None)


class Crew(Generic[C]):
    """Threads that count batches, each with a counter of its own."""

    def __init__(self, make_counter: Callable[[], C], add: Callable[[C, Batch], None]) -> None:
        self._make_counter, self._add = make_counter, add
        self.counters: list[C] = []
        self._waiting: SimpleQueue[Batch | None] = SimpleQueue()  # None: there will be no more
        self._working: deque[None] = deque()  # as long as there are threads at work
        self._errors: list[tuple[int, Exception]] = []  # with the numbers of their batches
        self._abandoned = False

    @property
    def n_bytes(self) -> int:
        """The bytes of text that are counted."""
        return sum(counter.n_bytes for counter in self.counters)

    def count(self, batches: Iterable[Batch], n_beside: int, report: Callable[[int], object]) -> None:
        """Count all batches. An error is that of the first batch that has one, or of the batches themselves."""
        own = self._new_counter()
        n_others = 0
        try:
            for batch in batches:
                if batch.number == 1:  # one batch is soon counted
                    n_others = start_beside(self._work, n_beside)
                self._waiting.put(batch)
                if self._waiting.qsize() > _AHEAD * n_others:
                    self._count_one(own)
                if self._errors:
                    break
                report(self.n_bytes)
            while self._count_one(own):
                report(self.n_bytes)
        except BaseException:
            self._abandon()
            raise
        finally:
            self._wait()
        if self._errors:
            raise min(self._errors, key=itemgetter(0))[1]

    def _new_counter(self) -> C:
        counter = self._make_counter()
        self.counters.append(counter)
        return counter

    def _count_one(self, counter: C) -> bool:
        """Count the batch that waits longest, so that a counter meets batches in order; False if there is none."""
        try:
            batch = self._waiting.get_nowait()
        except Empty:
            return False
        assert batch is not None
        self._count(counter, batch)
        return True

    def _work(self) -> None:
        """What the other threads do."""
        self._working.append(None)
        try:
            counter: C | None = None
            while (batch := self._waiting.get()) is not None:
                try:
                    counter = counter or self._new_counter()
                except Exception as error:  # else nobody would know that the batch is not counted
                    self._errors.append((batch.number, error))
                else:
                    self._count(counter, batch)
            self._waiting.put(None)  # for the next thread
        finally:
            self._working.pop()

    def _count(self, counter: C, batch: Batch) -> None:
        # Batches are taken in order, and left out only behind one that failed: so the first error is found.
        if self._abandoned or any(number < batch.number for number, _ in self._errors):
            return
        try:
            self._add(counter, batch)
        except Exception as error:
            self._errors.append((batch.number, error))

    def _abandon(self) -> None:
        self._abandoned = True
        for counter in list(self.counters):
            counter.abandon()

    def _wait(self) -> None:
        """Let the other threads end, whatever signals come."""
        self._waiting.put(None)  # who comes later finds it
        wait_for(self._working, self._abandon)

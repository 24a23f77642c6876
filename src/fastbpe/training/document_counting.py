"""Counting of the documents of a source in threads: their pieces, or the runs that other counters count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.train.piece_counter import PieceCounter, parts
from fastbpe._utils.progress import Reporter
from fastbpe._utils.threads import usable_threads
from fastbpe.corpus.corpora import Corpus
from fastbpe.corpus.source_kinds import Document
from fastbpe.corpus.sources import Block
from fastbpe.corpus.text_documents import TextBlock
from fastbpe.patterns import PatternLike
from fastbpe.splitting import make_splitter
from fastbpe.splitting.cutting import make_cutter
from fastbpe.tokenizer.special_token_rules import make_matcher
from fastbpe.training import counting_threads
from fastbpe.training.base_texts import BaseTexts
from fastbpe.training.counting_threads import Batch, CountingThreads, batches, merged_tables
from fastbpe.training.options import ReadingOptions
from fastbpe.training.spill import limited_tables


def texts_of_pattern(pattern: PatternLike, special_tokens: Collection[str]) -> BaseTexts:
    """Return the functions with which a split pattern and special tokens cut documents."""
    splitter = make_splitter(pattern)
    special = make_matcher(special_tokens, {}) if special_tokens else None
    return BaseTexts(splitter, special, make_cutter(splitter, special_tokens))


def count_documents(
    corpus: Corpus,
    of_base: BaseTexts,
    reading: ReadingOptions,
    reporter: Reporter,
    phase_name: str,
    make_counter: Callable[..., PieceCounter],
) -> tuple[PieceCounter, int, int]:
    """Count the content of the documents of a source.

    Args:
        corpus: the documents.
        of_base: functions that turn documents into pieces.
        reading: only num_threads and max_memory_bytes are used.
        reporter: gets the phase.
        phase_name: name of the phase.
        make_counter: function that creates a counter from a splitter and the arguments spill= and limit=.

    Returns:
        The finished table, the bytes of all documents, and the number of documents that were left out.
    """
    splitter, divide, stretches = of_base.splitter, of_base.divide, of_base.stretches
    with reporter.phase(phase_name, corpus.n_bytes, unit="B", unit_scale=True) as phase:
        if stretches is not None:
            texts = stretches(corpus.documents(of_base.cut), phase.update)
            table, _ = count_texts(texts, splitter, None, reading, lambda n_bytes: None, make_counter)
            return table, phase.n, corpus.skipped.n
        blocks = corpus.blocks(of_base.cut) if divide is None else divide(corpus.documents(of_base.cut))
        table, n_bytes = count_texts(blocks, splitter, of_base.special, reading, phase.reach, make_counter)
        return table, n_bytes, corpus.skipped.n


def count_texts(
    texts: Iterable[Document | Block],
    splitter: Splitter,
    special: SpecialMatcher | None,
    reading: ReadingOptions,
    report: Callable[[int], object],
    make_counter: Callable[..., PieceCounter] = PieceCounter,
) -> tuple[PieceCounter, int]:
    """Count texts in threads.

    Returns:
        The finished table, and the bytes of all texts.
    """
    n_threads = 1 if splitter.holds_gil else usable_threads(reading.num_threads)
    may_cut = splitter.cuttable and (special is None or special.cuttable)

    def add(counter: PieceCounter, batch: Batch) -> None:
        separated = batch.block.separated() if isinstance(batch.block, TextBlock) else None
        if separated is not None:
            counter.add_separated(separated, special, number=batch.number)
        elif batch.part is None:
            counter.add_batch(batch.documents(), special, number=batch.number, first=batch.first)
        else:
            counter.add_part(batch.texts[0], *batch.part, special, number=batch.number)

    def parts_of(document: Document, index: int) -> Iterable[tuple[int, int]] | None:
        if not may_cut or len(document) < counting_threads.LONG_TEXT_UNITS:
            return None
        return parts(document, counting_threads.BATCH_UNITS, f"document {index} of the source")

    with limited_tables(reading.max_memory_bytes, n_threads) as (spill, limit):
        threads = CountingThreads(lambda: make_counter(splitter, spill=spill, limit=limit), add)
        threads.count(batches(texts, parts_of), n_threads - 1, report)
        n_bytes = threads.n_bytes
        report(n_bytes)
        return merged_tables(threads.counters, spill), n_bytes

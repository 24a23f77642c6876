"""Counting of the documents of sources: how a base cuts and changes them, and sources that are read several times.

Most bases only cut texts at special and added tokens, which the counter finds itself. A base that normalizes text
or puts a space before it, or whose added tokens have flags or are found in normalized text, needs a second
tokenizer (`Twin`) with the same rules but no splitter, whose only ordinary tokens are the bytes. When the twin
encodes a text, the ids between special and added tokens are the bytes that the base would split and merge.
"""

from __future__ import annotations

import contextlib
import struct
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.text.utf8_text import utf8_size
from fastbpe._core.train.piece_counter import PieceCounter, parts
from fastbpe._core.train.run_counter import NeighbourCounts
from fastbpe._utils.progress import Reporter
from fastbpe._utils.threads import usable_threads
from fastbpe.corpus.corpora import Corpus, ReadingOptions, Source
from fastbpe.corpus.source_kinds import Cut, Document
from fastbpe.corpus.sources import Block
from fastbpe.corpus.text_documents import TextBlock
from fastbpe.model import N_BYTES, Model
from fastbpe.patterns import Pattern, PatternLike
from fastbpe.splitting import make_splitter
from fastbpe.splitting.cutting import make_cutter
from fastbpe.tokenizer.internals import cutter_of, model_of, special_of, splitter_of
from fastbpe.tokenizer.special_token_rules import make_matcher
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training import counting_threads
from fastbpe.training.counting_threads import Batch, CountingThreads, batches, limited_tables, merged_tables
from fastbpe.training.options import Run
from fastbpe.training.piece_counts import PieceCounts, added_up, counts_of_table

_HEAD = struct.Struct("<?Q")  # header of a document in a file: whether it is a str; its length in bytes


@dataclass(frozen=True)
class BaseTexts:
    """Functions that turn a document into the texts that a base merges.

    splitter: cuts text into pieces.
    special: finder of the tokens that cut a document; None: there are no such tokens, or `stretches` finds them.
    cut: function that finds safe cuts of a long document; None: the document is kept whole in memory.
    stretches: function that returns the normalized texts between the tokens of documents; None: documents are not
        normalized.
    divide: function that divides long documents into several with the same pieces; None: the splitter has safe
        cuts, or no cuts are known.
    """

    splitter: Splitter
    special: SpecialMatcher | None
    cut: Cut | None
    stretches: Callable[[Iterable[Document], Callable[[int], object]], Iterator[bytes]] | None = None
    divide: Callable[[Iterable[Document]], Iterator[Document]] | None = None


def texts_of_pattern(pattern: PatternLike, special_tokens: Collection[str]) -> BaseTexts:
    """Return the functions with which a split pattern and special tokens cut documents."""
    splitter = make_splitter(pattern)
    special = make_matcher(special_tokens, {}) if special_tokens else None
    return BaseTexts(splitter, special, make_cutter(splitter, special_tokens))


def texts_of_base(base: Tokenizer, special_tokens: Iterable[str]) -> BaseTexts:
    """Return the functions with which a base cuts and changes documents before it merges.

    Args:
        base: the byte-level tokenizer.
        special_tokens: new special tokens, which are not tokens of the base. They also cut documents.
    """
    base = base.with_special_tokens([*special_tokens])
    model, names = model_of(base), special_of(base)
    finder = names.trusted
    with_flags = any(token.lstrip or token.rstrip or token.single_word for token in names.added)
    normalizes = model.normalizers or (finder is not None and finder.then is not None)  # then: in normalized text
    if normalizes or model.prefix_space or with_flags:
        twin = Twin(base)
        return BaseTexts(splitter_of(base), None, None, twin.stretches)
    return BaseTexts(splitter_of(base), finder, cutter_of(base, base.special_tokens))


class Twin:
    """Copy of a byte-level tokenizer that neither merges nor splits. Its bytes have ids after all others.

    base: the tokenizer.
    """

    def __init__(self, base: Tokenizer) -> None:
        self._first_byte = base.n_vocab  # id of the byte 0
        model: Model = model_of(base)._replace(
            tokens=[b""] * self._first_byte + [bytes([byte]) for byte in range(N_BYTES)],
            tables=None,
            pattern=None,
            pre_tokenizers=(),
            merges=b"",
            merges_rule="ranks",
            drops_bytes=False,
            template=((), ()),
            pair_template=(),
            roles={},
            huggingface={},
            fingerprint="",
            training={},
        )
        self._tokenizer = Tokenizer(model, cache_bytes=0)

    def stretches(self, documents: Iterable[Document], report: Callable[[int], object]) -> Iterator[bytes]:
        """Yield the texts between tokens of each document, normalized, as UTF-8.

        Args:
            documents: the documents.
            report: function to call with the number of bytes of each document.
        """
        for document in documents:
            report(utf8_size([document]))
            ids = array("I", self._tokenizer.encode(document, allowed_special="all"))
            first_byte = self._first_byte
            start = 0
            for end, token_id in enumerate(ids):
                if token_id < first_byte:
                    if start < end:
                        yield bytes([i - first_byte for i in ids[start:end]])
                    start = end + 1
            if start < len(ids):
                yield bytes([i - first_byte for i in ids[start:]])


def count_documents(
    corpus: Corpus,
    of_base: BaseTexts,
    reporter: Reporter,
    phase_name: str,
    make_counter: Callable[..., PieceCounter],
    pattern: Pattern = None,
    special_tokens: tuple[str, ...] = (),
    runs_of: str | None = None,
) -> PieceCounts:
    """Count the content of the documents of a source.

    Args:
        corpus: the documents, and how to count them.
        of_base: functions that turn documents into pieces.
        reporter: gets the phase.
        phase_name: name of the phase.
        make_counter: function that creates a counter from a splitter and the arguments spill= and limit=.
        pattern, special_tokens, runs_of: as for `counts_of_table`.
    """
    splitter, divide, stretches, reading = of_base.splitter, of_base.divide, of_base.stretches, corpus.reading
    with reporter.phase(phase_name, corpus.n_bytes, unit="B", unit_scale=True) as phase:
        if stretches is not None:
            texts = stretches(corpus.documents(of_base.cut), phase.update)
            table, _ = count_texts(texts, splitter, None, reading, lambda n_bytes: None, make_counter)
            n_bytes = phase.n
        else:
            blocks = corpus.blocks(of_base.cut) if divide is None else divide(corpus.documents(of_base.cut))
            table, n_bytes = count_texts(blocks, splitter, of_base.special, reading, phase.reach, make_counter)
    n_skipped = corpus.skipped.n
    return counts_of_table(table, pattern, special_tokens, n_bytes=n_bytes, n_skipped=n_skipped, runs_of=runs_of)


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
        return parts(document, counting_threads.BATCH_UNITS, f"document {index} of the source (counted from 0)")

    with limited_tables(reading.max_memory_bytes, n_threads) as (spill, limit):
        threads = CountingThreads(lambda: make_counter(splitter, spill=spill, limit=limit), add)
        threads.count(batches(texts, parts_of), n_threads - 1, report)
        n_bytes = threads.n_bytes
        report(n_bytes)
        return merged_tables(threads.counters, spill), n_bytes


# Sources that are read several times


class SourcesAgain:
    """Sources of a run. Each source can be read several times.

    Args:
        sources: name → source that is not an iterator; the name is None in a run without names.
        run: how to read and count, and the weights of the sources.

    Attributes:
        n_left_out: int – number of files in folders that the last call of `count` left out.
    """

    def __init__(self, sources: Mapping[str | None, Source | _Kept], run: Run) -> None:
        self._sources, self._run = sources, run
        self.n_left_out = 0

    def opened(self) -> dict[str | None, Corpus]:
        """Open all sources for one reading. Call it again for the next reading."""
        reading = self._run.reading
        return {
            name: source.opened() if isinstance(source, _Kept) else Corpus(source, reading)
            for name, source in self._sources.items()
        }

    def n_bytes(self) -> int | None:
        """Return the total size of the files; None if there are items other than files, or compressed files."""
        total = 0
        for corpus in self.opened().values():
            if corpus.n_bytes is None:
                return None
            total += corpus.n_bytes
        return total

    def count(
        self,
        texts: BaseTexts,
        phase_name: str,
        make_counter: Callable[..., PieceCounter],
        neighbours: NeighbourCounts | None = None,
    ) -> PieceCounts:
        """Count the content of the documents of all sources; each count is multiplied by its source's weight.

        Args:
            texts: functions that turn documents into pieces.
            phase_name, make_counter: as for `count_documents`.
            neighbours: table into which the counters count neighbours; None: they do not count neighbours.
        """
        counted: list[PieceCounts] = []
        self.n_left_out = 0
        for name, corpus in self.opened().items():
            weight = self._run.weight(name)
            if neighbours is not None:
                neighbours.weight = weight
            counts = count_documents(corpus, texts, self._run.reporter, phase_name, make_counter)
            counted.append(counts * weight)
            self.n_left_out += corpus.left_out.n
        return added_up(counted)


@contextlib.contextmanager
def read_again(sources: Mapping[str | None, Source], run: Run) -> Iterator[SourcesAgain]:
    """Provide the sources of a run, which can be read several times.

    sources: name → source; the name is None in a run without names. The documents of an iterator are written to a
        temporary file (in TMPDIR), which is removed at the end of the context.

    Raises:
        OSError: the file cannot be written.
    """
    import tempfile  # here and below: the import is slow, and few runs need it

    with contextlib.ExitStack() as files:
        again: dict[str | None, Source | _Kept] = {}
        for name, source in sources.items():
            again[name] = source
            if hasattr(source, "__next__"):
                file = files.enter_context(tempfile.TemporaryFile(prefix="fastbpe-"))
                again[name] = _Kept(Corpus(source, run.reading), file)
        yield SourcesAgain(again, run)


def _stored(write: Callable[..., object], *data: bytes) -> None:
    """Write to the temporary file. Raises OSError with the folder and the ways out."""
    try:
        write(*data)
    except OSError as error:
        import tempfile

        raise OSError(
            error.errno,
            f"{error.strerror}: cannot store the documents in {tempfile.gettempdir()}; set TMPDIR to a folder "
            "with enough space, or pass the documents as files or as a list",
        ) from error


class _Kept:
    """Documents of an iterator, in a file with a header before the bytes of each.

    Args:
        corpus: the documents, which are read to the end.
        file: empty temporary file.
    """

    def __init__(self, corpus: Corpus, file: IO[bytes]) -> None:
        self._file, reading = file, corpus.reading
        self._skipped, self._left_out = corpus.skipped, corpus.left_out
        # The other options have been used; for an iterable, text_field= and others would be errors.
        self._counting = ReadingOptions(num_threads=reading.num_threads, max_memory_bytes=reading.max_memory_bytes)
        for document in corpus.documents():
            data = document.encode("utf-8", "surrogatepass") if isinstance(document, str) else document
            _stored(file.write, _HEAD.pack(isinstance(document, str), len(data)))
            _stored(file.write, data)
        _stored(file.flush)

    def opened(self) -> Corpus:
        """Open the documents for one reading."""
        corpus = Corpus(self, self._counting)
        corpus.skipped.add(self._skipped.n, self._skipped.first)
        corpus.left_out.add(self._left_out.n, self._left_out.first)
        return corpus

    def __iter__(self) -> Iterator[Document]:
        self._file.seek(0)
        while head := self._file.read(_HEAD.size):
            is_str, n_bytes = _HEAD.unpack(head)
            data = self._file.read(n_bytes)
            yield data.decode("utf-8", "surrogatepass") if is_str else data

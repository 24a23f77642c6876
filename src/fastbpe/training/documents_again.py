"""Sources that a run reads several times, including iterators, which yield their documents only once."""

from __future__ import annotations

import contextlib
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.run_counter import NeighbourCounts
from fastbpe.corpus.corpora import Corpus, Source
from fastbpe.corpus.source_kinds import Document
from fastbpe.training.base_texts import BaseTexts
from fastbpe.training.document_counting import count_documents
from fastbpe.training.options import Run
from fastbpe.training.piece_counts import PieceCounts, added_up, counts_of_table

_HEAD = struct.Struct("<?Q")  # header of a document: whether it is a str; its length in bytes


class SourcesAgain:
    """Sources of a run, each of which can be read several times.

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
            name: source.opened() if isinstance(source, _Kept) else reading.open(source)
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
            table, n_bytes, n_skipped = count_documents(
                corpus, texts, self._run.reading, self._run.reporter, phase_name, make_counter
            )
            counts = counts_of_table(table, None, (), n_bytes=n_bytes, n_skipped=n_skipped)
            counted.append(counts * weight)
            self.n_left_out += corpus.left_out.n
        return added_up(counted)


@contextlib.contextmanager
def read_again(source: Any, run: Run) -> Iterator[SourcesAgain]:
    """Provide the sources of a run, which can be read several times.

    source: a source, or a mapping of names to sources if the run has names. The documents of an iterator are
        written to a temporary file (in TMPDIR), which is removed at the end of the context.

    Raises:
        OSError: the file cannot be written.
    """
    sources: Mapping[str | None, Source] = source if run.has_names else {None: source}
    with contextlib.ExitStack() as files:
        again: dict[str | None, Source | _Kept] = {}
        for name, one in sources.items():
            again[name] = one
            if hasattr(one, "__next__"):
                file = files.enter_context(tempfile.TemporaryFile(prefix="fastbpe-"))
                again[name] = _Kept(run.reading.open(one), file)
        yield SourcesAgain(again, run)


def _stored(write: Callable[..., object], *data: bytes) -> None:
    """Write to the temporary file. Raises OSError with the folder and the ways out."""
    try:
        write(*data)
    except OSError as error:
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
        self._file, self._skipped = file, corpus.skipped
        for document in corpus.documents():
            data = document.encode("utf-8", "surrogatepass") if isinstance(document, str) else document
            _stored(file.write, _HEAD.pack(isinstance(document, str), len(data)))
            _stored(file.write, data)
        _stored(file.flush)

    def opened(self) -> Corpus:
        """Open the documents for one reading."""
        corpus = Corpus(self)
        corpus.skipped.add(self._skipped.n, self._skipped.first)
        return corpus

    def __iter__(self) -> Iterator[Document]:
        self._file.seek(0)
        while head := self._file.read(_HEAD.size):
            is_str, n_bytes = _HEAD.unpack(head)
            data = self._file.read(n_bytes)
            yield data.decode("utf-8", "surrogatepass") if is_str else data

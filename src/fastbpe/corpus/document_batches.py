"""Documents in batches, for functions that encode a corpus without holding it whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fastbpe.corpus.document_formats import DEFAULT_FIELD, check_format, check_text_field
from fastbpe.corpus.source_kinds import Cut, Document
from fastbpe.corpus.sources import Source, blocks, check_separator, each_document, resolve
from fastbpe.errors import OptionError

_BATCH_SIZE = 1 << 20  # characters or bytes of a batch, which ends with the first document that reaches this size


class Corpus:
    """Corpus of a call that counts or compares, with its options for reading files, as for `train`.

    Attributes:
        n_bytes: int or None – size of its files; None: not known before they are read.

    Raises:
        The errors of `resolve`; ValueError, TypeError: an option has an invalid value.
    """

    def __init__(self, source: Source, *, separator: str | None, text_field: str, format: str | None) -> None:
        check_separator(separator)
        check_text_field(text_field)
        check_format(format)
        self._separator, self._field, self._format = separator, text_field, format
        self._resolved = resolve(source, separator=separator, text_field=text_field, format=format)
        self.n_bytes = self._resolved.n_bytes

    @classmethod
    def given(
        cls, source: Source | None, *, separator: str | None, text_field: str, format: str | None
    ) -> Corpus | None:
        """Return the corpus of a call whose corpus is optional; None if source is None.

        Raises:
            OptionError: an option for reading is given without a corpus.
        """
        if source is not None:
            return cls(source, separator=separator, text_field=text_field, format=format)
        named = {"separator": separator, "text_field": text_field, "format": format}
        for name, value in named.items():
            if value != (DEFAULT_FIELD if name == "text_field" else None):
                raise OptionError(
                    f"{name}={value!r} has no effect: it is for the files of a corpus; pass corpus=, too"
                )
        return None

    def batches(self, cut: Cut | None = None) -> Iterator[list[Document]]:
        """Yield the documents in batches. cut: as for `blocks`."""
        texts = blocks(self._resolved, separator=self._separator, field=self._field, format=self._format, cut=cut)
        return document_batches(each_document(texts))


def document_batches(texts: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield documents in order, in lists of about a million characters or bytes; more if the last one is long.

    >>> [*document_batches(["one", b"two"])]
    [['one', b'two']]
    """
    batch: list[Document] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _BATCH_SIZE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

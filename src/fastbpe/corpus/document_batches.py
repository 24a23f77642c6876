"""Documents in batches, for functions that encode a corpus without holding it whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fastbpe.corpus.source_kinds import Document

_BATCH_SIZE = 1 << 20  # characters or bytes of a batch, which ends with the first document that reaches this size


def document_batches(texts: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield documents in lists of about a million characters, in order.

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

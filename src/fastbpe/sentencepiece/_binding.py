"""Batch decoding methods of sentencepiece's compiled processor, which programs reach as `processor._processor`."""

from __future__ import annotations

from fastbpe.sentencepiece._decodes import Decodes
from fastbpe.sentencepiece._threads import ThreadPool, pool_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    _Batch = Sequence[Any]


class Binding:
    """Batch decoding methods of a processor, with the names and arguments of sentencepiece's binding.

    Each method reads the length of the batch once and then its items by number, so a container that changes its
    length during the call leads to a result or to the container's own error.

    Args of each method:
        batch: sequences of ids, or of pieces (str or bytes).
        num_threads, thread_pool: as for `decode`; both are checked.
    """

    def __init__(self, processor: Decodes) -> None:
        self._processor = processor

    def _DecodeIdsBatch(self, batch: _Batch, num_threads: int, thread_pool: ThreadPool | None) -> list[str]:
        """Decode ids to text."""
        return self._decoded(batch, False, str, num_threads, thread_pool)

    def _DecodeIdsAsBytesBatch(
        self, batch: _Batch, num_threads: int, thread_pool: ThreadPool | None
    ) -> list[bytes]:
        """Decode ids to the UTF-8 of text."""
        return self._decoded(batch, False, bytes, num_threads, thread_pool)

    def _DecodeIdsAsSerializedProtoBatch(
        self, batch: _Batch, num_threads: int, thread_pool: ThreadPool | None
    ) -> list[bytes]:
        """Decode ids to serialized SentencePieceTexts."""
        return self._decoded(batch, False, "serialized_proto", num_threads, thread_pool)

    def _DecodePiecesBatch(
        self, batch: _Batch, num_threads: int, thread_pool: ThreadPool | None
    ) -> list[str] | list[bytes]:
        """Decode pieces to text; to bytes if the first piece is bytes."""
        return self._decoded(batch, True, str, num_threads, thread_pool)

    def _DecodePiecesAsBytesBatch(
        self, batch: _Batch, num_threads: int, thread_pool: ThreadPool | None
    ) -> list[bytes]:
        """Decode pieces to the UTF-8 of text."""
        return self._decoded(batch, True, bytes, num_threads, thread_pool)

    def _DecodePiecesAsSerializedProtoBatch(
        self, batch: _Batch, num_threads: int, thread_pool: ThreadPool | None
    ) -> list[bytes]:
        """Decode pieces to serialized SentencePieceTexts."""
        return self._decoded(batch, True, "serialized_proto", num_threads, thread_pool)

    def _DecodeAsOffsetMappingBatch(
        self, batch: _Batch, num_threads: int, thread_pool: ThreadPool | None, return_bytes: bool
    ) -> list[dict[str, Any]]:
        """Decode ids or pieces to offset mappings; return_bytes: with text and pieces as bytes."""
        return self._decoded(batch, None, "offset_mapping", num_threads, thread_pool, return_bytes)

    def _decoded(
        self,
        batch: _Batch,
        are_pieces: bool | None,
        return_type: Any,
        num_threads: int,
        thread_pool: ThreadPool | None,
        return_bytes: bool = False,
    ) -> list[Any]:
        """Decode a batch. are_pieces: None: the first item that is not empty decides."""
        self._processor._threads(num_threads)
        if thread_pool is not None:
            pool_threads(thread_pool)
        sequences = [batch[i] for i in range(len(batch))]
        first = next((item[0] for item in sequences if isinstance(item, (list, tuple)) and item), None)
        if are_pieces is None:
            are_pieces = isinstance(first, (str, bytes))
        as_bytes = return_bytes or (are_pieces and isinstance(first, bytes))
        return [self._processor._decode_one(item, are_pieces, return_type, as_bytes) for item in sequences]

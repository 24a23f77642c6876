"""tokie, from a tokenizer.json. Batches run on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import tokie

import peers
from peers import Ids
from vocabularies import Vocabulary


class Adapter(peers.Peer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokenizer = tokie.Tokenizer.from_json(str(vocabulary.tokenizer_json()))

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def text_to_numpy(self, text: str) -> Any:
        return _flat(self.tokenizer.encode_batch_flat([text], add_special_tokens=False))[0]

    def short_encoder(self) -> Callable[[str], Ids]:
        encode = self.tokenizer.encode
        return lambda text: encode(text, add_special_tokens=False).ids

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        peers.need_all_cores(threads)
        return [one.ids for one in self.tokenizer.encode_batch(documents, add_special_tokens=False)]

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        peers.need_all_cores(threads)
        return _flat(self.tokenizer.encode_batch_flat(documents, add_special_tokens=False))

    def count_documents(self, documents: list[str], threads: int) -> Sequence[int]:
        peers.need_all_cores(threads)
        return self.tokenizer.count_tokens_batch(documents)

    def ids_to_text(self, ids: Ids) -> str:
        return self.tokenizer.decode_bytes(ids).decode("utf-8", "replace")


def _flat(output: tuple[Any, Any]) -> tuple[Any, Any]:
    """Convert (ids, lengths) to (ids, offsets)."""
    ids, lengths = output
    return ids, numpy.concatenate(([0], numpy.cumsum(lengths, dtype=numpy.int64)))

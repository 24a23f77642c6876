"""splintr: bundled vocabularies if it has them (its fastest way), otherwise from ranks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy
import splintr

import peers
from peers import Ids, Unsupported
from peers.splitters import without_possessives
from vocabularies import Vocabulary

_BUNDLED = {"cl100k": "cl100k_base", "o200k": "o200k_base", "llama3": "llama3", "qwen2": "qwen2"}


class Adapter(peers.DecodingPeer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokenizer: splintr.Tokenizer | splintr.AnyTokenizer
        if vocabulary.is_sentencepiece or not isinstance(vocabulary.pattern, str):
            raise Unsupported("takes ranks and exactly one split pattern")
        if vocabulary.short_name in _BUNDLED:
            self.tokenizer = splintr.Tokenizer.from_pretrained(_BUNDLED[vocabulary.short_name])
        else:
            special = dict(vocabulary.special_tokens)
            self.tokenizer = splintr.Tokenizer(
                str(vocabulary.path), without_possessives(vocabulary.pattern), special
            )

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode_rayon(text)

    def text_to_numpy(self, text: str) -> Any:
        return numpy.frombuffer(self.tokenizer.encode_flat(text), dtype=numpy.uint32)

    def short_encoder(self) -> Callable[[str], Ids]:
        return self.tokenizer.encode_ordinary

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        if threads == peers.pool_size():
            return self.tokenizer.encode_batch(documents)
        if threads == 1:
            encode = self.tokenizer.encode_ordinary
            return [encode(document) for document in documents]
        raise Unsupported("works on one thread or on all cores")

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        if threads == peers.pool_size():
            return peers.flat_of_bytes(*self.tokenizer.encode_batch_flat(documents))
        if threads == 1:
            parts = [self.tokenizer.encode_flat(document) for document in documents]
            offsets = numpy.fromiter(accumulate((len(part) // 4 for part in parts), initial=0), dtype=numpy.int64)
            return numpy.frombuffer(b"".join(parts), dtype=numpy.uint32), offsets
        raise Unsupported("works on one thread or on all cores")

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        if threads == peers.pool_size():
            return self.tokenizer.decode_batch_lossy(batch)
        if threads == 1:
            return [self.tokenizer.decode_lossy(ids) for ids in batch]
        raise Unsupported("works on one thread or on all cores")

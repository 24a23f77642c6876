"""sentencepiece, for its own models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import sentencepiece

import peers
from peers import Ids, Unsupported
from vocabularies import Vocabulary


class Adapter(peers.Peer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        if not vocabulary.is_sentencepiece:
            raise Unsupported("reads sentencepiece models only")
        self.processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary.path))

    def text_to_list(self, text: str) -> Ids:
        return self.processor.encode(text)

    def text_to_numpy(self, text: str) -> Any:
        return numpy.array(self.processor.encode(text), dtype=numpy.uint32)

    def short_encoder(self) -> Callable[[str], Ids]:
        return self.processor.encode

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        return self.processor.encode(documents, num_threads=threads)

    def ids_to_text(self, ids: Ids) -> str:
        return self.processor.decode(ids)

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        return self.processor.decode(batch, num_threads=threads)

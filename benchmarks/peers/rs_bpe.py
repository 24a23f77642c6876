"""rs-bpe, with its two bundled vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rs_bpe import openai

import peers
from peers import Ids, Unsupported
from vocabularies import Vocabulary


class Adapter(peers.DecodingPeer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.short_name not in ("cl100k", "o200k"):
            raise Unsupported("brings only cl100k and o200k")
        self.tokenizer = getattr(openai, f"{vocabulary.short_name}_base")()

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode(text)

    def short_encoder(self) -> Callable[[str], Ids]:
        return self.tokenizer.encode

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        if threads == 1:
            return self.tokenizer.encode_batch(documents)[0]
        return self.tokenizer.encode_batch_parallel(documents, _options(threads))[0]

    def count_documents(self, documents: list[str], threads: int) -> Sequence[int]:
        if threads != 1:
            raise Unsupported("counts one text at a time, on one thread")
        count = self.tokenizer.count
        return [count(document) for document in documents]

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        if threads == 1:
            return self.tokenizer.decode_batch(batch)
        return self.tokenizer.decode_batch_parallel(batch, _options(threads))


def _options(threads: int) -> openai.ParallelOptions:
    return openai.ParallelOptions(1, 16, threads)  # minimum batch, documents at a time, threads

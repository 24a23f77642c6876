"""tiktoken, from local ranks: the reference with which the ids of other libraries are compared."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import tiktoken
from tiktoken.load import load_tiktoken_bpe

import peers
from peers import Ids, Unsupported
from vocabularies import Vocabulary


class Adapter(peers.Peer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.is_sentencepiece or not isinstance(vocabulary.pattern, str):
            raise Unsupported("takes ranks and exactly one split pattern")
        os.environ["TIKTOKEN_CACHE_DIR"] = ""  # the file is local
        self.encoding = tiktoken.Encoding(
            vocabulary.name,
            pat_str=vocabulary.pattern,
            mergeable_ranks=load_tiktoken_bpe(str(vocabulary.path)),
            special_tokens=dict(vocabulary.special_tokens),
        )

    def text_to_list(self, text: str) -> Ids:
        return self.encoding.encode_ordinary(text)

    def text_to_numpy(self, text: str) -> Any:
        return self.encoding.encode_to_numpy(text, disallowed_special=())

    def short_encoder(self) -> Callable[[str], Ids]:
        return self.encoding.encode_ordinary

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        if threads == 1:  # its pool of one thread is slower than no pool
            encode = self.encoding.encode_ordinary
            return [encode(document) for document in documents]
        return self.encoding.encode_ordinary_batch(documents, num_threads=threads)

    def ids_to_text(self, ids: Ids) -> str:
        return self.encoding.decode(ids)

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        if threads == 1:
            return [self.encoding.decode(ids) for ids in batch]
        return self.encoding.decode_batch(batch, num_threads=threads)

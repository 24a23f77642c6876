"""fastokens. It has scanners for the patterns of its presets, and a regex engine for all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fastokens

import peers
from peers import Ids, Unsupported
from vocabularies import Vocabulary


class Adapter(peers.DecodingPeer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.is_sentencepiece:
            raise Unsupported("reads no sentencepiece models")
        if not isinstance(vocabulary.pattern, str):
            self.tokenizer = fastokens.Tokenizer.from_file(str(vocabulary.tokenizer_json()))
        else:
            try:
                how = {"encoding": f"{vocabulary.pattern_name}_base"}
                self.tokenizer = self._of_ranks(vocabulary, **how)
            except ValueError:
                self.tokenizer = self._of_ranks(vocabulary, pattern=vocabulary.pattern)

    @staticmethod
    def _of_ranks(vocabulary: Vocabulary, **how: str) -> fastokens.Tokenizer:
        special = dict(vocabulary.special_tokens)
        return fastokens.Tokenizer.from_tiktoken(str(vocabulary.path), special_tokens=special, **how)

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode(text).ids

    def text_to_numpy(self, text: str) -> Any:
        return peers.flat_of_bytes(*self.tokenizer.encode_batch_flat([text]))[0]

    def short_encoder(self) -> Callable[[str], Ids]:
        # encode_ordinary returns the same ids more slowly: it does not use the cache of encode.
        encode = self.tokenizer.encode
        return lambda text: encode(text).ids

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        if threads == peers.pool_size():
            return [encoding.ids for encoding in self.tokenizer.encode_batch(documents)]
        if threads == 1:
            encode = self.tokenizer.encode
            return [encode(document).ids for document in documents]
        raise Unsupported("works on one thread or on all cores")

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        peers.need_all_cores(threads)
        return peers.flat_of_bytes(*self.tokenizer.encode_batch_flat(documents))

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        peers.need_all_cores(threads)
        return self.tokenizer.decode_batch(batch)

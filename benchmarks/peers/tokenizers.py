"""Hugging Face's tokenizers, from a tokenizer.json made of ranks or a model. Its encodings hold lists of ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tokenizers

import peers
from peers import Ids
from vocabularies import Vocabulary


class Adapter(peers.Peer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary.tokenizer_json()))
        self.tokenizer.encode_special_tokens = True  # special tokens are plain text

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def short_encoder(self) -> Callable[[str], Ids]:
        encode = self.tokenizer.encode
        return lambda text: encode(text, add_special_tokens=False).ids

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        return [encoding.ids for encoding in self._encode_batch(documents, threads)]

    def lengths(self, documents: list[str], threads: int) -> Sequence[int]:
        return [len(encoding) for encoding in self._encode_batch(documents, threads)]

    def ids_to_text(self, ids: Ids) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        peers.need_all_cores(threads)
        return self.tokenizer.decode_batch(batch, skip_special_tokens=False)

    def _encode_batch(self, documents: list[str], threads: int) -> list[tokenizers.Encoding]:
        peers.need_all_cores(threads)
        return self.tokenizer.encode_batch_fast(documents, add_special_tokens=False)

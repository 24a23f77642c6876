"""kitoken: from ranks if it knows the vocabulary, otherwise from a tokenizer.json made of them."""

from __future__ import annotations

from collections.abc import Callable

from kitoken import Kitoken

import peers
from peers import Ids, Unsupported
from vocabularies import Vocabulary


class Adapter(peers.Peer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.is_sentencepiece:
            self.tokenizer = Kitoken.from_sentencepiece_file(str(vocabulary.path))
        elif vocabulary.short_name in ("cl100k", "o200k"):
            self.tokenizer = Kitoken.from_tiktoken_file(str(vocabulary.path))
        else:
            self.tokenizer = Kitoken.from_tokenizers_file(str(vocabulary.tokenizer_json()))

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode(text)

    def short_encoder(self) -> Callable[[str], Ids]:
        return self.tokenizer.encode

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        _one(threads)
        return self.tokenizer.encode_all(documents)

    def ids_to_text(self, ids: Ids) -> str:
        return self.tokenizer.decode(ids).decode("utf-8", "replace")

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        _one(threads)
        return [part.decode("utf-8", "replace") for part in self.tokenizer.decode_all(batch)]


def _one(threads: int) -> None:
    if threads != 1:
        raise Unsupported("works on one thread")

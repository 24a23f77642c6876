"""laghu-rs: WordPiece from a tokenizer.json."""

from __future__ import annotations

from collections.abc import Callable

from laghu_rs import WordPiece

import peers
from peers import Ids, Unsupported
from vocabularies import Vocabulary


class Adapter(peers.Peer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.model_type != "WordPiece":
            raise Unsupported("runs WordPiece only")
        self.tokenizer = WordPiece(vocabulary.tokenizer_json().read_text(encoding="utf-8"))

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.batch([text])[0]

    def short_encoder(self) -> Callable[[str], Ids]:
        batch = self.tokenizer.batch
        return lambda text: batch([text])[0]

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        return self.tokenizer.batch(documents, threads=threads)

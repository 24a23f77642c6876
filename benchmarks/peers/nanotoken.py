"""nanotoken: WordPiece from a tokenizer.json."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nanotoken

import peers
from peers import Ids, Unsupported, on_all_cores
from vocabularies import Vocabulary


class Adapter(peers.Peer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.model_type != "WordPiece":
            raise Unsupported("runs WordPiece only")
        self.tokenizer = nanotoken.WordPieceTokenizer.from_json(vocabulary.tokenizer_json().read_bytes())

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode_batch_list([text], add_special_tokens=False, parallel=False)[0]

    def text_to_numpy(self, text: str) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def short_encoder(self) -> Callable[[str], Ids]:
        encode = self.tokenizer.encode
        return lambda text: encode(text, add_special_tokens=False).tolist()

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        return self.tokenizer.encode_batch_list(
            documents, add_special_tokens=False, parallel=on_all_cores(threads)
        )

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        return self.tokenizer.encode_batch(documents, add_special_tokens=False, parallel=on_all_cores(threads))

"""toktok, with its bundled vocabularies, by its whole interface, which it keeps for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from toktok import _toktok

import peers
from peers import Ids, Unsupported
from vocabularies import Vocabulary

_BUNDLED = {"cl100k": "cl100k_base", "o200k": "o200k_base"}


class Adapter(peers.Peer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.short_name not in _BUNDLED:
            raise Unsupported(f"brings only {', '.join(_BUNDLED)}")
        self.tokenizer = _toktok.Tokenizer(_BUNDLED[vocabulary.short_name], "")

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode_ordinary(text)

    def text_to_numpy(self, text: str) -> Any:
        return self.tokenizer.encode_batch_to_numpy([text], 1)[0]

    def short_encoder(self) -> Callable[[str], Ids]:
        return self.tokenizer.encode_ordinary

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        if threads != 1:
            raise Unsupported("batches become one flat array only")
        encode = self.tokenizer.encode_ordinary
        return [encode(document) for document in documents]

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        return self.tokenizer.encode_batch_to_numpy(documents, threads)

    def count_documents(self, documents: list[str], threads: int) -> Sequence[int]:
        return self.tokenizer.count_batch(documents, threads)

    def ids_to_text(self, ids: Ids) -> str:
        return self.tokenizer.decode(ids)

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        if threads != 1:
            raise Unsupported("decodes on one thread")
        return self.tokenizer.decode_batch(batch)

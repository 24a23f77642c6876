"""quicktok, with its bundled vocabularies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import quicktok

import peers


class Adapter(peers.OrdinaryPeer):
    bundled = {"cl100k": "cl100k_base", "o200k": "o200k_base", "llama3": "llama3", "qwen2": "qwen3"}  # noqa: RUF012

    def opened(self, name: str) -> Any:
        return quicktok.get_encoding(name)

    def text_to_numpy(self, text: str) -> Any:
        return self.tokenizer.encode_batch([text], 1)[0]

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        return self.tokenizer.encode_batch(documents, threads)

    def count_documents(self, documents: list[str], threads: int) -> Sequence[int]:
        return quicktok.count_batch(self.tokenizer, documents, threads)

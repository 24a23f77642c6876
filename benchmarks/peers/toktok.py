"""toktok, with its bundled vocabularies, by its private module, which has all that the rows need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toktok import _toktok

import peers


class Adapter(peers.OrdinaryPeer):
    bundled = {"cl100k": "cl100k_base", "o200k": "o200k_base"}  # noqa: RUF012

    def opened(self, name: str) -> Any:
        return _toktok.Tokenizer(name, "")

    def text_to_numpy(self, text: str) -> Any:
        return self.tokenizer.encode_batch_to_numpy([text], 1)[0]

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        return self.tokenizer.encode_batch_to_numpy(documents, threads)

    def count_documents(self, documents: list[str], threads: int) -> Sequence[int]:
        return self.tokenizer.count_batch(documents, threads)

"""fastbpe, called as any user would."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import peers
from peers import Ids
from vocabularies import Vocabulary


class Adapter(peers.DecodingPeer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokenizer = vocabulary.load()

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode_ordinary(text)

    def text_to_numpy(self, text: str) -> Any:
        return self.tokenizer.encode_to_numpy(text, disallowed_special=())

    def short_encoder(self) -> Callable[[str], Ids]:
        return self.tokenizer.encode_ordinary

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        return self.tokenizer.encode_ordinary_batch(documents, num_threads=threads)

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        return self.tokenizer.encode_batch_to_numpy(documents, num_threads=threads, disallowed_special=())

    def count_documents(self, documents: list[str], threads: int) -> Sequence[int]:
        return self.tokenizer.count_batch(documents, num_threads=threads)

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        return self.tokenizer.decode_batch(batch, num_threads=threads)

    def files_to_bin(self, source: Path, out: Path, threads: int) -> None:
        self.tokenizer.encode_files(
            source, out, dtype="uint32", num_threads=threads, progress=False, overwrite=True
        )

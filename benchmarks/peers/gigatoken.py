"""gigatoken by its own interface, which is its fastest. It returns arrays; lists are made of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gigatoken

import peers
from peers import Ids, Unsupported, on_all_cores
from vocabularies import Vocabulary

# Its names of the patterns that it knows by name.
_PRETOKENIZERS = {
    "gpt2": "gpt2",
    "cl100k": "gpt4",
    "o200k": "o200k",
    "qwen2": "qwen2",
    "deepseek_v3": "deepseek_v3",
}


class Adapter(peers.Peer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.is_sentencepiece:
            self.tokenizer = gigatoken.Tokenizer.from_sentencepiece(vocabulary.path)
        elif vocabulary.pattern_name in _PRETOKENIZERS:
            self.tokenizer = gigatoken.Tokenizer.from_tiktoken(
                vocabulary.path,
                pretokenizer=_PRETOKENIZERS[vocabulary.pattern_name],
                special_tokens=dict(vocabulary.special_tokens),
            )
        else:
            self.tokenizer = gigatoken.Tokenizer(vocabulary.tokenizer_json())

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode(text).tolist()

    def text_to_numpy(self, text: str) -> Any:
        return self.tokenizer.encode(text)

    def short_encoder(self) -> Callable[[str], Ids]:
        encode = self.tokenizer.backend.encode
        return lambda text: encode(text).tolist()

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        return self.tokenizer.encode_batch_list(documents, parallel=on_all_cores(threads))

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        return _flat(self.tokenizer.encode_batch(documents, parallel=on_all_cores(threads)))

    def ids_to_text(self, ids: Ids) -> str:
        return self.tokenizer.decode(ids).decode("utf-8", "replace")

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        if threads != 1:
            raise Unsupported("decodes one list at a time, on one thread")
        return [self.ids_to_text(ids) for ids in batch]

    def files_to_bin(self, source: Path, out: Path, threads: int) -> None:
        kind = gigatoken.JsonlFileSource if source.suffix == ".jsonl" else gigatoken.TextFileSource
        ids, _ = _flat(self.tokenizer.encode_files(kind([source]), parallel=on_all_cores(threads)))
        ids.tofile(out)


def _flat(array: Any) -> tuple[Any, Any]:
    """Return the two numpy arrays inside an awkward array of lists, without a copy."""
    return array.layout.content.data, array.layout.offsets.data

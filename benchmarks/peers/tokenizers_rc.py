"""tokenizers 1.0, whose calls differ from those of 0.23; it needs an environment of its own (elsewhere.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tokenizers

import peers
from peers import Ids, Unsupported
from vocabularies import Vocabulary

_PLAIN = {"add_special_tokens": False, "encode_special_tokens": True}  # special tokens are plain text


class Adapter(peers.Peer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        if tokenizers.__version__.startswith("0."):
            raise Unsupported(
                f"this is tokenizers {tokenizers.__version__}; give --environment tokenizers_rc=PYTHON"
            )
        self.tokenizer: Any = tokenizers.Tokenizer.from_file(str(vocabulary.tokenizer_json()))
        self.tokenizer.encode("a b", **_PLAIN)  # 1.0.0rc3 refuses the patterns of cl100k and others only here

    def text_to_list(self, text: str) -> Ids:
        ids: Ids = self.tokenizer.encode(text, **_PLAIN).ids
        return ids

    def text_to_numpy(self, text: str) -> Any:
        return self.tokenizer.encode(text, **_PLAIN).ids_array

    def short_encoder(self) -> Callable[[str], Ids]:
        encode = self.tokenizer.encode
        return lambda text: encode(text, **_PLAIN).ids

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        return [encoding.ids for encoding in self._encode_batch(documents, threads)]

    def lengths(self, documents: list[str], threads: int) -> Sequence[int]:
        return [len(encoding.ids_array) for encoding in self._encode_batch(documents, threads)]

    def ids_to_text(self, ids: Ids) -> str:
        text: str = self.tokenizer.decode(ids, skip_special_tokens=False)
        return text

    def _encode_batch(self, documents: list[str], threads: int) -> Any:
        peers.need_all_cores(threads)
        return self.tokenizer.encode_batch(documents, **_PLAIN)

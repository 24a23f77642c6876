"""iree-tokenizer, for decoding only: its ids differ from the originals'."""

from __future__ import annotations

from iree.tokenizer import Tokenizer

import peers
from peers import Ids, Unsupported
from vocabularies import Vocabulary


class Adapter(peers.DecodingPeer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokenizer = Tokenizer.from_file(str(vocabulary.tokenizer_json()))

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        if threads != 1:
            raise Unsupported("decodes on one thread")
        return self.tokenizer.decode_batch(batch)

"""snaptokens, from a tokenizer.json. Batches run on all cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import snaptokens

import peers
from peers import Ids
from vocabularies import Vocabulary


class Adapter(peers.DecodingPeer):
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokenizer = snaptokens.Tokenizer.from_file(str(vocabulary.tokenizer_json()))

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode(text).ids

    def text_to_numpy(self, text: str) -> Any:
        return _flat(self.tokenizer.encode_batch_flat([text]))[0]

    def short_encoder(self) -> Callable[[str], Ids]:
        encode = self.tokenizer.encode
        return lambda text: encode(text).ids

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        peers.need_all_cores(threads)
        return [encoding.ids for encoding in self.tokenizer.encode_batch(documents)]

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        peers.need_all_cores(threads)
        return _flat(self.tokenizer.encode_batch_flat(documents))

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        peers.need_all_cores(threads)
        return self.tokenizer.decode_batch(batch)


def _flat(output: tuple[Any, Any]) -> tuple[Any, Any]:
    return numpy.asarray(output[0]), numpy.asarray(output[1])

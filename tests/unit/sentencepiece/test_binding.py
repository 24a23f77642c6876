"""The batch decodes of `processor._processor`, without sentencepiece."""

import io
from typing import Any

import pytest

from fastbpe.sentencepiece import SentencePieceProcessor, SentencePieceTrainer, ThreadPool


def binding() -> Any:
    file = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(["ab ab abc", "abcd ab"]), model_writer=file, model_type="bpe", vocab_size=12
    )
    return SentencePieceProcessor(model_proto=file.getvalue())._processor


class Growing:
    """Container that says it has more items at each call."""

    def __init__(self, item: list[Any]) -> None:
        self._item, self._length = item, 2

    def __len__(self) -> int:
        self._length += 1
        return self._length

    def __getitem__(self, i: int) -> list[Any]:
        return self._item


def test_batches_decode_to_text_bytes_and_messages() -> None:
    made = binding()
    assert made._DecodeIdsBatch([[4], []], 1, None) == ["ab", ""]
    assert made._DecodeIdsAsBytesBatch([[4]], -1, None) == [b"ab"]
    assert made._DecodePiecesBatch([["▁ab"], []], 1, ThreadPool(2)) == ["ab", ""]
    assert made._DecodePiecesBatch([[], ["▁ab".encode()]], 1, None) == [b"", b"ab"]
    assert made._DecodePiecesAsBytesBatch([["▁ab"]], 1, None) == [b"ab"]
    messages = made._DecodeIdsAsSerializedProtoBatch([[4]], 1, None)
    assert messages == made._DecodePiecesAsSerializedProtoBatch([["▁ab"]], 1, None)
    assert messages[0].startswith(b"\n\x02ab")
    mapping = {"text": "ab", "ids": [4], "pieces": ["▁ab"], "offsets": [(0, 2)]}
    assert made._DecodeAsOffsetMappingBatch([[4]], 1, None, False) == [mapping]
    assert made._DecodeAsOffsetMappingBatch([["▁ab"]], 1, None, False) == [mapping]
    assert made._DecodeAsOffsetMappingBatch([[4]], 1, None, True)[0]["text"] == b"ab"


def test_first_length_of_a_changing_container_counts() -> None:
    assert binding()._DecodePiecesBatch(Growing(["▁ab"]), 1, None) == ["ab"] * 3
    assert binding()._DecodeIdsBatch(Growing([4]), 1, None) == ["ab"] * 3


def test_bad_threads_and_ids_raise() -> None:
    with pytest.raises(TypeError):
        binding()._DecodeIdsBatch([[4]], None, "two")
    with pytest.raises(TypeError):
        binding()._DecodeIdsBatch([[4]], "two", None)
    with pytest.raises(IndexError):
        binding()._DecodeIdsBatch([[4000]], 1, None)

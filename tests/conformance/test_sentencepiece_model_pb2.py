"""`fastbpe.sentencepiece.sentencepiece_model_pb2` reads what sentencepiece's module of the name reads."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import fastbpe
import fastbpe.sentencepiece as spm
from fastbpe.sentencepiece import sentencepiece_model_pb2 as ours
from helpers.shared_data import data_file

MODELS = ("llama2_tokenizer.model", "mistral_v3_tokenizer.model", "sp_test_model.model", "sp_test_ja_model.model")


@cache
def made() -> bytes:
    file = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(["the low lower lowest", "a new newer newest \u4e16'\""]),
        model_writer=file,
        model_type="bpe",
        vocab_size=300,
        byte_fallback=True,
        user_defined_symbols=["<a>", '"\\\t'],
        control_symbols=["<b>"],
    )
    return file.getvalue()


def facts(message: Any, names: list[str]) -> dict[str, Any]:
    """Return field → (value, whether the file sets it; None for a repeated field)."""
    found = {}
    for name in names:
        try:
            has = message.HasField(name)
        except ValueError:
            has = None
        value = getattr(message, name)
        found[name] = (list(value) if has is None else value, has)
    return found


def compare(data: bytes) -> None:
    pytest.importorskip("google.protobuf")
    from sentencepiece import sentencepiece_model_pb2 as theirs

    expected, found = theirs.ModelProto.FromString(data), ours.ModelProto()
    assert found.ParseFromString(data) == len(data)
    assert len(found.pieces) == len(expected.pieces)
    for piece, other in zip(found.pieces, expected.pieces, strict=True):
        assert facts(piece, ["piece", "score", "type"]) == facts(other, ["piece", "score", "type"])
        assert str(piece) == str(other)
    for part in ("trainer_spec", "normalizer_spec", "denormalizer_spec"):
        names = [field.name for field in type(getattr(expected, part)).DESCRIPTOR.fields]
        assert facts(getattr(found, part), names) == facts(getattr(expected, part), names)
        assert str(getattr(found, part)) == str(getattr(expected, part))
        assert found.HasField(part) == expected.HasField(part)
        assert [(field.name, field.number) for field, _ in getattr(found, part).ListFields()] == [
            (field.name, field.number) for field, _ in getattr(expected, part).ListFields()
        ]


def test_fields_of_a_trained_model_equal_protobufs() -> None:
    compare(made())


def test_fields_that_no_file_sets_have_protobufs_defaults() -> None:
    compare(b"")


@pytest.mark.parametrize("name", MODELS)
def test_fields_of_published_models_equal_protobufs(name: str) -> None:
    compare(data_file("vocab", name).read_bytes())


def test_enums_have_protobufs_names_and_numbers() -> None:
    pytest.importorskip("google.protobuf")
    from sentencepiece import sentencepiece_model_pb2 as theirs

    for mine, other in (
        (ours.TrainerSpec.ModelType, theirs.TrainerSpec.ModelType),
        (ours.ModelProto.SentencePiece.Type, theirs.ModelProto.SentencePiece.Type),
    ):
        assert dict(mine.items()) == dict(other.items())
        assert all(mine.Name(number) == other.Name(number) for number in mine.values())
        assert all(mine.Value(name) == other.Value(name) for name in mine.keys())  # noqa: SIM118
        with pytest.raises(ValueError, match="99"):
            mine.Name(99)
    for name in ("UNIGRAM", "BPE", "WORD", "CHAR"):
        assert getattr(ours.TrainerSpec, name) == getattr(theirs.TrainerSpec, name)
    for name in ("NORMAL", "UNKNOWN", "CONTROL", "USER_DEFINED", "BYTE", "UNUSED"):
        assert getattr(ours.ModelProto.SentencePiece, name) == getattr(theirs.ModelProto.SentencePiece, name)


def test_fields_are_read_without_protobuf() -> None:
    model = ours.ModelProto.FromString(made())
    assert model.trainer_spec.model_type == ours.TrainerSpec.BPE
    assert model.trainer_spec.user_defined_symbols == ["<a>", '"\\\t']
    assert model.trainer_spec.HasField("byte_fallback")
    assert not model.trainer_spec.HasField("split_digits")
    assert model.pieces[0].type == ours.ModelProto.SentencePiece.UNKNOWN
    assert model.SerializeToString() == made()
    assert spm.SentencePieceProcessor(model_proto=model).encode("low") == spm.SentencePieceProcessor(
        model_proto=made()
    ).encode("low")
    assert model == ours.ModelProto.FromString(made())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_messages_can_be_copied_and_pickled(copied: Callable[[Any], Any]) -> None:
    model = ours.ModelProto.FromString(made())
    for message in (model, model.trainer_spec, model.pieces[0]):
        assert copied(message) == message
        assert copied(message).SerializeToString() == message.SerializeToString()


@pytest.mark.parametrize("end", [1, 7, 100, 400])
def test_truncated_bytes_raise_format_error(end: int) -> None:
    with pytest.raises(fastbpe.FormatError, match="not a sentencepiece model: byte"):
        ours.ModelProto.FromString(made()[:-end])


def test_damaged_piece_raises_format_error() -> None:
    with pytest.raises(fastbpe.FormatError, match="of _SentencePiece: "):
        ours.ModelProto.FromString(b"\x0a\x03\x0a\x09a")


def test_messages_can_only_be_read() -> None:
    model = ours.ModelProto.FromString(made())
    with pytest.raises(AttributeError, match="is read-only; change models with sentencepiece"):
        model.trainer_spec.vocab_size = 3
    with pytest.raises(AttributeError, match="TrainerSpec has no field 'vocab'"):
        model.trainer_spec.vocab  # noqa: B018
    with pytest.raises(ValueError, match="'input' of TrainerSpec is repeated"):
        model.trainer_spec.HasField("input")
    with pytest.raises(ValueError, match="has no field 'x'; it has"):
        model.HasField("x")
    with pytest.raises(TypeError, match="bytes, not str"):
        model.ParseFromString("text")

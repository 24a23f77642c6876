"""SentencePieceText, the message that serialized outputs are."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from fastbpe.formats.protobuf import bytes_field, varint_field

_TEXT, _PIECES = 1, 2
_PIECE, _ID, _SURFACE, _BEGIN, _END = range(1, 6)


class Piece(NamedTuple):
    """A piece of a text: its surface is what it stands for there, text[begin:end] in bytes; None: not said."""

    piece: bytes
    id: int
    surface: bytes | None
    begin: int
    end: int


def serialize(text: bytes, pieces: Iterable[Piece]) -> bytes:
    """The message, as sentencepiece writes it.

    >>> serialize(b"a", [Piece("▁a".encode(), 5, b"a", 0, 1)]).hex()
    '0a016112100a04e29681611005...'
    """
    return bytes_field(_TEXT, text) + b"".join([bytes_field(_PIECES, _message(piece)) for piece in pieces])


def _message(piece: Piece) -> bytes:
    return (
        bytes_field(_PIECE, piece.piece)
        + varint_field(_ID, piece.id & 0xFFFFFFFF)
        + (b"" if piece.surface is None else bytes_field(_SURFACE, piece.surface))
        + varint_field(_BEGIN, piece.begin)
        + varint_field(_END, piece.end)
    )


def parse(serialized: bytes) -> Any:
    """The message as an object of the protobuf package; ImportError without it."""
    return _message_class().FromString(serialized)


@cache
def _message_class() -> Any:
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise ImportError(
            "protobuf is required when using out_type='proto'. Please install protobuf: pip install protobuf "
            "(or ask for 'serialized_proto' or 'offset_mapping', which need nothing)"
        ) from error
    file = descriptor_pb2.FileDescriptorProto(
        name="fastbpe/sentencepiece.proto", package="sentencepiece", syntax="proto2"
    )
    text = file.message_type.add(name="SentencePieceText")
    piece = text.nested_type.add(name="SentencePiece")
    kinds = descriptor_pb2.FieldDescriptorProto
    fields = [
        (text, "text", _TEXT, kinds.TYPE_STRING),
        (text, "score", 3, kinds.TYPE_FLOAT),
        (piece, "piece", _PIECE, kinds.TYPE_STRING),
        (piece, "id", _ID, kinds.TYPE_UINT32),
        (piece, "surface", _SURFACE, kinds.TYPE_STRING),
        (piece, "begin", _BEGIN, kinds.TYPE_UINT32),
        (piece, "end", _END, kinds.TYPE_UINT32),
    ]
    for message, name, number, kind in fields:
        message.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
    text.field.add(
        name="pieces",
        number=_PIECES,
        type=kinds.TYPE_MESSAGE,
        label=kinds.LABEL_REPEATED,
        type_name=".sentencepiece.SentencePieceText.SentencePiece",
    )
    pool = descriptor_pool.DescriptorPool()  # of its own: sentencepiece may be imported too
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("sentencepiece.SentencePieceText"))

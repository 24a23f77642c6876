"""SentencePieceText, the message that serialized outputs are."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from fastbpe.formats.protobuf import BYTES, VARINT, bytes_field, varint

_TEXT, _PIECES = 1, 2
_PIECE, _ID, _SURFACE, _BEGIN, _END = range(1, 6)
_PIECES_TAG = varint(_PIECES << 3 | BYTES)
_PIECE_TAG, _SURFACE_TAG = (varint(number << 3 | BYTES) for number in (_PIECE, _SURFACE))
_ID_TAG, _BEGIN_TAG, _END_TAG = (varint(number << 3 | VARINT) for number in (_ID, _BEGIN, _END))
_SHORT = [bytes([value]) for value in range(0x80)]


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
    out = [bytes_field(_TEXT, text)]
    for piece, token_id, surface, begin, end in pieces:
        said = b"" if surface is None else _SURFACE_TAG + _number(len(surface)) + surface
        message = (
            _PIECE_TAG + _number(len(piece)) + piece + _ID_TAG + _number(token_id & 0xFFFFFFFF) + said
            + _BEGIN_TAG + _number(begin) + _END_TAG + _number(end)
        )  # fmt: skip
        out += (_PIECES_TAG, _number(len(message)), message)
    return b"".join(out)


def _number(value: int) -> bytes:
    """A varint; nearly all are short."""
    if value < 0x80:
        return _SHORT[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if value < 0x200000:
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    return varint(value)


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

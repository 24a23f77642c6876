"""SentencePieceText, the message that serialized outputs are."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from fastbpe.formats.protobuf import BYTES, VARINT, bytes_field, varint, varint_field

_TEXT, _PIECES = 1, 2
_PIECE, _ID, _SURFACE, _BEGIN, _END = range(1, 6)
_PIECES_TAG = varint(_PIECES << 3 | BYTES)
_SURFACE_TAG = varint(_SURFACE << 3 | BYTES)
_BEGIN_TAG, _END_TAG = (varint(number << 3 | VARINT) for number in (_BEGIN, _END))
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
    '0a0161120f0a04e296816110051a016120002801'
    """
    out = [bytes_field(_TEXT, text)]
    last, number = 0, _SHORT[0]  # most pieces begin where the one before ends
    for piece, token_id, surface, begin, end in pieces:
        begins = number if begin == last else _number(begin)
        last, number = end, _number(end)
        said = b"" if surface is None else _SURFACE_TAG + _number(len(surface)) + surface
        message = _head(piece, token_id) + said + _BEGIN_TAG + begins + _END_TAG + number
        out += (_PIECES_TAG, _number(len(message)), message)
    return b"".join(out)


@lru_cache(maxsize=1 << 16)
def _head(piece: bytes, token_id: int) -> bytes:
    return bytes_field(_PIECE, piece) + varint_field(_ID, token_id & 0xFFFFFFFF)


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

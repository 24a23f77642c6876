"""SentencePieceText and NBestSentencePieceText as objects of the protobuf package."""

from __future__ import annotations

import sys
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXT, _PIECES = 1, 2
_PIECE, _ID, _SURFACE, _BEGIN, _END = range(1, 6)


def parse(serialized: bytes, name: str = "SentencePieceText") -> Any:
    """Return a message as an object of the protobuf package. Raises ImportError without it."""
    module = sys.modules.get("sentencepiece.sentencepiece_pb2")  # a program that uses it may check for its classes
    message = _message_class(name) if module is None else getattr(module, name)
    return message.FromString(serialized)


@cache
def _message_class(name: str) -> Any:
    """Return the class of a message with this name, as sentencepiece.proto describes it."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise ImportError(
            "protobuf is required when using out_type='proto'. Please install protobuf: pip install protobuf "
            "(or pass out_type='serialized_proto' or 'offset_mapping', which need no package)"
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
    file.message_type.add(name="NBestSentencePieceText").field.add(
        name="nbests",
        number=1,
        type=kinds.TYPE_MESSAGE,
        label=kinds.LABEL_REPEATED,
        type_name=".sentencepiece.SentencePieceText",
    )
    pool = descriptor_pool.DescriptorPool()  # not the default pool: sentencepiece may register there too
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"sentencepiece.{name}"))

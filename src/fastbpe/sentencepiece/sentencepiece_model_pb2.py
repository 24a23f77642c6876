"""Reader for the fields of a `.model` file: the names of sentencepiece's module, without the protobuf package.

>>> import io
>>> from fastbpe.sentencepiece import SentencePieceTrainer
>>> file = io.BytesIO()
>>> SentencePieceTrainer.train(
...     sentence_iterator=iter(["ab ab abc"]), model_writer=file, model_type="bpe", vocab_size=8
... )
>>> model = ModelProto.FromString(file.getvalue())
>>> model.trainer_spec.vocab_size, model.trainer_spec.bos_id, model.trainer_spec.HasField("bos_id")
(8, 1, False)
>>> [(piece.piece, piece.type) for piece in model.pieces[:4]]
[('<unk>', 2), ('<s>', 3), ('</s>', 3), ('ab', 1)]
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats.sentencepiece import protobuf, specs
from fastbpe.formats.sentencepiece.specs import Option
from fastbpe.model import TYPE_NAMES, PieceType

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ModelProto", "NormalizerSpec", "TrainerSpec"]

_PIECE = {
    "piece": Option(1, "string", ""),
    "score": Option(2, "float", 0.0),
    "type": Option(3, "type", PieceType.NORMAL),
}
_PARTS = {
    "pieces": Option(1, "messages", ()),
    "trainer_spec": Option(2, "message", None),
    "normalizer_spec": Option(3, "message", None),
    "denormalizer_spec": Option(5, "message", None),
}
_REPEATED = ("strings", "messages")
_ESCAPES = {n: f"\\{n:03o}" for n in (*range(32), 127)} | {
    ord(character): "\\" + letter for character, letter in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)
}
_BYTE_ESCAPES = _ESCAPES | {n: f"\\{n:03o}" for n in range(128, 256)}


def _float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


class _Enum:
    """Names and numbers of an enum, with the methods of protobuf's classes."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = dict(numbers)

    def __getattr__(self, name: str) -> int:
        if name.startswith("_") or name not in self._numbers:  # "_": copy.copy asks before `_numbers` is set
            raise AttributeError(name)
        return self._numbers[name]

    def Name(self, number: int) -> str:
        """Return the name of a number. Raises ValueError if it has no name."""
        for name, value in self._numbers.items():
            if value == number:
                return name
        raise ValueError(f"{number} is not a value of this enum: {self._numbers}")

    def Value(self, name: str) -> int:
        """Return the number of a name. Raises ValueError if there is no such name."""
        if name not in self._numbers:
            raise ValueError(f"{name!r} is not a member of this enum: {', '.join(self._numbers)}")
        return self._numbers[name]

    def keys(self) -> list[str]:
        """Return the names."""
        return list(self._numbers)

    def values(self) -> list[int]:
        """Return the numbers."""
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        """Return (name, number) of each value."""
        return list(self._numbers.items())


class _Repeated(tuple[Any, ...]):
    """Values of a repeated field; equal to a list of the same values, as protobuf's are."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other)) if isinstance(other, (list, tuple)) else NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))


class _Descriptor(NamedTuple):
    """Description of a field in the result of `ListFields`."""

    name: str
    number: int


class _Message:
    """Message whose fields are attributes; a field that the file does not set has its default."""

    __slots__ = ("_data", "_found")
    _OPTIONS: ClassVar[Mapping[str, Option]]
    _ENUMS: ClassVar[Mapping[str, _Enum]] = {}

    def __init__(self) -> None:
        self._take(b"")

    @classmethod
    def FromString(cls, serialized: bytes) -> Self:
        """Return the message in these bytes. Raises FormatError if they are damaged."""
        message = cls()
        message._take(serialized)
        return message

    def ParseFromString(self, serialized: bytes) -> int:
        """Replace the content by the message in these bytes. Returns their number. Raises FormatError."""
        self._take(serialized)
        return len(serialized)

    def SerializeToString(self) -> bytes:
        """Return the bytes that the message was read from."""
        data: bytes = self._data
        return data

    def HasField(self, name: str) -> bool:
        """Tell whether the file sets a field. Raises ValueError if there is no such field, or it is repeated."""
        if name not in self._OPTIONS:
            raise ValueError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(self._OPTIONS)}")
        if self._OPTIONS[name].kind in _REPEATED:
            raise ValueError(f"field {name!r} of {type(self).__name__} is repeated: len() tells whether it is set")
        return name in self._found

    def ListFields(self) -> list[tuple[_Descriptor, Any]]:
        """Return (description, value) of each field that is set, by number."""
        found = [(_Descriptor(name, self._OPTIONS[name].number), getattr(self, name)) for name in self._found]
        return sorted(found, key=lambda field: field[0].number)

    def __getattr__(self, name: str) -> Any:
        option = self._OPTIONS.get(name)
        if option is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}", name=name, obj=self)
        value = self._found.get(name, option.default)
        if option.kind in _REPEATED:
            return _Repeated(value)
        return _float32(value) if option.kind == "float" else value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__}.{name} is read-only; change models with sentencepiece.sentencepiece_model_pb2 "
            "(pip install sentencepiece protobuf)"
        )

    def __eq__(self, other: object) -> bool:
        return self.ListFields() == other.ListFields() if isinstance(other, type(self)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).FromString, (self._data,)  # the default would set attributes

    def __str__(self) -> str:
        return "".join(self._lines(""))

    __repr__ = __str__

    def _lines(self, indent: str) -> list[str]:
        lines = []
        for field, value in self.ListFields():
            for item in value if isinstance(value, _Repeated) else [value]:
                if isinstance(item, _Message):
                    lines += [f"{indent}{field.name} {{\n", *item._lines(indent + "  "), f"{indent}}}\n"]
                else:
                    lines.append(f"{indent}{field.name}: {self._shown(field.name, item)}\n")
        return lines

    def _shown(self, name: str, value: Any) -> str:
        if name in self._ENUMS:
            return self._ENUMS[name].Name(value)
        if isinstance(value, str):
            return f'"{value.translate(_ESCAPES)}"'
        if isinstance(value, bytes):
            return f'"{value.decode("latin-1").translate(_BYTE_ESCAPES)}"'
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float):  # six digits, or the nine that tell any two float32 apart
            return f"{value:.6g}" if _float32(float(f"{value:.6g}")) == value else f"{value:.9g}"
        return str(value)

    def _take(self, data: bytes) -> None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"a serialized message must be bytes, not {type(data).__name__}")
        data = bytes(data)
        try:
            found = self._read(data)
        except protobuf.Damaged as damaged:
            raise FormatError(
                f"not a sentencepiece model: byte {damaged.at} of {type(self).__name__}: {damaged.reason}"
            ) from None
        object.__setattr__(self, "_data", data)
        object.__setattr__(self, "_found", found)

    def _read(self, data: bytes) -> dict[str, Any]:
        return dict(specs.read(self._OPTIONS, data).values)


class TrainerSpec(_Message):
    """Options with which a model was trained. `fastbpe.training_options` returns them as arguments of `train`."""

    __slots__ = ()
    ModelType = _Enum({name.upper(): number for number, name in specs.MODEL_TYPES.items()})
    UNIGRAM, BPE, WORD, CHAR = ModelType.values()
    _OPTIONS = specs.TRAINER
    _ENUMS: ClassVar = {"model_type": ModelType}

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        return self.ModelType.Value(value.upper()) if name == "model_type" else value


class NormalizerSpec(_Message):
    """Rules and options of a normalizer."""

    __slots__ = ()
    _OPTIONS = specs.NORMALIZER


class _SentencePiece(_Message):
    """Piece of a vocabulary, with its score and type."""

    __slots__ = ()
    Type = _Enum({name: kind for kind, name in TYPE_NAMES.items()})
    NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = Type.values()
    _OPTIONS = _PIECE
    _ENUMS: ClassVar = {"type": Type}

    def _read(self, data: bytes) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for field in protobuf.fields(data, 0, len(data)):
            if (field.number, field.wire) == (1, protobuf.BYTES):
                found["piece"] = data[field.start : field.end].decode("utf-8", "surrogateescape")
            elif (field.number, field.wire) == (2, protobuf.FIXED32):
                (found["score"],) = struct.unpack("<f", data[field.start : field.end])
            elif (field.number, field.wire) == (3, protobuf.VARINT) and field.value in self.Type.values():
                found["type"] = field.value  # a number without a name is an unknown field, as in proto2
        return found


class ModelProto(_Message):
    """A whole model: pieces, options of its trainer, rules of its normalizer and denormalizer.

    See the top of this module for an example.
    """

    __slots__ = ()
    SentencePiece = _SentencePiece
    _OPTIONS = _PARTS

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        if value is None:
            return TrainerSpec() if name == "trainer_spec" else NormalizerSpec()
        return value

    def _read(self, data: bytes) -> dict[str, Any]:
        names = {option.number: name for name, option in _PARTS.items()}
        parts: dict[str, list[bytes]] = {}
        for field in protobuf.fields(data, 0, len(data)):
            if field.wire == protobuf.BYTES and field.number in names:
                parts.setdefault(names[field.number], []).append(data[field.start : field.end])
        found: dict[str, Any] = {}
        for name, messages in parts.items():
            if name == "pieces":
                found[name] = [_SentencePiece.FromString(message) for message in messages]
            else:  # protobuf joins a message that occurs several times
                kind = TrainerSpec if name == "trainer_spec" else NormalizerSpec
                found[name] = kind.FromString(b"".join(messages))
        return found

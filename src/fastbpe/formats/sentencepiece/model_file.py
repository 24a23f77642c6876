"""The `.model` format of sentencepiece: one protobuf message with pieces, scores and options.

Models of the types bpe, unigram and char are read, and other types if the caller names them. Unknown fields are
kept and written again.

In a tokenizer.json, the unknown piece may be a special token, which text may contain if the caller allows it. A
.model cannot express that, so such a piece gets a field of fastbpe's own, with a number in the range that
sentencepiece reserves for extensions (`extensions 200 to max`) and skips.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from math import isfinite

from fastbpe.errors import FormatError
from fastbpe.formats import limits
from fastbpe.formats.byte_order import little_endian
from fastbpe.formats.sentencepiece import piece_messages, protobuf, specs
from fastbpe.formats.sentencepiece.protobuf import BYTES, FIXED32, VARINT
from fastbpe.model import METASPACE, TEXT_TYPES, TYPE_NAMES, AddedToken, Buffer, CodePointModel, PieceType, Spec

_PIECES, _TRAINER, _NORMALIZER, _SELF_TEST, _DENORMALIZER = range(1, 6)
_SPECS = {
    _TRAINER: ("trainer_spec", specs.TRAINER),
    _NORMALIZER: ("normalizer_spec", specs.NORMALIZER),
    _DENORMALIZER: ("denormalizer_spec", specs.NORMALIZER),
}
_TEXT, _SCORE, _TYPE = range(1, 4)  # fields of a piece
_IS_SPECIAL = protobuf.varint_field(200, 1)  # field of an unknown piece that is a special token
_MAX_PIECE_BYTES = 7999  # sentencepiece's limit
_HEAD_FIELDS = 64  # fields of a large file that are checked before all of it is read
_MAX_TEXT = (1 << 32) - 1  # bytes of all pieces: piece_ends has 32-bit entries
_BYTE_NAMES = frozenset(b"<0x%02X>" % byte for byte in range(256))


#: Types of models that `Tokenizer` runs.
RUN_TYPES = ("bpe", "unigram", "char")


class OtherTypeError(FormatError):
    """Error for a model of a type that the caller does not support."""


def parse(
    data: Buffer, where: str, *, any_text: bool = False, model_types: Sequence[str] = RUN_TYPES
) -> CodePointModel:
    """Read the model in a file's bytes.

    Args:
        any_text: pieces may contain NULs or be long, and byte pieces of ASCII characters may be missing, as in a
            tokenizer.json. sentencepiece would not load them.
        model_types: the types of models that the caller can run.

    Raises:
        FormatError: the file is damaged, or sentencepiece would not load its model; the message says where.
        OtherTypeError: the model is of another type. It is a FormatError.
    """
    try:
        if len(data) > limits.HEAD_BYTES:
            for _ in islice(protobuf.fields(memoryview(data), 0, len(data)), _HEAD_FIELDS):
                pass  # a file of junk raises here, before it is copied into memory
        data = bytes(data)
        model = _read(data, where, any_text)
    except protobuf.Damaged as damaged:
        raise FormatError(
            f"{where}: not a sentencepiece model: byte {damaged.at}: {damaged.reason}; download the file again"
        ) from None
    _check(model, where, any_text, model_types)
    return model


def _read(data: bytes, where: str, any_text: bool) -> CodePointModel:
    columns: list[tuple[bytes, bytes, bytes, bytes]] = []  # text, ends, scores, types
    n_bytes = n_pieces = n_fields = 0
    extras: dict[int, bytes] = {}
    messages: dict[int, list[bytes]] = {}  # field → its parts: protobuf joins a field that occurs several times
    starts: dict[int, int] = {}  # field → offset of its first part
    unknown = []
    at = 0
    while at < len(data):
        # As many plain pieces as come one after another:
        at, plain_text, plain_ends, plain_scores, plain_types = piece_messages.read(data, at, n_bytes)
        n_bytes += len(plain_text)
        n_pieces += len(plain_types)
        limits.check_number(n_pieces, where)
        if plain_types:
            columns.append((plain_text, plain_ends, plain_scores, plain_types))
        n_fields += 1
        _check_size(n_fields, n_bytes, at)
        field = next(protobuf.fields(data, at, len(data)), None)
        if field is None:
            break
        if field.wire != BYTES or not _PIECES <= field.number <= _DENORMALIZER:
            unknown.append(data[field.at : field.end])
        elif field.number == _PIECES:
            text, score, type_, extra = _piece(data, field.start, field.end)
            _check_piece(text, n_pieces, where, any_text)
            if extra:
                extras[n_pieces] = extra
            n_bytes += len(text)
            _check_size(n_fields, n_bytes, at)
            n_pieces += 1
            columns.append((text, struct.pack("=I", n_bytes), score, bytes([type_])))
        else:
            starts.setdefault(field.number, field.start)
            messages.setdefault(field.number, []).append(data[field.start : field.end])
        at = field.end
    parts_of = zip(*columns, strict=True) if columns else ((),) * 4
    piece_bytes, piece_ends, scores, types = map(b"".join, parts_of)
    options: dict[int, Spec] = {}
    for number, (name, kinds) in _SPECS.items():
        parts = messages.get(number, [])
        try:
            for part in parts if len(parts) > 1 else ():
                for _ in protobuf.fields(part, 0, len(part)):
                    pass  # two halves of a message raise here
            options[number] = specs.read(kinds, b"".join(parts))
        except protobuf.Damaged as damaged:
            raise protobuf.Damaged(
                starts[number], f"{name} begins there; its byte {damaged.at}: {damaged.reason}"
            ) from None
    specials = [i for i, extra in extras.items() if _IS_SPECIAL in extra and types[i] == PieceType.UNKNOWN]
    return CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=bytes(little_endian(scores, 4)),
        types=types,
        trainer=options[_TRAINER],
        normalizer=options[_NORMALIZER],
        denormalizer=options[_DENORMALIZER] if _DENORMALIZER in messages else None,
        self_test_data=b"".join(messages[_SELF_TEST]) if _SELF_TEST in messages else None,
        unknown=b"".join(unknown),
        piece_extras=extras,
        serialized=data,
        added_tokens=special_tokens(piece_bytes, piece_ends, specials),
    )


def _check_size(n_fields: int, n_bytes: int, at: int) -> None:
    if n_fields > limits.MAX_FIELDS or n_bytes > _MAX_TEXT:
        raise protobuf.Damaged(at, "more fields, or more text, than any model has")


def special_tokens(piece_bytes: bytes, piece_ends: bytes, ids: Iterable[int]) -> list[AddedToken]:
    """Return the unknown pieces with these ids as special tokens, without any that is not UTF-8 or has U+FFFD."""
    ends = memoryview(piece_ends).cast("I")
    found = ((i, piece_bytes[ends[i - 1] if i else 0 : ends[i]]) for i in ids)
    texts = ((i, piece.decode(errors="replace")) for i, piece in found)
    return [AddedToken(text, i, special=True) for i, text in texts if "\ufffd" not in text]


def _piece(data: bytes, start: int, end: int) -> tuple[bytes, bytes, int, bytes]:
    """Return (text, score, type, unknown fields) of a piece. The slow counterpart of `piece_messages.read`."""
    text, score, type_, extra = b"", bytes(4), PieceType.NORMAL, []
    for field in protobuf.fields(data, start, end):
        if (field.number, field.wire) == (_TEXT, BYTES):
            text = data[field.start : field.end]
        elif (field.number, field.wire) == (_SCORE, FIXED32):
            score = data[field.start : field.end]
        elif (field.number, field.wire) == (_TYPE, VARINT) and field.value in TYPE_NAMES:
            type_ = field.value
        else:
            extra.append(data[field.at : field.end])
    return text, score, type_, b"".join(extra)


def _check_piece(text: bytes, i: int, where: str, any_text: bool = False) -> None:
    """Raise FormatError for a piece that sentencepiece would not load."""
    if not text:
        raise FormatError(f"{where}: piece {i} is empty; a piece must have text")
    if any_text:
        return
    if 0 in text:
        raise FormatError(f"{where}: piece {i}, {text[:40]!r}, contains a NUL, which no piece may contain")
    if len(text) > _MAX_PIECE_BYTES:
        raise FormatError(f"{where}: piece {i} has {len(text)} bytes; the limit is {_MAX_PIECE_BYTES}")


def _check(
    model: CodePointModel, where: str, any_text: bool = False, model_types: Sequence[str] = RUN_TYPES
) -> None:
    """Raise FormatError for a model that sentencepiece would not load, and for models of other types.

    Requires: no piece is empty or too long.
    """
    if not model.n_pieces:
        raise FormatError(f"{where}: not a sentencepiece model: it contains no pieces")
    model_type = model.trainer["model_type"]
    if model_type not in model_types:
        if model_type != "word":
            raise OtherTypeError(
                f"{where}: a model of type {model_type}, not {' or '.join(model_types)}; load it with fastbpe.load"
            )
        raise OtherTypeError(
            f"{where}: a model of type {model_type}, which only fastbpe.sentencepiece runs: "
            "fastbpe.sentencepiece.SentencePieceProcessor(model_file=path)"
        )
    if model_type == "unigram":
        _check_scored(model, where)
    if not any_text and b"\0" in model.piece_bytes:  # `piece_messages.read` accepts it
        for i, piece in enumerate(model.pieces):
            _check_piece(piece, i, where)
    repeated = piece_messages.first_repeated(
        model.piece_bytes, model.piece_ends, int.from_bytes(os.urandom(8), "little")
    )
    if repeated:
        _check_repeated(model, repeated, where)
    _check_types(model, where, any_text)


def _check_repeated(model: CodePointModel, repeated: tuple[int, int], where: str) -> None:
    """Raise FormatError for two equal pieces.

    As in sentencepiece, a piece that is found in text may equal one that is not, except in a model of type bpe.
    """
    seen: dict[tuple[bytes, bool], int] = {}
    if model.trainer["model_type"] != "bpe":
        for i, (piece, kind) in enumerate(zip(model.pieces, model.types, strict=True)):
            first = seen.setdefault((piece, kind in TEXT_TYPES), i)
            if first != i:
                repeated = first, i
                break
        else:
            return
    first, second = repeated
    raise FormatError(f"{where}: pieces {first} and {second} are both {model.piece(first)!r}")


def _check_scored(model: CodePointModel, where: str) -> None:
    """Raise FormatError for a unigram model that sentencepiece would not load."""
    if not all(map(isfinite, array("f", model.scores))):
        raise FormatError(
            f"{where}: a score is not a number, or infinite (sentencepiece reports: score is NaN or Inf.)"
        )
    if not any(kind in TEXT_TYPES for kind in {*model.types}):
        raise FormatError(
            f"{where}: this unigram model has only control, unknown and byte pieces, so it cannot encode text "
            "(sentencepiece reports: no pieces are loaded.)"
        )


def _check_types(model: CodePointModel, where: str, any_text: bool) -> None:
    """Raise FormatError for the wrong number of unknown or byte pieces.

    A model must have one unknown piece and no byte piece. With byte_fallback it must have all 256 byte pieces, and
    may lack the unknown piece.

    any_text: the byte piece of an ASCII character may be missing if the character is a piece, as in files of
        Gemma 1 and 2.
    """
    n_unknown = model.types.count(PieceType.UNKNOWN)
    byte_pieces = {
        *piece_messages.of_type(model.piece_bytes, model.piece_ends, model.types, PieceType.BYTE).values()
    }
    has_fallback = model.trainer["byte_fallback"]
    if n_unknown > 1:
        first, second, *_ = piece_messages.ids_of(model.types, PieceType.UNKNOWN)
        raise FormatError(f"{where}: pieces {first} and {second} are both of type UNKNOWN; only one piece may be")
    if not n_unknown and not has_fallback:
        raise FormatError(f"{where}: no piece is of type UNKNOWN, which a model without byte_fallback needs")
    if byte_pieces and not has_fallback:
        raise FormatError(f"{where}: {min(byte_pieces)!r} is of type BYTE, but byte_fallback is false")
    if byte_pieces - _BYTE_NAMES:
        name = min(byte_pieces - _BYTE_NAMES)
        raise FormatError(f"{where}: {name!r} is of type BYTE, but its text is not one of <0x00> to <0xFF>")
    missing = {int(name[3:5], 16) for name in _BYTE_NAMES - byte_pieces} if has_fallback else set()
    if any_text and missing:
        pieces = {*model.pieces}
        missing = {byte for byte in missing if byte > 127 or bytes([byte]) not in pieces}
    if missing:
        raise FormatError(
            f"{where}: byte_fallback is true, but the model lacks {len(missing)} of the 256 pieces of type BYTE, "
            f"such as <0x{min(missing):02X}>"
        )


def dump(model: CodePointModel, what: str = "a .model file") -> bytes:
    """Return the bytes of the file; for an unchanged model, exactly the bytes that were read.

    what: name of the format for errors.

    A file that is accepted here may still produce other ids, or lack special tokens: `verify_export`, which
    `export` runs before it writes, finds out by comparing.

    Raises:
        FormatError: the model has options or added tokens that only a tokenizer.json can express, or is one of a
            tokenizer.json that sentencepiece would not load.
    """
    lost = _lost(model)
    if lost:
        raise FormatError(f"{what} cannot store {lost}; export this tokenizer as native or huggingface")
    if model.conventions is not None:  # a tokenizer.json may have pieces that sentencepiece would not load
        for i, piece in enumerate(model.pieces):
            _check_piece(piece, i, f"as {what}")
        _check(model, f"as {what}")
    return model.serialized or b"".join(_messages(model)) + model.unknown


def _lost(model: CodePointModel) -> str:
    """Name an option of a model that only a tokenizer.json can express; "" if a .model can express all."""
    if model.merges:
        return "a list of merges"
    for token in model.added_tokens:
        if not (_is_control_symbol(token, model) or _is_user_defined(token, model)):
            return (
                f"the added token {token.content!r}, whose flags no control symbol or user-defined piece can have"
            )
    conventions = model.conventions
    if conventions is None:
        return ""
    if conventions.prefix:
        return "the rule that a text gets a space at the start only if it begins with none"
    if conventions.splits:
        return "the rule that pieces end before each U+2581"
    if not conventions.fuses:
        return "the rule that each of several unknown characters in a row becomes an id"
    if conventions.decoder == "Metaspace" and PieceType.BYTE in model.types:
        return "a decoder that writes byte pieces by their names"
    if conventions.strips != (
        model.normalizer["add_dummy_prefix"] or model.normalizer["remove_extra_whitespaces"]
    ):
        return f"the rule that decoding {'drops' if conventions.strips else 'keeps'} a space at the start"
    return ""


def _is_control_symbol(token: AddedToken, model: CodePointModel) -> bool:
    """Tell whether an added token behaves like a control symbol of sentencepiece: never found in text."""
    flags = token.lstrip or token.rstrip or token.single_word or token.normalized
    return token.special and not flags and model.types[token.id] in (PieceType.CONTROL, PieceType.UNKNOWN)


def _is_user_defined(token: AddedToken, model: CodePointModel) -> bool:
    """Tell whether an added token behaves like a user-defined piece: found anywhere in normalized text."""
    flags = token.special or token.lstrip or token.rstrip or token.single_word
    is_normalized = token.normalized and not model.normalizer["add_dummy_prefix"] and " " not in token.content
    if model.conventions is not None and not model.conventions.escapes:  # U+2581 then matches no space of a text
        is_normalized = is_normalized and METASPACE not in token.content
    return is_normalized and not flags and model.types[token.id] == PieceType.USER_DEFINED


def _messages(model: CodePointModel) -> Iterator[bytes]:
    """Yield the fields of the file that fastbpe knows."""
    # Made once: there are many pieces, and tags and lengths repeat. [:-1]: without the length, a byte for b"".
    piece_key, text_key = (protobuf.bytes_field(number, b"")[:-1] for number in (_PIECES, _TEXT))
    score_key = protobuf.fixed32_field(_SCORE, b"")
    length = lru_cache(maxsize=None)(protobuf.varint)
    types: dict[int, bytes] = {type_: protobuf.varint_field(_TYPE, type_) for type_ in TYPE_NAMES}
    types[PieceType.NORMAL] = b""
    special = {token.id for token in model.added_tokens if model.types[token.id] == PieceType.UNKNOWN}
    scores = bytes(little_endian(model.scores, 4))
    for i, (piece, type_) in enumerate(zip(model.pieces, model.types, strict=True)):
        field = text_key + length(len(piece)) + piece + score_key + scores[4 * i : 4 * i + 4] + types[type_]
        extra = model.piece_extras.get(i, b"")
        field += extra if i not in special or _IS_SPECIAL in extra else extra + _IS_SPECIAL
        yield piece_key + length(len(field)) + field
    yield protobuf.bytes_field(_TRAINER, specs.write(specs.TRAINER, model.trainer))
    yield protobuf.bytes_field(_NORMALIZER, specs.write(specs.NORMALIZER, model.normalizer))
    if model.self_test_data is not None:
        yield protobuf.bytes_field(_SELF_TEST, model.self_test_data)
    if model.denormalizer is not None:
        yield protobuf.bytes_field(_DENORMALIZER, specs.write(specs.NORMALIZER, model.denormalizer))

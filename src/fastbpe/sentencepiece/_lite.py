"""Models of SentencePiece Lite: a FlatBuffers file with the pieces, their tries and other tables of a model.

The bytes equal what sentencepiece 0.2.3 writes. A trie is a double array of bytes; see
`_core.normalize.charsmap_builder`.
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Sequence
from itertools import pairwise

from fastbpe._core.normalize.charsmap_builder import build_trie
from fastbpe.formats.byte_order import little_endian
from fastbpe.formats.flatbuffers import Builder, Field
from fastbpe.formats.sentencepiece import protobuf
from fastbpe.sentencepiece._errors import ArgumentError, ModelError
from fastbpe.sentencepiece.sentencepiece_model_pb2 import ModelProto, NormalizerSpec, TrainerSpec

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = ModelProto.SentencePiece.Type.values()
_INVISIBLE = (_UNKNOWN, _CONTROL, _UNUSED, _BYTE)  # types of pieces that no text matches
_MAX_PIECES = 16_000_000  # like the next one, a limit of sentencepiece
_MAX_PIECE_BYTES = 4096
_MAX_WHOLE_BYTES = 128  # longer pieces are not checked: they count as pieces that merging does not produce
_MAX_SCORE = 2147483520.0  # the greatest float below 2**31
#: Bits of a unit of a trie: its children include a value; its value; it is a value, not a node.
_HAS_VALUE, _VALUE, _IS_VALUE = 0x100, 0x7FFFFFFF, 1 << 31
_LENGTHS = (1,) * 12 + (2, 2, 3, 4)  # bytes of a character by the upper half of its first byte


def flatbuffer(
    proto: ModelProto, skip_char_bigrams: bool, treat_null_byte_as_unused: bool, allow_unsupported_model_type: bool
) -> bytes:
    """Convert a model. The flags and errors are as for `fastbpe.sentencepiece.convert_to_flatbuffer`."""
    trainer: TrainerSpec = proto.trainer_spec
    has_trainer, model_type = proto.HasField("trainer_spec"), trainer.model_type
    if not 0 < len(proto.pieces) <= _MAX_PIECES:
        raise ArgumentError(
            f"INVALID_ARGUMENT: Model vocabulary size ({len(proto.pieces)}) is out of safe bounds [1, 16,000,000]."
        )
    if model_type not in (trainer.UNIGRAM, trainer.BPE) and not allow_unsupported_model_type:
        raise ArgumentError(
            f"INVALID_ARGUMENT: Unsupported model type: {trainer.ModelType.Name(model_type)}; "
            "allow_unsupported_model_type=True converts it"
        )
    is_bpe = model_type == trainer.BPE
    pieces, types = _pieces(proto, treat_null_byte_as_unused and trainer.byte_fallback)
    scores = [piece.score for piece in proto.pieces]
    if is_bpe:
        for i, score in enumerate(scores):
            if math.isnan(score) or abs(score) > _MAX_SCORE:
                raise ArgumentError(f"INVALID_ARGUMENT: Piece at index {i} has an invalid BPE score.")
        scores = [int(score) for score in scores]
    role_ids = [
        _last_control(pieces, types, name or default)
        for name, default in zip(
            (trainer.bos_piece, trainer.eos_piece, trainer.pad_piece), ("<s>", "</s>", "<pad>"), strict=True
        )
    ]
    trie = _trie([(piece, i) for i, piece in enumerate(pieces)])
    user_defined_trie = _trie([(piece, i) for i, piece in enumerate(pieces) if types[i] == _USER_DEFINED])
    pairs_trie = _pairs_trie(pieces) if is_bpe or not skip_char_bigrams else b""
    unk_id = trainer.unk_id if has_trainer else 0
    if reason := _unusable(proto, pieces, types, scores, unk_id, is_bpe):
        if is_bpe and "charsmap" not in reason:  # sentencepiece checks the charsmap later, with the result
            raise ModelError(
                "INTERNAL: Failed to initialize preliminary processor for BPE direct mapping: " + reason
            )
        raise ArgumentError(
            "INVALID_ARGUMENT: Model verification failed: Converted FlatBuffers model is invalid: " + reason
        )
    are_whole = _whole(pieces, types, scores, unk_id) if is_bpe else b""
    has_whole = any(flag and types[i] not in _INVISIBLE for i, flag in enumerate(are_whole))

    out = Builder()
    fields = [
        Field(0, "", out.strings(pieces)),  # pieces
        Field(1, "", 0 if is_bpe else out.vector("f", scores)),  # scores of a unigram model
        Field(2, "", out.vector("i", scores) if is_bpe else 0),  # scores of a BPE model
        Field(3, "", out.byte_vector(bytes(types), 1)),  # types
        Field(5, "", out.string(trainer.unk_surface.encode("utf-8", "surrogateescape")) if has_trainer else 0),
        Field(7, "", _normalizer(out, proto, trainer if has_trainer else None)),
        Field(8, "", out.byte_vector(trie, 8)),  # trie of all pieces
        Field(9, "", out.byte_vector(user_defined_trie, 8)),
        Field(10, "", out.byte_vector(pairs_trie, 8)),
        Field(12, "", out.byte_vector(are_whole, 1) if has_whole and not all(are_whole) else 0),
    ]
    fields = [field for field in fields if field.value]  # as FlatBuffers does: no empty ones, no defaults
    scalars = [(4, "i", unk_id, 0), (6, "b", model_type, trainer.UNIGRAM), (11, "B", has_whole, False)]
    scalars += [(13 + i, "i", role_id, -1) for i, role_id in enumerate(role_ids)]  # bos, eos, pad
    fields += [Field(number, code, value) for number, code, value, default in scalars if value != default]
    return out.finished(out.table(fields))


def _pieces(proto: ModelProto, renames_nul: bool) -> tuple[list[bytes], list[int]]:
    """Return the bytes and the type of each piece. Raises ArgumentError if a piece cannot be converted."""
    pieces, types = [], []
    for i, piece in enumerate(proto.pieces):
        text, kind = piece.piece.encode("utf-8", "surrogateescape"), piece.type
        if not 0 < len(text) <= _MAX_PIECE_BYTES:
            raise ArgumentError(f"INVALID_ARGUMENT: Piece at index {i} is invalid (empty or too long).")
        if text == b"\0" and renames_nul:
            text, kind = b"<unused_%d>" % i, _UNUSED
        if b"\0" in text:
            raise ArgumentError(f"INVALID_ARGUMENT: Piece at index {i} is invalid (contains null byte).")
        pieces.append(text)
        types.append(kind)
    return pieces, types


def _last_control(pieces: Sequence[bytes], types: Sequence[int], name: str) -> int:
    """Return the id of the last control symbol with a name; -1: no control symbol has it."""
    wanted = name.encode("utf-8", "surrogateescape")
    return max((i for i, piece in enumerate(pieces) if piece == wanted and types[i] == _CONTROL), default=-1)


def _unusable(
    proto: ModelProto,
    pieces: Sequence[bytes],
    types: Sequence[int],
    scores: Sequence[float],
    unk_id: int,
    is_bpe: bool,
) -> str:
    """Return why SentencePiece Lite does not load a model; "" if it does."""
    if not -1 <= unk_id < len(pieces):
        return f"unk_id={unk_id} is not an id of its {len(pieces)} pieces"
    if not is_bpe and not all(map(math.isfinite, scores)):
        return "a score is infinite or not a number"
    ids = {piece: i for i, piece in enumerate(pieces)}
    has_bytes, first = _has_bytes(pieces, types), ids.get(b"<0x00>", -1)
    for byte in range(256) if has_bytes else ():
        i = ids.get(b"<0x%02X>" % byte, -1)
        if i != first + byte or types[i] != _BYTE:
            return "the ids of its bytes, <0x00> to <0xFF>, are not consecutive"
    if unk_id == -1 and not has_bytes:
        return "it has no unknown piece and no byte pieces"
    if not _is_consistent(proto.normalizer_spec.precompiled_charsmap):
        return "its precompiled_charsmap is damaged"
    return ""


def _has_bytes(pieces: Sequence[bytes], types: Sequence[int]) -> bool:
    """Tell whether unknown text becomes bytes."""
    return any(piece == b"<0x00>" and kind == _BYTE for piece, kind in zip(pieces, types, strict=True))


def _is_consistent(charsmap: bytes) -> bool:
    """Tell whether a charsmap is empty, or its trie and replacements pass the checks of SentencePiece Lite."""
    if not charsmap:
        return True
    n_trie = struct.unpack_from("<I", charsmap)[0] if len(charsmap) > 4 else 0  # in bytes, like n_replacements
    n_replacements = len(charsmap) - 4 - n_trie
    # 1024: the bytes of a block of 256 units, one per value of a byte
    if n_trie < 1024 or n_trie % 1024 or n_replacements <= 0 or charsmap[-1]:
        return False
    units = array("I", little_endian(charsmap[4 : 4 + n_trie], 4))
    for at, unit in enumerate(units):
        is_value = unit & _IS_VALUE
        if is_value and unit & _VALUE >= n_replacements:
            return False
        if not is_value and (
            _below(units, at) | 0xFF >= len(units)
            or (unit & _HAS_VALUE and not units[_below(units, at)] & _IS_VALUE)
        ):
            return False
    return not units[0] & (_IS_VALUE | _HAS_VALUE | 0xFF) and _below(units, 0) != 0  # the root


def _normalizer(out: Builder, proto: ModelProto, trainer: TrainerSpec | None) -> int:
    """Write the options of the normalizer and return their position; 0: the model has no such options."""
    if not proto.HasField("normalizer_spec"):
        return 0
    spec: NormalizerSpec = proto.normalizer_spec
    charsmap = bytes(spec.precompiled_charsmap)
    if charsmap:
        end = 4 + struct.unpack_from("<I", charsmap)[0]
        charsmap = bytes(little_endian(charsmap[:end], 4)) + charsmap[end:]
    fields = [
        Field(0, "", out.string(spec.name.encode("utf-8", "surrogateescape"))),
        Field(1, "", out.byte_vector(charsmap, 8)),
    ]
    fields = [field for field in fields if field.value]
    flags = [(2, spec.add_dummy_prefix), (3, spec.remove_extra_whitespaces), (4, spec.escape_whitespaces)]
    fields += [Field(number, "B", False) for number, flag in flags if not flag]
    if trainer is not None and trainer.treat_whitespace_as_suffix:
        fields.append(Field(5, "B", True))
    return out.table(fields)


# Tries


def _trie(entries: list[tuple[bytes, int]]) -> bytes:
    """Return the trie of (piece, id) as bytes; b"" without entries. Raises ArgumentError if a piece repeats."""
    if not entries:
        return b""
    entries.sort()
    for (before, _), (piece, _) in pairwise(entries):
        if before == piece:
            shown = piece.decode("utf-8", "backslashreplace")
            raise ArgumentError(f"INVALID_ARGUMENT: Duplicate key for trie building: {shown}")
    return bytes(little_endian(build_trie([piece for piece, _ in entries], [i for _, i in entries]), 4))


def _pairs_trie(pieces: Sequence[bytes]) -> bytes:
    """Return the trie of the pairs of neighbouring characters in pieces.

    The value of a pair is the unit for its second character alone, from which the search for the next pair goes
    on; 0: no pair begins with this character.
    """
    pairs: dict[bytes, int] = {}  # pair → bytes of its first character
    for piece in pieces:
        at, n_before = 0, 0
        while at < len(piece):
            n = _LENGTHS[piece[at] >> 4]
            if n_before:
                pairs[piece[at - n_before : at + n]] = n_before
            at, n_before = at + n, n
    if not pairs:
        return b""
    keys = sorted(pairs)
    units = array("I", little_endian(build_trie(keys, list(range(len(keys)))), 4))
    for key in keys:
        units[_below(units, _unit_of_key(units, key))] = _unit_of_prefix(units, key[pairs[key] :]) | _IS_VALUE
    return units.tobytes()


def _below(units: array[int], at: int) -> int:
    """Return the base of a unit's children: the child of a byte is at base ^ byte, a value at the base itself.

    The offset to the base is in the bits from 10 on; with bit 9 (0x200), without its low 8 bits, which are 0.
    """
    unit = units[at]
    return at ^ (unit >> 10) << ((unit & 0x200) >> 6)


def _unit_of_key(units: array[int], key: bytes) -> int:
    """Return the index of the unit of a key that the trie contains."""
    at = 0
    for byte in key:
        at = _below(units, at) ^ byte
    return at


def _unit_of_prefix(units: array[int], prefix: bytes) -> int:
    """Return the index of the unit of a prefix of keys; 0 if no key has it."""
    at = 0
    for byte in prefix:
        at = _below(units, at) ^ byte
        if at >= len(units) or units[at] & (_IS_VALUE | 0xFF) != byte:
            return 0
    return at


# Whole pieces of BPE


def _whole(pieces: Sequence[bytes], types: Sequence[int], scores: Sequence[int], unk_id: int) -> bytes:
    """Return a 1 for each piece that merging its own text produces, or that has a type in _INVISIBLE; else a 0.

    SentencePiece Lite does not merge unused pieces, and orders merges by integer scores. So this function encodes
    the pieces with a model that does the same. unk_id may be the id of an ordinary piece: this piece then becomes
    bytes, like unknown text, or, if the model has no bytes, one id together with the unknown text beside it.
    """
    from fastbpe.sentencepiece._processor import SentencePieceProcessor  # here: only BPE models need it

    messages = []  # of a ModelProto: pieces are field 1, the trainer is field 2, the normalizer field 3
    for piece, kind, score in zip(pieces, types, scores, strict=True):
        kind = _CONTROL if kind in _INVISIBLE else kind
        fields = protobuf.bytes_field(1, piece) + protobuf.fixed32_field(2, struct.pack("<f", score))
        messages.append(protobuf.bytes_field(1, fields + protobuf.varint_field(3, kind)))
    unknown, n = b"<unk>", len(pieces)
    while unknown in pieces:
        unknown += b">"
    fields = protobuf.bytes_field(1, unknown) + protobuf.varint_field(3, _UNKNOWN)
    messages.append(protobuf.bytes_field(1, fields))
    trainer = protobuf.varint_field(3, TrainerSpec.BPE) + protobuf.varint_field(40, n)  # 40: unk_id
    messages.append(protobuf.bytes_field(2, trainer + protobuf.bytes_field(45, unknown)))  # 45: unk_piece
    plain = b"".join(protobuf.varint_field(number, 0) for number in (3, 4, 5))  # the three flags for spaces
    messages.append(protobuf.bytes_field(3, protobuf.bytes_field(1, b"identity") + plain))
    processor = SentencePieceProcessor(model_proto=b"".join(messages))
    whole, has_bytes = bytearray(n), _has_bytes(pieces, types)
    tried = [i for i in range(n) if types[i] not in _INVISIBLE and len(pieces[i]) <= _MAX_WHOLE_BYTES]
    for i, ids in zip(tried, processor.encode([pieces[i] for i in tried]), strict=True):
        if i == unk_id:
            whole[i] = not has_bytes and {*ids} <= {i, n}
        else:
            whole[i] = ids == [i]
    for i, kind in enumerate(types):
        if kind in _INVISIBLE:
            whole[i] = 1
    return bytes(whole)

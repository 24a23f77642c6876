"""Options in a sentencepiece `.model`: their names, field numbers, kinds and defaults.

A spec is a message of such options: the trainer's or a normalizer's. It is written as sentencepiece writes it:
the options that are set, by field number, then unknown fields.
"""

from __future__ import annotations

import struct

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats import limits
from fastbpe.formats.sentencepiece import piece_messages, protobuf
from fastbpe.formats.sentencepiece.protobuf import BYTES, FIXED32, VARINT
from fastbpe.model import Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
MAX_INT32 = (1 << 31) - 1


class Option(NamedTuple):
    """Option of a spec. kind: int32, uint64, bool, float, string, strings (a list), bytes or model_type."""

    number: int
    kind: str
    default: Any


TRAINER = {
    "input": Option(1, "strings", ()),
    "model_prefix": Option(2, "string", ""),
    "model_type": Option(3, "model_type", "unigram"),
    "vocab_size": Option(4, "int32", 8000),
    "accept_language": Option(5, "strings", ()),
    "self_test_sample_size": Option(6, "int32", 0),
    "input_format": Option(7, "string", ""),
    "character_coverage": Option(10, "float", 0.9995),
    "input_sentence_size": Option(11, "uint64", 0),
    "mining_sentence_size": Option(12, "int32", 0),
    "training_sentence_size": Option(13, "int32", 0),
    "seed_sentencepiece_size": Option(14, "int32", 1000000),
    "shrinking_factor": Option(15, "float", 0.75),
    "num_threads": Option(16, "int32", 16),
    "num_sub_iterations": Option(17, "int32", 2),
    "max_sentence_length": Option(18, "int32", 4192),
    "shuffle_input_sentence": Option(19, "bool", True),
    "max_sentencepiece_length": Option(20, "int32", 16),
    "split_by_unicode_script": Option(21, "bool", True),
    "split_by_whitespace": Option(22, "bool", True),
    "split_by_number": Option(23, "bool", True),
    "treat_whitespace_as_suffix": Option(24, "bool", False),
    "split_digits": Option(25, "bool", False),
    "allow_whitespace_only_pieces": Option(26, "bool", False),
    "control_symbols": Option(30, "strings", ()),
    "user_defined_symbols": Option(31, "strings", ()),
    "vocabulary_output_piece_score": Option(32, "bool", True),
    "hard_vocab_limit": Option(33, "bool", True),
    "use_all_vocab": Option(34, "bool", False),
    "byte_fallback": Option(35, "bool", False),
    "required_chars": Option(36, "string", ""),
    "unk_id": Option(40, "int32", 0),
    "bos_id": Option(41, "int32", 1),
    "eos_id": Option(42, "int32", 2),
    "pad_id": Option(43, "int32", -1),
    "unk_surface": Option(44, "string", " \u2047 "),
    "unk_piece": Option(45, "string", "<unk>"),
    "bos_piece": Option(46, "string", "<s>"),
    "eos_piece": Option(47, "string", "</s>"),
    "pad_piece": Option(48, "string", "<pad>"),
    "train_extremely_large_corpus": Option(49, "bool", False),
    "enable_differential_privacy": Option(50, "bool", False),
    "differential_privacy_noise_level": Option(51, "float", 0.0),
    "differential_privacy_clipping_threshold": Option(52, "uint64", 0),
    "pretokenization_delimiter": Option(53, "string", ""),
    "seed_sentencepieces_file": Option(54, "string", ""),
    "auto_character_coverage": Option(55, "bool", False),
}
NORMALIZER = {
    "name": Option(1, "string", ""),
    "precompiled_charsmap": Option(2, "bytes", b""),
    "add_dummy_prefix": Option(3, "bool", True),
    "remove_extra_whitespaces": Option(4, "bool", True),
    "escape_whitespaces": Option(5, "bool", True),
    "normalization_rule_tsv": Option(6, "string", ""),
}

_IGNORED = "sentencepiece 0.2.3 ignores it; leave it out"
#: Options of sentencepiece that affect no model that fastbpe learns → reason. `train` refuses them; the drop-in
#: `fastbpe.sentencepiece` accepts them.
WITHOUT_EFFECT = {
    "input": "the text is the first argument (FILE on the command line)",
    "model_prefix": "the tokenizer's export writes the model (-o OUT on the command line)",
    "vocabulary_output_piece_score": "no .vocab file is written",
    "accept_language": _IGNORED,
    "self_test_sample_size": _IGNORED,
    "mining_sentence_size": _IGNORED,
    "training_sentence_size": _IGNORED,
    "train_extremely_large_corpus": _IGNORED,
    "enable_differential_privacy": _IGNORED,
    "differential_privacy_noise_level": _IGNORED,
    "differential_privacy_clipping_threshold": _IGNORED,
}

#: Options that affect only the training of unigram models.
OF_UNIGRAM = ("seed_sentencepiece_size", "shrinking_factor", "num_sub_iterations", "seed_sentencepieces_file")

_SHORT = 128  # bytes; the length of a shorter string is a varint of one byte
# By the identity of TRAINER and NORMALIZER, because a dict cannot be a key.
_DEFAULTS = {id(options): {n: o.default for n, o in options.items()} for options in (TRAINER, NORMALIZER)}
_NAMES = {id(options): {o.number: n for n, o in options.items()} for options in (TRAINER, NORMALIZER)}
_TYPE_NUMBERS = {name: number for number, name in MODEL_TYPES.items()}
_WIRES = {"float": FIXED32, "string": BYTES, "strings": BYTES, "bytes": BYTES}  # VARINT for other kinds


def make(options: Mapping[str, Option], values: Mapping[str, Any], unknown: bytes = b"") -> Spec:
    """Return a spec with these options set.

    >>> make(NORMALIZER, {"name": "identity"})["add_dummy_prefix"]
    True
    """
    return Spec(values=values, defaults=_DEFAULTS[id(options)], unknown=unknown)


def read(options: Mapping[str, Option], message: bytes) -> Spec:
    """Read the spec in a message. If an option occurs twice, the last value counts; a list gets all values.

    Raises:
        protobuf.Damaged: the bytes are not a message, or have too many fields.
    """
    values: dict[str, Any] = {}
    unknown = []
    at = n_fields = 0
    while at < len(message):
        n_fields += 1
        field = protobuf.field(message, at, len(message))
        if n_fields > limits.MAX_FIELDS:
            raise protobuf.Damaged(field.at, "more fields than any model's options have")
        at = field.end
        name = _NAMES[id(options)].get(field.number, "")
        kind = options[name].kind if name else ""
        if not name or field.wire != _WIRES.get(kind, VARINT):
            unknown.append(message[field.at : field.end])
        elif kind == "model_type" and field.value not in MODEL_TYPES:
            unknown.append(message[field.at : field.end])  # as protobuf treats unknown values of enums
        elif kind == "strings":
            texts = values.setdefault(name, [])
            texts.append(_value(kind, message[field.start : field.end], 0))
            if field.end - field.start < _SHORT:  # the length takes one byte, so the tag ends before it
                following, at = piece_messages.strings(message, at, message[field.at : field.start - 1])
                texts += following
        else:
            values[name] = _value(kind, message[field.start : field.end], field.value)
    return make(options, values, b"".join(unknown))


def write(options: Mapping[str, Option], spec: Spec) -> bytes:
    """Return the message of a spec."""
    fields = [
        _field(option, value)
        for name, option in options.items()
        if name in spec.values
        for value in (spec.values[name] if option.kind == "strings" else [spec.values[name]])
    ]
    return b"".join(fields) + spec.unknown


def _value(kind: str, data: bytes, number: int) -> Any:
    if kind in ("string", "strings"):
        return data.decode("utf-8", "surrogateescape")  # it need not be UTF-8
    if kind == "bytes":
        return data
    if kind == "float":
        return struct.unpack("<f", data)[0]
    if kind == "int32":
        return (number & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000  # two's complement of 32 bits
    if kind == "bool":
        return number != 0
    return MODEL_TYPES[number] if kind == "model_type" else number


def _field(option: Option, value: Any) -> bytes:
    if option.kind in ("string", "strings"):
        return protobuf.bytes_field(option.number, value.encode("utf-8", "surrogateescape"))
    if option.kind == "bytes":
        return protobuf.bytes_field(option.number, value)
    if option.kind == "float":
        return protobuf.fixed32_field(option.number, struct.pack("<f", value))
    return protobuf.varint_field(
        option.number, _TYPE_NUMBERS[value] if option.kind == "model_type" else int(value)
    )

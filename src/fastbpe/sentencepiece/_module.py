"""Functions of fastbpe.sentencepiece: log level, folder of rules, conversion to SentencePiece Lite."""

from __future__ import annotations

import os

from fastbpe.errors import FormatError
from fastbpe.formats import atomic_files
from fastbpe.sentencepiece._arguments import int32
from fastbpe.sentencepiece._errors import ArgumentError, ArgumentTypeError, ModelError
from fastbpe.sentencepiece._files import file_error, proto_bytes, read_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def set_min_log_level(level: int, /) -> None:
    """Set the lowest level to log. It has no effect: fastbpe logs nothing."""
    int32("level", level)


def set_data_dir(data_dir: str | bytes, /) -> None:
    """Set the folder of normalization rules. It has no effect: fastbpe contains the rules."""
    os.fsencode(data_dir)  # raises TypeError for other types


def convert_to_flatbuffer(
    model_file: str | os.PathLike[str] | None = None,
    model_proto: Any = None,
    serialized_model_proto: bytes | None = None,
    output_file: str | os.PathLike[str] | None = None,
    skip_char_bigrams: bool = False,
    treat_null_byte_as_unused: bool = False,
    allow_unsupported_model_type: bool = False,
) -> bytes | None:
    """Convert a model for SentencePiece Lite, byte for byte as sentencepiece 0.2.3 does.

    Args:
        model_file: path of the model; pass exactly one of model_file, model_proto and serialized_model_proto.
        model_proto: the model as a ModelProto or bytes.
        serialized_model_proto: the model as bytes.
        output_file: path of the .spm.fb file to write; None: return its bytes.
        skip_char_bigrams: leave out the table of pairs of characters; a BPE model needs it, and keeps it.
        treat_null_byte_as_unused: with byte_fallback, convert a piece that is a NUL to an unused piece.
        allow_unsupported_model_type: convert word and char models too; SentencePiece Lite runs them as unigram.

    Returns:
        The bytes of the file; None with output_file.

    Raises:
        ArgumentError: wrong arguments, or a model that SentencePiece Lite cannot run, except as under ModelError;
            also a ValueError.
        ArgumentTypeError: an argument has the wrong type; also a TypeError.
        ModelError: the file cannot be read or written, or SentencePiece Lite does not accept the unknown piece or
            the byte pieces of a BPE model; also a RuntimeError.

    >>> import io
    >>> from fastbpe.sentencepiece import SentencePieceTrainer
    >>> model = io.BytesIO()
    >>> SentencePieceTrainer.train(
    ...     sentence_iterator=iter(["ab ab abc"]), model_writer=model, model_type="bpe", vocab_size=8
    ... )
    >>> data = convert_to_flatbuffer(model_proto=model.getvalue())
    >>> b"ab" in data
    True
    """
    from fastbpe.sentencepiece._lite import flatbuffer  # here: few programs convert models
    from fastbpe.sentencepiece.sentencepiece_model_pb2 import ModelProto

    if sum(given is not None for given in (model_file, model_proto, serialized_model_proto)) != 1:
        raise ArgumentError("Exactly one of model_file, model_proto, or serialized_model_proto must be specified.")
    if output_file is not None and not os.fsdecode(os.fspath(output_file)):
        raise ArgumentError("output_file must not be empty.")
    if model_file is not None:
        if not os.fsdecode(os.fspath(model_file)):
            raise ArgumentError("model_file must not be empty.")
        data, _ = read_model(model_file)
    elif model_proto is not None:
        if not isinstance(model_proto, bytes) and not hasattr(model_proto, "SerializeToString"):
            raise ArgumentTypeError("model_proto must be a ModelProto object or bytes.")
        data = proto_bytes(model_proto)
    else:
        if not isinstance(serialized_model_proto, bytes):
            raise ArgumentTypeError("serialized_model_proto must be bytes.")
        data = serialized_model_proto
    try:
        proto = ModelProto.FromString(data)
    except FormatError as error:
        if model_file is not None:
            where = os.fsdecode(model_file)
            raise ModelError(f"INTERNAL: could not parse ModelProto from {where}: {error}") from None
        raise ArgumentError(f"INVALID_ARGUMENT: Failed to parse ModelProto: {error}") from None
    options = bool(skip_char_bigrams), bool(treat_null_byte_as_unused), bool(allow_unsupported_model_type)
    converted = flatbuffer(proto, *options)
    if output_file is None:
        return converted
    try:
        atomic_files.write(output_file, converted)
    except OSError as error:
        raise file_error(error, os.fsdecode(output_file)) from error
    return None


SetMinLogLevel = set_min_log_level
SetDataDir = set_data_dir
ConvertToFlatbuffer = convert_to_flatbuffer

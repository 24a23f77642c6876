"""Functions of the module."""

from __future__ import annotations

import os

from fastbpe.sentencepiece._arguments import int32
from fastbpe.sentencepiece._errors import ModelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def set_min_log_level(level: int, /) -> None:
    """Set the lowest level to log. It has no effect: fastbpe logs nothing."""
    int32("level", level)


def set_data_dir(data_dir: str | bytes, /) -> None:
    """Set the folder of normalization rules. It has no effect: fastbpe contains the rules."""
    os.fsencode(data_dir)


def convert_to_flatbuffer(
    model_file: Any = None,
    model_proto: Any = None,
    serialized_model_proto: Any = None,
    output_file: Any = None,
    skip_char_bigrams: bool = False,
    treat_null_byte_as_unused: bool = False,
    allow_unsupported_model_type: bool = False,
) -> NoReturn:
    """Raise RuntimeError: fastbpe writes no FlatBuffers; sentencepiece can convert any model."""
    raise ModelError(
        "UNIMPLEMENTED: fastbpe writes no FlatBuffers models; sentencepiece.convert_to_flatbuffer converts any "
        ".model file, including those that fastbpe writes"
    )


SetMinLogLevel = set_min_log_level
SetDataDir = set_data_dir
ConvertToFlatbuffer = convert_to_flatbuffer

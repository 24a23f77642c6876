"""The functions of the module."""

from __future__ import annotations

import operator
import os
from typing import Any, NoReturn

from fastbpe.sentencepiece._errors import ModelError


def set_min_log_level(level: int, /) -> None:
    """Log nothing below a level. fastbpe logs nothing at all, so that any level is kept to."""
    operator.index(level)


def set_nbest_timeout(seconds: int, /) -> None:
    """Bound the time of n-best encoding, which BPE models do not have: no call takes longer."""
    operator.index(seconds)


def set_data_dir(data_dir: str | bytes, /) -> None:
    """Say where the files of normalization rules lie. fastbpe has the rules in itself and reads none."""
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
    """Always a RuntimeError: fastbpe writes no FlatBuffers; sentencepiece itself converts any model."""
    raise ModelError(
        "UNIMPLEMENTED: fastbpe writes no FlatBuffers models; sentencepiece.convert_to_flatbuffer makes one of "
        "any .model file, also of those that fastbpe writes"
    )


SetMinLogLevel = set_min_log_level
SetNBestTimeout = set_nbest_timeout
SetDataDir = set_data_dir
ConvertToFlatbuffer = convert_to_flatbuffer

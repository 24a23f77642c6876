"""Reading of model files and messages."""

from __future__ import annotations

import errno
import os

from fastbpe.sentencepiece._errors import ArgumentTypeError, ModelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read_model(filename: str | bytes | os.PathLike[str]) -> tuple[bytes, str]:
    """Return (bytes of a file, its name for messages).

    Raises:
        ModelError: the file cannot be read.
    """
    if isinstance(filename, bytearray):
        filename = bytes(filename)
    if not isinstance(filename, (str, bytes, os.PathLike)):
        raise ArgumentTypeError(f"the path of a model must be a str, not {type(filename).__name__}")
    where = os.fsdecode(filename)
    try:
        with open(where, "rb") as file:
            return file.read(), where
    except OSError as error:
        status = "NOT_FOUND" if error.errno == errno.ENOENT else "FAILED_PRECONDITION"
        raise ModelError(f'{status}: "{where}": {error.strerror}') from error
    except UnicodeEncodeError:
        raise ArgumentTypeError(
            f"the path of a model must be a str that UTF-8 can encode, not {where!r}"
        ) from None


def proto_bytes(serialized: Any) -> bytes:
    """Return the bytes of a message, given as bytes or as an object of the protobuf package."""
    if hasattr(serialized, "SerializeToString"):
        serialized = serialized.SerializeToString()
    if not isinstance(serialized, bytes):
        raise ArgumentTypeError(f"a serialized model must be bytes, not {type(serialized).__name__}")
    return serialized

"""Reading of model files and messages."""

from __future__ import annotations

import os

from fastbpe._utils.file_statuses import status_of
from fastbpe.sentencepiece._errors import ArgumentError, ArgumentTypeError, ModelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read_model(filename: str | bytes | os.PathLike[str]) -> tuple[bytes, str]:
    """Return (bytes of a file, its name for messages). Raises ModelError, ArgumentError or ArgumentTypeError."""
    if isinstance(filename, bytearray):  # sentencepiece takes one, os.fsdecode does not
        filename = bytes(filename)
    if not isinstance(filename, (str, bytes, os.PathLike)):
        raise ArgumentTypeError(
            f"the path of a model must be a str, bytes or a path object, not {type(filename).__name__}"
        )
    where = os.fsdecode(filename)
    try:
        with open(where, "rb") as file:
            return file.read(), where
    except OSError as error:
        raise file_error(error, where) from error
    except UnicodeEncodeError:
        raise ArgumentTypeError(
            f"the path of a model must be a str that UTF-8 can encode, not {where!r}"
        ) from None
    except ValueError as error:  # a NUL
        raise ModelError(f"NOT_FOUND: {where!r}: {error}") from None


def file_error(error: OSError, path: str) -> ModelError | ArgumentError:
    """Return sentencepiece's error for a file that cannot be read or written."""
    status = status_of(error)
    kind = ArgumentError if status == "INVALID_ARGUMENT" else ModelError
    return kind(f'{status}: "{path}": {os.strerror(error.errno) if error.errno else error}')


def proto_bytes(serialized: Any) -> bytes:
    """Return the bytes of a message, given as bytes or as an object of the protobuf package.

    Raises ArgumentTypeError for any other object.
    """
    if hasattr(serialized, "SerializeToString"):
        serialized = serialized.SerializeToString()
    if not isinstance(serialized, bytes):
        raise ArgumentTypeError(f"a serialized model must be bytes, not {type(serialized).__name__}")
    return serialized

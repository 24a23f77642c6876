"""How large a file of a vocabulary may be: what no vocabulary needs is refused before it is read."""

from __future__ import annotations

from fastbpe.errors import FormatError
from fastbpe.model import Buffer

MAX_ENTRIES = 1 << 22  # sixteen times the largest vocabulary known
MAX_SPECIAL_TOKENS = 1 << 20
MAX_FIELDS = 1 << 16  # of a protobuf message, besides pieces that are plainly written: half a second

MAX_ADDED_TOKENS = 1 << 19

_ENTRY_BYTES = 4  # at least


def check_entries(data: Buffer, where: str, *marks: bytes) -> None:
    """Raise FormatError if there are more entries than MAX_ENTRIES; each holds every one of marks once."""
    if len(data) <= _ENTRY_BYTES * MAX_ENTRIES:
        return
    raw = bytes(data)
    check_number(max(raw.count(mark) for mark in marks), where)


def check_added_tokens(n_tokens: int, where: str) -> None:
    """Raise FormatError if that is more than MAX_ADDED_TOKENS."""
    if n_tokens > MAX_ADDED_TOKENS:
        raise FormatError(f"{where}: more than {MAX_ADDED_TOKENS} added tokens: fastbpe takes no more")


def check_number(n_entries: int, where: str) -> None:
    """Raise FormatError if that is more than MAX_ENTRIES."""
    if n_entries > MAX_ENTRIES:
        raise FormatError(f"{where}: more than {MAX_ENTRIES} entries: fastbpe takes no vocabulary so large")

"""Limits on the size of a vocabulary file: larger files are refused before they are read."""

from __future__ import annotations

from fastbpe.errors import FormatError
from fastbpe.model import Buffer

MAX_ENTRIES = 1 << 22  # tokens or merges; four times the largest vocabulary known
MAX_SPECIAL_TOKENS = 1 << 20  # in formats that only name them; no published file has more than a few thousand
MAX_EXTRA_IDS = 1 << 16  # tokens that a setting such as extra_ids adds; classes add 125 by default, or fewer
MAX_FIELDS = 1 << 16  # of a protobuf message, without the pieces that piece_messages reads: bounds the time
MAX_ADDED_TOKENS = 1 << 19  # in a tokenizer.json or a native file, where each is an object of Python
#: A file may have this many unused ids, plus UNUSED_PER_TOKEN for each token. Published files have thousands.
MAX_UNUSED_IDS = 1 << 18
UNUSED_PER_TOKEN = 16
HEAD_BYTES = 1 << 20  # the beginning of a larger file is checked before all of it is read

_ENTRY_BYTES = 4  # the fewest that an entry takes in any format, such as a merge of minbpe: "1 2" and a line feed


def check_entries(data: Buffer, where: str, *marks: bytes) -> None:
    """Raise FormatError if one of the marks occurs more than MAX_ENTRIES times: an entry has about one of each."""
    if len(data) <= _ENTRY_BYTES * MAX_ENTRIES:
        return
    raw = bytes(data)
    check_number(max(raw.count(mark) for mark in marks), where)


def check_spread(token_id: int, n_tokens: int, place: str) -> None:
    """Raise FormatError for an id so far beyond the number of tokens that tables of all ids would be mostly empty.

    place: the file, its line and the word for the id, for the message.
    """
    last = MAX_UNUSED_IDS + (UNUSED_PER_TOKEN + 1) * n_tokens
    if token_id > last:
        raise FormatError(
            f"{place} {token_id} is far beyond the {n_tokens} tokens of the file: the limit is {last}, because "
            "tables have a row for each id up to the greatest; number the tokens without large gaps"
        )


def check_added_tokens(n_tokens: int, where: str) -> None:
    """Raise FormatError for more than MAX_ADDED_TOKENS."""
    if n_tokens > MAX_ADDED_TOKENS:
        raise FormatError(f"{where}: more than {MAX_ADDED_TOKENS} added tokens: that is the limit of fastbpe")


def check_number(n_entries: int, where: str) -> None:
    """Raise FormatError for more than MAX_ENTRIES."""
    if n_entries > MAX_ENTRIES:
        raise FormatError(f"{where}: more than {MAX_ENTRIES} entries: that is the limit of fastbpe")

"""Documents that cannot be read: the options for them, and a record of documents or files that were left out."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from fastbpe._utils.suggestions import choose_one_of
from fastbpe.errors import FormatError

ON_ERROR = ("raise", "skip")  # for documents that cannot be read
ERRORS = ("strict", "replace")  # for bytes that are not UTF-8

_MAX_NAMED = 10  # items that a record names; it only counts the others, so that memory stays bounded


def check_choices(on_error: object, errors: object) -> None:
    """Raise ValueError unless on_error and errors have valid values."""
    for name, value, choices in (("on_error", on_error, ON_ERROR), ("errors", errors, ERRORS)):
        if value not in choices:
            raise ValueError(choose_one_of(name, value, choices))


class Skipped:
    """Record of documents that on_error="skip" left out. Call it with the error for each document.

    The unread rest of a damaged file counts as one document. `listing` uses a record, with `add`, for unread
    files in folders.

    Attributes:
        n: int – number of documents, or of files.
        first: list of str – errors of the first ten that were recorded, each with the document's place: file and
            line, row or offset, or the number of a text in memory. For files of folders, their paths.

    >>> skipped = Skipped()
    >>> skipped(FormatError("a.jsonl:3: not a line of JSON"))
    >>> skipped.add(1, ["b.jsonl:1: not a line of JSON"])
    >>> skipped.n, skipped.first
    (2, ['a.jsonl:3: not a line of JSON', 'b.jsonl:1: not a line of JSON'])
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.n = 0
        self.first: list[str] = []

    def __call__(self, error: FormatError) -> None:
        self.add(1, [str(error)])

    def add(self, n: int, first: Iterable[str]) -> None:
        """Add a later record, by its attributes.

        first: all that the other record names; the items beyond the tenth are dropped.
        """
        with self._lock:  # threads that read blocks of one source share a record
            self.n += n
            self.first = [*self.first, *first][:_MAX_NAMED]

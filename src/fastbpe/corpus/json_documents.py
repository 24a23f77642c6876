"""Documents in JSON lines: whole lines of a file, parsed when their texts are needed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import cast

from fastbpe._core.text.json_lines import texts_of_lines
from fastbpe._utils.threads import CallerNeeded, is_helper
from fastbpe.corpus.document_formats import BOM
from fastbpe.corpus.source_kinds import CONVERT, OTHER_FIELD, Document, Skip, field_of
from fastbpe.errors import FormatError

MAX_HELPED_DEPTH = 100  # levels that helping threads parse; 900 need more than 64 KiB of stack
_NO_BRACKETS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[^][{}"]+')  # strings, and all between brackets
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class Lines:
    """Whole lines of JSON, read and parsed when the caller asks for their texts.

    Args:
        load: function that returns the lines as n_bytes bytes.
        n_lines: function that returns the number of earlier lines of the file, for errors.
        where: the file, for errors.
        field: name of the field that contains the text; with dots, also the path to a nested one.
        skip: function to call with the error for each line without text; None: raise the error.
        errors: str – handling of bytes that are not UTF-8: "strict" or "replace".
        advice: str – end of the error of a line that is not JSON.

    The attribute `skip` may be replaced before the lines are parsed.
    """

    def __init__(
        self,
        load: Callable[[], bytes],
        n_bytes: int,
        where: object,
        field: str,
        *,
        n_lines: Callable[[], int],
        skip: Skip | None = None,
        errors: str = "strict",
        advice: str = "",
    ) -> None:
        self.load, self.n_bytes, self.field = load, n_bytes, field
        self.skip = skip
        self._n_lines, self._where, self._errors, self._advice = n_lines, where, errors, advice

    def texts(self) -> Sequence[Document]:
        """Parse the lines, and return their texts; blank and skipped lines are left out.

        Raises CallerNeeded in a helping thread, before it calls `skip`, if a line is nested deeply.
        """
        # The text is None for a line that the fast reader does not understand; `others` has its index and bytes.
        texts, others = texts_of_lines(self.load(), self.field)
        if not others:
            return cast("Sequence[Document]", texts)
        if is_helper() and any(_is_deep(line) for _, line in others):
            raise CallerNeeded
        found: list[Document | None] = list(texts)
        n_earlier: int | None = None
        for i, line in others:
            if line.strip():
                n_earlier = self._n_lines() if n_earlier is None else n_earlier
                found[i] = self._text_or_skip(line, f"{self._where}:{n_earlier + i + 1}")
        return [text for text in found if text is not None]

    def _text_or_skip(self, line: bytes, where: str) -> str | None:
        """Return the text of a line; None if `skip` takes the error instead. where: file and line."""
        try:
            return self._text(line, where)
        except FormatError as error:
            if self.skip is None:
                raise
            self.skip(error)
            return None

    def _text(self, line: bytes, where: str) -> str:
        """Return the text of a line. Raises FormatError if it is not JSON, or has no str in the field."""
        data = line.removeprefix(BOM)  # files with marks may have been joined
        try:
            record = json.loads(data.decode(errors=self._errors))
        except UnicodeDecodeError as error:
            at = len(line) - len(data) + error.start
            raise FormatError(
                f"{where}: not a line of JSON: not UTF-8: invalid byte 0x{line[at]:02x} at offset {at} of the "
                f"line; {CONVERT}"
            ) from None
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{where}: not a line of JSON: {error}{self._advice}") from None
        if not isinstance(record, dict) or (text := field_of(record, self.field)) is None:
            raise FormatError(f"{where}: {self._missing(record)}")
        if not isinstance(text, str):
            raise FormatError(f"{where}: its field {self.field!r} is {type(text).__name__}, not a string")
        return text

    def _missing(self, record: object) -> str:
        if isinstance(record, dict):
            if self.field in record:
                return f"its field {self.field!r} is null, not a string"
            found = f"its fields are {', '.join(map(repr, record))}" if record else "it is empty"
            return f"no object with a field {self.field!r}; {found}; {OTHER_FIELD}"
        return f"the line is not an object, so it has no field {self.field!r}{self._advice}"


def _is_deep(line: bytes) -> bool:
    """Tell whether objects and arrays of a line are nested more than MAX_HELPED_DEPTH levels."""
    if line.count(b"[") + line.count(b"{") <= MAX_HELPED_DEPTH:
        return False
    brackets = _NO_BRACKETS.sub(b"", line)
    depths = accumulate(_STEPS.get(bracket, 0) for bracket in brackets)
    return max(depths, default=0) > MAX_HELPED_DEPTH

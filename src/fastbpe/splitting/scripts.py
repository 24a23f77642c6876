"""Scripts of characters as in tokenizers and sentencepiece: those of Unicode 9, with one script for Japanese."""

from __future__ import annotations

from fastbpe._core.split.by_character import ByScript
from fastbpe.splitting.charset import MAX_CODE_POINT
from fastbpe.splitting.script_table import SCRIPT_RUNS

#: Numbers of scripts. NONE: not assigned in Unicode 9, or the space.
NONE, COMMON, INHERITED = range(3)


def script_numbers() -> bytes:
    """Return the script of each code point, one byte for each: NONE, COMMON, INHERITED, or another script's.

    >>> numbers = script_numbers()
    >>> [numbers[ord(character)] for character in "漢か "], numbers[ord("1")] == COMMON
    ([56, 56, 0], True)
    """
    runs = (run.split(".") for run in SCRIPT_RUNS.split())
    return b"".join(bytes([int(script, 36)]) * int(n, 36) for script, n in runs).ljust(MAX_CODE_POINT + 1, b"\0")


def make_script_splitter() -> ByScript:
    """Create the splitter for `UnicodeScripts`.

    >>> make_script_splitter().pieces(" a b漢")
    [(1, 4), (4, 7)]
    """
    numbers = script_numbers()
    rows: dict[bytes, int] = {}
    index = [rows.setdefault(numbers[at : at + 256], len(rows)) for at in range(0, len(numbers), 256)]
    return ByScript(bytes(index), b"".join(rows))

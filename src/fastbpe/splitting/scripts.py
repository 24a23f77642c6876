"""Scripts as in tokenizers and sentencepiece: from Unicode 9, but Hiragana and Katakana belong to Han."""

from __future__ import annotations

from fastbpe._core.split.by_character import ByScript
from fastbpe.splitting import script_table
from fastbpe.splitting.charset import scripts_in_order, unpacked, without_script

#: Numbers of scripts. NONE: not assigned in Unicode 9, or the space.
NONE, COMMON, INHERITED = range(3)
_JAPANESE = ("Hiragana", "Katakana")  # count as Han


def script_numbers() -> bytes:
    """Return the script of each code point, one byte for each: NONE, COMMON, INHERITED, or another script's.

    >>> numbers = script_numbers()
    >>> numbers[ord("漢")] == numbers[ord("か")] > INHERITED, numbers[ord(" ")], numbers[ord("1")] == COMMON
    (True, 0, True)
    """
    numbers = {"": NONE, "Common": COMMON, "Inherited": INHERITED}
    starts, names = scripts_in_order()
    by_code_point = bytearray()
    for start, end, name in zip(starts, starts[1:], names, strict=False):
        number = numbers.setdefault("Han" if name in _JAPANESE else name, len(numbers))
        by_code_point += bytes([number]) * (end - start)
    for first, last in (without_script() | unpacked(script_table.NONE)).ranges:
        by_code_point[first : last + 1] = bytes(last + 1 - first)
    for name, characters in script_table.OTHERS.items():
        for character in characters:
            by_code_point[ord(character)] = numbers[name]
    return bytes(by_code_point)


def make_script_splitter() -> ByScript:
    """Create the splitter for `UnicodeScripts`.

    >>> make_script_splitter().pieces(" a b漢")
    [(1, 4), (4, 7)]
    """
    numbers = script_numbers()
    rows: dict[bytes, int] = {}
    index = [rows.setdefault(numbers[at : at + 256], len(rows)) for at in range(0, len(numbers), 256)]
    return ByScript(bytes(index), b"".join(rows))

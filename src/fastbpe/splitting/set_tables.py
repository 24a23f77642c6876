"""Layout of character sets as the tables that `_core.split.charsets` reads.

A set has 256 bytes, one per possible first byte of a character. 0: no character with this first byte is a member;
1 to 4: all are members, and have this number of bytes; 5: the first byte does not decide, and an index leads to a
block of 256 characters with one bit per character. All sets share blocks.
"""

from __future__ import annotations

from array import array

from fastbpe.splitting import _ranges
from fastbpe.splitting.charset import MAX_CODE_POINT, CharSet

#: Maximum number of sets of a program; each takes 9 KB.
MAX_SETS = 256
N_BLOCKS = (MAX_CODE_POINT >> 8) + 1


class SetTables:
    """Tables of the sets of one program, without duplicates.

    >>> tables = SetTables()
    >>> tables.number(CharSet.of("a")), tables.number(CharSet.of("b")), tables.number(CharSet.of("a"))
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self.bytes = b""
        self.index = array("H")
        self._numbers: dict[CharSet, int] = {}
        self._block_numbers: dict[bytes, int] = {}

    @property
    def blocks(self) -> array[int]:
        """The blocks, one after another, in words of 64 bits."""
        return array("Q", b"".join(self._block_numbers))

    def has_room(self) -> bool:
        """Tell whether one more set, with its blocks, can be added."""
        n_blocks = len(self._block_numbers) + N_BLOCKS
        return len(self._numbers) < MAX_SETS and n_blocks <= 1 << 8 * self.index.itemsize

    def number(self, characters: CharSet) -> int:
        """Return the number of a set; add the set if it is new."""
        if characters not in self._numbers:
            self._numbers[characters] = len(self._numbers)
            self.bytes += _ranges.lead_answers(characters.ranges)
            self.index.frombytes(_ranges.number_blocks(characters.ranges, self._block_numbers))
        return self._numbers[characters]

"""Layout of character sets as the tables that `_core.split.charsets` reads.

A set has 256 bytes, one per possible first byte of a character, which say whether that byte decides membership. If
it does not, an index leads to a block of 256 characters with one bit per character. All sets share blocks.
"""

from __future__ import annotations

from array import array

from fastbpe.splitting.charset import MAX_CODE_POINT, CharSet
from fastbpe.splitting.firsts import characters_of_lead

#: Sets of a program, at most; each takes 9 KB.
MAX_SETS = 256
BLOCK_BITS = 8
N_BLOCKS = (MAX_CODE_POINT >> BLOCK_BITS) + 1

#: Answers of a first byte: 0: no character with it is a member; 1 to 4: all are members, and have this number of
#: bytes.
SOME_ARE_MEMBERS = 5

_WORDS_PER_BLOCK = (1 << BLOCK_BITS) // 64
_FULL = (1 << (1 << BLOCK_BITS)) - 1
_LAST = (1 << BLOCK_BITS) - 1  # place of the last code point of a block


class SetTables:
    """Tables of the sets of one program, without duplicates.

    >>> tables = SetTables()
    >>> tables.number(CharSet.of("a")), tables.number(CharSet.of("b")), tables.number(CharSet.of("a"))
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self.bytes = b""
        self.index = array("H")
        self.blocks = array("Q")
        self._numbers: dict[CharSet, int] = {}
        self._block_numbers: dict[int, int] = {}

    def has_room(self) -> bool:
        """Tell whether one more set, with its blocks, can be added."""
        n_blocks = len(self._block_numbers) + N_BLOCKS
        return len(self._numbers) < MAX_SETS and n_blocks <= 1 << 8 * self.index.itemsize

    def number(self, characters: CharSet) -> int:
        """Return the number of a set; add the set if it is new."""
        if characters not in self._numbers:
            self._numbers[characters] = len(self._numbers)
            self.bytes += bytes(_answer_of(lead, characters) for lead in range(256))
            self.index.extend(map(self._block_number, _blocks(characters)))
        return self._numbers[characters]

    def _block_number(self, bits: int) -> int:
        if bits not in self._block_numbers:
            self._block_numbers[bits] = len(self._block_numbers)
            self.blocks.extend(bits >> 64 * word & 0xFFFFFFFFFFFFFFFF for word in range(_WORDS_PER_BLOCK))
        return self._block_numbers[bits]


def _blocks(characters: CharSet) -> list[int]:
    """Return the bits of each block of code points, as one number."""
    blocks = [0] * N_BLOCKS
    for low, high in characters.ranges:
        first, last = low >> BLOCK_BITS, high >> BLOCK_BITS
        behind, within = _FULL << (low & _LAST) & _FULL, _FULL >> (_LAST - (high & _LAST))
        if first == last:
            blocks[first] |= behind & within
        else:
            blocks[first] |= behind
            blocks[first + 1 : last] = [_FULL] * (last - first - 1)
            blocks[last] |= within
    return blocks


def _answer_of(lead: int, characters: CharSet) -> int:
    span = characters_of_lead(lead)
    if span is None:
        return 0
    possible = CharSet.from_ranges([span])
    members = possible & characters
    if not members:
        return 0
    return len(chr(span[0]).encode()) if members == possible else SOME_ARE_MEMBERS

"""Sets of characters in the layout of `splitting.set_tables`, and tests whether characters of a text are members.

The first byte of a character decides for most sets and characters. If it does not, a two-level table of bits
decides. All functions require that the text does not end inside a character (see `fb_whole_end`). A byte that
begins no character is not a member of any set.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t


cdef enum:
    N_BLOCKS = 0x1100  # blocks of 256 code points, as in splitting.set_tables
    SOME_ARE_MEMBERS = 5  # value for a first byte that does not decide

cdef extern from "stdint.h":
    const size_t NO_OFFSET "SIZE_MAX"


cdef struct CharSets:
    const uint8_t* bytes  # by set and first byte: 0 (no member), 1 to 4 (member of this length), SOME_ARE_MEMBERS
    const uint16_t* index  # N_BLOCKS per set: index in `blocks` for each block of code points
    const uint64_t* blocks  # 256 bits per block


cdef inline size_t chars_back(const uint8_t* data, size_t at, uint32_t n_chars) noexcept nogil:
    """Return the offset n_chars characters before `at`; NO_OFFSET if the text has fewer."""
    while n_chars:
        if at == 0:
            return NO_OFFSET
        at -= 1
        while at and data[at] & 0xC0 == 0x80:
            at -= 1
        n_chars -= 1
    return at


cdef inline size_t one_member_by_table(
    const CharSets* sets, uint32_t number, const uint8_t* data, size_t at
) noexcept nogil:
    """Do the work of one_member if the first byte does not decide."""
    cdef uint32_t row = data[at]  # becomes the code point without its last six bits
    if row < 0xE0:
        row &= 0x1F
        at += 2
    elif row < 0xF0:
        row = (row & 0x0F) << 6 | (data[at + 1] & 0x3F)
        at += 3
    else:
        row = (row & 0x07) << 12 | (data[at + 1] & 0x3F) << 6 | (data[at + 2] & 0x3F)
        at += 4
        if row >> 2 >= N_BLOCKS:
            return NO_OFFSET  # not UTF-8: beyond U+10FFFF
    cdef size_t block = sets.index[number * N_BLOCKS + (row >> 2)]
    return at if sets.blocks[block * 4 + (row & 3)] >> (data[at - 1] & 0x3F) & 1 else NO_OFFSET


cdef inline size_t one_member(
    const CharSets* sets, uint32_t number, const uint8_t* data, size_t n, size_t at
) noexcept nogil:
    """Return the end of the character at `at` if it is in the set; otherwise NO_OFFSET.

    number: number of the set.
    """
    if at >= n:
        return NO_OFFSET
    cdef uint8_t answer = sets.bytes[number * 256 + data[at]]
    if answer == 0:
        return NO_OFFSET
    if answer < SOME_ARE_MEMBERS:
        return at + answer
    return one_member_by_table(sets, number, data, at)


cdef inline size_t members_end(
    const CharSets* sets, uint32_t number, const uint8_t* data, size_t n, size_t at
) noexcept nogil:
    """Return the end of the run of members of the set that begins at `at`; `at` itself if the run is empty."""
    cdef const uint8_t* answer = sets.bytes + number * 256
    cdef size_t next_at
    while at < n:
        if answer[data[at]] == 1:
            at += 1
        elif answer[data[at]] == 0:
            break
        elif answer[data[at]] < SOME_ARE_MEMBERS:
            at += answer[data[at]]
        else:
            next_at = one_member_by_table(sets, number, data, at)
            if next_at == NO_OFFSET:
                break
            at = next_at
    return at

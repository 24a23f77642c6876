"""Sets of characters as `splitting.set_tables` lays them out, and which characters of a text belong to them."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t


cdef enum:
    N_BLOCKS = 0x1100  # of 256 code points, as in splitting.set_tables
    SOME_ARE_MEMBERS = 5

cdef extern from "stdint.h":
    const size_t NONE "SIZE_MAX"


cdef struct CharSets:
    const uint8_t* bytes
    const uint16_t* index
    const uint64_t* blocks


cdef inline size_t char_bytes(uint8_t lead) noexcept nogil:
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


cdef inline size_t chars_back(const uint8_t* data, size_t at, uint32_t n_chars) noexcept nogil:
    """The place so many characters before this one; NONE if the text begins after it."""
    while n_chars:
        if at == 0:
            return NONE
        at -= 1
        while data[at] & 0xC0 == 0x80:
            at -= 1
        n_chars -= 1
    return at


cdef inline size_t looked_up(const CharSets* sets, uint32_t number, const uint8_t* data, size_t at) noexcept nogil:
    """`one_member` for a character whose first byte does not decide."""
    cdef uint32_t row = data[at]  # the code point but for its last six bits
    if row < 0xE0:
        row &= 0x1F
        at += 2
    elif row < 0xF0:
        row = (row & 0x0F) << 6 | (data[at + 1] & 0x3F)
        at += 3
    else:
        row = (row & 0x07) << 12 | (data[at + 1] & 0x3F) << 6 | (data[at + 2] & 0x3F)
        at += 4
    cdef size_t block = sets.index[number * N_BLOCKS + (row >> 2)]
    return at if sets.blocks[block * 4 + (row & 3)] >> (data[at - 1] & 0x3F) & 1 else NONE


cdef inline size_t one_member(
    const CharSets* sets, uint32_t number, const uint8_t* data, size_t n, size_t at
) noexcept nogil:
    """The end of the character here if it is a member of the set, else NONE."""
    if at >= n:
        return NONE
    cdef uint8_t said = sets.bytes[number * 256 + data[at]]
    if said == 0:
        return NONE
    if said < SOME_ARE_MEMBERS:
        return at + said
    return looked_up(sets, number, data, at)


cdef inline size_t members_end(
    const CharSets* sets, uint32_t number, const uint8_t* data, size_t n, size_t at
) noexcept nogil:
    """The end of the run of members of the set from here."""
    cdef const uint8_t* said = sets.bytes + number * 256
    cdef size_t next_at
    while at < n:
        if said[data[at]] == 1:
            at += 1
        elif said[data[at]] == 0:
            break
        elif said[data[at]] < SOME_ARE_MEMBERS:
            at += said[data[at]]
        else:
            next_at = looked_up(sets, number, data, at)
            if next_at == NONE:
                break
            at = next_at
    return at

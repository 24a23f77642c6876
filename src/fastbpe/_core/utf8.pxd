"""One character of UTF-8 that may be none."""

from libc.stdint cimport uint8_t, uint32_t


cdef inline size_t char_bytes(const uint8_t* text, size_t n, size_t at, uint32_t* c) noexcept nogil:
    """The bytes of the character at text[at], which is not ASCII; 0 if none begins there."""
    cdef uint32_t lead = text[at]
    n -= at
    text += at
    if lead < 0xE0:
        if lead < 0xC2 or n < 2 or text[1] >> 6 != 2:
            return 0
        c[0] = (lead & 0x1F) << 6 | (text[1] & 0x3F)
        return 2
    if lead < 0xF0:
        if n < 3 or text[1] >> 6 != 2 or text[2] >> 6 != 2:
            return 0
        c[0] = (lead & 0x0F) << 12 | <uint32_t> (text[1] & 0x3F) << 6 | (text[2] & 0x3F)
        return 0 if c[0] < 0x800 or c[0] >> 11 == 0x1B else 3
    if lead > 0xF4 or n < 4 or text[1] >> 6 != 2 or text[2] >> 6 != 2 or text[3] >> 6 != 2:
        return 0
    c[0] = (
        (lead & 0x07) << 18 | <uint32_t> (text[1] & 0x3F) << 12
        | <uint32_t> (text[2] & 0x3F) << 6 | (text[3] & 0x3F)
    )
    return 4 if 0x10000 <= c[0] <= 0x10FFFF else 0

"""Reading and writing one character of UTF-8."""

from libc.stdint cimport uint8_t, uint32_t


cdef extern from "simd/utf8.h" nogil:
    # See simd/utf8.h: these functions also read bytes that are not UTF-8 as characters.
    size_t fb_char_bytes(uint8_t lead)
    uint32_t fb_char_within(const uint8_t* p, size_t n_left, size_t* n_bytes)
    size_t fb_whole_end(const uint8_t* text, size_t n)


cdef inline size_t char_bytes(const uint8_t* text, size_t n, size_t at, uint32_t* c) noexcept nogil:
    """Decode the character at text[at] of n bytes: store its code point in c; return its length in bytes (2 to 4).

    Returns 0 if no valid character begins there (overlong form, surrogate, beyond U+10FFFF, cut off by the end).
    Requires: at < n, and text[at] is not ASCII.
    """
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
        return 0 if c[0] < 0x800 or c[0] >> 11 == 0x1B else 3  # overlong, or a surrogate
    if lead > 0xF4 or n < 4 or text[1] >> 6 != 2 or text[2] >> 6 != 2 or text[3] >> 6 != 2:
        return 0
    c[0] = (
        (lead & 0x07) << 18 | <uint32_t> (text[1] & 0x3F) << 12
        | <uint32_t> (text[2] & 0x3F) << 6 | (text[3] & 0x3F)
    )
    return 4 if 0x10000 <= c[0] <= 0x10FFFF else 0


cdef inline uint8_t* put_char(uint8_t* out, uint32_t c) noexcept nogil:
    """Encode a code point as UTF-8 at out, 1 to 4 bytes; return the address after the last byte.

    Requires: c <= 0x10FFFF.
    """
    if c < 0x80:
        out[0] = <uint8_t> c
        return out + 1
    if c < 0x800:
        out[0] = <uint8_t> (0xC0 | (c >> 6))
        out[1] = <uint8_t> (0x80 | (c & 0x3F))
        return out + 2
    if c < 0x10000:
        out[0] = <uint8_t> (0xE0 | (c >> 12))
        out[1] = <uint8_t> (0x80 | ((c >> 6) & 0x3F))
        out[2] = <uint8_t> (0x80 | (c & 0x3F))
        return out + 3
    out[0] = <uint8_t> (0xF0 | (c >> 18))
    out[1] = <uint8_t> (0x80 | ((c >> 12) & 0x3F))
    out[2] = <uint8_t> (0x80 | ((c >> 6) & 0x3F))
    out[3] = <uint8_t> (0x80 | (c & 0x3F))
    return out + 4


cdef inline bint is_metaspace(const uint8_t* text, size_t n) noexcept nogil:
    """Tell whether a text of n bytes, at least one, begins with U+2581."""
    return text[0] == 0xE2 and n > 2 and text[1] == 0x96 and text[2] == 0x81

"""Decoding valid UTF-8 into the items of a str, as CPython's decoder does with errors="strict", but faster."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from fastbpe._core.common.hashing cimport load64


ctypedef fused Character:
    uint8_t
    uint16_t
    uint32_t


cdef inline size_t put_characters(
    const uint8_t* data, size_t n, void* out, size_t width, size_t* n_written
) noexcept nogil:
    """Decode UTF-8 into items of `width` bytes, 1, 2 or 4; store the number of items in *n_written.

    Returns the number of bytes read: n, or fewer if invalid or incomplete bytes follow.
    Requires: `out` has space for the characters of the bytes that are read, and each fits into an item.
    """
    if width == 1:
        return _put_items(data, n, <uint8_t*> out, n_written)
    if width == 2:
        return _put_items(data, n, <uint16_t*> out, n_written)
    return _put_items(data, n, <uint32_t*> out, n_written)


cdef inline size_t _put_items(const uint8_t* data, size_t n, Character* out, size_t* n_written) noexcept nogil:
    """Decode into items of one width, ASCII sixteen bytes at a time."""
    cdef size_t i = 0, k
    cdef Character* to = out
    cdef uint32_t c, lead
    cdef uint8_t[16] ascii
    while i < n:
        lead = data[i]
        if lead < 0x80:
            while n - i >= 16 and not (load64(data + i) | load64(data + i + 8)) & 0x8080808080808080ULL:
                memcpy(ascii, data + i, 16)  # `to` cannot overlap this copy, so the compiler vectorizes
                for k in range(16):
                    to[k] = ascii[k]
                i += 16
                to += 16
            while i < n and data[i] < 0x80:
                to[0] = data[i]
                i += 1
                to += 1
            continue
        if lead < 0xE0:
            if lead < 0xC2 or n - i < 2 or data[i + 1] >> 6 != 2:
                break
            c = (lead & 0x1F) << 6 | (data[i + 1] & 0x3F)
            i += 2
        elif lead < 0xF0:
            if n - i < 3 or data[i + 1] >> 6 != 2 or data[i + 2] >> 6 != 2:
                break
            c = (lead & 0x0F) << 12 | <uint32_t> (data[i + 1] & 0x3F) << 6 | (data[i + 2] & 0x3F)
            if c < 0x800 or c >> 11 == 0x1B:
                break
            i += 3
        else:
            if n - i < 4 or data[i + 1] >> 6 != 2 or data[i + 2] >> 6 != 2 or data[i + 3] >> 6 != 2:
                break
            c = (  # 4 bits of the lead byte, not 3: lead bytes from 0xF8 on give a code point beyond U+10FFFF
                (lead & 0x0F) << 18 | <uint32_t> (data[i + 1] & 0x3F) << 12
                | <uint32_t> (data[i + 2] & 0x3F) << 6 | (data[i + 3] & 0x3F)
            )
            if not 0x10000 <= c <= 0x10FFFF:
                break
            i += 4
        to[0] = <Character> c
        to += 1
    n_written[0] = <size_t> (to - out)
    return i

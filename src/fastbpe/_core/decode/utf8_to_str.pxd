"""From UTF-8 to the items of a str: the strict half of what CPython's decoder does, at the speed of copying."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from fastbpe._core.common.hash_tables cimport load64

ctypedef fused Character:
    uint8_t
    uint16_t
    uint32_t


cdef inline size_t put_characters(
    const uint8_t* data, size_t n, void* out, size_t width, size_t* n_written
) noexcept nogil:
    """Write the characters of UTF-8 as items of 1, 2 or 4 bytes, which are wide enough for them.

    Returns how many bytes were read: up to the end, or to what is no character or not all of one.
    """
    if width == 1:
        return _put_items(data, n, <uint8_t*> out, n_written)
    if width == 2:
        return _put_items(data, n, <uint16_t*> out, n_written)
    return _put_items(data, n, <uint32_t*> out, n_written)


cdef inline size_t _put_items(const uint8_t* data, size_t n, Character* out, size_t* n_written) noexcept nogil:
    cdef size_t i = 0, k
    cdef Character* to = out
    cdef uint32_t c, lead
    cdef uint8_t[16] ascii
    while i < n:
        lead = data[i]
        if lead < 0x80:
            while n - i >= 16 and not (load64(data + i) | load64(data + i + 8)) & 0x8080808080808080ULL:
                memcpy(ascii, data + i, 16)  # a copy, which `to` cannot overlap: else no vector instructions
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
            c = (
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

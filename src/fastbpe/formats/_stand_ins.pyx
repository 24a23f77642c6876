"""The characters that stand for bytes in GPT-2's files, back to bytes."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

cdef enum:
    NO_BYTE = 0x100

cdef uint16_t[0x180] _BYTES  # of the characters that stand for bytes in GPT-2's files, or NO_BYTE


cdef void _number_stand_ins() noexcept:
    cdef int byte, others = 0x100
    for byte in range(0x180):
        _BYTES[byte] = NO_BYTE
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD):
            _BYTES[byte] = <uint16_t> byte
        else:
            _BYTES[others] = <uint16_t> byte
            others += 1


_number_stand_ins()


cdef Py_ssize_t from_stand_ins(const uint8_t* token, uint32_t n, uint8_t* out) noexcept:
    """Write the bytes that characters stand for, and return how many; -1 if one stands for none. out may be NULL."""
    cdef uint32_t i = 0, c
    cdef Py_ssize_t n_out = 0
    while i < n:
        c = token[i]
        i += 1
        if c >= 0x80:
            if c >> 5 != 6 or i >= n or token[i] >> 6 != 2:
                return -1
            c = (c & 0x1F) << 6 | (token[i] & 0x3F)
            i += 1
            if c < 0x80:
                return -1
        if c >= 0x180 or _BYTES[c] == NO_BYTE:
            return -1
        if out != NULL:
            out[n_out] = <uint8_t> _BYTES[c]
        n_out += 1
    return n_out


cdef bint is_stand_in(str name) except -1:
    return len(name) == 1 and ord(name) < 0x180 and _BYTES[<int> ord(name)] != NO_BYTE

"""Reading JSON where it lies: strings, numbers, and going past values without judging them."""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memchr

cdef bint[256] _ENDS  # of bytes that do not simply go on a string: quote, backslash, control characters


cdef void _number_ends() noexcept:
    cdef int byte
    for byte in range(256):
        _ENDS[byte] = byte < 32 or byte == 34 or byte == 92


_number_ends()


cdef bint pass_string(const uint8_t* data, size_t* at, size_t end, Span* inside, bint* escaped) noexcept:
    """Go past a string; False if there is none that is sound."""
    cdef size_t i = at[0]
    if data[i] != 34:
        return False
    i += 1
    inside.start = i
    escaped[0] = False
    while True:
        while not _ENDS[data[i]]:
            i += 1
        if data[i] != 92:
            break
        escaped[0] = True
        i += 2
        if i >= end:
            return False
    inside.end = i
    at[0] = i + 1
    return data[i] == 34


cdef bint read_number(const uint8_t* data, uint32_t limit, size_t at, size_t* behind, uint32_t* value) noexcept:
    """Read a whole number below the limit, which is small."""
    cdef uint32_t number = 0
    cdef size_t start = at
    while 48 <= data[at] <= 57:
        number = number * 10 + data[at] - 48
        at += 1
        if number >= limit:
            return False
    behind[0] = at
    value[0] = number
    return at > start and (data[start] != 48 or at == start + 1) and data[at] != 46 and data[at] | 32 != 101


cdef bint unescape(const uint8_t* data, Span inside, uint8_t** out) noexcept:
    """Write what a string with escapes means; False if one is not known here."""
    cdef const char* letters = b"\"\\/bfnrt"
    cdef const char* meant = b"\"\\/\b\f\n\r\t"
    cdef const uint8_t* found
    cdef uint8_t* to = out[0]
    cdef size_t i = inside.start, k
    cdef uint32_t c, low
    while i < inside.end:
        if data[i] != 92:
            to[0] = data[i]
            to += 1
            i += 1
            continue
        i += 1
        if data[i] != 117:
            found = <const uint8_t*> memchr(letters, data[i], 8)
            if found == NULL:
                return False
            to[0] = <uint8_t> meant[<size_t> (found - <const uint8_t*> letters)]
            to += 1
            i += 1
            continue
        if inside.end - i < 5 or not _hexadecimal(data + i + 1, &c):
            return False
        i += 5
        if c >> 11 == 0x1B:
            if c >= 0xDC00 or inside.end - i < 6 or data[i] != 92 or data[i + 1] != 117 \
                    or not _hexadecimal(data + i + 2, &low) or low >> 10 != 0x37:
                return False
            c = 0x10000 + ((c & 0x3FF) << 10) + (low & 0x3FF)
            i += 6
        k = 1 if c < 0x80 else 2 if c < 0x800 else 3 if c < 0x10000 else 4
        if k == 1:
            to[0] = <uint8_t> c
        else:
            to[0] = <uint8_t> ((0xF00 >> k & 0xFF) | c >> 6 * (k - 1))
            for low in range(1, k):
                to[low] = <uint8_t> (0x80 | (c >> 6 * (k - 1 - low) & 0x3F))
        to += k
    out[0] = to
    return True


cdef bint _hexadecimal(const uint8_t* at, uint32_t* value) noexcept:
    cdef int i
    cdef uint8_t digit
    value[0] = 0
    for i in range(4):
        digit = at[i]
        if 48 <= digit <= 57:
            digit -= 48
        elif 97 <= digit | 32 <= 102:
            digit = (digit | 32) - 87
        else:
            return False
        value[0] = value[0] << 4 | digit
    return True


cdef bint pass_value(const uint8_t* data, size_t n, size_t* at) noexcept:
    """Go past a value by its brackets alone; whether it is sound is for others to say."""
    cdef size_t i = at[0], depth = 0
    cdef uint8_t byte
    while i < n:
        byte = data[i]
        if byte == 34:
            i += 1
            while i < n and data[i] != 34:
                i += 2 if data[i] == 92 else 1
        elif byte == 123 or byte == 91:
            depth += 1
        elif byte == 125 or byte == 93:
            if not depth:
                at[0] = i
                return True
            depth -= 1
            if not depth:
                at[0] = i + 1
                return True
        elif byte == 44 and not depth:
            at[0] = i
            return True
        i += 1
    return False


cdef bint is_utf8(const uint8_t* p, size_t n) noexcept:
    cdef size_t i = 0, k, length
    cdef uint32_t c
    while i < n:
        if p[i] < 0x80:
            i += 1
            continue
        length = 2 if p[i] >> 5 == 6 else 3 if p[i] >> 4 == 14 else 4 if p[i] >> 3 == 30 else 0
        if not length or n - i < length:
            return False
        c = p[i] & (0x7F >> length)
        for k in range(1, length):
            if p[i + k] >> 6 != 2:
                return False
            c = c << 6 | (p[i + k] & 0x3F)
        if c < (0x80 if length == 2 else 0x800 if length == 3 else 0x10000) or c >> 11 == 0x1B or c > 0x10FFFF:
            return False
        i += length
    return True

"""Building blocks of a JSON reader (RFC 8259): white space, strings, escapes and whole numbers.

A function that reads a construct returns the position after it, or NULL if the construct is not at `at`. No
function reads at or after `end`. Two readers use them: `json_lines` parses each line itself and allows no line
ending within a line; `formats` extracts a vocabulary from a file and leaves the rest to Python's json. So there
are two functions for white space, and each reader skips values in its own way.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.common.bits cimport HIGH, ONES, eight_bytes, lowest_bit
from fastbpe._core.common.utf8 cimport put_char

cdef extern from "simd/json.h" nogil:
    const uint8_t* fb_json_stop(const uint8_t* at, const uint8_t* end) noexcept
    size_t fb_json_copy(const uint8_t* at, const uint8_t* end, uint8_t* out) noexcept


cdef struct String:
    # A JSON string without its quotes, as it is in the file.
    const uint8_t* data
    size_t n  # bytes
    bint has_escapes


cdef inline const uint8_t* skip_blanks(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Skip the white space of a line: spaces, tabs, carriage returns."""
    while at < end and (at[0] == c' ' or at[0] == c'\t' or at[0] == c'\r'):
        at += 1
    return at


cdef inline const uint8_t* skip_space(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Skip all white space of JSON: blanks and line endings."""
    while at < end and (at[0] == c' ' or at[0] == c'\t' or at[0] == c'\r' or at[0] == c'\n'):
        at += 1
    return at


cdef inline const uint8_t* read_sign(const uint8_t* at, const uint8_t* end, uint8_t sign) noexcept nogil:
    """Read one of `{}[]:,` and the white space after it."""
    return skip_space(at + 1, end) if at < end and at[0] == sign else NULL


cdef inline const uint8_t* read_string(const uint8_t* at, const uint8_t* end, String* out) noexcept nogil:
    """Read a string and check its escapes, except for half surrogate pairs. UTF-8 is not checked."""
    cdef uint64_t special
    cdef const uint8_t* begin
    if at >= end or at[0] != c'"':
        return NULL
    at += 1
    begin = at
    out.has_escapes = False
    while True:
        at = fb_json_stop(at, end)  # sixteen bytes at a time; then eight, then one
        special = 0
        while end - at >= 8 and special == 0:
            special = _special_bytes(eight_bytes(at))
            at += lowest_bit(special) // 8 if special else 8
        if special == 0:
            while at < end and at[0] != c'"' and at[0] != c'\\' and at[0] >= 0x20:
                at += 1
        if at >= end or at[0] < 0x20:
            return NULL
        if at[0] == c'"':
            break
        out.has_escapes = True
        at = _read_escape(at, end)
        if at == NULL:
            return NULL
    out.data, out.n = begin, <size_t> (at - begin)
    return at + 1


cdef inline uint64_t _special_bytes(uint64_t word) noexcept nogil:
    """Mark quotes, backslashes and bytes below U+0020 (SWAR: 8 bytes in one word).

    The lowest bit that is set is the highest bit of the first such byte. Bits above it may be wrong, because a
    subtraction borrows from the byte above.
    """
    cdef uint64_t quotes = word ^ ONES * c'"'
    cdef uint64_t slashes = word ^ ONES * c'\\'
    cdef uint64_t controls = (word - ONES * 0x20) & ~word
    return ((quotes - ONES) & ~quotes | (slashes - ONES) & ~slashes | controls) & HIGH


cdef inline const uint8_t* _read_escape(const uint8_t* at, const uint8_t* end) noexcept nogil:
    if end - at < 2:
        return NULL
    if at[1] != c'u':
        return at + 2 if _meaning_of_escape(at[1]) else NULL
    return at + 6 if end - at >= 6 and _hexadecimal(at + 2) <= 0xFFFF else NULL


cdef inline uint8_t _meaning_of_escape(uint8_t letter) noexcept nogil:
    """Return the byte that a letter after a backslash stands for, or 0 if JSON has no such escape."""
    if letter == c'"' or letter == c'\\' or letter == c'/':
        return letter
    if letter == c'n':
        return c'\n'
    if letter == c't':
        return c'\t'
    if letter == c'r':
        return c'\r'
    if letter == c'b':
        return c'\b'
    return c'\f' if letter == c'f' else 0


cdef inline uint32_t _hexadecimal(const uint8_t* at) noexcept nogil:
    """Read four hexadecimal digits; return a value above 0xFFFF if one is not a hexadecimal digit."""
    cdef uint32_t value = 0, digit
    cdef int i
    for i in range(4):
        digit = at[i]
        if c'0' <= digit <= c'9':
            digit -= c'0'
        else:
            digit = (digit | 0x20) - c'a'
            if digit > 5:
                return 0x10000
            digit += 10
        value = value << 4 | digit
    return value


cdef inline size_t unescape(const String* string, uint8_t* out) noexcept nogil:
    """Write the UTF-8 of a string.

    Requires: `read_string` filled `string`; `out` has space for string.n bytes, all of which may be overwritten.

    Returns:
        The number of bytes, at most string.n; (size_t)-1 if there is a lone surrogate.
    """
    cdef const uint8_t* at = string.data
    cdef const uint8_t* end = at + string.n
    cdef uint8_t* to = out
    cdef uint32_t c, low
    cdef size_t n
    while True:
        n = fb_json_copy(at, end, to)
        at += n
        to += n
        while at < end and at[0] != c'\\':
            to[0] = at[0]
            at += 1
            to += 1
        if at == end:
            return <size_t> (to - out)
        if at[1] != c'u':
            to[0] = _meaning_of_escape(at[1])
            to += 1
            at += 2
            continue
        c = _hexadecimal(at + 2)
        at += 6
        if c >> 11 == 0x1B:  # a surrogate
            if c >= 0xDC00 or end - at < 6 or at[0] != c'\\' or at[1] != c'u':
                return <size_t> -1
            low = _hexadecimal(at + 2)
            if low >> 10 != 0x37:  # not the second one of a pair
                return <size_t> -1
            c = 0x10000 + ((c & 0x3FF) << 10 | (low & 0x3FF))
            at += 6
        to = put_char(to, c)


cdef inline const uint8_t* read_whole_number(
    const uint8_t* at, const uint8_t* end, uint32_t limit, uint32_t* value
) noexcept nogil:
    """Read a number without sign, fraction, exponent or leading zeros that is below `limit`.

    Requires: limit < 2^28, so that ten times a value below it fits 32 bits.
    """
    cdef const uint8_t* start = at
    cdef uint32_t number = 0
    while at < end and c'0' <= at[0] <= c'9':
        number = number * 10 + at[0] - c'0'
        if number >= limit:
            return NULL
        at += 1
    if at == start or (start[0] == c'0' and at - start > 1):
        return NULL
    if at < end and (at[0] == c'.' or at[0] | 0x20 == c'e'):
        return NULL
    value[0] = number
    return at

"""Reader of the texts in lines of JSON (JSON Lines), without Python objects for the rest of a line.

A recursive-descent parser of RFC 8259 for whole lines. Lines that are not plain (see `texts_of_lines`) go back to
the caller, who asks the json module about them. Strings are scanned 16 bytes at a time (simd/json.h), their ends 8
bytes at a time within a register (SWAR).
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

from fastbpe._core.common.bits cimport lowest_bit
from fastbpe._core.text.utf8_text cimport first_invalid
from fastbpe._core.common.utf8 cimport put_char

cdef extern from "simd/json.h" nogil:
    const uint8_t* fb_json_stop(const uint8_t* at, const uint8_t* end) noexcept
    size_t fb_json_copy(const uint8_t* at, const uint8_t* end, uint8_t* out) noexcept

cdef enum:
    MAX_DEPTH = 64  # nested objects and arrays in a plain line
    MAX_NUMBER_CHARACTERS = 300  # in a plain line; json refuses integers of more than 4300 digits
    MAX_ESCAPED_NAME_BYTES = 256  # of a field's name with escapes, in a plain line
    LINES_WITHOUT_GIL = 64  # lines parsed each time the GIL is given up

cdef uint64_t LOW_BITS = 0x0101010101010101ULL  # the lowest bit of each byte
cdef uint64_t HIGH_BITS = 0x8080808080808080ULL  # the highest bit of each byte


@cython.final
cdef class JsonLines:
    """Reader of a block of lines, for other compiled modules.

    block: whole lines of JSON; the last one may lack its newline.
    field: name of the field that holds the text.
    """

    def __cinit__(self, bytes block not None, str field not None):
        cdef size_t n = <size_t> PyBytes_GET_SIZE(block)
        self._block, self._field = block, field.encode("utf-8", "surrogatepass")
        self._name.data = <const uint8_t*> PyBytes_AS_STRING(self._field)
        self._name.n = <size_t> PyBytes_GET_SIZE(self._field)
        self._at = <const uint8_t*> PyBytes_AS_STRING(block)
        self._end = self._at + n
        with nogil:
            self._is_utf8 = first_invalid(self._at, n) == n

    def __dealloc__(self):
        free(self._unescaped)

    cdef bint next(self, Line* line) noexcept nogil:
        """Read the next line; False at the end."""
        if self._at >= self._end:
            return False
        self._at = _line(self._at, self._end, self._is_utf8, &self._name, line)
        return True

    cdef bint text(self, const Line* line, Bytes* text) except -1 nogil:
        """Unescape the text of a line; False if the line is not plain.

        Ensures: on True, text is UTF-8, valid until the next call and as long as this object lives.
        """
        cdef size_t n
        text.data, text.n = line.found.data, line.found.n
        if not line.is_plain or not line.found.has_escapes:
            return line.is_plain
        if self._capacity < text.n:
            free(self._unescaped)
            self._capacity = 2 * text.n
            self._unescaped = <uint8_t*> malloc(self._capacity)
            if self._unescaped == NULL:
                n, self._capacity = self._capacity, 0
                with gil:
                    raise MemoryError(f"no memory for {n} bytes of text")
        text.data, text.n = self._unescaped, _unescape(&line.found, self._unescaped)
        return text.n != <size_t> -1


def n_lines(bytes block not None):
    """Count the lines of a block; the last one may lack its newline."""
    cdef const uint8_t* at = <const uint8_t*> PyBytes_AS_STRING(block)
    cdef size_t n = <size_t> PyBytes_GET_SIZE(block), i = 0, group_end, count = 0
    cdef uint8_t group_count
    with nogil:
        while i < n:
            group_end = min(i + 255, n)
            group_count = 0  # fits a byte, so that the compiler counts in vectors of bytes
            while i < group_end:
                group_count += at[i] == 0x0A
                i += 1
            count += group_count
    return count + (n > 0 and at[n - 1] != 0x0A)


def texts_of_lines(bytes block not None, str field not None):
    """Read the strings that lines of JSON hold under a field; return (texts, others).

    block: whole lines; the last one may lack its newline.
    field: name of the field, in the outermost object of each line.

    texts: for each line, the string as UTF-8; None if the line is not plain.
    others: (index, bytes) of each line that is not plain: blank; no JSON, or no object; without the field, or with
        something else than a string in it; with half a surrogate pair; nested more than 64 deep; with a number of
        more than 300 characters, or a field name of more than 256 bytes that has escapes; or in a block that is
        not UTF-8.

    >>> texts_of_lines(b'{"text": "a\\\\u00e9"}\\n\\n{"text": "b"}', "text")
    ([b'a\\xc3\\xa9', None, b'b'], [(1, b'')])
    """
    cdef JsonLines reader = JsonLines(block, field)
    cdef Line[LINES_WITHOUT_GIL] lines
    cdef Bytes text
    cdef size_t i, n
    cdef list texts = [], others = []
    while True:
        n = 0
        with nogil:
            while n < LINES_WITHOUT_GIL and reader.next(&lines[n]):
                n += 1
        if not n:
            return texts, others
        for i in range(n):
            if reader.text(&lines[i], &text):
                texts.append((<const char*> text.data)[:text.n])
            else:
                others.append((len(texts), (<const char*> lines[i].data)[:lines[i].n]))
                texts.append(None)


cdef const uint8_t* _line(
    const uint8_t* at, const uint8_t* end, bint is_utf8, const String* name, Line* line
) noexcept nogil:
    """Read the line at `at`, and return where the next one begins."""
    cdef const uint8_t* line_end = NULL
    line.data = at
    line.found.data = NULL
    if is_utf8:
        line_end = _object(_skip_space(at, end), end, MAX_DEPTH, name, &line.found)
        if line_end != NULL:
            line_end = _skip_space(line_end, end)
    line.is_plain = line_end != NULL and line.found.data != NULL and (line_end == end or line_end[0] == 0x0A)
    if not line.is_plain:
        line_end = <const uint8_t*> memchr(at, 0x0A, <size_t> (end - at))
        if line_end == NULL:
            line_end = end
    line.n = <size_t> (line_end - at)
    return line_end + (line_end < end)


cdef inline const uint8_t* _skip_space(const uint8_t* at, const uint8_t* end) noexcept nogil:
    while at < end and (at[0] == 0x20 or at[0] == 0x09 or at[0] == 0x0D):
        at += 1
    return at


# Each parser returns the address after the construct that it is named after; NULL if that does not stand at `at`.

cdef const uint8_t* _object(
    const uint8_t* at, const uint8_t* end, int depth, const String* name, String* found
) noexcept nogil:
    """Parse an object; if found is not NULL, store there the string under a name.

    depth: how many levels may still be nested.
    """
    cdef String key
    cdef int is_wanted = 0
    if at >= end or at[0] != 0x7B or depth == 0:
        return NULL
    at = _skip_space(at + 1, end)
    if at < end and at[0] == 0x7D:
        return at + 1
    while True:
        at = _string(at, end, &key)
        if at == NULL:
            return NULL
        at = _skip_space(at, end)
        if at >= end or at[0] != 0x3A:
            return NULL
        at = _skip_space(at + 1, end)
        if found != NULL:
            is_wanted = _is_name(&key, name)
        if is_wanted:
            at = _string(at, end, found) if is_wanted > 0 else NULL  # as in json, the last of several counts
        else:
            at = _value(at, end, depth - 1)
        if at == NULL:
            return NULL
        at = _skip_space(at, end)
        if at >= end or at[0] != 0x2C:
            break
        at = _skip_space(at + 1, end)
    return at + 1 if at < end and at[0] == 0x7D else NULL


cdef const uint8_t* _array(const uint8_t* at, const uint8_t* end, int depth) noexcept nogil:
    if depth == 0:
        return NULL
    at = _skip_space(at + 1, end)
    if at < end and at[0] == 0x5D:
        return at + 1
    while True:
        at = _value(at, end, depth - 1)
        if at == NULL:
            return NULL
        at = _skip_space(at, end)
        if at >= end or at[0] != 0x2C:
            break
        at = _skip_space(at + 1, end)
    return at + 1 if at < end and at[0] == 0x5D else NULL


cdef const uint8_t* _value(const uint8_t* at, const uint8_t* end, int depth) noexcept nogil:
    cdef String string
    if at >= end:
        return NULL
    if at[0] == 0x22:
        return _string(at, end, &string)
    if at[0] == 0x7B:
        return _object(at, end, depth, NULL, NULL)
    if at[0] == 0x5B:
        return _array(at, end, depth)
    if at[0] == 0x74:
        return _literal(at, end, b"true", 4)
    if at[0] == 0x66:
        return _literal(at, end, b"false", 5)
    if at[0] == 0x6E:
        return _literal(at, end, b"null", 4)
    return _number(at, end)


cdef inline const uint8_t* _literal(
    const uint8_t* at, const uint8_t* end, const char* literal, size_t n
) noexcept nogil:
    return at + n if <size_t> (end - at) >= n and memcmp(at, literal, n) == 0 else NULL


cdef const uint8_t* _number(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef const uint8_t* start = at
    if at < end and at[0] == 0x2D:
        at += 1
    if at < end and at[0] == 0x30:
        at += 1
    else:
        at = _digits(at, end)
    if at != NULL and at < end and at[0] == 0x2E:
        at = _digits(at + 1, end)
    if at != NULL and at < end and at[0] | 0x20 == 0x65:
        at += 1
        if at < end and (at[0] == 0x2B or at[0] == 0x2D):
            at += 1
        at = _digits(at, end)
    return at if at != NULL and at - start <= MAX_NUMBER_CHARACTERS else NULL


cdef inline const uint8_t* _digits(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef const uint8_t* start = at
    while at < end and 0x30 <= at[0] <= 0x39:
        at += 1
    return at if at > start else NULL


cdef const uint8_t* _string(const uint8_t* at, const uint8_t* end, String* out) noexcept nogil:
    cdef uint64_t special
    cdef const uint8_t* begin
    if at >= end or at[0] != 0x22:
        return NULL
    at += 1
    begin = at
    out.has_escapes = False
    while True:
        at = fb_json_stop(at, end)
        special = 0
        while end - at >= 8 and special == 0:
            special = _string_stops(_load_little_endian(at))
            at += lowest_bit(special) // 8 if special else 8
        if special == 0:
            while at < end and at[0] != 0x22 and at[0] != 0x5C and at[0] >= 0x20:
                at += 1
        if at >= end or at[0] < 0x20:
            return NULL
        if at[0] == 0x22:
            break
        out.has_escapes = True
        at = _escape(at, end)
        if at == NULL:
            return NULL
    out.data, out.n = begin, <size_t> (at - begin)
    return at + 1


cdef inline uint64_t _load_little_endian(const uint8_t* at) noexcept nogil:
    """Load eight bytes, the first in the lowest bits on any machine; compilers make one load of it."""
    cdef uint64_t word = 0
    cdef int i
    for i in range(8):
        word |= <uint64_t> at[i] << 8 * i
    return word


cdef inline uint64_t _string_stops(uint64_t word) noexcept nogil:
    """Mark bytes that are a quote, a backslash or below U+0020; 0 without any.

    Ensures: the lowest set bit is the highest bit of the first such byte. Bits above it may be wrong, for the
    subtractions borrow (SWAR zero-byte test: Mycroft; Warren, Hacker's Delight, section 6-1).
    """
    cdef uint64_t quotes = word ^ 0x2222222222222222ULL
    cdef uint64_t slashes = word ^ 0x5C5C5C5C5C5C5C5CULL
    cdef uint64_t controls = (word - 0x2020202020202020ULL) & ~word
    return ((quotes - LOW_BITS) & ~quotes | (slashes - LOW_BITS) & ~slashes | controls) & HIGH_BITS


cdef inline const uint8_t* _escape(const uint8_t* at, const uint8_t* end) noexcept nogil:
    if end - at < 2:
        return NULL
    if at[1] != 0x75:
        return at + 2 if _escaped(at[1]) else NULL
    return at + 6 if end - at >= 6 and _hexadecimal(at + 2) <= 0xFFFF else NULL


cdef inline uint8_t _escaped(uint8_t letter) noexcept nogil:
    """Return the character that a letter after a backslash stands for; 0 if it may not stand there."""
    if letter == 0x22 or letter == 0x5C or letter == 0x2F:
        return letter
    if letter == 0x6E:
        return 0x0A
    if letter == 0x74:
        return 0x09
    if letter == 0x72:
        return 0x0D
    if letter == 0x62:
        return 0x08
    return 0x0C if letter == 0x66 else 0


cdef inline uint32_t _hexadecimal(const uint8_t* at) noexcept nogil:
    """Read four hexadecimal digits; a value above 0xFFFF if they are not."""
    cdef uint32_t value = 0, digit
    cdef int i
    for i in range(4):
        digit = at[i]
        if 0x30 <= digit <= 0x39:
            digit -= 0x30
        else:
            digit = (digit | 0x20) - 0x61
            if digit > 5:
                return 0x10000
            digit += 10
        value = value << 4 | digit
    return value


# Unescaping

cdef int _is_name(const String* key, const String* name) noexcept nogil:
    """Tell whether a key is the wanted name: 1 or 0; -1 if its escapes are too long to tell, or half a pair."""
    cdef uint8_t[MAX_ESCAPED_NAME_BYTES] unescaped
    cdef const uint8_t* data = key.data
    cdef size_t n = key.n
    if key.has_escapes:
        n = _unescape(key, unescaped) if n <= MAX_ESCAPED_NAME_BYTES else <size_t> -1
        if n == <size_t> -1:
            return -1
        data = unescaped
    return n == name.n and memcmp(data, name.data, n) == 0


cdef size_t _unescape(const String* string, uint8_t* out) noexcept nogil:
    """Write a string without its escapes as UTF-8; return its bytes, or -1 at half a surrogate pair.

    Requires: string was parsed by _string(), and out has string.n bytes. Unescaping never makes a string longer.
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
        while at < end and at[0] != 0x5C:
            to[0] = at[0]
            at += 1
            to += 1
        if at == end:
            return <size_t> (to - out)
        if at[1] != 0x75:
            to[0] = _escaped(at[1])
            to += 1
            at += 2
            continue
        c = _hexadecimal(at + 2)
        at += 6
        if c >> 11 == 0x1B:
            if c >= 0xDC00 or end - at < 6 or at[0] != 0x5C or at[1] != 0x75:
                return <size_t> -1
            low = _hexadecimal(at + 2)
            if low >> 10 != 0x37:
                return <size_t> -1
            c = 0x10000 + ((c & 0x3FF) << 10 | (low & 0x3FF))
            at += 6
        to = put_char(to, c)

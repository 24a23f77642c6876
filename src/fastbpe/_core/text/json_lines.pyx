"""Reader of the texts in JSON Lines, which creates no Python objects for the rest of a line.

A recursive-descent parser of RFC 8259 for whole lines. Lines that are not plain (see `texts_of_lines`) go back to
the caller, which passes them to the json module. Strings are scanned 16 bytes at a time (simd/json.h), and their
ends 8 bytes at a time within a register (SWAR).
"""

cimport cython
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.text.json_lexer cimport String, read_string, skip_blanks, unescape
from fastbpe._core.text.utf8_text cimport first_invalid

cdef enum:
    MAX_DEPTH = 64  # nested objects and arrays in a plain line
    # Of a number in a plain line. json refuses longer integers: of more than 4300 digits, or a limit that the program
    # sets (sys.set_int_max_str_digits), at least 640.
    MAX_NUMBER_CHARACTERS = 300
    MAX_ESCAPED_NAME_BYTES = 256  # bytes of a field name with escapes, in a plain line
    LINES_WITHOUT_GIL = 64  # lines parsed per release of the GIL


@cython.final
cdef class JsonLines:
    """Reader of a block of lines, for other compiled modules.

    block: whole lines of JSON; the last one may lack its newline.
    field: name of the field that contains the text.
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

        Ensures: on True, text is UTF-8, valid until the next call or the end of this object.
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
        text.data, text.n = self._unescaped, unescape(&line.found, self._unescaped)
        return text.n != <size_t> -1


def n_newlines(bytes block not None):
    """Count the newlines of a block."""
    cdef const uint8_t* at = <const uint8_t*> PyBytes_AS_STRING(block)
    cdef size_t n = <size_t> PyBytes_GET_SIZE(block), i = 0, group_end, count = 0
    cdef uint8_t group_count
    with nogil:
        while i < n:
            group_end = min(i + 255, n)
            group_count = 0  # fits a byte, so that the compiler counts in vectors of bytes
            while i < group_end:
                group_count += at[i] == c'\n'
                i += 1
            count += group_count
    return count


def texts_of_lines(bytes block not None, str field not None):
    """Read the string in one field of each line of JSON; return (texts, others).

    block: whole lines; the last one may lack its newline.
    field: name of the field, in the outermost object of each line.

    texts: for each line, the string as UTF-8; None if the line is not plain.
    others: (index, bytes) of each line that is not plain. A line is not plain if it is blank; not JSON, or not an
        object; lacks the field, or has something other than a string there; has half a surrogate pair there, or in
        a name of the outermost object, or has such a name with escapes of more than 256 bytes; is nested more than
        64 deep; has a number of more than 300 characters; or is in a block that is not UTF-8.

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
        line_end = _object(skip_blanks(at, end), end, MAX_DEPTH, name, &line.found)
        if line_end != NULL:
            line_end = skip_blanks(line_end, end)
    line.is_plain = line_end != NULL and line.found.data != NULL and (line_end == end or line_end[0] == c'\n')
    if not line.is_plain:
        line_end = <const uint8_t*> memchr(at, c'\n', <size_t> (end - at))
        if line_end == NULL:
            line_end = end
    line.n = <size_t> (line_end - at)
    return line_end + (line_end < end)


# Each parser returns the address after its construct, or NULL if that construct is not at `at`.

cdef const uint8_t* _object(
    const uint8_t* at, const uint8_t* end, int depth, const String* name, String* found
) noexcept nogil:
    """Parse an object; if `found` is not NULL, store the string under the wanted name there.

    depth: how many levels may still be nested.
    """
    cdef String key
    cdef int is_wanted = 0
    if at >= end or at[0] != c'{' or depth == 0:
        return NULL
    at = skip_blanks(at + 1, end)
    if at < end and at[0] == c'}':
        return at + 1
    while True:
        at = read_string(at, end, &key)
        if at == NULL:
            return NULL
        at = skip_blanks(at, end)
        if at >= end or at[0] != c':':
            return NULL
        at = skip_blanks(at + 1, end)
        if found != NULL:
            is_wanted = _is_name(&key, name)
        if is_wanted:
            # Of several fields with this name, the last one counts, as in json.
            at = read_string(at, end, found) if is_wanted > 0 else NULL
        else:
            at = _value(at, end, depth - 1)
        if at == NULL:
            return NULL
        at = skip_blanks(at, end)
        if at >= end or at[0] != c',':
            break
        at = skip_blanks(at + 1, end)
    return at + 1 if at < end and at[0] == c'}' else NULL


cdef const uint8_t* _array(const uint8_t* at, const uint8_t* end, int depth) noexcept nogil:
    if depth == 0:
        return NULL
    at = skip_blanks(at + 1, end)
    if at < end and at[0] == c']':
        return at + 1
    while True:
        at = _value(at, end, depth - 1)
        if at == NULL:
            return NULL
        at = skip_blanks(at, end)
        if at >= end or at[0] != c',':
            break
        at = skip_blanks(at + 1, end)
    return at + 1 if at < end and at[0] == c']' else NULL


cdef const uint8_t* _value(const uint8_t* at, const uint8_t* end, int depth) noexcept nogil:
    cdef String string
    if at >= end:
        return NULL
    if at[0] == c'"':
        return read_string(at, end, &string)
    if at[0] == c'{':
        return _object(at, end, depth, NULL, NULL)
    if at[0] == c'[':
        return _array(at, end, depth)
    if at[0] == c't':
        return _literal(at, end, b"true", 4)
    if at[0] == c'f':
        return _literal(at, end, b"false", 5)
    if at[0] == c'n':
        return _literal(at, end, b"null", 4)
    return _number(at, end)


cdef inline const uint8_t* _literal(
    const uint8_t* at, const uint8_t* end, const char* literal, size_t n
) noexcept nogil:
    return at + n if <size_t> (end - at) >= n and memcmp(at, literal, n) == 0 else NULL


cdef const uint8_t* _number(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef const uint8_t* start = at
    if at[0] == c'-':
        at += 1
    if at < end and at[0] == c'0':
        at += 1
    else:
        at = _digits(at, end)
    if at != NULL and at < end and at[0] == c'.':
        at = _digits(at + 1, end)
    if at != NULL and at < end and at[0] | 0x20 == c'e':
        at += 1
        if at < end and (at[0] == c'+' or at[0] == c'-'):
            at += 1
        at = _digits(at, end)
    return at if at != NULL and at - start <= MAX_NUMBER_CHARACTERS else NULL


cdef inline const uint8_t* _digits(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef const uint8_t* start = at
    while at < end and c'0' <= at[0] <= c'9':
        at += 1
    return at if at > start else NULL


cdef int _is_name(const String* key, const String* name) noexcept nogil:
    """Compare a key with the wanted name: 1 if equal, 0 if not; -1 if too long, or with half a surrogate pair."""
    cdef uint8_t[MAX_ESCAPED_NAME_BYTES] unescaped
    cdef const uint8_t* data = key.data
    cdef size_t n = key.n
    if key.has_escapes:
        n = unescape(key, unescaped) if n <= MAX_ESCAPED_NAME_BYTES else <size_t> -1
        if n == <size_t> -1:
            return -1
        data = unescaped
    return n == name.n and memcmp(data, name.data, n) == 0

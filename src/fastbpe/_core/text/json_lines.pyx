"""The texts in lines of JSON, without an object for anything else in them.

What is taken is JSON as RFC 8259 has it, whole lines of it. What is not plain (see `texts_of_lines`) is left to the
caller, line by line: json decides what it is.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

from fastbpe._core.text.json_lexer cimport String, read_string, skip_blanks, unescape
from fastbpe._core.text.utf8_text cimport first_invalid

cdef enum:
    MAX_DEPTH = 64  # of what lies in a line
    MAX_DIGITS = 300  # of a number: json refuses some thousands
    KEY_BYTES = 256  # of a key with escapes
    SOME_LINES = 64  # that are read before others may have the GIL


@cython.final
cdef class JsonLines:
    """The lines of a block one after another, and the texts that they hold under a field."""

    def __cinit__(self, bytes block not None, str field not None):
        self._block, self._field = block, field.encode("utf-8", "surrogatepass")
        self._name.data = <const uint8_t*> PyBytes_AS_STRING(self._field)
        self._name.n = <size_t> PyBytes_GET_SIZE(self._field)
        self._at = <const uint8_t*> PyBytes_AS_STRING(block)
        self._end = self._at + PyBytes_GET_SIZE(block)
        with nogil:
            self._is_utf8 = first_invalid(self._at, <size_t> (self._end - self._at)) == <size_t> (self._end - self._at)

    def __dealloc__(self):
        free(self._unescaped)

    cdef bint next(self, Line* line) noexcept nogil:
        """Read a line; False behind the last."""
        if self._at >= self._end:
            return False
        self._at = _line(self._at, self._end, self._is_utf8, &self._name, line)
        return True

    cdef bint text(self, const Line* line, Bytes* text) except -1 nogil:
        """The text of a line, until another is asked for; False where the line is not plain."""
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


def n_lines(bytes block not None):
    """How many lines a block has, the last of which may have no line end."""
    cdef const uint8_t* at = <const uint8_t*> PyBytes_AS_STRING(block)
    cdef size_t n = <size_t> PyBytes_GET_SIZE(block), i = 0, behind, count = 0
    cdef uint8_t some
    with nogil:
        while i < n:
            behind = min(i + 255, n)
            some = 0  # of a byte, so that a vector holds many
            while i < behind:
                some += at[i] == 0x0A
                i += 1
            count += some
    return count + (n > 0 and at[n - 1] != 0x0A)


def texts_of_lines(bytes block not None, str field not None):
    """(texts, others) of lines of JSON, the last of which may have no line end.

    texts: of each line the UTF-8 that its object holds under the field, as bytes; None where a line is not plain.
    others: (number of the line, its bytes) of these: lines that are blank, that are no JSON or no object, without
    the field or with something in it that is no string, with half a surrogate pair, or very deep.

    >>> texts_of_lines(b'{"text": "a\\\\u00e9"}\\n\\n{"text": "b"}', "text")
    ([b'a\\xc3\\xa9', None, b'b'], [(1, b'')])
    """
    cdef JsonLines reader = JsonLines(block, field)
    cdef Line[SOME_LINES] lines
    cdef Bytes text
    cdef size_t i, n
    cdef list texts = [], others = []
    while True:
        n = 0
        with nogil:
            while n < SOME_LINES and reader.next(&lines[n]):
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
    """Read a line, and go behind its end."""
    cdef const uint8_t* behind = NULL
    line.data = at
    line.found.data = NULL
    if is_utf8:
        behind = _object(skip_blanks(at, end), end, MAX_DEPTH, name, &line.found)
        if behind != NULL:
            behind = skip_blanks(behind, end)
    line.is_plain = behind != NULL and line.found.data != NULL and (behind == end or behind[0] == 0x0A)
    if not line.is_plain:
        behind = <const uint8_t*> memchr(at, 0x0A, <size_t> (end - at))
        if behind == NULL:
            behind = end
    line.n = <size_t> (behind - at)
    return behind + (behind < end)


# What these return is the place behind what they are named after, or NULL where that does not stand there.

cdef const uint8_t* _object(
    const uint8_t* at, const uint8_t* end, int depth, const String* name, String* found
) noexcept nogil:
    """name, found: whose string to look for; NULL for none."""
    cdef String key
    cdef int is_wanted = 0
    if at >= end or at[0] != 0x7B or depth == 0:
        return NULL
    at = skip_blanks(at + 1, end)
    if at < end and at[0] == 0x7D:
        return at + 1
    while True:
        at = read_string(at, end, &key)
        if at == NULL:
            return NULL
        at = skip_blanks(at, end)
        if at >= end or at[0] != 0x3A:
            return NULL
        at = skip_blanks(at + 1, end)
        if found != NULL:
            is_wanted = _is_name(&key, name)
        if is_wanted:
            at = read_string(at, end, found) if is_wanted > 0 else NULL  # the last of several holds
        else:
            at = _value(at, end, depth - 1)
        if at == NULL:
            return NULL
        at = skip_blanks(at, end)
        if at >= end or at[0] != 0x2C:
            break
        at = skip_blanks(at + 1, end)
    return at + 1 if at < end and at[0] == 0x7D else NULL


cdef const uint8_t* _array(const uint8_t* at, const uint8_t* end, int depth) noexcept nogil:
    if depth == 0:
        return NULL
    at = skip_blanks(at + 1, end)
    if at < end and at[0] == 0x5D:
        return at + 1
    while True:
        at = _value(at, end, depth - 1)
        if at == NULL:
            return NULL
        at = skip_blanks(at, end)
        if at >= end or at[0] != 0x2C:
            break
        at = skip_blanks(at + 1, end)
    return at + 1 if at < end and at[0] == 0x5D else NULL


cdef const uint8_t* _value(const uint8_t* at, const uint8_t* end, int depth) noexcept nogil:
    cdef String string
    if at >= end:
        return NULL
    if at[0] == 0x22:
        return read_string(at, end, &string)
    if at[0] == 0x7B:
        return _object(at, end, depth, NULL, NULL)
    if at[0] == 0x5B:
        return _array(at, end, depth)
    if at[0] == 0x74:
        return _word(at, end, b"true", 4)
    if at[0] == 0x66:
        return _word(at, end, b"false", 5)
    if at[0] == 0x6E:
        return _word(at, end, b"null", 4)
    return _number(at, end)


cdef inline const uint8_t* _word(const uint8_t* at, const uint8_t* end, const char* word, size_t n) noexcept nogil:
    return at + n if <size_t> (end - at) >= n and memcmp(at, word, n) == 0 else NULL


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
    return at if at != NULL and at - start <= MAX_DIGITS else NULL


cdef inline const uint8_t* _digits(const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef const uint8_t* start = at
    while at < end and 0x30 <= at[0] <= 0x39:
        at += 1
    return at if at > start else NULL


# Text

cdef int _is_name(const String* key, const String* name) noexcept nogil:
    """-1: that is not easily said."""
    cdef uint8_t[KEY_BYTES] unescaped
    cdef const uint8_t* data = key.data
    cdef size_t n = key.n
    if key.has_escapes:
        n = unescape(key, unescaped) if n <= KEY_BYTES else <size_t> -1
        if n == <size_t> -1:
            return -1
        data = unescaped
    return n == name.n and memcmp(data, name.data, n) == 0

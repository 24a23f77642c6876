"""Text as UTF-8 bytes, for every entry point by one rule.

ASCII is borrowed from the str; other text is transcoded into memory of ours, so that the str keeps no second
copy. A surrogate pair is the character it stands for, a lone surrogate is U+FFFD. Bytes must be UTF-8.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.unicode cimport (
    PyUnicode_1BYTE_KIND, PyUnicode_2BYTE_KIND, PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND,
)
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from fastbpe._core.tables cimport load64


cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(PyObject* text) noexcept


cdef int utf8_of(object text, Utf8* view) except -1:
    """Fill view with the UTF-8 of a str or of bytes. The caller keeps `text` alive and releases the view."""
    cdef size_t bad
    view.owned = NULL
    if isinstance(text, str):
        if PyUnicode_IS_COMPACT_ASCII(<PyObject*> text):
            view.data = <const uint8_t*> PyUnicode_DATA(text)
            view.n = <size_t> PyUnicode_GET_LENGTH(text)
            return 0
        return _transcode(text, view)
    if isinstance(text, bytes):
        view.data = <const uint8_t*> PyBytes_AS_STRING(text)
        view.n = <size_t> PyBytes_GET_SIZE(text)
        bad = first_invalid(view.data, view.n)
        if bad < view.n:
            raise ValueError(
                f"text is not UTF-8: invalid byte 0x{view.data[bad]:02x} at offset {bad} "
                "(decode it first, with errors='replace' if it may be damaged)"
            )
        return 0
    if isinstance(text, (bytearray, memoryview)):
        return _copy(bytes(text), view)  # another thread may change it while we read
    raise TypeError(f"text must be str, or bytes of UTF-8, not {type(text).__name__}")


cdef int _copy(bytes text, Utf8* view) except -1:
    cdef uint8_t* owned
    utf8_of(text, view)
    owned = <uint8_t*> malloc(view.n + 1)
    if owned == NULL:
        raise MemoryError(f"no memory for {view.n} bytes of UTF-8")
    memcpy(owned, view.data, view.n)
    view.data = view.owned = owned
    return 0


cdef void utf8_release(Utf8* view) noexcept nogil:
    free(view.owned)
    view.owned = NULL


cdef int _transcode(object text, Utf8* view) except -1:
    cdef size_t n = <size_t> PyUnicode_GET_LENGTH(text)
    cdef const void* data = PyUnicode_DATA(text)
    cdef int kind = PyUnicode_KIND(text)
    cdef size_t most = n * (2 if kind == PyUnicode_1BYTE_KIND else 3 if kind == PyUnicode_2BYTE_KIND else 4)
    cdef uint8_t* out = <uint8_t*> malloc(most + 1)
    if out == NULL:
        raise MemoryError(f"no memory for {most} bytes of UTF-8")
    with nogil:
        if kind == PyUnicode_1BYTE_KIND:
            view.n = _from_latin1(<const uint8_t*> data, n, out)
        elif kind == PyUnicode_2BYTE_KIND:
            view.n = _from_ucs2(<const uint16_t*> data, n, out)
        else:
            view.n = _from_ucs4(<const uint32_t*> data, n, out)
    view.data = view.owned = out
    return 0


cdef inline uint8_t* _put(uint8_t* out, uint32_t c) noexcept nogil:
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


cdef size_t _from_latin1(const uint8_t* data, size_t n, uint8_t* out) noexcept nogil:
    cdef uint8_t* to = out
    cdef size_t i
    for i in range(n):
        to = _put(to, data[i])
    return to - out


cdef size_t _from_ucs2(const uint16_t* data, size_t n, uint8_t* out) noexcept nogil:
    cdef uint8_t* to = out
    cdef size_t i = 0
    cdef uint32_t c
    while i < n:
        c = data[i]
        i += 1
        if c >> 11 == 0x1B:
            if c < 0xDC00 and i < n and data[i] >> 10 == 0x37:
                c = 0x10000 + ((c & 0x3FF) << 10) + (data[i] & 0x3FF)
                i += 1
            else:
                c = 0xFFFD
        to = _put(to, c)
    return to - out


cdef size_t _from_ucs4(const uint32_t* data, size_t n, uint8_t* out) noexcept nogil:
    cdef uint8_t* to = out
    cdef size_t i = 0
    cdef uint32_t c
    while i < n:
        c = data[i]
        i += 1
        if c >> 11 == 0x1B:
            if c < 0xDC00 and i < n and data[i] >> 10 == 0x37:
                c = 0x10000 + ((c & 0x3FF) << 10) + (data[i] & 0x3FF)
                i += 1
            else:
                c = 0xFFFD
        to = _put(to, c)
    return to - out


cdef size_t first_invalid(const uint8_t* data, size_t n) noexcept nogil:
    """The offset of the first byte that does not belong to well-formed UTF-8; n if there is none."""
    cdef size_t i = 0, more, k
    cdef uint8_t lead, low, high
    while i < n:
        while n - i >= 8 and not load64(data + i) & 0x8080808080808080ULL:
            i += 8
        if i == n:
            break
        lead = data[i]
        if lead < 0x80:
            i += 1
            continue
        low, high = 0x80, 0xBF  # bounds of the second byte: no overlong form, no surrogate, nothing above
        if 0xC2 <= lead <= 0xDF:
            more = 1
        elif 0xE0 <= lead <= 0xEF:
            more = 2
            low = 0xA0 if lead == 0xE0 else 0x80
            high = 0x9F if lead == 0xED else 0xBF
        elif 0xF0 <= lead <= 0xF4:
            more = 3
            low = 0x90 if lead == 0xF0 else 0x80
            high = 0x8F if lead == 0xF4 else 0xBF
        else:
            return i
        if i + more >= n or not low <= data[i + 1] <= high:
            return i
        for k in range(2, more + 1):
            if data[i + k] & 0xC0 != 0x80:
                return i
        i += more + 1
    return n


def to_utf8(text):
    """The UTF-8 bytes that every entry point makes of a text: the rule above, for tests and tools."""
    cdef Utf8 view
    utf8_of(text, &view)
    try:
        return (<const char*> view.data)[:view.n]
    finally:
        utf8_release(&view)

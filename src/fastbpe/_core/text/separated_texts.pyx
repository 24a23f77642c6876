"""Reader of texts between separators, which creates no Python objects for them."""

cimport cython
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp


@cython.final
cdef class SeparatedTexts:
    """Reader of a block of texts, for other compiled modules.

    block: texts, each with a separator after it; the separator after the last one may be missing.
    separator: the bytes after each text, not empty; b"\\n" includes a b"\\r" before it.
    """

    def __cinit__(self, bytes block not None, bytes separator not None):
        self._block, self._separator = block, separator
        self._separator_data, self._n_separator = <const uint8_t*> PyBytes_AS_STRING(separator), PyBytes_GET_SIZE(separator)
        self._at = <const uint8_t*> PyBytes_AS_STRING(block)
        self._end = self._at + PyBytes_GET_SIZE(block)

    cdef const uint8_t* _find(self, const uint8_t* at) noexcept nogil:
        """Find the next separator; NULL after the last."""
        cdef const uint8_t* found
        while <size_t> (self._end - at) >= self._n_separator:
            found = <const uint8_t*> memchr(at, self._separator_data[0], <size_t> (self._end - at) - self._n_separator + 1)
            if found == NULL or memcmp(found, self._separator_data, self._n_separator) == 0:
                return found
            at = found + 1
        return NULL

    cdef size_t count(self) noexcept nogil:
        """Count the remaining texts."""
        cdef const uint8_t* at = self._at
        cdef size_t n = 0
        while at != NULL and at < self._end:
            n += 1
            at = self._find(at)
            if at != NULL:
                at += self._n_separator
        return n

    cdef bint next(self, Bytes* text) noexcept nogil:
        """Read the next text; False at the end."""
        cdef const uint8_t* found
        if self._at >= self._end:
            return False
        found = self._find(self._at)
        text.data = self._at
        if found == NULL:
            text.n = <size_t> (self._end - self._at)
            self._at = self._end
            return True
        text.n = <size_t> (found - self._at)
        self._at = found + self._n_separator
        if self._n_separator == 1 and self._separator_data[0] == c'\n' and text.n and text.data[text.n - 1] == c'\r':
            text.n -= 1  # a line ending of two bytes
        return True

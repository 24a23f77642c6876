"""Step that replaces the matches of a pattern by a text."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.string cimport memcmp

from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.common.places cimport Places
from fastbpe._core.normalize.text_steps cimport TextStep, keep_text, put_text
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_free


@cython.final
cdef class Replaced(TextStep):
    """Step that puts one text in place of each match.

    splitter: Splitter – its pieces are the matches; the text between them is unmatched.
    content: bytes – UTF-8 of the text; it comes from the last character of the match.
    """

    def __cinit__(self, Splitter splitter not None, bytes content not None):
        self.splitter, self._owner = splitter, content
        self._content, self._n_content = <const uint8_t*> PyBytes_AS_STRING(content), <size_t> PyBytes_GET_SIZE(content)

    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1 nogil:
        cdef Ends ends = Ends(NULL, 0, 0, data, NULL, 0)
        cdef size_t at = 0, kept = 0, start = 0, i, end
        cdef bint changes = False
        out.n = 0
        if places != NULL:
            places.n = 0
        try:
            while at < n:
                at = self.splitter.split(data, n, at, &ends)
            for i in range(ends.n):
                end = ends.items[i] & ~UNMATCHED
                if not ends.items[i] & UNMATCHED and not self._is_same(data + start, end - start):
                    changes = True
                    keep_text(data, kept, start, out, places)
                    put_text(self._content, self._n_content, end - 1, out, places)
                    kept = end
                start = end
            if changes:
                keep_text(data, kept, n, out, places)
            return changes
        finally:
            ends_free(&ends)

    cdef inline bint _is_same(self, const uint8_t* match, size_t n) noexcept nogil:
        """Tell whether a match is the text already, and one character, so that it keeps its place."""
        return n == 1 and self._n_content == 1 and match[0] == self._content[0]

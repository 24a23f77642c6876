"""Splitters: UTF-8 text to the ends of its pieces. One interface for every way of finding them.

Pieces stand end to end and cover the whole text: what a pattern does not match is a piece of its own, so
that nothing is ever lost.
"""

cimport cython
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, realloc

from fastbpe._core.text cimport Utf8, utf8_of, utf8_release


cdef int ends_add(Ends* ends, size_t end) except -1 nogil:
    cdef size_t capacity
    cdef size_t* items
    if ends.n == ends.capacity:
        capacity = max(<size_t> 64, 2 * ends.capacity)
        items = <size_t*> realloc(ends.items, capacity * sizeof(size_t))
        if items == NULL:
            with gil:
                raise MemoryError(f"no memory for the ends of {capacity} pieces")
        ends.items = items
        ends.capacity = capacity
    ends.items[ends.n] = end
    ends.n += 1
    return 0


cdef void ends_free(Ends* ends) noexcept nogil:
    free(ends.items)
    ends.items = NULL
    ends.n = ends.capacity = 0


cdef class Splitter:
    """No splitting: the whole text is one piece. Base of the splitters that do."""

    cdef int split(self, const uint8_t* data, size_t n, Ends* ends) except -1 nogil:
        """Append the end of every piece of data[:n], in bytes, rising, the last being n."""
        return ends_add(ends, n) if n else 0

    def ends(self, text):
        """The ends of the pieces of a text, as byte offsets into its UTF-8."""
        cdef Utf8 view
        cdef Ends ends
        ends.items = NULL
        ends.n = ends.capacity = 0
        utf8_of(text, &view)
        try:
            self.split(view.data, view.n, &ends)
            return [ends.items[i] for i in range(ends.n)]
        finally:
            utf8_release(&view)
            ends_free(&ends)

    def __repr__(self):
        return "none"


@cython.final
cdef class RegexSplitter(Splitter):
    """Pieces are the matches of a compiled `regex` pattern. Exact for any pattern, but holds the GIL."""

    def __init__(self, pattern):
        self._pattern = pattern

    cdef int split(self, const uint8_t* data, size_t n, Ends* ends) except -1 nogil:
        with gil:
            return self._split(data, n, ends)

    cdef int _split(self, const uint8_t* data, size_t n, Ends* ends) except -1:
        cdef str text = PyUnicode_DecodeUTF8(<const char*> data, n, NULL)
        cdef Py_ssize_t at = 0, start, end
        cdef size_t at_byte = 0
        # finditer, not findall: a list of all the pieces would cost a dozen times the text's memory.
        for match in self._pattern.finditer(text):
            start, end = match.span()
            if start == end:
                continue
            if start > at:
                at_byte = _advance(data, at_byte, start - at)
                ends_add(ends, at_byte)
            at_byte = _advance(data, at_byte, end - start)
            ends_add(ends, at_byte)
            at = end
        if at_byte < n:
            ends_add(ends, n)
        return 0

    def __repr__(self):
        return "regex"


cdef inline size_t _advance(const uint8_t* data, size_t at, Py_ssize_t n_chars) noexcept nogil:
    """The offset n_chars characters after the character that starts at `at`."""
    cdef uint8_t lead
    while n_chars:
        lead = data[at]
        at += 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        n_chars -= 1
    return at

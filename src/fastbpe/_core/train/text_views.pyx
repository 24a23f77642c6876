"""Views of the texts of a batch, for the counters. The object that has the views releases them."""

cimport cython
from libc.stdint cimport uint8_t
from libc.stdlib cimport free

from fastbpe._core.train.merge_learner cimport allocated
from fastbpe._core.text.utf8_text cimport Text, first_invalid, not_utf8, text_release, text_view


@cython.final
cdef class TextViews:
    """Views of a batch of texts.

    texts: list of str or bytes – the caller keeps the list unchanged while the views are used.
    first: int or None – index of the first text in its source, for errors; None: the texts have no index.
    """

    def __cinit__(self, list texts not None, *, first=None):
        cdef size_t n = len(texts), i
        self._first = first
        self.items = <Text*> allocated(n, sizeof(Text))
        for i in range(n):
            text_view(texts[i], &self.items[i])
            self.n += 1  # __dealloc__ releases only the views that were taken

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.n):
            text_release(&self.items[i])
        free(self.items)

    cdef int check_utf8(self, size_t i, size_t start, size_t end) except -1 nogil:
        """Raise ValueError if bytes start to end of text i, which was given as bytes, are not UTF-8.

        Requires: i < n; start <= end <= items[i].n; items[i].is_utf8.
        """
        cdef const uint8_t* data = <const uint8_t*> self.items[i].data
        cdef size_t at = start + first_invalid(data + start, end - start)
        if at < end:
            with gil:
                subject = "text is"
                if self._first is not None:
                    subject = f"document {self._first + i} of the source (counted from 0) is"
                raise not_utf8(subject, data[at], at)
        return 0

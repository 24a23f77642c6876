from fastbpe._core.text.utf8_text cimport Text


cdef class TextViews:
    cdef Text* items  # one view per text
    cdef size_t n
    cdef object _first
    cdef int check_utf8(self, size_t i, size_t start, size_t end) except -1 nogil

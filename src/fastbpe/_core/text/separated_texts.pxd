from libc.stdint cimport uint8_t

from fastbpe._core.text.json_lines cimport Bytes


cdef class SeparatedTexts:
    cdef bytes _block, _separator  # own the memory
    cdef const uint8_t* _separator_data  # the separator
    cdef size_t _n_separator  # bytes of the separator
    cdef const uint8_t* _at  # start of the next text
    cdef const uint8_t* _end  # end of the block
    cdef const uint8_t* _find(self, const uint8_t* at) noexcept nogil
    cdef size_t count(self) noexcept nogil
    cdef bint next(self, Bytes* text) noexcept nogil

from libc.stdint cimport uint8_t

from fastbpe._core.text.utf8_text cimport Text


cdef size_t last_safe_cut(const uint8_t* data, size_t n) noexcept nogil
cdef size_t text_cut(const Text* text, size_t start, size_t at) noexcept nogil
cdef size_t word_cut(const Text* text, size_t start, size_t at) noexcept nogil
cdef size_t safe_cut(const Text* text, size_t start, size_t at, size_t end) noexcept nogil

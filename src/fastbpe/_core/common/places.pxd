"""Places: for each byte of a changed text, the offset of the character that it comes from."""


cdef struct Places:
    # Starts as all zeros. Whoever holds it owns the memory, and gives it back with places_free().
    size_t* items
    size_t n
    size_t capacity


cdef int places_reserve(Places* places, size_t n_more) except -1 nogil
cdef void places_free(Places* places) noexcept nogil

cdef extern from *:
    """
    #define FB_NOWHERE ((size_t) -1) /* place of text inserted before all other text; its end, FB_NOWHERE + 1, is 0 */
    """
    const size_t FB_NOWHERE


cdef struct Places:
    # Initialize with zeros. The holder owns the memory, and frees it with places_free().
    size_t* items
    size_t n
    size_t capacity


cdef int places_reserve(Places* places, size_t n_more) except -1 nogil
cdef size_t place_in(const Places* sources, size_t place) noexcept nogil
cdef void places_free(Places* places) noexcept nogil

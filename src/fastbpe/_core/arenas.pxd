"""Keeps Python's memory for small objects between calls: see arenas.pyx."""

cdef extern from *:
    """
    static unsigned fastbpe_made = 0; /* each module that includes this counts its own */
    #define FASTBPE_IS_TURN() (++fastbpe_made % 512 == 0) /* of the largest, a quarter of an arena */
    """
    bint _is_turn "FASTBPE_IS_TURN"() noexcept

cdef enum:
    LIST_BYTES = 56  # what of a list or a tuple of two is a small object

cdef void keep_arena(size_t n_bytes) noexcept


cdef inline void small_object_made(size_t n_bytes) noexcept:
    """To be called, under the GIL, for each object that a call, or a loop of calls, makes many of; its size."""
    if _is_turn():
        keep_arena(n_bytes)

from libc.stdint cimport uint8_t

from fastbpe._core.cache.cache_state cimport Cache, Entry, Probe
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.merge_batch cimport MOST_BYTES
from fastbpe._core.merge.vocabulary cimport Tables


cdef inline bint may_wait(const Tables* tables, size_t length) noexcept nogil:
    """Whether a new piece of so many bytes is merged side by side with others."""
    return length <= MOST_BYTES and tables.byte_keys != NULL


cdef inline int settle(Cache* cache, const Tables* tables, Ids* out) except -1 nogil:
    """Learn what the newcomers become, and fill all holes, if there are any."""
    return fill_holes(cache, tables, out) if cache.n_holes else 0


cdef int await_short(
    Cache* cache, const Tables* tables, Entry* entry, const Probe* probe, size_t length, Ids* out
) except -1 nogil
cdef int await_long(Cache* cache, const Tables* tables, const uint8_t* piece, size_t length, Ids* out) except -1 nogil
cdef int leave_mark(Cache* cache, const Tables* tables, size_t* mark, Ids* out) except -1 nogil
cdef int fill_holes(Cache* cache, const Tables* tables, Ids* out) except -1 nogil
cdef void give_up(Cache* cache, const Tables* tables) noexcept nogil

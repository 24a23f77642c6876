"""Cache misses that wait until they are merged together, and the gaps that they leave in the output.

The .pyx states what each function requires and ensures.
"""

from libc.stdint cimport uint8_t

from fastbpe._core.cache.cache_state cimport Cache, Entry, Probe
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.merge_batch cimport MAX_PIECE_BYTES
from fastbpe._core.merge.vocabulary cimport Tables


cdef inline bint may_defer(const Tables* tables, size_t length) noexcept nogil:
    """Tell whether merge_batch() can merge a new piece of this length in bytes. Only ranked tables have byte_keys."""
    return length <= MAX_PIECE_BYTES and tables.byte_keys != NULL


cdef inline int settle(Cache* cache, const Tables* tables, Ids* out) except -1 nogil:
    """Merge all pending pieces and fill all gaps, if there are any. Afterwards `out` has no gap."""
    return fill_gaps(cache, tables, out) if cache.n_gaps else 0


cdef int defer_short(
    Cache* cache, const Tables* tables, Entry* entry, const Probe* probe, size_t length, Ids* out
) except -1 nogil
cdef int defer_long(
    Cache* cache, const Tables* tables, const uint8_t* piece, size_t length, Ids* out
) except -1 nogil
cdef int note_count(Cache* cache, const Tables* tables, size_t* count_out, Ids* out) except -1 nogil
cdef int fill_gaps(Cache* cache, const Tables* tables, Ids* out) except -1 nogil
cdef void discard_gaps(Cache* cache, const Tables* tables) noexcept nogil

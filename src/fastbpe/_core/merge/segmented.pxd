from libc.math cimport fabsf
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.segment.best_path cimport RESET, Step


cdef enum:
    MAX_MARGIN_BYTES = 64  # longest piece that segment_piece() accepts with the method SENTENCE
    # A head (see segmented.pyx) has the number of ids, at most MAX_MARGIN_BYTES, in its COUNT_BITS low bits, and above
    # them the exponent of the margin plus BIAS. It fits into 20 bits, so that an entry of the cache can pack it.
    COUNT_BITS = 11  # 7 to 12 would do
    COUNT_MASK = (1 << COUNT_BITS) - 1
    BIAS = 200  # bias of the exponent; -BIAS is below the exponent of any u, which is at least -151: never sure
    MAX_EXPONENT = 0  # of a margin of 1 or more, which is always enough: u is less while totals are below RESET
    SIGNIFICAND = 24  # bits of the significand of a float: u is 2 ** (exponent of the total - 24)
    FLOAT_BIAS = 127  # bias of a float's exponent

cdef extern from *:
    """
    #define FASTBPE_SHARED 0x80000000u
    """
    # Flag of a length: the next id stands for the same bytes.
    const uint32_t SHARED "FASTBPE_SHARED"


cdef int segment_piece(const Tables* tables, const uint8_t* piece, size_t n, Ids* out) except -1 nogil
cdef int add_path(const Tables* tables, const uint8_t* text, size_t n, const Step* steps, Ids* out) except -1 nogil


cdef inline size_t n_ids_of(uint32_t head) noexcept nogil:
    """Return the number of ids that follow a head."""
    return head & COUNT_MASK


cdef inline bint is_sure(uint32_t head, float total, float greatest, size_t n) noexcept nogil:
    """Tell whether a piece has the ids that follow a head, if the text before the piece has this total.

    greatest: greatest absolute score.
    n: bytes of the piece.

    Returns False if the total might pass RESET, where it starts anew (see best_path).
    """
    cdef float most = fabsf(total) + greatest * <float> n
    cdef uint32_t bits
    memcpy(&bits, &most, sizeof(bits))
    return <int> (bits >> 23) - FLOAT_BIAS - SIGNIFICAND <= <int> (head >> COUNT_BITS) - BIAS and most < RESET


cdef inline void add_token(
    const Tables* tables, const uint8_t* text, size_t n, uint32_t token, Ids* out
) noexcept nogil:
    """Append the id of a token; for a character without a token, the unknown id or the ids of its bytes.

    Requires: space for n ids.
    """
    cdef size_t i
    if token == NONE and tables.characters.has_bytes:
        for i in range(n):
            out.items[out.n + i] = tables.characters.byte_ids[text[i]]
        out.n += n
        return
    out.items[out.n] = tables.characters.unknown_id if token == NONE else token
    out.n += 1

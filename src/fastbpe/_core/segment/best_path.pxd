from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.segment.segmenter cimport Segmenting


cdef extern from *:
    """
    #define FASTBPE_RESET 100000.0f
    """
    const float RESET "FASTBPE_RESET"  # SENTENCE: a total beyond ±RESET is subtracted from itself and later totals


cdef struct Step:
    # The best path to a position in a text, in float.
    float total
    uint32_t next  # during the search: start of the last token of the best path to here; NONE: no path leads here;
    # after the search: end of the token that begins here, if it is on the path through the text
    uint32_t id  # id of the last token; NONE: an unknown character


cdef struct WideStep:
    # The same in double precision.
    double total
    double second  # total of the second best path
    uint32_t next
    uint32_t id


cdef float search_sentence(
    const Segmenting* segmenting, const uint8_t* text, size_t n, float total, Step* steps
) noexcept nogil
cdef bint search_piece(
    const Segmenting* segmenting, bint has_unknown, const uint8_t* text, size_t n, WideStep* steps
) noexcept nogil
cdef size_t search_with_margin(
    const Segmenting* segmenting, const uint8_t* text, size_t n, WideStep* steps
) noexcept nogil

from libc.stdint cimport int64_t, uint8_t


cdef extern from *:
    """
    #include <stdint.h>
    #define FB_UNMATCHED (SIZE_MAX ^ (SIZE_MAX >> 1))
    """
    # Flag of an end at which a gap ends. A gap is text that is left out and not part of a piece. No text is long
    # enough to need this bit in an offset.
    const size_t UNMATCHED "FB_UNMATCHED"


cdef struct Ends:
    # Ends of the pieces and gaps of a text, as byte offsets; the next piece begins at the end of the one before.
    size_t* items
    size_t n
    size_t capacity
    # For error messages: the whole text. If the splitter reads GPT-2's characters for bytes instead of the text
    # itself (see StandIns in composite.pyx), also those characters, and the text offset of the byte that the first
    # one stands for.
    const uint8_t* text
    const uint8_t* stand_ins
    size_t stand_ins_at
    # Limits on backtracking hold for a text with all its pieces, not for each piece of an earlier splitter.
    int64_t steps_over  # by how much the engine's steps exceed what the bytes split so far allow; may be negative
    double deadline  # processor time of this thread until which RegexSplitter may work; 0: it has not begun


cdef inline void ends_start_text(Ends* ends, const uint8_t* text) noexcept nogil:
    """Begin to split a text: the limits on backtracking start anew."""
    ends.text = text
    ends.steps_over = 0
    ends.deadline = 0


cdef int ends_reserve(Ends* ends, size_t n_more) except -1 nogil
cdef int ends_add(Ends* ends, size_t end) except -1 nogil
cdef size_t n_pieces(const Ends* ends) noexcept nogil
cdef size_t offset_in_text(const Ends* ends, const uint8_t* at) noexcept nogil
cdef void ends_free(Ends* ends) noexcept nogil


cdef class Splitter:
    cdef readonly bint cuttable  # texts may be divided at the safe cuts of safe_cuts.pyx without changing pieces
    cdef readonly bint holds_gil  # split() needs the GIL, so more threads do not help
    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil
    cdef list _spans(self, text)


cdef class RegexSplitter(Splitter):
    cdef object _pattern
    cdef str _shown
    cdef size_t _gap_flag  # added to the end of a gap: UNMATCHED, or 0 if gaps are pieces
    cdef int _split(self, const uint8_t* data, size_t n, Ends* ends) except -1

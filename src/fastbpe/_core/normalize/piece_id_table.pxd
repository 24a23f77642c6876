from libc.stdint cimport uint32_t

from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef class PieceIdTable:
    cdef readonly uint32_t unknown  # id of a piece that the table lacks
    cdef readonly uint32_t n_ids  # first of the ids for pieces and characters that the table lacks
    cdef readonly uint32_t first_character  # first of the ids for characters without a piece
    cdef readonly bint finds_codes  # a text may begin with a code between ">>" and "<<"
    cdef readonly SpecialMatcher codes  # the codes that the table has; None: no code
    cdef uint32_t* _items  # the characters of all runs, one after the other
    cdef uint32_t* _ends  # end of each run
    cdef uint32_t* _ids  # id of each run
    cdef size_t _n

    cdef uint32_t find(self, const uint32_t* items, size_t n) noexcept nogil


cdef inline bint is_unknown(PieceIdTable table, uint32_t token_id) noexcept nogil:
    """Tell whether an id stands for a character without a piece; `unknown` does if no run has the character."""
    return token_id == table.unknown or token_id >= table.first_character

from libc.stdint cimport int64_t, uint32_t


cdef struct Language:
    int64_t n_symbols  # current number of symbols of its text
    double n_before  # number of symbols before the first merge
    double ratio
    double rate  # with ratios: how much the text shrank, relative to its ratio
    uint32_t n_chosen  # how often it is among the latest choices
    bint is_exhausted  # it has no pair left
    bint is_passed_over  # the window has no room for it in this choice


cdef class LanguageChoice:
    cdef Language* _languages
    cdef readonly int n_languages
    cdef readonly int n_exhausted
    cdef bint _by_ratio
    cdef size_t _window  # length of the window; 0: no window
    cdef double _greatest_share  # greatest share of the window for one language
    cdef uint32_t* _latest  # the latest choices, a ring buffer
    cdef size_t _n_latest, _latest_capacity, _oldest
    cpdef void exhaust(self, int language) noexcept nogil
    cpdef void set_symbols(self, int language, int64_t n_symbols) noexcept nogil
    cpdef int choose(self) except -1 nogil
    cdef int _neediest(self) noexcept nogil
    cdef bint _may_choose(self, int language) noexcept nogil
    cdef int _choose_within_window(self) noexcept nogil

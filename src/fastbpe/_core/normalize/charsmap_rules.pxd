from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    LOOK = 0xFF
    HAS_VALUE = 0x100
    N_CHARACTERS = 0x200000  # as far as four bytes reach

cdef extern from *:
    # Not a Cython enum: that would be an int.
    """
    #define FASTBPE_VALUE_MASK 0x7FFFFFFFu
    #define FASTBPE_LABEL 0x800000FFu
    """
    const uint32_t VALUE "FASTBPE_VALUE_MASK"  # of the unit where a value lies
    const uint32_t LABEL "FASTBPE_LABEL"  # no byte is equal to it in a unit where a value lies


cdef class Rules:
    cdef:
        uint32_t* units  # the trie
        size_t n_units
        uint8_t* replacements  # what sequences become, each with a NUL behind it
        size_t n_replacements

    cdef int _load(self, bytes charsmap) except -1
    cdef int _index(self, uint8_t* starts) except -1
    cdef void _link(self, uint32_t* first, uint32_t* following) noexcept nogil
    cdef size_t _check(
        self, const uint32_t* first, const uint32_t* following, uint32_t* seen, uint32_t* places, uint32_t* todo
    ) noexcept nogil
    cdef void _mark(self, const uint32_t* first, const uint32_t* following, uint8_t* starts) noexcept nogil
    cdef void _mark_below(
        self, const uint32_t* first, const uint32_t* following, size_t at, int n_left, uint32_t c, uint8_t* starts
    ) noexcept nogil
    cdef uint8_t of_ascii(self, uint8_t c) noexcept nogil


cdef Rules read_rules(bytes charsmap, uint8_t* starts)
# A bit for each of the characters that begin with c, with so many bytes still to come.
cdef void mark_characters(uint8_t* starts, uint32_t c, int n_left) noexcept nogil


cdef inline size_t below(const uint32_t* units, size_t at) noexcept nogil:
    """The place from which the children of a unit are counted, and where its value lies if it has one."""
    return at ^ (<size_t> (units[at] >> 10) << ((units[at] & 0x200) >> 6))


cdef inline size_t longest_rule(
    Rules rules, const uint8_t* text, size_t n, size_t at, const uint8_t** becomes
) noexcept nogil:
    """How many bytes at text[at] the longest rule there is for, and what they become, up to a NUL; 0: there is none."""
    cdef size_t unit = 0, i = at, n_bytes = 0, place
    while i < n and text[i]:
        place = below(rules.units, unit) ^ text[i]
        if place >= rules.n_units or rules.units[place] & LABEL != text[i]:
            break
        unit = place
        i += 1
        if rules.units[unit] & HAS_VALUE:
            n_bytes = i - at
            becomes[0] = rules.replacements + (rules.units[below(rules.units, unit)] & VALUE)
    return n_bytes

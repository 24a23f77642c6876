from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    LOOK = 0xFF  # the ASCII byte alone does not decide: search the trie
    HAS_VALUE = 0x100  # bit of a unit: a rule ends here, and its value is at the base
    N_CHARACTERS = 0x200000  # numbers that four bytes of UTF-8 can express

cdef extern from *:
    # Not a Cython enum: that would be an int.
    """
    #define FASTBPE_VALUE_MASK 0x7FFFFFFFu
    #define FASTBPE_LABEL 0x800000FFu
    """
    const uint32_t VALUE "FASTBPE_VALUE_MASK"  # mask of the value's bits, in a unit that contains a value
    const uint32_t LABEL "FASTBPE_LABEL"  # bits of a label; the top bit marks a value, which is not a child


cdef class Rules:
    cdef:
        uint32_t* units  # the trie, a double array: see charsmap_builder.pyx
        size_t n_units  # a multiple of 256: if a unit is in the trie, so is the unit at its index ^ byte
        uint8_t* replacements  # replacements of the rules, each with a NUL after it
        size_t n_replacements  # number of bytes of all replacements
        readonly bint are_utf8  # each replacement is UTF-8

    cdef int _load(self, bytes charsmap) except -1
    cdef int _index(self, uint8_t* starts) except -1
    cdef void _link(self, uint32_t* first, uint32_t* following) noexcept nogil
    cdef size_t _check(
        self, const uint32_t* first, const uint32_t* following, uint32_t* seen, uint32_t* bases, uint32_t* todo
    ) noexcept nogil
    cdef void _mark(self, const uint32_t* first, const uint32_t* following, uint8_t* starts) noexcept nogil
    cdef void _mark_below(
        self, const uint32_t* first, const uint32_t* following, size_t at, int n_left, uint32_t c, uint8_t* starts
    ) noexcept nogil
    cdef uint8_t of_ascii(self, uint8_t c) noexcept nogil


cdef Rules read_rules(bytes charsmap, uint8_t* starts)
# In `starts`, set the bit of each character whose number is the bits c, then any bits of n_left more bytes.
cdef void mark_characters(uint8_t* starts, uint32_t c, int n_left) noexcept nogil


cdef inline size_t below(const uint32_t* units, size_t at) noexcept nogil:
    """Return the base of a unit: its children are at base ^ byte, its value at the base itself.

    The offset to the base is in the bits from 10 on; with bit 9 (0x200), without its low 8 bits, which are 0.
    """
    return at ^ (<size_t> (units[at] >> 10) << ((units[at] & 0x200) >> 6))


cdef inline size_t longest_rule(
    Rules rules, const uint8_t* text, size_t n, size_t at, const uint8_t** becomes
) noexcept nogil:
    """Find the longest rule for the text at `at`; return the number of bytes it replaces, 0 if there is no rule.

    becomes: receives the replacement, which ends with a NUL, if there is a rule.

    Requires: the trie passed Rules._index, so no base is outside the trie, and thus no child (see n_units).
    """
    cdef size_t unit = 0, i = at, n_bytes = 0, child
    while i < n and text[i]:
        child = below(rules.units, unit) ^ text[i]
        if rules.units[child] & LABEL != text[i]:
            break
        unit = child
        i += 1
        if rules.units[unit] & HAS_VALUE:
            n_bytes = i - at
            becomes[0] = rules.replacements + (rules.units[below(rules.units, unit)] & VALUE)
    return n_bytes

"""Characters of UTF-8, one after another, and what they are to words of code-point mode."""

from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    # Classes of characters. Scripts begin at FIRST_SCRIPT: characters of two of them, side by side, are in no piece.
    INHERITED = 0  # has the script of what is before it
    METASPACE_CLASS = 1  # U+2581, for a space
    ALONE = 2  # in no piece of more than itself
    ANY = 3  # goes with every script
    FIRST_SCRIPT = 4

cdef enum:
    N_CODE_POINTS = 0x110000


cdef inline uint32_t next_code_point(const uint8_t* text, size_t n, size_t* at) noexcept nogil:
    """The character at text[at], and `at` beyond it. Of what is no UTF-8, which no rules should make, some number
    below N_CODE_POINTS."""
    cdef uint32_t c = text[at[0]], n_more
    at[0] += 1
    if c < 0x80:
        return c
    n_more = 1 if c < 0xE0 else 2 if c < 0xF0 else 3
    c &= 0x3F >> n_more
    while n_more and at[0] < n:
        c = c << 6 | (text[at[0]] & 0x3F)
        at[0] += 1
        n_more -= 1
    return c if c < N_CODE_POINTS else 0

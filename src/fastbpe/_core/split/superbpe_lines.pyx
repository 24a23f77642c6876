"""Scanner of the pattern "superbpe_lines", whose matches are rare: most of a line is one piece.

The engine would try the pattern at each space. Here a table says for most pairs of characters that no match begins
at the first one.
"""

cimport cython
from libc.stdint cimport uint8_t

from fastbpe._core.common.utf8 cimport fb_char_bytes
from fastbpe._core.split.splitter cimport Ends, Splitter, ends_add

cdef extern from "simd/classes.h" nogil:
    unsigned FB_LETTERS_AND_NUMBERS
    unsigned FB_BLANKS
    unsigned FB_NUMBER
    unsigned fb_class_at(const uint8_t* p, size_t* n_bytes)
    bint FB_IS(unsigned cls, unsigned set)

cdef enum:
    END = 31  # class of the end of the text; in no set
    MAX_DIGITS = 3
    ENDS_PER_CALL = 512  # pieces, about 20 KB of text: their words and ids stay in the second-level cache
    SPACE = 0x20


# By first byte << 8 | second: 1 if no match begins at the first, which is ASCII. Before a second byte that is not
# ASCII, only letters and white space other than a space get 1.
cdef uint8_t[1 << 16] _passes


cdef int _fill_passes() except -1:
    cdef unsigned first, second, cls
    cdef size_t n_bytes
    cdef uint8_t a, b
    cdef bint has_sign
    for first in range(0x80):
        a = <uint8_t> first
        cls = fb_class_at(&a, &n_bytes)
        for second in range(0x100):
            b = <uint8_t> second
            if FB_IS(cls, FB_LETTERS_AND_NUMBERS | FB_BLANKS) and first != SPACE:
                _passes[first << 8 | second] = cls != FB_NUMBER
            elif second < 0x80:
                has_sign = _is_sign(fb_class_at(&b, &n_bytes))
                if first == SPACE:
                    _passes[first << 8 | second] = not has_sign and not FB_IS(fb_class_at(&b, &n_bytes), FB_BLANKS)
                else:
                    _passes[first << 8 | second] = not has_sign
    return 0


_fill_passes()


@cython.final
cdef class SuperbpeLines(Splitter):
    r"""Splitter by \p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S), in which other text is a piece, too."""

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef size_t start = at, end, n_bytes = 1, max_ends = ends.n + ENDS_PER_CALL
        cdef const uint8_t* passes = &_passes[0]
        while at < n:
            while at + 1 < n and passes[data[at] << 8 | data[at + 1]]:
                at += 1
            end = _match_end(data, n, at, &n_bytes)
            if end:
                if start < at:
                    ends_add(ends, at)
                ends_add(ends, end)
                start = at = end
                if ends.n >= max_ends:
                    return at
            else:
                at += n_bytes
        if start < n:
            ends_add(ends, n)
        return n

    def __repr__(self):
        return "scanner of lines"


cdef inline unsigned _class_at(const uint8_t* data, size_t n, size_t at, size_t* n_bytes) noexcept nogil:
    """Class of a character, END at the end of the text, 0 for a character that the end truncates."""
    if at >= n:
        return END
    n_bytes[0] = fb_char_bytes(data[at])
    if at + n_bytes[0] > n:
        n_bytes[0] = n - at
        return 0
    return fb_class_at(data + at, n_bytes)


cdef inline bint _is_sign(unsigned cls) noexcept nogil:
    """Tell whether a character is neither white space nor a letter nor a number."""
    return cls != END and not FB_IS(cls, FB_BLANKS | FB_LETTERS_AND_NUMBERS)


cdef size_t _match_end(const uint8_t* data, size_t n, size_t at, size_t* n_bytes) noexcept nogil:
    """End of the match that begins at a character. 0 without a match. n_bytes: receives the character's length."""
    cdef size_t end, n_after = 0, first, n_digits = 0, n_signs = 0
    cdef unsigned cls = _class_at(data, n, at, n_bytes)
    if cls == FB_NUMBER:
        end = at
        while n_digits < MAX_DIGITS and _class_at(data, n, end, &n_after) == FB_NUMBER:
            end += n_after
            n_digits += 1
        return end
    first = at + (data[at] == SPACE)  # of the signs, or of the further spaces
    if first == at and not _is_sign(cls):
        return 0
    end = first
    while _is_sign(_class_at(data, n, end, &n_after)):
        end += n_after
        n_signs += 1
    if n_signs >= 2:
        while end < n and (data[end] == 0x0D or data[end] == 0x0A or data[end] == 0x2F):
            end += 1
        return end
    if first == at:
        return 0
    end = first
    while end < n and data[end] == SPACE:
        end += 1
    cls = _class_at(data, n, end, &n_after)
    if cls == END or FB_IS(cls, FB_BLANKS):
        return end
    return end - 1 if end - 1 > at else 0  # the last space is before a \S

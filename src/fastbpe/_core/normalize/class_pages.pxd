"""A table of the classes of all characters, in pages of 256 characters; characters without a class share page 0."""

from libc.stdint cimport uint16_t, uint32_t
from libc.stdlib cimport calloc


cdef struct ClassPages:
    uint16_t* classes  # owned by the caller: free it
    uint16_t[0x1100] page_of


cdef inline int fill_pages(ClassPages* pages, list ranges) except -1:
    """Fill a table that is all zeros.

    ranges: list of (first, last, class) – code points of a range, and bits of the class of its characters.

    Requires: no code point is above U+10FFFF.
    """
    cdef uint32_t first, last, c
    cdef uint16_t bits
    cdef size_t n_pages = 1
    for first, last, _ in ranges:
        for c in range(first >> 8, (last >> 8) + 1):
            if not pages.page_of[c]:
                pages.page_of[c] = <uint16_t> n_pages
                n_pages += 1
    pages.classes = <uint16_t*> calloc(n_pages << 8, sizeof(uint16_t))
    if pages.classes == NULL:
        raise MemoryError("no memory for the classes of characters")
    for first, last, bits in ranges:
        for c in range(first, last + 1):
            pages.classes[<size_t> pages.page_of[c >> 8] << 8 | (c & 0xFF)] |= bits
    return 0


cdef inline uint16_t class_of(const ClassPages* pages, uint32_t character) noexcept nogil:
    """Return the class of a character (at most U+10FFFF)."""
    return pages.classes[<size_t> pages.page_of[character >> 8] << 8 | (character & 0xFF)]

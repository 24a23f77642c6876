"""Where a text may be cut so that its parts, split each by itself, give the pieces of the whole.

A safe cut lies behind a letter and before a character that is neither letter nor mark nor apostrophe, or behind
a number and before a character that is none. This holds for every pattern that has a scanner:

- A piece ends there, whatever comes before or behind. All of them match a letter as part of a word, of a
  contraction or of a sign with ASCII letters behind it, and a number as part of a run of numbers; a word goes
  on with letters, marks or (in o200k) an apostrophe only, a run of numbers with numbers only. What DeepSeek's
  first two patterns cut out only adds ends.
- What is before the cut is split as if the text ended there: only white space looks at what follows it, and it
  sees the letter or the number that stands before the cut.
- What is behind is split as if the text began there: no pattern looks back.

It says nothing about special tokens, which may hold such a place: look for them first.
"""

from libc.stdint cimport uint8_t

from fastbpe._core.splitter cimport Splitter
from fastbpe._core.text cimport Utf8, utf8_of, utf8_release

from fastbpe._core.scanner import Scanner


cdef extern from "simd/classes.h" nogil:
    unsigned FB_LETTERS
    unsigned FB_MARK
    unsigned FB_NUMBER
    unsigned fb_class_at(const uint8_t* p, size_t* n_bytes)
    bint FB_IS(unsigned cls, unsigned set)


cdef inline bint _is_safe(unsigned before, unsigned behind, uint8_t behind_byte) noexcept nogil:
    if FB_IS(before, FB_LETTERS):
        return not FB_IS(behind, FB_LETTERS) and behind != FB_MARK and behind_byte != 0x27
    return before == FB_NUMBER and behind != FB_NUMBER


cdef size_t last_safe_cut(const uint8_t* data, size_t n) noexcept nogil:
    """The last safe cut inside data[:n], whole characters of UTF-8; 0 if there is none."""
    cdef size_t at = n, right = n, n_bytes
    cdef unsigned cls, behind = 0
    while at:
        at -= 1
        while data[at] & 0xC0 == 0x80:
            at -= 1
        cls = fb_class_at(data + at, &n_bytes)
        if right < n and _is_safe(cls, behind, data[right]):
            return right
        right = at
        behind = cls
    return 0


cdef size_t first_safe_cut(const uint8_t* data, size_t n, size_t at) noexcept nogil:
    """The first safe cut of data[:n], whole characters of UTF-8, that is not before `at`; n if there is none.

    `at` may lie within a character.
    """
    cdef size_t left, n_bytes
    cdef unsigned before, behind
    if at >= n:
        return n
    left = at - 1 if at else 0
    while data[left] & 0xC0 == 0x80:
        left -= 1
    before = fb_class_at(data + left, &n_bytes)
    left += n_bytes
    while left < n:
        behind = fb_class_at(data + left, &n_bytes)
        if left >= at and _is_safe(before, behind, data[left]):
            return left
        before = behind
        left += n_bytes
    return n


def cuts_are_safe(Splitter splitter not None):
    """Whether the rule is proved for a splitter: a scanner, whatever the spelling of its pattern."""
    return isinstance(splitter, Scanner)


def last_cut(text):
    """The last safe cut inside a text, as a byte offset into its UTF-8; 0 if there is none."""
    cdef Utf8 view
    utf8_of(text, &view)
    try:
        return last_safe_cut(view.data, view.n)
    finally:
        utf8_release(&view)


def first_cut(text, size_t at=0):
    """The first safe cut of a text that is not before the byte offset `at`; where it ends if there is none."""
    cdef Utf8 view
    utf8_of(text, &view)
    try:
        return first_safe_cut(view.data, view.n, at)
    finally:
        utf8_release(&view)

"""Safe cuts: positions where a text may be cut so that its parts, split separately, give the pieces of the whole.

A safe cut is after a letter and before a character that is not a letter, mark or apostrophe; or after a number and
before a character that is not a number. For every pattern that has a scanner, such a cut leaves the pieces
unchanged:
- A piece ends there, whatever comes before or after. Every such pattern matches a letter as part of a word, of a
  contraction or of a symbol followed by ASCII letters, and a number as part of a run of numbers. A word continues
  only with letters, marks or (in o200k) an apostrophe, a run of numbers only with numbers. DeepSeek's first two
  patterns only add piece ends.
- The part before the cut splits as if the text ended there: only white space depends on the character after it,
  and the character before the cut is a letter or a number.
- The part after the cut splits as if the text began there: no pattern looks back.

A sequence of splitters also keeps its pieces if one of them has a scanner, and each splitter before it decides
about a piece end from the two neighbouring characters alone, like character classes. For these splitters, a cut
only adds a piece end at the cut; the scanner would have put one there anyway and splits both sides as said above.
Splitters after the scanner see the same pieces.

Special tokens are different: many of them contain a safe cut, so search for them before cutting. The cuts of
BEFORE_SPACE_OR_STOP are the few safe cuts before a space, a newline, or a CJK comma or full stop. Hardly any
special token contains one; if none does (see SpecialMatcher.cuttable), a text may be cut there before the search.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

from fastbpe._core.common.python cimport PyByteArray_AS_STRING, PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.text.utf8_text cimport Text, Utf8, text_of, text_release, utf8_of, utf8_release

cdef fused Unit:
    uint8_t
    uint16_t
    uint32_t


cdef extern from "simd/classes.h" nogil:
    unsigned FB_LETTERS
    unsigned FB_LETTERS_AND_NUMBERS
    unsigned FB_MARK
    unsigned FB_NUMBER
    unsigned fb_class_of(uint32_t code_point)
    unsigned fb_class_at(const uint8_t* p, size_t* n_bytes)
    bint FB_IS(unsigned cls, unsigned set)


cdef size_t safe_cut(const Text* text, size_t start, size_t near, size_t end, CutRule rule) noexcept nogil:
    """Return the last cut in (start, near]; otherwise the first in (near, end); otherwise, or if near ≥ end, end.

    text: a str as units, or bytes of UTF-8.
    start, near, end: in units.
    rule: which safe cuts count.

    Requires: start ≤ near, end ≤ text.n, and no UTF-8 character crosses start or end.
    Ensures: the result is above start if end is above start.
    """
    if near >= end:
        return end
    if text.is_utf8:
        return _search(<const uint8_t*> text.data, start, near, end, rule, True)
    if text.unit == 1:
        return _search(<const uint8_t*> text.data, start, near, end, rule, False)
    if text.unit == 2:
        return _search(<const uint16_t*> text.data, start, near, end, rule, False)
    return _search(<const uint32_t*> text.data, start, near, end, rule, False)


cdef size_t _search(
    const Unit* data, size_t start, size_t near, size_t end, CutRule rule, bint is_utf8
) noexcept nogil:
    """Search backward from near, then forward.

    Requires: start ≤ near < end.
    """
    cdef size_t i = near
    while i > start:
        if _is_cut(data, i, rule, is_utf8):
            return i
        i -= 1
    i = near + 1
    while i < end and not _is_cut(data, i, rule, is_utf8):
        i += 1
    return i


cdef inline bint _is_cut(const Unit* data, size_t i, CutRule rule, bint is_utf8) noexcept nogil:
    """Tell whether the rule has a cut before unit i.

    Requires: i is not 0.
    """
    cdef uint32_t after = data[i]
    if rule == ANY_SAFE_CUT:
        return _is_safe_utf8(<const uint8_t*> data, i) if is_utf8 else _is_safe_unit(data, i)
    if rule == BEFORE_SPACE:
        return after == 0x20 and _is_word_before(data, i, is_utf8)
    if is_utf8 and (after == 0xE3 or after == 0xEF):  # lead bytes of the three CJK stops
        after = (after & 0xF) << 12 | (<uint32_t> data[i + 1] & 0x3F) << 6 | (data[i + 2] & 0x3F)
    return _is_space_or_stop(after) and _is_word_before(data, i, is_utf8)


cdef inline bint _is_safe_utf8(const uint8_t* data, size_t i) noexcept nogil:
    cdef size_t before = i - 1, n_bytes
    if data[i] & 0xC0 == 0x80:
        return False
    while data[before] & 0xC0 == 0x80:
        before -= 1
    return _is_safe(fb_class_at(data + before, &n_bytes), fb_class_at(data + i, &n_bytes), data[i])


cdef inline bint _is_safe_unit(const Unit* data, size_t i) noexcept nogil:
    """Do the work of _is_safe_utf8() for a str. No cut is next to a surrogate, which is half a character."""
    cdef uint32_t before = data[i - 1], after = data[i]
    if before >> 11 == 0x1B or after >> 11 == 0x1B:
        return False
    return _is_safe(fb_class_of(before), fb_class_of(after), 0x27 if after == 0x27 else 0)


cdef inline bint _is_safe(unsigned before, unsigned after, uint8_t first_byte_after) noexcept nogil:
    """Tell whether a safe cut is between two characters: given are their classes and the second's first byte."""
    if FB_IS(before, FB_LETTERS):
        return not FB_IS(after, FB_LETTERS) and after != FB_MARK and first_byte_after != 0x27
    return before == FB_NUMBER and after != FB_NUMBER


cdef inline bint _is_word_before(const Unit* data, size_t i, bint is_utf8) noexcept nogil:
    """Tell whether the character that ends before unit i is a letter or a number."""
    cdef size_t n_bytes
    i -= 1
    if data[i] < 0x80:
        return <uint32_t> ((data[i] | 0x20) - 0x61) < 26 or <uint32_t> (data[i] - 0x30) < 10
    if not is_utf8:
        return FB_IS(fb_class_of(data[i]), FB_LETTERS_AND_NUMBERS)
    while data[i] & 0xC0 == 0x80:
        i -= 1
    return FB_IS(fb_class_at(<const uint8_t*> &data[i], &n_bytes), FB_LETTERS_AND_NUMBERS)


cdef inline bint _is_space_or_stop(uint32_t c) noexcept nogil:
    """Tell whether c is a space, a newline, the CJK comma (U+3001) or full stop (U+3002), or U+FF0C."""
    return c == 0x20 or c == 0x0A or c == 0x3001 or c == 0x3002 or c == 0xFF0C


def last_safe_cut(text, const uint8_t[::1] crossed=None):
    """Return the last safe cut inside a text, as a byte offset into its UTF-8; 0 without a safe cut.

    crossed: bytes or None – by border_of(): 1 if a token may cross that border between two pieces, so that it is
        not a safe cut. None: tokens never cross pieces.
    """
    cdef Utf8 view
    cdef Text bytes_of_text
    cdef size_t cut, end
    utf8_of(text, &view)
    try:
        end = view.n
        if end < 2:
            return 0
        bytes_of_text = Text(view.data, view.n, 1, True, NULL)
        cut = safe_cut(&bytes_of_text, 0, end - 1, end, ANY_SAFE_CUT)
        while crossed is not None and cut < end and crossed[border_of(view.data[cut - 1], view.data[cut])]:
            end = cut
            cut = safe_cut(&bytes_of_text, 0, end - 1, end, ANY_SAFE_CUT)
        return cut if cut < end else 0
    finally:
        utf8_release(&view)


def nearest_safe_cut(text, size_t start, size_t near):
    """Return the last safe cut before a space or stop up to a position, or else the next, or else the length.

    text: a str, whose cuts are counted in characters, or bytes of UTF-8.
    start: the cut is after it.
    near: the position, at or after start.
    """
    cdef Text view
    text_of(text, &view)
    try:
        return safe_cut(&view, start, near, view.n, BEFORE_SPACE_OR_STOP)
    finally:
        text_release(&view)


def byte_neighbours(tokens, bytes known=bytes(1 << 16)):
    """Tell which two bytes are adjacent in some token. Merging never crosses the border between two other bytes.

    tokens: iterable of bytes.
    known: result of an earlier call for other tokens, to which these are added.

    Returns bytes: 1 at the index first byte << 8 | second byte, or 0.
    """
    cdef bytearray found = bytearray(known)
    cdef uint8_t* inside = <uint8_t*> PyByteArray_AS_STRING(found)
    cdef const uint8_t* p
    cdef bytes token
    cdef Py_ssize_t k
    for token in tokens:
        p = <const uint8_t*> PyBytes_AS_STRING(token)
        for k in range(1, PyBytes_GET_SIZE(token)):
            inside[p[k - 1] << 8 | p[k]] = 1
    return bytes(found)

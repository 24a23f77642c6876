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

It holds for splitters one after another, too, if one of them has a scanner, and before it there are but such in
which the two characters beside a place alone decide if a piece ends there, as classes of characters do. To these a
cut makes no other change than an end at the cut; if there was none, the scanner puts one there, and splits what is
before and behind it as said. Those after the scanner see the same pieces.

It says nothing about special tokens, which often hold such a place: look for them first. Those of text_cut are
few of the safe ones: behind a letter and before a space, a newline, or a comma or full stop of the east. Hardly
any special token holds one, so that text may be cut there before special tokens are looked for.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

from fastbpe._core.text.utf8_text cimport Text, Utf8, text_of, text_release, utf8_of, utf8_release

cdef fused Unit:
    uint8_t
    uint16_t
    uint32_t


cdef extern from "simd/classes.h" nogil:
    unsigned FB_LETTERS
    unsigned FB_MARK
    unsigned FB_NUMBER
    unsigned fb_class_of(uint32_t code_point)
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


cdef size_t text_cut(const Text* text, size_t start, size_t at) noexcept nogil:
    """Where to cut a text near `at`, behind start: the last such place up to it, or else the next, or else the end."""
    if at >= text.n:
        return text.n
    if text.is_utf8:
        return _cut_utf8(<const uint8_t*> text.data, text.n, start, at)
    if text.unit == 1:
        return _cut(<const uint8_t*> text.data, text.n, start, at)
    if text.unit == 2:
        return _cut(<const uint16_t*> text.data, text.n, start, at)
    return _cut(<const uint32_t*> text.data, text.n, start, at)


cdef size_t word_cut(const Text* text, size_t start, size_t at) noexcept nogil:
    """As text_cut for words of a code-point vocabulary: behind a letter and before a space.

    No token goes on behind a word there. Only where rules of normalization leave it the end of a word.
    """
    if at >= text.n:
        return text.n
    if text.unit == 1:
        return _word_cut(<const uint8_t*> text.data, text.n, start, at, text.is_utf8)
    if text.unit == 2:
        return _word_cut(<const uint16_t*> text.data, text.n, start, at, False)
    return _word_cut(<const uint32_t*> text.data, text.n, start, at, False)


cdef size_t _word_cut(
    const Unit* data, size_t n, size_t start, size_t at, bint is_utf8
) noexcept nogil:
    cdef size_t i = at
    while i > start + 1:
        if data[i] == 0x20 and _ends_word(data, i - 1, is_utf8):
            return i
        i -= 1
    i = at + 1
    while i < n and not (data[i] == 0x20 and _ends_word(data, i - 1, is_utf8)):
        i += 1
    return i


cdef inline bint _ends_word(const Unit* data, size_t i, bint is_utf8) noexcept nogil:
    """Whether the character that unit i ends is a letter."""
    cdef size_t n_bytes
    if data[i] == 0x20:
        return False
    if data[i] < 0x80:
        return <uint32_t> ((data[i] | 0x20) - 0x61) < 26
    if not is_utf8:
        return _is_letter(data[i])
    while data[i] & 0xC0 == 0x80:
        i -= 1
    return FB_IS(fb_class_at(<const uint8_t*> &data[i], &n_bytes), FB_LETTERS)


cdef size_t _cut(const Unit* data, size_t n, size_t start, size_t at) noexcept nogil:
    cdef size_t i = at
    while i > start + 1:
        if _is_stop(data[i]) and _is_letter(data[i - 1]):
            return i
        i -= 1
    i = at + 1
    while i < n and not (_is_stop(data[i]) and _is_letter(data[i - 1])):
        i += 1
    return i


cdef size_t _cut_utf8(const uint8_t* data, size_t n, size_t start, size_t at) noexcept nogil:
    cdef size_t i = at
    while i > start + 1:
        if _is_utf8_cut(data, i):
            return i
        i -= 1
    i = at + 1
    while i < n and not _is_utf8_cut(data, i):
        i += 1
    return i


cdef inline bint _is_utf8_cut(const uint8_t* data, size_t i) noexcept nogil:
    """Whether _cut would cut whole characters of UTF-8 at byte i, which is not the first."""
    cdef uint32_t c = data[i]
    cdef size_t n_bytes
    if c == 0xE3 or c == 0xEF:
        c = (c & 0xF) << 12 | (<uint32_t> data[i + 1] & 0x3F) << 6 | (data[i + 2] & 0x3F)
    if not _is_stop(c):
        return False
    i -= 1
    while data[i] & 0xC0 == 0x80:
        i -= 1
    return FB_IS(fb_class_at(data + i, &n_bytes), FB_LETTERS)


cdef size_t safe_cut(const Text* text, size_t start, size_t at, size_t end) noexcept nogil:
    """The last safe cut of a str behind start and up to `at`, or else the next before end, or else end."""
    if text.unit == 1:
        return _safe_cut(<const uint8_t*> text.data, start, at, end)
    if text.unit == 2:
        return _safe_cut(<const uint16_t*> text.data, start, at, end)
    return _safe_cut(<const uint32_t*> text.data, start, at, end)


cdef size_t _safe_cut(const Unit* data, size_t start, size_t at, size_t end) noexcept nogil:
    cdef size_t i = min(at, end)
    while i > start:
        if i < end and _is_safe_at(data, i):
            return i
        i -= 1
    i = at + 1
    while i < end and not _is_safe_at(data, i):
        i += 1
    return min(i, end)


cdef inline bint _is_safe_at(const Unit* data, size_t i) noexcept nogil:
    """Whether a safe cut lies before unit i, which is not the first. A surrogate may be half of anything."""
    cdef uint32_t before = data[i - 1], behind = data[i]
    if before >> 11 == 0x1B or behind >> 11 == 0x1B or before > 0x10FFFF or behind > 0x10FFFF:
        return False
    return _is_safe(fb_class_of(before), fb_class_of(behind), 0x27 if behind == 0x27 else 0)


cdef inline bint _is_stop(uint32_t c) noexcept nogil:
    return c == 0x20 or c == 0x0A or c == 0x3001 or c == 0x3002 or c == 0xFF0C


cdef inline bint _is_letter(uint32_t c) noexcept nogil:
    return c <= 0x10FFFF and FB_IS(fb_class_of(c), FB_LETTERS)


def last_cut(text):
    """The last safe cut inside a text, as a byte offset into its UTF-8; 0 if there is none."""
    cdef Utf8 view
    utf8_of(text, &view)
    try:
        return last_safe_cut(view.data, view.n)
    finally:
        utf8_release(&view)


def near_cut(text, size_t start, size_t at):
    """What text_cut gives: in characters of a str, in bytes of UTF-8; start is not after `at`."""
    cdef Text view
    text_of(text, &view)
    try:
        return text_cut(&view, start, at)
    finally:
        text_release(&view)

from libc.stdint cimport uint32_t

from fastbpe._core.text.utf8_text cimport Text


cdef enum CutRule:
    ANY_SAFE_CUT  # for text in which no special tokens are looked for
    BEFORE_SPACE_OR_STOP  # after a letter or number, before a space, newline or CJK stop: few special tokens have one
    BEFORE_SPACE  # after a letter or number, before U+0020: for code-point vocabularies


cdef size_t safe_cut(const Text* text, size_t start, size_t near, size_t end, CutRule rule) noexcept nogil


cdef inline size_t border_of(uint32_t before, uint32_t behind) noexcept nogil:
    """Index of a border in a table of borders, by the bytes or characters beside it. All beyond ASCII are alike."""
    return min(before, <uint32_t> 0x80) << 8 | min(behind, <uint32_t> 0x80)


cdef inline size_t safe_cut_near(const Text* text, size_t start, size_t near) noexcept nogil:
    """Find the safe cut before a space or stop that is nearest to a position; see safe_cut()."""
    return safe_cut(text, start, near, text.n, BEFORE_SPACE_OR_STOP)

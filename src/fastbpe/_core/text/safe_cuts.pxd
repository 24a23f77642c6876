from libc.stdint cimport uint32_t

from fastbpe._core.text.utf8_text cimport Text


cdef enum CutRule:
    ANY_SAFE_CUT  # for text in which special tokens are not searched for
    BEFORE_SPACE_OR_STOP  # after a letter or number, before a space, newline or CJK stop; rare in special tokens
    BEFORE_SPACE  # after a letter or number, before U+0020: for code-point vocabularies


cdef size_t safe_cut(const Text* text, size_t start, size_t near, size_t end, CutRule rule) noexcept nogil


cdef inline size_t border_of(uint32_t before, uint32_t behind) noexcept nogil:
    """Index of a border in a table, from the bytes or characters beside it; all non-ASCII ones count as one."""
    return min(before, <uint32_t> 0x80) << 8 | min(behind, <uint32_t> 0x80)


cdef inline size_t safe_cut_near(const Text* text, size_t start, size_t near) noexcept nogil:
    """Return the last safe cut before a space or stop up to `near`, or else the next, or else the length."""
    return safe_cut(text, start, near, text.n, BEFORE_SPACE_OR_STOP)

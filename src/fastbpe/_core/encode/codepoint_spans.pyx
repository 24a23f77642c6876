"""Spans of ids in code-point mode.

Each id determines how many bytes of normalized text it stands for (`Widths`): the length of its piece. The unknown
id stands for the bytes of one unknown character, or of several consecutive ones; the byte ids of a character are
adjacent and together stand for its bytes. For each byte that it writes, the normalizer records the offset of
its source.
"""

cimport cython
from libc.stdint cimport uint32_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.common.places cimport FB_NOWHERE, Places
from fastbpe._core.common.utf8 cimport fb_char_bytes, is_metaspace
from fastbpe._core.encode.scratch_pool cimport Scratch, add_id
from fastbpe._core.encode.sentence_totals cimport encode_all_pieces
from fastbpe._core.encode.spans cimport Span, Spans, add_span_of_id
from fastbpe._core.merge.codepoint_symbols cimport EXPANDED, Characters
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized
from fastbpe._core.text.special_tokens cimport SpecialMatcher


cdef int merge_characters_with_spans(
    const Tables* tables, Widths widths, uint32_t fused, const uint8_t* data, size_t n, size_t start, Scratch* scratch
) except -1 nogil:
    """Append the ids of the pieces of data[start:], and their spans in normalized text.

    fused: the unknown id, if several in a row become one (Normalizing.fused); NONE: each stays.

    Requires: scratch.ends has the pieces; data is at offset scratch.base of the normalized text.
    """
    cdef Ids* ids = &scratch.ids
    cdef Spans* spans = scratch.spans
    cdef size_t i = ids.n, kept = ids.n, at = start, n_bytes
    cdef uint32_t width
    encode_all_pieces(tables, data, n, start, scratch)
    while i < ids.n:
        width = widths.of[ids.items[i]]
        n_bytes = width
        if width == UNKNOWN_CHARACTER or width == BYTE_OF_CHARACTER:
            n_bytes = min(fb_char_bytes(data[at]), n - at)
        if width == BYTE_OF_CHARACTER:
            for _ in range(n_bytes):
                ids.items[kept] = ids.items[i]
                add_span_of_id(spans, scratch.base + at, scratch.base + at)
                kept += 1
                i += 1
            at += n_bytes
            spans.items[spans.n - 1].end = scratch.base + at
            scratch.after_fused = False
            continue
        if width == UNKNOWN_CHARACTER and scratch.after_fused and fused != NONE:
            spans.items[spans.n - 1].end = scratch.base + at + n_bytes
        else:
            ids.items[kept] = ids.items[i]
            add_span_of_id(spans, scratch.base + at, scratch.base + at + n_bytes)
            kept += 1
        scratch.after_fused = width == UNKNOWN_CHARACTER
        at += n_bytes
        i += 1
    ids.n = kept
    return 0


cdef int add_bytes_with_spans(
    const uint32_t* ids, const uint8_t* data, size_t n, size_t at, Scratch* scratch
) except -1 nogil:
    """Append the ids of n bytes from data[at] on, and any spans wanted. Only the last span is not empty.

    data: the whole normalized text, not a part at scratch.base.
    """
    cdef size_t i
    for i in range(at, at + n):
        add_id(scratch, ids[data[i]])
        if scratch.spans != NULL:
            add_span_of_id(scratch.spans, at, at if i + 1 < at + n else at + n)
    return 0


cdef void spans_at_offsets(Spans* spans, size_t first, const Normalized* normalized) noexcept nogil:
    """Convert spans of normalized text, from index first on, to spans of the original text."""
    cdef size_t i
    cdef Span* span
    for i in range(first, spans.n):
        span = &spans.items[i]
        span.start = normalized.offsets[span.start]
        span.end = normalized.offsets[span.end]


cdef inline size_t _source(const Places* places, size_t at, size_t n) noexcept nogil:
    """Return the offset, in a text of n bytes, of the character that byte `at` of the changed text comes from.

    Text inserted before all other text is at 0; the end of the changed text is at n.
    """
    if at >= places.n:
        return n
    return 0 if places.items[at] == FB_NOWHERE else places.items[at]


cdef void spans_at_sources(Spans* spans, size_t first, const Places* places, size_t n) noexcept nogil:
    """Convert spans of a changed text, from index first on, to spans of the text of n bytes that it comes from.

    Text that the change removes belongs to the span before it.
    """
    cdef size_t i
    cdef Span* span
    for i in range(first, spans.n):
        span = &spans.items[i]
        span.start = _source(places, span.start, n)
        span.end = _source(places, span.end, n)


cdef void spans_as_tokenizers(
    Spans* spans, size_t first, const uint8_t* text, size_t n, const Ids* prefixed, bint removes_spaces
) noexcept nogil:
    """Convert the spans of a text, from index first on, to the spans that tokenizers returns.

    - If removes_spaces is set, a span begins with at most one space: the last of several that became one.
    - A space inserted before the text gets the span of the first character. A space inserted after the text gets
      the span of the last character.
    - Any other empty span ends where the next span does: each byte id of a character spans the character.

    text: the text, of n bytes.
    prefixed: ascending indices of the spans that begin with a space inserted before the text.
    """
    cdef size_t i = spans.n, k = prefixed.n
    cdef Span* span
    while i > first:
        i -= 1
        while k and prefixed.items[k - 1] > i:
            k -= 1
        span = &spans.items[i]
        if removes_spaces:
            while span.start + 1 < span.end and text[span.start] == 0x20 and text[span.start + 1] == 0x20:
                span.start += 1
        if span.start != span.end:
            continue
        if k and prefixed.items[k - 1] == i:
            span.end = _next(text, n, span.start)
        elif i + 1 == spans.n:
            span.start = _before(text, span.start)
        else:
            span.end = (span + 1).end


cdef bint has_metaspace(const uint8_t* text, size_t n) noexcept nogil:
    """Tell whether a text contains U+2581, which `Widths` counts as a space: as 1 byte, not 3."""
    cdef const uint8_t* found = text
    cdef const uint8_t* end = text + n
    while end - found >= 3:
        found = <const uint8_t*> memchr(found, 0xE2, end - found - 2)
        if found == NULL:
            return False
        if is_metaspace(found, 3):
            return True
        found += 1
    return False


cdef inline size_t _next(const uint8_t* text, size_t n, size_t at) noexcept nogil:
    """Return the offset of the character after the one at `at`; one more than `at` at the end of the text."""
    at += 1
    while at < n and text[at] & 0xC0 == 0x80:
        at += 1
    return at


cdef inline size_t _before(const uint8_t* text, size_t at) noexcept nogil:
    """Return the offset of the character before the one at `at`; 0 at the start."""
    if at:
        at -= 1
    while at and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


@cython.final
cdef class Widths:
    """Widths of the ids: of tokens, user-defined symbols, bytes and the unknown id."""

    def __cinit__(self, Vocabulary vocabulary not None, SpecialMatcher symbols):
        cdef const Characters* characters = vocabulary.tables.characters
        cdef size_t n_symbols = 0 if symbols is None else len(symbols.tokens), i
        cdef size_t n_bytes = 256 if characters.has_bytes else 0
        cdef uint32_t token, start = 0
        self.n_ids = characters.unknown_id + 1
        for i in range(vocabulary.tables.n_ids):
            if characters.ids[i] < EXPANDED:
                self.n_ids = max(self.n_ids, <size_t> characters.ids[i] + 1)
        for i in range(n_bytes):
            self.n_ids = max(self.n_ids, <size_t> characters.byte_ids[i] + 1)
        for i in range(n_symbols):
            self.n_ids = max(self.n_ids, <size_t> symbols._ids[i] + 1)
        self.of = <uint32_t*> calloc(self.n_ids, sizeof(uint32_t))
        if self.of == NULL:
            raise MemoryError(f"no memory for the widths of {self.n_ids} ids")
        for i in range(vocabulary.tables.n_ids):
            token = characters.ids[i]
            if token < EXPANDED:
                self.of[token] = vocabulary.tables.token_ends[i] - start
            start = vocabulary.tables.token_ends[i]
        for i in range(n_symbols):
            self.of[symbols._ids[i]] = <uint32_t> len(symbols.tokens[i])
        for i in range(n_bytes):
            self.of[characters.byte_ids[i]] = BYTE_OF_CHARACTER
        if not characters.has_bytes:
            self.of[characters.unknown_id] = UNKNOWN_CHARACTER  # not the width of a character without a token

    def __dealloc__(self):
        free(self.of)

"""Spans of ids in a text: collected in bytes of its UTF-8, then turned to characters and to lists of tuples."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free

from fastbpe._core.common.memory cimport grown
from fastbpe._core.ids.id_lists cimport add_item, add_span, hide, new_list, show
from fastbpe._core.ids.int_table cimport Ints, kept_ints, offset_int
from fastbpe._core.text.utf8_text cimport Text

cdef enum:
    FIRST_SPANS = 64  # capacity of spans at first

cdef fused Unit:
    uint8_t
    uint16_t
    uint32_t


cdef void spans_free(Spans* spans) noexcept nogil:
    free(spans.items)
    spans.items = NULL
    spans.n = spans.capacity = 0


cdef int spans_grow(Spans* spans) except -1 nogil:
    """Double the capacity. Raises MemoryError; the spans are then as they were."""
    cdef size_t capacity = max(2 * spans.capacity, <size_t> FIRST_SPANS)
    cdef Span* items = <Span*> grown(
        spans.items, spans.n * sizeof(Span), spans.n * sizeof(Span), capacity * sizeof(Span)
    )
    if items == NULL:
        with gil:
            raise MemoryError(f"no memory for the places of {capacity} ids")
    spans.items = items
    spans.capacity = capacity
    return 0


# From bytes to characters

cdef inline void _measure(const Unit* data, size_t n, Cursor* cursor) noexcept nogil:
    """Set the lengths of the character at the cursor, by the rule of utf8_text."""
    cdef uint32_t c = data[cursor.at]
    cursor.n_units = 1
    cursor.n_bytes = 1 + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000)
    if Unit is not uint8_t and c >> 10 == 0x36 and cursor.at + 1 < n and data[cursor.at + 1] >> 10 == 0x37:
        cursor.n_units = 2
        cursor.n_bytes = 4


cdef void _to_characters(const Unit* data, size_t n, Spans* spans, Walk* walk) noexcept nogil:
    """Replace spans in bytes by spans in characters.

    Requires: starts do not fall, nor do ends; a span may begin before the end of the one before it.
    """
    cdef Cursor cursor = walk.cursor, begun = walk.begun
    cdef size_t i
    for i in range(spans.n):
        if spans.items[i].start < cursor.byte:
            cursor = begun
        _advance(data, n, &cursor, spans.items[i].start)
        begun = cursor
        _advance(data, n, &cursor, spans.items[i].end)
        spans.items[i].end = cursor.at + (cursor.n_units if cursor.byte < spans.items[i].end else 0)
        spans.items[i].start = begun.at
    walk.cursor, walk.begun = cursor, begun


cdef inline void _advance(const Unit* data, size_t n, Cursor* cursor, size_t byte) noexcept nogil:
    """Move to the character that has the byte at an offset."""
    while cursor.at < n:
        _measure(data, n, cursor)
        if cursor.byte + cursor.n_bytes > byte:
            break
        cursor.byte += cursor.n_bytes
        cursor.at += cursor.n_units


cdef void _utf8_to_characters(const uint8_t* data, size_t n, Spans* spans, Walk* walk) noexcept nogil:
    """Do the same for text given as UTF-8."""
    cdef size_t i, byte = walk.cursor.byte, n_begun = walk.cursor.at, start, end
    cdef size_t first = walk.begun.byte, n_first = walk.begun.at
    for i in range(spans.n):
        start, end = spans.items[i].start, spans.items[i].end
        if start < byte:
            byte, n_begun = first, n_first
        while byte < start:
            n_begun += data[byte] & 0xC0 != 0x80
            byte += 1
        first, n_first = byte, n_begun
        spans.items[i].start = n_begun - (start < n and data[start] & 0xC0 == 0x80)
        while byte < end:
            n_begun += data[byte] & 0xC0 != 0x80
            byte += 1
        spans.items[i].end = n_begun
    walk.cursor.byte, walk.cursor.at, walk.begun.byte, walk.begun.at = byte, n_begun, first, n_first


cdef void to_characters(const Text* text, Spans* spans) noexcept nogil:
    """Replace spans in bytes of a text's UTF-8 by spans in its characters, each with all that it touches."""
    cdef Cursor first = Cursor(0, 0, 0, 0)
    cdef Walk walk = Walk(first, first)
    to_characters_on(text, spans, &walk)


cdef void to_characters_on(const Text* text, Spans* spans, Walk* walk) noexcept nogil:
    """Do the same for spans that follow those of the last call with this walk."""
    if text.is_utf8:
        _utf8_to_characters(<const uint8_t*> text.data, text.n, spans, walk)
    elif text.unit == 1:
        _to_characters(<const uint8_t*> text.data, text.n, spans, walk)
    elif text.unit == 2:
        _to_characters(<const uint16_t*> text.data, text.n, spans, walk)
    else:
        _to_characters(<const uint32_t*> text.data, text.n, spans, walk)


# Lists of tuples

cdef list spans_list(const Spans* spans):
    """Return (start, end) of each span. Neighbours share the int between them, and equal spans are one tuple."""
    cdef list out = new_list(spans.n)
    hide(out)
    append_spans(out, spans, 0)
    return show(out)


cdef object append_spans(list out, const Spans* spans, object end):
    """Append (start, end) of each span to a list; return the last end.

    end: int of the last span before, or 0.

    Requires: the list has capacity for them.
    """
    cdef Ints* ints = kept_ints()
    cdef const Span* span
    cdef object start
    cdef tuple made = None
    cdef size_t i, last = end
    for i in range(spans.n):
        span = &spans.items[i]
        if i and span.end == last and span.start == spans.items[i - 1].start:  # ids of one character's bytes
            add_item(out, made)
            continue
        start = end if span.start == last else offset_int(ints, span.start)
        last = span.end
        end = offset_int(ints, last)
        made = add_span(out, start, end)
    return end

"""Spans in bytes of a text's UTF-8 become spans in its characters, and in any other unit (`SpanUnit`)."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from fastbpe._core.common.bits cimport HIGH, ONES, eight_bytes
from fastbpe._core.common.hashing cimport load64
from fastbpe._core.encode.spans cimport Span, Spans
from fastbpe._core.text.utf8_text cimport Text

from fastbpe._utils.suggestions import choose_one_of

cdef enum:
    MIN_ASCII_BYTES = 64  # shortest stretch of ASCII whose characters are not counted token by token

cdef object _CHARACTER = "char"

cdef fused Unit:
    uint8_t
    uint16_t
    uint32_t


# From bytes to characters

cdef inline void _measure(const Unit* data, size_t n, Cursor* cursor) noexcept nogil:
    """Set the lengths of the character at the cursor, by the same rule as utf8_text."""
    cdef uint32_t c = data[cursor.at]
    cursor.n_units = 1
    cursor.n_bytes = 1 + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000)
    if Unit is not uint8_t and c >> 10 == 0x36 and cursor.at + 1 < n and data[cursor.at + 1] >> 10 == 0x37:
        cursor.n_units = 2
        cursor.n_bytes = 4


cdef void _to_characters(const Unit* data, size_t n, Spans* spans, Walk* walk) noexcept nogil:
    """Convert spans in bytes to spans in characters.

    Requires: starts do not decrease.
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
    """Move to the character that contains the byte at an offset."""
    while cursor.at < n:
        _measure(data, n, cursor)
        if cursor.byte + cursor.n_bytes > byte:
            break
        cursor.byte += cursor.n_bytes
        cursor.at += cursor.n_units


cdef size_t move_to(const Text* text, Cursor* cursor, size_t byte) noexcept nogil:
    """Move to the character that has a byte, and return its index; after the text, return the number of bytes."""
    cdef const uint8_t* data = <const uint8_t*> text.data
    if text.is_utf8:
        while cursor.byte < text.n and cursor.byte <= byte:  # to the byte after it: cursor.at counts its character, too
            cursor.at += data[cursor.byte] & 0xC0 != 0x80
            cursor.byte += 1
        return text.n if byte >= text.n else cursor.at - 1
    if text.unit == 1:
        _advance(data, text.n, cursor, byte)
    elif text.unit == 2:
        _advance(<const uint16_t*> text.data, text.n, cursor, byte)
    else:
        _advance(<const uint32_t*> text.data, text.n, cursor, byte)
    return cursor.byte if cursor.at == text.n else cursor.at


cdef void _utf8_to_characters(const uint8_t* data, size_t n, Spans* spans, Walk* walk) noexcept nogil:
    """Do the work of _to_characters() for UTF-8."""
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
    """Convert spans in bytes of a text's UTF-8 to spans in its characters, including each character they touch."""
    cdef Cursor first = Cursor(0, 0, 0, 0)
    cdef Walk walk = Walk(first, first)
    to_characters_on(text, spans, &walk)


cdef void to_characters_on(const Text* text, Spans* spans, Walk* walk) noexcept nogil:
    """Do the work of to_characters() for spans that follow the spans of the last call with this walk."""
    if text.is_utf8:
        _utf8_to_characters(<const uint8_t*> text.data, text.n, spans, walk)
    elif text.unit == 1:
        _to_characters(<const uint8_t*> text.data, text.n, spans, walk)
    elif text.unit == 2:
        _to_characters(<const uint16_t*> text.data, text.n, spans, walk)
    else:
        _to_characters(<const uint32_t*> text.data, text.n, spans, walk)


# From bytes to any unit

cdef bint is_ascii(const uint8_t* data, size_t n) noexcept nogil:
    """Tell whether UTF-8 is ASCII, so that its bytes, characters and UTF-16 units are the same."""
    cdef size_t i = 0
    while n - i >= 32:
        if (load64(data + i) | load64(data + i + 8) | load64(data + i + 16) | load64(data + i + 24)) & HIGH:
            return False
        i += 32
    while i < n and data[i] < 0x80:
        i += 1
    return i == n


cdef void bytes_to_unit(const uint8_t* data, size_t n, Spans* spans, int unit) noexcept nogil:
    """Convert spans in bytes of UTF-8 to spans in a SpanUnit, including every character that they touch.

    For str with surrogates, to_characters() and to_unit() do this, more slowly.
    """
    cdef size_t i, start, end, n_bytes
    cdef size_t at = 0, counted = 0  # offset reached, and the units of the characters that begin before it
    cdef uint64_t word, span_bytes  # eight bytes, and 1 in each of them that is in the span
    cdef size_t ascii_end = 0  # data[at:ascii_end] is ASCII, if it is not empty
    cdef size_t next_scan = 0  # offset at which to search for ASCII again
    if unit == BYTES:
        for i in range(spans.n):
            start, end = spans.items[i].start, spans.items[i].end
            while start and start < n and data[start] & 0xC0 == 0x80:
                start -= 1
            while end < n and data[end] & 0xC0 == 0x80:
                end += 1
            spans.items[i] = Span(start, end)
        return
    for i in range(spans.n):
        start, end = spans.items[i].start, spans.items[i].end
        if at <= start and end <= ascii_end:
            spans.items[i] = Span(start - at + counted, end - at + counted)
            continue
        n_bytes = end - start
        if start == at and 0 < n_bytes <= 8 and start + 8 <= n:  # most spans: read once, and counted without a loop
            word = eight_bytes(data + start)
            span_bytes = ONES >> (64 - 8 * n_bytes)
            spans.items[i].start = counted - (word & 0xC0 == 0x80)
            if unit == UTF16:
                if word & 0xC0 == 0x80:
                    spans.items[i].start = counted - _width_around(data, start, unit)
                counted += _sum_of_bytes(word >> 7 & word >> 6 & word >> 5 & word >> 4 & span_bytes)
            counted += n_bytes - _sum_of_bytes(word >> 7 & ~(word >> 6) & span_bytes)
            spans.items[i].end = counted
        else:
            if start < at:
                counted -= _n_begun(data, n, start, at, unit)
            else:
                counted += _n_begun(data, n, at, start, unit)
            spans.items[i].start = counted
            if start < n and data[start] & 0xC0 == 0x80:
                spans.items[i].start -= _width_around(data, start, unit)
            counted += _n_begun(data, n, start, end, unit)
            spans.items[i].end = counted
        if end < at:  # see Spans; there may be other characters between the two
            ascii_end = 0
        at = end
        if at >= next_scan:
            ascii_end = at
            while n - ascii_end >= 8 and not load64(data + ascii_end) & HIGH:
                ascii_end += 8
            next_scan = ascii_end
            if ascii_end < at + MIN_ASCII_BYTES:  # too short: the branch on ASCII would be mispredicted
                ascii_end, next_scan = 0, at + MIN_ASCII_BYTES


cdef inline size_t _n_begun(const uint8_t* data, size_t n, size_t start, size_t end, int unit) noexcept nogil:
    """Count the characters, or their UTF-16 units, whose first byte is in data[start:end]."""
    cdef size_t count = 0
    cdef uint64_t word
    while start < end and start + 8 <= n:
        word = eight_bytes(data + start)
        if end - start < 8:  # set the bytes after `end` to 0x80, which begins no character
            word = word & ~(<uint64_t> -1 << 8 * (end - start)) | HIGH << 8 * (end - start)
        count += 8 - _sum_of_bytes(word >> 7 & ~(word >> 6))
        if unit == UTF16:
            count += _sum_of_bytes(word >> 7 & word >> 6 & word >> 5 & word >> 4)
        start += 8
    while start < end:
        count += data[start] & 0xC0 != 0x80
        count += unit == UTF16 and data[start] >= 0xF0
        start += 1
    return count


cdef inline uint64_t _sum_of_bytes(uint64_t word) noexcept nogil:
    """Sum up the lowest bits of the eight bytes."""
    return (word & ONES) * ONES >> 56


cdef inline size_t _width_around(const uint8_t* data, size_t at, int unit) noexcept nogil:
    """Return the number of units of the character that contains the continuation byte data[at]."""
    while at and data[at] & 0xC0 == 0x80:
        at -= 1
    return 1 + (unit == UTF16 and data[at] >= 0xF0)


# From characters to other units

cdef int span_unit(object unit) except -1:
    """Convert the argument unit= to a SpanUnit. Raises ValueError."""
    if unit is _CHARACTER or unit == "char":
        return CHARACTERS
    if unit == "byte":
        return BYTES
    if unit == "utf16":
        return UTF16
    raise ValueError(choose_one_of("unit", unit, ("char", "byte", "utf16")))


cdef void to_unit(const Text* text, Spans* spans, int unit) noexcept nogil:
    """Convert spans in characters of a text to spans in another unit."""
    if unit == CHARACTERS:
        return
    if text.is_utf8:
        _utf8_to_unit(<const uint8_t*> text.data, spans, unit)
    elif text.unit == 1:
        _to_unit(<const uint8_t*> text.data, text.n, spans, unit)
    elif text.unit == 2:
        _to_unit(<const uint16_t*> text.data, text.n, spans, unit)
    else:
        _to_unit(<const uint32_t*> text.data, text.n, spans, unit)


cdef void _to_unit(const Unit* data, size_t n, Spans* spans, int unit) noexcept nogil:
    """Do the work of to_unit() for a str. It walks back if a span begins before the end of the previous one."""
    cdef size_t i, at = 0, counted = 0
    cdef Span* span
    if unit == UTF16 and Unit is not uint32_t:
        return  # an item of such a str is one UTF-16 unit
    for i in range(spans.n):
        span = &spans.items[i]
        _walk_to(data, n, span.start, unit, &at, &counted)
        span.start = counted
        _walk_to(data, n, span.end, unit, &at, &counted)
        span.end = counted


cdef inline void _walk_to(
    const Unit* data, size_t n, size_t wanted, int unit, size_t* at, size_t* counted
) noexcept nogil:
    while at[0] < wanted:
        counted[0] += _width(data, n, at[0], unit)
        at[0] += 1
    while at[0] > wanted:
        at[0] -= 1
        counted[0] -= _width(data, n, at[0], unit)


cdef inline size_t _width(const Unit* data, size_t n, size_t at, int unit) noexcept nogil:
    """Return the length in `unit` of an item of a str. Each surrogate of a pair has 2 of the pair's 4 bytes."""
    cdef uint32_t c = data[at]
    if unit == UTF16:
        return 1 + (c >= 0x10000)
    if Unit is not uint8_t and c >> 11 == 0x1B:
        if c >> 10 == 0x36 and at + 1 < n and data[at + 1] >> 10 == 0x37:
            return 2
        if c >> 10 == 0x37 and at and data[at - 1] >> 10 == 0x36:
            return 2
        return 3
    return 1 + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000)


cdef void _utf8_to_unit(const uint8_t* data, Spans* spans, int unit) noexcept nogil:
    """Do the work of _to_unit() for UTF-8."""
    cdef size_t i, n_characters = 0, n_bytes = 0, counted = 0
    cdef Span* span
    for i in range(spans.n):
        span = &spans.items[i]
        _walk_utf8_to(data, span.start, &n_characters, &n_bytes, &counted)
        span.start = n_bytes if unit == BYTES else counted
        _walk_utf8_to(data, span.end, &n_characters, &n_bytes, &counted)
        span.end = n_bytes if unit == BYTES else counted


cdef inline void _walk_utf8_to(
    const uint8_t* data, size_t wanted, size_t* n_characters, size_t* n_bytes, size_t* n_utf16
) noexcept nogil:
    cdef uint8_t lead
    while n_characters[0] < wanted:
        lead = data[n_bytes[0]]
        n_bytes[0] += 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
        n_utf16[0] += 1 + (lead >= 0xF0)
        n_characters[0] += 1
    while n_characters[0] > wanted:
        n_bytes[0] -= 1
        while data[n_bytes[0]] & 0xC0 == 0x80:
            n_bytes[0] -= 1
        n_utf16[0] -= 1 + (data[n_bytes[0]] >= 0xF0)
        n_characters[0] -= 1

"""Where ids and pieces lie in the characters of their text, and where a text has so many ids."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp

from fastbpe._core.buffer cimport buffer_add
from fastbpe._core.cache cimport encode_pieces
from fastbpe._core.cuts cimport safe_cut
from fastbpe._core.merge cimport Ids, ids_reserve
from fastbpe._core.output cimport collect_again, stop_collecting
from fastbpe._core.pipeline cimport Pipeline, Scratch
from fastbpe._core.special cimport Match, SpecialMatcher
from fastbpe._core.splitter cimport GAP, Ends, Splitter, ends_free
from fastbpe._core.text cimport Text, Utf8, text_of, text_release, utf8_of, utf8_release
from fastbpe._core.vocabulary cimport Tables
from fastbpe._core.watch cimport check_signals

from fastbpe.errors import SpecialTokenError

cdef enum:
    STRETCH = 1 << 16  # units of a long text counted at once
    UNITS_OF_ID = 4  # roughly


# Spans

cdef void spans_free(Spans* spans) noexcept nogil:
    free(spans.items)
    spans.items = NULL
    spans.n = spans.capacity = 0


cdef int _add(Spans* spans, size_t start, size_t end) except -1 nogil:
    cdef size_t capacity
    cdef Span* items
    if spans.n == spans.capacity:
        capacity = max(2 * spans.capacity, <size_t> 64)
        items = <Span*> realloc(spans.items, capacity * sizeof(Span))
        if items == NULL:
            with gil:
                raise MemoryError(f"no memory for the places of {capacity} ids")
        spans.items = items
        spans.capacity = capacity
    spans.items[spans.n] = Span(start, end)
    spans.n += 1
    return 0


cdef int encode_spans(
    Pipeline pipeline, const uint8_t* data, size_t n, SpecialMatcher allowed, SpecialMatcher disallowed,
    Scratch* scratch, Spans* spans,
) except -1 nogil:
    """Append the ids of UTF-8 to the scratch, and where each lies, in bytes, to spans.

    In byte mode only, and for text that stays as it is, but for a space that is put before it.
    """
    cdef Match match
    if pipeline.normalizing is not None or pipeline.vocabulary.drops_bytes:
        with gil:
            raise ValueError("this tokenizer leaves out parts of a text: it has no offsets")
    scratch.ends.text = data
    if disallowed is not None and disallowed.find(data, n, 0, &match):
        with gil:
            raise SpecialTokenError.disallowed(disallowed.tokens[match.index].decode())
    if allowed is None:
        return _find_tokens(pipeline, data, n, pipeline.always, scratch, spans)
    return _find_tokens(pipeline, data, n, allowed, scratch, spans)


cdef int _find_tokens(
    Pipeline pipeline, const uint8_t* data, size_t n, SpecialMatcher tokens, Scratch* scratch, Spans* spans
) except -1 nogil:
    cdef size_t at = 0
    cdef Match match
    if tokens is None:
        return _unchanged(pipeline, data, 0, n, None, scratch, spans)
    match.end = match.resume = 0
    while tokens.next(data, n, &match):
        _unchanged(pipeline, data, at, match.start, tokens.then, scratch, spans)
        _add_token(&match, 0, scratch, spans)
        at = match.end
    return _unchanged(pipeline, data, at, n, tokens.then, scratch, spans)


cdef int _add_token(const Match* match, size_t base, Scratch* scratch, Spans* spans) except -1 nogil:
    ids_reserve(&scratch.ids, 1)
    scratch.ids.items[scratch.ids.n] = match.id
    scratch.ids.n += 1
    return _add(spans, base + match.start, base + match.end)


cdef int _unchanged(
    Pipeline pipeline, const uint8_t* data, size_t start, size_t end, SpecialMatcher then, Scratch* scratch,
    Spans* spans,
) except -1 nogil:
    """Text in which no token was found yet; what would change it is refused."""
    cdef size_t n = end - start, at = 0
    cdef Match match
    if pipeline.front is not None and pipeline.front.apply(data + start, n, &scratch.changed):
        if scratch.changed.n != n or memcmp(scratch.changed.items, data + start, n) != 0:
            with gil:
                raise ValueError(
                    f"the normalizer of this tokenizer changes the text behind byte {start}, so that ids have no "
                    "offsets in it; normalize it first"
                )
    if then is not None:
        match.end = match.resume = 0
        while then.next(data + start, n, &match):
            _prefix(pipeline, data + start + at, match.start - at, start + at, scratch, spans)
            _add_token(&match, start, scratch, spans)
            at = match.end
    return _prefix(pipeline, data + start + at, n - at, start + at, scratch, spans)


cdef int _prefix(
    Pipeline pipeline, const uint8_t* data, size_t n, size_t base, Scratch* scratch, Spans* spans
) except -1 nogil:
    """A space that was put before a text lies where it begins, on no byte."""
    if n and pipeline.front is not None and pipeline.front.prefix_space and data[0] != 0x20:
        scratch.prefixed.n = 0
        buffer_add(&scratch.prefixed, b" ", 1)
        buffer_add(&scratch.prefixed, data, n)
        scratch.ends.text = scratch.prefixed.items
        return _ordinary(pipeline, scratch.prefixed.items, n + 1, base, 1, scratch, spans)
    return _ordinary(pipeline, data, n, base, 0, scratch, spans)


cdef int _ordinary(
    Pipeline pipeline, const uint8_t* data, size_t n, size_t base, size_t n_prefix, Scratch* scratch, Spans* spans
) except -1 nogil:
    cdef Ends* ends = &scratch.ends
    cdef size_t begin = 0, at = 0, done, first = spans.n, i
    while at < n:
        ends.n = 0
        at = pipeline.splitter.split(data, n, at, ends)
        done = scratch.ids.n
        encode_pieces(
            &scratch.cache, &pipeline.vocabulary.tables, data, n, begin, ends.items, ends.n, &scratch.ids
        )
        _place(&pipeline.vocabulary.tables, ends, begin, &scratch.ids, done, spans)
        begin = at
        check_signals(&scratch.watch)
    for i in range(first, spans.n):
        spans.items[i].start = base + max(spans.items[i].start, n_prefix) - n_prefix
        spans.items[i].end = base + max(spans.items[i].end, n_prefix) - n_prefix
    return 0


cdef int _place(
    const Tables* tables, const Ends* ends, size_t begin, const Ids* ids, size_t i, Spans* spans
) except -1 nogil:
    """Add the places of ids i and following: they are the tokens of pieces that lie end to end, but for gaps."""
    cdef size_t k, end, token_end
    cdef uint32_t token
    for k in range(ends.n):
        end = ends.items[k] & ~GAP
        while begin < end and not ends.items[k] & GAP and i < ids.n:
            token = ids.items[i]
            i += 1
            token_end = begin + tables.token_ends[token] - (tables.token_ends[token - 1] if token else 0)
            token_end = min(token_end, end)  # a vocabulary that contradicts itself gives strange places, no more
            _add(spans, begin, token_end)
            begin = token_end
        begin = end
    while i < ids.n:
        _add(spans, begin, begin)
        i += 1
    return 0


# From bytes to characters

cdef struct Cursor:
    # A character of a text: its place in UTF-8, its place in the text, and how long it is in both.
    size_t byte
    size_t at
    size_t n_bytes
    size_t n_units


cdef fused Unit:
    uint8_t
    uint16_t
    uint32_t


cdef inline void _measure(const Unit* data, size_t n, Cursor* cursor) noexcept nogil:
    """What UTF-8 has for the character at the cursor, by the rule of text.pyx."""
    cdef uint32_t c = data[cursor.at]
    cursor.n_units = 1
    cursor.n_bytes = 1 + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000)
    if Unit is not uint8_t and c >> 10 == 0x36 and cursor.at + 1 < n and data[cursor.at + 1] >> 10 == 0x37:
        cursor.n_units = 2
        cursor.n_bytes = 4


cdef void _to_characters(const Unit* data, size_t n, Spans* spans) noexcept nogil:
    """Spans of bytes as spans of the characters that they lie in; they rise."""
    cdef Cursor cursor = Cursor(0, 0, 0, 0)
    cdef size_t i, start
    for i in range(spans.n):
        _advance(data, n, &cursor, spans.items[i].start)
        start = cursor.at
        _advance(data, n, &cursor, spans.items[i].end)
        spans.items[i].end = cursor.at + (cursor.n_units if cursor.byte < spans.items[i].end else 0)
        spans.items[i].start = start


cdef inline void _advance(const Unit* data, size_t n, Cursor* cursor, size_t byte) noexcept nogil:
    """To the character that a byte belongs to."""
    while cursor.at < n:
        _measure(data, n, cursor)
        if cursor.byte + cursor.n_bytes > byte:
            break
        cursor.byte += cursor.n_bytes
        cursor.at += cursor.n_units


cdef void _utf8_to_characters(const uint8_t* data, size_t n, Spans* spans) noexcept nogil:
    """The same for text that is given as bytes."""
    cdef size_t i, byte = 0, n_begun = 0, start, end
    for i in range(spans.n):
        start, end = spans.items[i].start, spans.items[i].end
        while byte < start:
            n_begun += data[byte] & 0xC0 != 0x80
            byte += 1
        spans.items[i].start = n_begun - (start < n and data[start] & 0xC0 == 0x80)
        while byte < end:
            n_begun += data[byte] & 0xC0 != 0x80
            byte += 1
        spans.items[i].end = n_begun


cdef void to_characters(const Text* text, Spans* spans) noexcept nogil:
    """Spans of the UTF-8 of a text as spans of its characters; each holds all characters that it has a part of."""
    if text.is_utf8:
        _utf8_to_characters(<const uint8_t*> text.data, text.n, spans)
    elif text.unit == 1:
        _to_characters(<const uint8_t*> text.data, text.n, spans)
    elif text.unit == 2:
        _to_characters(<const uint16_t*> text.data, text.n, spans)
    else:
        _to_characters(<const uint32_t*> text.data, text.n, spans)


cdef void give_to_first(const Text* text, Spans* spans) noexcept nogil:
    """Let a space that was put before a text have the character behind it, as tokenizers has it: it lies nowhere."""
    cdef size_t i, at
    cdef const uint16_t* units = <const uint16_t*> text.data
    for i in range(spans.n):
        at = spans.items[i].start
        if spans.items[i].end == at and at < text.n:
            spans.items[i].end += 1
            if text.unit == 2 and units[at] >> 10 == 0x36 and at + 1 < text.n and units[at + 1] >> 10 == 0x37:
                spans.items[i].end += 1


def in_characters(text, list spans not None):
    """Spans of the UTF-8 of a text, (start, end) in bytes, which rise, as spans of its characters."""
    cdef Text view
    cdef Spans made = Spans(NULL, 0, 0)
    text_of(text, &view)
    try:
        for start, end in spans:
            _add(&made, start, end)
        to_characters(&view, &made)
        return spans_list(&made)
    finally:
        text_release(&view)
        spans_free(&made)


cdef list spans_list(const Spans* spans):
    """(start, end) of each; where one begins that the one before ends, they share the int."""
    cdef list out = []
    cdef object start, end = 0
    cdef size_t i, last = 0
    cdef bint was_on = stop_collecting()
    try:
        for i in range(spans.n):
            start = end if spans.items[i].start == last else spans.items[i].start
            last = spans.items[i].end
            end = last
            out.append((start, end))
    finally:
        collect_again(was_on)
    return out


def pieces(Splitter splitter not None, text):
    """(start, end) of each piece of a text, in characters; what lies in gaps is left out."""
    cdef Text view
    cdef Utf8 utf8
    cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0)
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef size_t at = 0, begin = 0, end, i
    if isinstance(text, (bytearray, memoryview)):
        text = bytes(text)  # looked at twice below
    text_of(text, &view)
    try:
        utf8_of(text, &utf8)
        ends.text = utf8.data
        try:
            with nogil:
                while at < utf8.n:
                    ends.n = 0
                    at = splitter.split(utf8.data, utf8.n, at, &ends)
                    for i in range(ends.n):
                        end = ends.items[i] & ~GAP
                        if not ends.items[i] & GAP:
                            _add(&spans, begin, end)
                        begin = end
                to_characters(&view, &spans)
            return spans_list(&spans)
        finally:
            utf8_release(&utf8)
            ends_free(&ends)
            spans_free(&spans)
    finally:
        text_release(&view)


# Counting, no further than needed

cdef size_t count_up_to(Pipeline pipeline, const Text* text, size_t limit, Scratch* scratch) except? 0 nogil:
    """How many ids a text has; limit + 1 if they are more."""
    cdef size_t start = 0, cut, count = 0, stretch = _first_stretch(limit)
    cdef bint may_cut = pipeline.may_cut(None, None)
    while start < text.n and count <= limit:
        cut = pipeline.cut(text, start, start + stretch) if may_cut and text.n - start > stretch else text.n
        pipeline.encode(text, start, cut, None, None, scratch, &count)
        start = cut
        stretch = min(2 * stretch, <size_t> STRETCH)
        check_signals(&scratch.watch)
    return min(count, limit + 1)


cdef inline size_t _first_stretch(size_t n_ids) noexcept nogil:
    return <size_t> STRETCH if n_ids > STRETCH // UNITS_OF_ID else n_ids * UNITS_OF_ID + 256


def takes_plain_text(Pipeline pipeline not None):
    """Whether nothing but splitting is done to a text, so that `window` holds."""
    return (
        pipeline.front is None and pipeline.normalizing is None and pipeline.always is None
        and not pipeline.vocabulary.drops_bytes
    )


def window(Pipeline pipeline not None, str text not None, size_t start, size_t end, size_t n_ids, bint backward):
    """Where text[start:end] exceeds n_ids ids, between two safe cuts: (near, n_near, far).

    Forward, text[start:near] has n_near ids, no more than n_ids, and text[start:far] has more; text[start:p], for p
    between them, has n_near and those of text[near:p]. All is near if near is end. Backward it is the same from the
    end on: text[near:end] has n_near ids. Where there is no safe cut for long, or none at all with the splitter, far
    is where the text ends, though it may have no more ids than n_ids.
    """
    cdef Text view
    cdef Window found
    cdef Scratch* scratch
    end = min(end, <size_t> len(text))
    start = min(start, end)
    if not pipeline.may_cut(None, None):
        return (end, 0, start) if backward else (start, 0, end)
    text_of(text, &view)
    try:
        scratch = pipeline.take()
        try:
            with nogil:
                if backward:
                    _backward(pipeline, &view, start, end, n_ids, scratch, &found)
                else:
                    _forward(pipeline, &view, start, end, n_ids, scratch, &found)
        finally:
            pipeline.give(scratch)
    finally:
        text_release(&view)
    return found.near, found.n_near, found.far


cdef struct Window:
    size_t near
    size_t n_near
    size_t far


cdef int _forward(
    Pipeline pipeline, const Text* text, size_t start, size_t end, size_t n_ids, Scratch* scratch, Window* found
) except -1 nogil:
    cdef size_t near = start, far = start, n_near = 0, count, middle, stretch = _first_stretch(n_ids)
    while near < end:
        far = end
        if end - near > 2 * stretch:
            far = safe_cut(text, near, near + stretch, near + 2 * stretch)
            if far == near + 2 * stretch:
                found[0] = Window(near, n_near, end)
                return 0
        count = _count(pipeline, text, near, far, scratch)
        if count > n_ids - n_near:
            break
        near = far
        n_near += count
        stretch = min(2 * stretch, <size_t> STRETCH)
    while near < far:
        middle = safe_cut(text, near, near + (far - near) // 2, far)
        if middle == far:
            break
        count = _count(pipeline, text, near, middle, scratch)
        if count > n_ids - n_near:
            far = middle
        else:
            near = middle
            n_near += count
    found[0] = Window(near, n_near, far)
    return 0


cdef int _backward(
    Pipeline pipeline, const Text* text, size_t start, size_t end, size_t n_ids, Scratch* scratch, Window* found
) except -1 nogil:
    cdef size_t near = end, far = end, n_near = 0, count, middle, stretch = _first_stretch(n_ids)
    while near > start:
        far = start
        if near - start > 2 * stretch:
            far = safe_cut(text, near - 2 * stretch, near - stretch, near)
            if far == near:
                found[0] = Window(near, n_near, start)
                return 0
        count = _count(pipeline, text, far, near, scratch)
        if count > n_ids - n_near:
            break
        near = far
        n_near += count
        stretch = min(2 * stretch, <size_t> STRETCH)
    while far < near:
        middle = safe_cut(text, far, far + (near - far) // 2, near)
        if middle == near:
            break
        count = _count(pipeline, text, middle, near, scratch)
        if count > n_ids - n_near:
            far = middle
        else:
            near = middle
            n_near += count
    found[0] = Window(near, n_near, far)
    return 0


cdef inline size_t _count(
    Pipeline pipeline, const Text* text, size_t start, size_t end, Scratch* scratch
) except? 0 nogil:
    cdef size_t count = 0
    pipeline.encode(text, start, end, None, None, scratch, &count)
    check_signals(&scratch.watch)
    return count

"""Where ids and pieces lie in the characters of their text."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free

from fastbpe._core.common.byte_buffer cimport Buffer, buffer_add
from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.normalize.unicode_forms cimport Places, places_free
from fastbpe._core.ids.int_table cimport Ints, kept_ints, offset_int
from fastbpe._core.common.memory cimport grown
from fastbpe._core.common.id_buffer cimport Ids, ids_reserve
from fastbpe._core.ids.id_lists cimport Array, add_item, add_span, hide, int64_array, new_list, show
from fastbpe._core.encode.pipeline cimport Pipeline, Scratch
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_free, n_pieces
from fastbpe._core.text.utf8_text cimport Text, Utf8, text_of, text_release, utf8_of, utf8_release
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.common.interrupts cimport check_signals

from fastbpe.errors import SpecialTokenError

cdef enum:
    PART_SPANS = 256  # that are made at once into pairs of ints


# Spans

cdef void spans_free(Spans* spans) noexcept nogil:
    free(spans.items)
    spans.items = NULL
    spans.n = spans.capacity = 0


cdef int add_place(Spans* spans, size_t start, size_t end) except -1 nogil:
    cdef size_t capacity
    cdef Span* items
    if spans.n == spans.capacity:
        capacity = max(2 * spans.capacity, <size_t> 64)
        items = <Span*> grown(spans.items, spans.n * sizeof(Span), spans.n * sizeof(Span), capacity * sizeof(Span))
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
    Scratch* scratch, Spans* spans, list found,
) except -1 nogil:
    """Append the ids of UTF-8 to the scratch, and where each lies, in bytes, to spans. In byte mode only.

    found: gets (index of the id, what was found) of special and added tokens; None: nobody asks.

    Where text is changed before it is split, they lie where what became of them stood; a space that is put before
    text lies where its first character does.
    """
    cdef Match match
    cdef Places places = Places(NULL, 0, 0)
    if pipeline.normalizing is not None:
        with gil:
            raise ValueError("code points have their places elsewhere, in tokens.pyx")
    scratch.ends.text = data
    if disallowed is not None and disallowed.find(data, n, 0, &match):
        with gil:
            raise SpecialTokenError.disallowed(disallowed.tokens[match.index].decode())
    try:
        if allowed is None:
            return _find_tokens(pipeline, data, n, pipeline.always, scratch, spans, &places, found)
        return _find_tokens(pipeline, data, n, allowed, scratch, spans, &places, found)
    finally:
        places_free(&places)


cdef int _find_tokens(
    Pipeline pipeline, const uint8_t* data, size_t n, SpecialMatcher tokens, Scratch* scratch, Spans* spans,
    Places* places, list found,
) except -1 nogil:
    cdef size_t at = 0
    cdef Match match
    if tokens is None:
        return _change(pipeline, data, 0, n, None, scratch, spans, places, found)
    match.end = match.resume = 0
    while tokens.next(data, n, &match):
        if at < match.start:
            _change(pipeline, data, at, match.start, tokens.then, scratch, spans, places, found)
        _add_token(data, &match, scratch, spans, found)
        at = match.end
    return _change(pipeline, data, at, n, tokens.then, scratch, spans, places, found)


cdef int _add_token(
    const uint8_t* data, const Match* match, Scratch* scratch, Spans* spans, list found
) except -1 nogil:
    if found is not None:
        with gil:
            found.append((scratch.ids.n, (<const char*> data)[match.start:match.end].decode("utf-8")))
    ids_reserve(&scratch.ids, 1)
    scratch.ids.items[scratch.ids.n] = match.id
    scratch.ids.n += 1
    return add_place(spans, match.start, match.end)


cdef int _change(
    Pipeline pipeline, const uint8_t* data, size_t start, size_t end, SpecialMatcher then, Scratch* scratch,
    Spans* spans, Places* places, list found,
) except -1 nogil:
    """Text in which no token was found yet: what becomes of it, with normalized tokens, and where that was."""
    cdef size_t n = end - start, first = spans.n
    data += start
    if pipeline.front is None or not pipeline.front.apply(data, n, &scratch.changed, places):
        _find_normalized(pipeline, data, n, then, scratch, spans, found)
        _move(spans, first, start)
        return 0
    scratch.ends.text = scratch.changed.items
    _find_normalized(pipeline, scratch.changed.items, scratch.changed.n, then, scratch, spans, found)
    _move_back(spans, first, start, places)
    return 0


cdef void _move(Spans* spans, size_t first, size_t by) noexcept nogil:
    cdef size_t i
    if by:
        for i in range(first, spans.n):
            spans.items[i].start += by
            spans.items[i].end += by


cdef void _move_back(Spans* spans, size_t first, size_t base, const Places* places) noexcept nogil:
    """Let spans of changed text be those of what it comes from, which begins at base."""
    cdef size_t i
    cdef Span* span
    for i in range(first, spans.n):
        span = &spans.items[i]
        span.end = base + (places.items[min(span.end, places.n) - 1] + 1 if span.end and places.n else 0)
        span.start = base + (places.items[min(span.start, places.n - 1)] if places.n else 0)


cdef int _find_normalized(
    Pipeline pipeline, const uint8_t* data, size_t n, SpecialMatcher then, Scratch* scratch, Spans* spans,
    list found,
) except -1 nogil:
    cdef size_t at = 0, first
    cdef Match match
    if then is not None:
        match.end = match.resume = 0
        while then.next(data, n, &match):
            if at < match.start:
                first = spans.n
                _prefix(pipeline, data + at, match.start - at, scratch, spans)
                _move(spans, first, at)
            _add_token(data, &match, scratch, spans, found)
            at = match.end
    first = spans.n
    _prefix(pipeline, data + at, n - at, scratch, spans)
    _move(spans, first, at)
    return 0


cdef int _prefix(
    Pipeline pipeline, const uint8_t* data, size_t n, Scratch* scratch, Spans* spans
) except -1 nogil:
    cdef size_t first = spans.n, i
    if not n or pipeline.front is None or not pipeline.front.prefix_space or data[0] == 0x20:
        return _ordinary(pipeline, data, n, scratch, spans)
    scratch.prefixed.n = 0
    buffer_add(&scratch.prefixed, b" ", 1)
    buffer_add(&scratch.prefixed, data, n)
    scratch.ends.text = scratch.prefixed.items
    _ordinary(pipeline, scratch.prefixed.items, n + 1, scratch, spans)
    for i in range(first, spans.n):
        spans.items[i].start = max(spans.items[i].start, <size_t> 1) - 1
        spans.items[i].end = max(spans.items[i].end, <size_t> 2) - 1
    return 0


cdef int _ordinary(
    Pipeline pipeline, const uint8_t* data, size_t n, Scratch* scratch, Spans* spans
) except -1 nogil:
    cdef Ends* ends = &scratch.ends
    cdef size_t begin = 0, at = 0, done
    while at < n:
        ends.n = 0
        at = pipeline.splitter.split(data, n, at, ends)
        done = scratch.ids.n
        if pipeline.vocabulary.drops_bytes and _misses_any(&pipeline.vocabulary.tables, data, begin, at):
            _leave_out(pipeline, data, begin, scratch, spans)
        else:
            encode_pieces(
                &scratch.cache, &pipeline.vocabulary.tables, data, n, begin, ends.items, ends.n, &scratch.ids
            )
            _place(&pipeline.vocabulary.tables, ends, begin, &scratch.ids, done, spans)
        begin = at
        check_signals(&scratch.watch)
    return 0


cdef int _place(
    const Tables* tables, const Ends* ends, size_t begin, const Ids* ids, size_t i, Spans* spans
) except -1 nogil:
    """Add the places of ids i and following: they are the tokens of pieces that lie end to end, but for gaps."""
    cdef size_t k, end, token_end
    cdef uint32_t token
    for k in range(ends.n):
        end = ends.items[k] & ~UNMATCHED
        while begin < end and not ends.items[k] & UNMATCHED and i < ids.n:
            token = ids.items[i]
            i += 1
            token_end = begin + tables.token_ends[token] - (tables.token_ends[token - 1] if token else 0)
            token_end = min(token_end, end)  # a vocabulary that contradicts itself gives strange places, no more
            add_place(spans, begin, token_end)
            begin = token_end
        begin = end
    while i < ids.n:
        add_place(spans, begin, begin)
        i += 1
    return 0


# Bytes that are no tokens

cdef bint _misses_any(const Tables* tables, const uint8_t* data, size_t at, size_t end) noexcept nogil:
    while at < end and tables.byte_ids[data[at]] != NONE:
        at += 1
    return at < end


cdef int _leave_out(
    Pipeline pipeline, const uint8_t* data, size_t begin, Scratch* scratch, Spans* spans
) except -1 nogil:
    """Encode pieces, from begin on, without their bytes that are no tokens.

    As tokenizers has it, what is left of a piece lies at the beginning of the piece, as if nothing were missing.
    """
    cdef const Tables* tables = &pipeline.vocabulary.tables
    cdef Buffer* kept = &scratch.kept
    cdef size_t i, k, end, done
    for k in range(scratch.ends.n):
        end = scratch.ends.items[k] & ~UNMATCHED
        kept.n = 0
        if not scratch.ends.items[k] & UNMATCHED:
            for i in range(begin, end):
                if tables.byte_ids[data[i]] != NONE:
                    buffer_add(kept, data + i, 1)
        if kept.n:
            done = scratch.ids.n
            encode_pieces(&scratch.cache, tables, kept.items, kept.n, 0, &kept.n, 1, &scratch.ids)
            _place_shown(tables, data, begin, end, &scratch.ids, done, spans)
        begin = end
    return 0


cdef int _place_shown(
    const Tables* tables, const uint8_t* data, size_t at, size_t end, const Ids* ids, size_t i, Spans* spans
) except -1 nogil:
    """Add the places of ids i and following as tokenizers counts them: by the UTF-8 of the stand-ins of bytes."""
    cdef size_t n_left = _shown(data[at]), n, start, token_at, token_end
    cdef uint32_t token
    for i in range(i, ids.n):
        token = ids.items[i]
        token_at = tables.token_ends[token - 1] if token else 0
        token_end = tables.token_ends[token]
        n = 0
        while token_at < token_end:
            n += _shown(tables.token_bytes[token_at])
            token_at += 1
        start = at
        while n > n_left and at + 1 < end:
            n -= n_left
            at += 1
            n_left = _shown(data[at])
        add_place(spans, start, at + 1)
        n_left -= min(n, n_left)
        if not n_left and at + 1 < end:
            at += 1
            n_left = _shown(data[at])
    return 0


cdef inline size_t _shown(uint8_t byte) noexcept nogil:
    """How many bytes the stand-in of a byte in GPT-2's files has."""
    return 1 if 0x21 <= byte <= 0x7E else 2


# From bytes to characters

cdef struct Cursor:
    # A character of a text: its place in UTF-8, its place in the text, and how long it is in both.
    size_t byte
    size_t at
    size_t n_bytes
    size_t n_units


cdef struct Walk:
    # How far a text has been gone through: to the end of the last span, and where that began.
    Cursor cursor
    Cursor begun


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


cdef void _to_characters(const Unit* data, size_t n, Spans* spans, Walk* walk) noexcept nogil:
    """Spans of bytes as spans of the characters that they lie in; their starts rise, and their ends."""
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
    """To the character that a byte belongs to."""
    while cursor.at < n:
        _measure(data, n, cursor)
        if cursor.byte + cursor.n_bytes > byte:
            break
        cursor.byte += cursor.n_bytes
        cursor.at += cursor.n_units


cdef void _utf8_to_characters(const uint8_t* data, size_t n, Spans* spans, Walk* walk) noexcept nogil:
    """The same for text that is given as bytes."""
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
    """Spans of the UTF-8 of a text as spans of its characters; each holds all characters that it has a part of."""
    cdef Cursor first = Cursor(0, 0, 0, 0)
    cdef Walk walk = Walk(first, first)
    _walk_on(text, spans, &walk)


cdef void _walk_on(const Text* text, Spans* spans, Walk* walk) noexcept nogil:
    """The same for spans that follow those of the last call."""
    if text.is_utf8:
        _utf8_to_characters(<const uint8_t*> text.data, text.n, spans, walk)
    elif text.unit == 1:
        _to_characters(<const uint8_t*> text.data, text.n, spans, walk)
    elif text.unit == 2:
        _to_characters(<const uint16_t*> text.data, text.n, spans, walk)
    else:
        _to_characters(<const uint32_t*> text.data, text.n, spans, walk)


cdef list spans_list(const Spans* spans):
    """(start, end) of each; where one begins that the one before ends, they share the int, and equal ones are one."""
    cdef list out = new_list(spans.n)
    hide(out)
    _add_spans(out, spans, 0)
    return show(out)


cdef object _add_spans(list out, const Spans* spans, object end):
    """Append spans to a list with room for them; end: of the one before, and what is returned is of the last."""
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


def sizes_of_tokens(Pipeline pipeline not None, str text not None, bint backward):
    """[k]: how many characters of a text come before its token k; backward: behind the last but k. [n]: all of them.

    An array in memory. In byte mode only.
    """
    cdef Scratch* scratch
    cdef Text view
    cdef Utf8 utf8
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef Array sizes
    cdef int64_t* items
    cdef size_t i
    scratch = pipeline.take()
    try:
        text_of(text, &view)
        utf8_of(text, &utf8)
        try:
            with nogil:
                encode_spans(pipeline, utf8.data, utf8.n, None, None, scratch, &spans, None)
                to_characters(&view, &spans)
            sizes = int64_array(spans.n + 1)
            items = <int64_t*> sizes._items
            for i in range(spans.n):
                items[i] = view.n - spans.items[spans.n - 1 - i].end if backward else spans.items[i].start
            items[spans.n] = view.n
            return memoryview(sizes)
        finally:
            spans_free(&spans)
            utf8_release(&utf8)
    finally:
        pipeline.give(scratch)


def pieces(Splitter splitter not None, text):
    """(start, end) of each piece of a text, in characters; what lies in gaps is left out."""
    cdef Text view
    cdef Utf8 utf8
    cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0)
    cdef size_t at = 0
    if isinstance(text, (bytearray, memoryview)):
        text = bytes(text)  # looked at twice below
    text_of(text, &view)
    try:
        utf8_of(text, &utf8)
        ends.text = utf8.data
        try:
            with nogil:
                while at < utf8.n:
                    at = splitter.split(utf8.data, utf8.n, at, &ends)
            return _pieces_list(&view, &ends)
        finally:
            utf8_release(&utf8)
            ends_free(&ends)
    finally:
        text_release(&view)


cdef list _pieces_list(const Text* view, const Ends* ends):
    """Part by part: spans of a whole text are as much memory to be touched first as a fifth of the objects."""
    cdef Cursor first = Cursor(0, 0, 0, 0)
    cdef Walk walk = Walk(first, first)
    cdef Span items[PART_SPANS]
    cdef Spans spans = Spans(&items[0], 0, PART_SPANS)
    cdef list out = new_list(n_pieces(ends))
    cdef object last = 0
    cdef size_t i, end, begin = 0
    hide(out)
    for i in range(ends.n):
        end = ends.items[i] & ~UNMATCHED
        if not ends.items[i] & UNMATCHED:
            items[spans.n] = Span(begin, end)
            spans.n += 1
        begin = end
        if spans.n == PART_SPANS or i + 1 == ends.n:
            _walk_on(view, &spans, &walk)
            last = _add_spans(out, &spans, last)
            spans.n = 0
    return show(out)

"""Offsets of ids and of pieces in the characters of their text.

encode_spans() goes through the steps of Pipeline.encode() in byte mode and notes the bytes that each id comes
from, step by step: a token's bytes within its piece, the piece within its text, and, where the text was
normalized, the characters that its bytes come from. to_characters() then counts characters instead of bytes.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.common.byte_buffer cimport buffer_reset
from fastbpe._core.common.gil_yield cimport yield_gil_after, yield_gil_at
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids, ids_expect, ids_reserve
from fastbpe._core.common.interrupts cimport check_signals
from fastbpe._core.common.places cimport FB_NOWHERE, Places, places_free
from fastbpe._core.common.utf8 cimport fb_char_bytes
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport (
    Scratch, add_id, note_token, offer_gil, put_space_before, start_tracing,
)
from fastbpe._core.encode.spans cimport (
    CHARACTERS, Cursor, Span, Spans, Walk, add_span_of_id, append_spans, bytes_to_unit, is_ascii, spans_expect,
    spans_free, spans_grow,
    move_to, to_characters, to_characters_on, to_unit,
)
from fastbpe._core.encode.trim_spans cimport SpanTrimmer
from fastbpe._core.encode.unknown_bytes cimport has_byte_without_token, merge_known_bytes
from fastbpe._core.ids.id_lists cimport Array, hide, int64_array, new_list, show
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_add, ends_free, n_pieces
from fastbpe._core.split.stages cimport Stage, Staged, staged_free
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.text.utf8_text cimport (
    Text, Utf8, has_surrogate, text_of, text_release, text_utf8, utf8_capacity, utf8_of, utf8_release,
)

from fastbpe.errors import SpecialTokenError

cdef enum:
    NOGIL_UNITS = 1 << 13  # units of a text from which giving up the GIL pays
    STRETCH_UNITS = 1 << 16  # units of a long text that go through all steps before the next
    UNITS_PER_ID = 4  # estimate
    PART_SPANS = 256  # spans that become tuples before the next are computed


cdef int append_text_spans(
    Pipeline pipeline,
    object text,
    SpecialMatcher allowed,
    SpecialMatcher disallowed,
    Scratch* scratch,
    Spans* spans,
    SpanTrimmer trimmer,
    int unit,
) except -1:
    """Append the ids of a text to scratch.ids, and the span of each, trimmed, to spans.

    trimmer: None leaves the spans unchanged.
    unit: SpanUnit in which the spans count.
    """
    cdef Text view
    cdef size_t first = spans.n
    cdef Spans added
    cdef list found = None if trimmer is None else []
    # A space of normalized text may stand for a longer one of the text. Then only characters can be trimmed.
    cdef bint trims_characters = trimmer is not None and (
        pipeline.front is not None or pipeline.vocabulary.drops_bytes or pipeline.vocabulary.spelled is not None
    )
    cdef int traced = CHARACTERS if trims_characters else unit
    text_of(text, &view)
    try:
        if view.n < NOGIL_UNITS:
            offer_gil(scratch, view.n)
            _append_spans(pipeline, &view, allowed, disallowed, scratch, spans, found, traced)
        else:
            scratch.n_held = 0
            ids_expect(&scratch.ids, view.n // UNITS_PER_ID)
            with nogil:
                spans_expect(spans, view.n // UNITS_PER_ID)
                _append_spans(pipeline, &view, allowed, disallowed, scratch, spans, found, traced)
        if scratch.beyond.n and traced == CHARACTERS:
            _place_beyond(&view, scratch, spans)
        scratch.beyond.n = 0
        added = Spans(spans.items + first, spans.n - first, 0)
        if trimmer is not None:
            trimmer.trim(scratch.ids.items + first, added.items, added.n, found, first, traced)
        if traced != unit:
            to_unit(&view, &added, unit)
    finally:
        text_release(&view)
    return 0


cdef int _append_spans(
    Pipeline pipeline,
    const Text* text,
    SpecialMatcher allowed,
    SpecialMatcher disallowed,
    Scratch* scratch,
    Spans* spans,
    list found,
    int unit,
) except -1 nogil:
    """Append ids and spans, stretch by stretch, so that the second-level cache holds each."""
    cdef size_t start = 0, end, base = 0
    cdef bint may_cut = text.n > STRETCH_UNITS and pipeline.may_cut(allowed, disallowed)
    while True:
        end = text.n
        if may_cut and end - start > STRETCH_UNITS:
            end = min(pipeline.cut(text, start, start + STRETCH_UNITS), end)
        base += _append_stretch(
            pipeline, text, start, end, allowed, disallowed, scratch, spans, found, unit, base
        )
        start = end
        if start == text.n:
            return 0
        check_signals(&scratch.watch)


cdef size_t _append_stretch(
    Pipeline pipeline,
    const Text* text,
    size_t start,
    size_t end,
    SpecialMatcher allowed,
    SpecialMatcher disallowed,
    Scratch* scratch,
    Spans* spans,
    list found,
    int unit,
    size_t base,
) except? 0 nogil:
    """Append ids and spans of text[start:end], which begins at offset `base`; return its length in the unit."""
    cdef size_t first = spans.n, n = end - start, i
    cdef const uint8_t* data
    cdef Text part = text[0]
    cdef Spans added
    cdef Span whole
    part.data, part.n = <const uint8_t*> text.data + start * text.unit, n
    if text.is_utf8:
        data = <const uint8_t*> part.data
    else:
        buffer_reset(&scratch.utf8, utf8_capacity(text, n))
        n = text_utf8(text, start, end, scratch.utf8.items)
        data = scratch.utf8.items
    encode_spans(pipeline, data, n, allowed, disallowed, scratch, spans, found, None)
    whole = Span(0, n)
    if not is_ascii(data, n):
        # The last span, of the whole stretch, tells its length.
        add_span_of_id(spans, n, n)
        added = Spans(spans.items + first, spans.n - first, 0)
        if has_surrogate(&part):
            to_characters(&part, &added)
            to_unit(&part, &added, unit)
        else:
            bytes_to_unit(data, n, &added, unit)
        spans.n -= 1
        whole = spans.items[spans.n]
    if base:
        for i in range(first, spans.n):
            spans.items[i].start += base
            spans.items[i].end += base
    return whole.end


cdef int encode_spans(
    Pipeline pipeline,
    const uint8_t* data,
    size_t n,
    SpecialMatcher allowed,
    SpecialMatcher disallowed,
    Scratch* scratch,
    Spans* spans,
    list found,
    list words,
) except -1 nogil:
    """Append the ids of UTF-8 to scratch.ids, and the span of each, in bytes, to spans.

    allowed, disallowed: as in Pipeline.encode().
    found: list to which (index of the id, text) of each special or added token is appended; None: unwanted.
    words: list to which the number of ids up to the end of each token or piece is appended; None: unwanted.

    The span of an id of normalized text covers the characters that its bytes come from. A space put before a text
    belongs to the text's first character.

    Requires: a pipeline in byte mode, or of characters.
    """
    cdef Match match
    cdef Places places = Places(NULL, 0, 0)
    if pipeline.normalizing is not None:
        with gil:
            raise ValueError("code points have their offsets elsewhere, in codepoint_pieces.pyx")
    scratch.ends.text = data
    if disallowed is not None and disallowed.find(data, n, 0, &match):
        with gil:
            raise SpecialTokenError.disallowed(disallowed.tokens[match.index].decode())
    try:
        if allowed is None:
            return _find_added_tokens(pipeline, data, n, pipeline.always, scratch, spans, &places, found, words)
        return _find_added_tokens(pipeline, data, n, allowed, scratch, spans, &places, found, words)
    finally:
        places_free(&places)


# The steps of a text: see Pipeline

cdef int _find_added_tokens(
    Pipeline pipeline,
    const uint8_t* data,
    size_t n,
    SpecialMatcher tokens,
    Scratch* scratch,
    Spans* spans,
    Places* places,
    list found,
    list words,
) except -1 nogil:
    cdef size_t at = 0
    cdef Match match
    scratch.at_start = True
    if tokens is None:
        return _normalize(pipeline, data, 0, n, None, scratch, spans, places, found, words)
    match.end = match.resume = 0
    while tokens.next(data, n, &match):
        if at < match.start:
            _normalize(pipeline, data, at, match.start, tokens.then, scratch, spans, places, found, words)
        _add_token(data, &match, scratch, spans, found, words)
        at = match.end
        scratch.at_start = False
    return _normalize(pipeline, data, at, n, tokens.then, scratch, spans, places, found, words)


cdef int _add_token(
    const uint8_t* data, const Match* match, Scratch* scratch, Spans* spans, list found, list words
) except -1 nogil:
    """Append the id and the span of a special or added token."""
    if found is not None:
        with gil:
            found.append((scratch.ids.n, (<const char*> data)[match.start:match.end].decode("utf-8")))
    add_id(scratch, match.id)
    if words is not None:
        with gil:
            words.append(scratch.ids.n)
    return add_span_of_id(spans, match.start, match.end)


cdef int _normalize(
    Pipeline pipeline,
    const uint8_t* data,
    size_t start,
    size_t end,
    SpecialMatcher then,
    Scratch* scratch,
    Spans* spans,
    Places* places,
    list found,
    list words,
) except -1 nogil:
    """Normalize and encode data[start:end], text between two tokens; spans are offsets before normalization."""
    cdef size_t n = end - start, first = spans.n
    data += start
    if pipeline.stages is not None and pipeline.stages.needs_first:
        pipeline.note_first(data, n, scratch)
    if pipeline.front is None or not pipeline.front.apply(data, n, &scratch.changed, places):
        _find_normalized_tokens(pipeline, data, n, then, scratch, spans, found, words)
        _shift(spans, first, start)
        return 0
    scratch.ends.text = scratch.changed.items
    _find_normalized_tokens(pipeline, scratch.changed.items, scratch.changed.n, then, scratch, spans, found, words)
    _spans_before_normalizing(spans, first, start, places)
    return 0


cdef void _shift(Spans* spans, size_t first, size_t by) noexcept nogil:
    """Add `by` to the spans from index first on."""
    cdef size_t i
    if by:
        for i in range(first, spans.n):
            spans.items[i].start += by
            spans.items[i].end += by


cdef void _spans_before_normalizing(Spans* spans, size_t first, size_t base, const Places* places) noexcept nogil:
    """Replace spans of normalized text, from index first on, by spans of the text it comes from.

    base: offset of that text.
    places: for each byte of normalized text, a byte of the character that it comes from.
    """
    cdef size_t i, place
    cdef Span* span
    for i in range(first, spans.n):
        span = &spans.items[i]
        span.end = base + (places.items[min(span.end, places.n) - 1] + 1 if span.end and places.n else 0)
        place = places.items[min(span.start, places.n - 1)] if places.n else 0
        span.start = base + (place if place != FB_NOWHERE else 0)


cdef int _find_normalized_tokens(
    Pipeline pipeline,
    const uint8_t* data,
    size_t n,
    SpecialMatcher then,
    Scratch* scratch,
    Spans* spans,
    list found,
    list words,
) except -1 nogil:
    cdef size_t at = 0, first
    cdef Match match
    if then is not None:
        match.end = match.resume = 0
        while then.next(data, n, &match):
            if at < match.start:
                first = spans.n
                _put_prefix(pipeline, data + at, match.start - at, scratch, spans, words)
                _shift(spans, first, at)
            _add_token(data, &match, scratch, spans, found, words)
            note_token(scratch, match.end - at)
            at = match.end
    first = spans.n
    _put_prefix(pipeline, data + at, n - at, scratch, spans, words)
    _shift(spans, first, at)
    return 0


cdef int _put_prefix(
    Pipeline pipeline, const uint8_t* data, size_t n, Scratch* scratch, Spans* spans, list words
) except -1 nogil:
    cdef size_t first = spans.n, i
    if not pipeline.wants_prefix(data, n, True, scratch):
        return _pre_tokenize(pipeline, data, n, scratch, spans, words)
    put_space_before(scratch, &data, &n)
    _pre_tokenize(pipeline, data, n, scratch, spans, words)
    for i in range(first, spans.n):
        spans.items[i].start = max(spans.items[i].start, <size_t> 1) - 1
        spans.items[i].end = max(spans.items[i].end, <size_t> 2) - 1
    return 0


cdef int _pre_tokenize(
    Pipeline pipeline, const uint8_t* data, size_t n, Scratch* scratch, Spans* spans, list words
) except -1 nogil:
    cdef Ends* ends = &scratch.ends
    cdef size_t start = 0, end, first_id
    if pipeline.vocabulary.spelled is not None:
        return _trace(pipeline, data, n, scratch, spans, words)
    while start < n:
        ends.n = 0
        end = pipeline.splitter.split(data, n, start, ends)
        first_id = scratch.ids.n
        if pipeline.vocabulary.drops_bytes and has_byte_without_token(&pipeline.vocabulary.tables, data, start, end):
            merge_known_bytes(pipeline, data, start, scratch, spans)
        else:
            encode_pieces(
                &scratch.cache, &pipeline.vocabulary.tables, data, n, start, ends.items, ends.n, &scratch.ids
            )
            _add_spans_of_ids(&pipeline.vocabulary.tables, ends, start, &scratch.ids, first_id, spans)
        if words is not None:
            _note_words(&pipeline.vocabulary.tables, data, start, ends, &scratch.ids, first_id, words)
        start = end
        check_signals(&scratch.watch)
    return 0


cdef int _trace(
    Pipeline pipeline, const uint8_t* data, size_t n, Scratch* scratch, Spans* spans, list words
) except -1 nogil:
    """Do the work of _pre_tokenize() for a vocabulary of characters, by the traces of its pieces."""
    cdef Ends* ends = &scratch.ends
    cdef size_t start = 0, end, first
    cdef bint is_staged = pipeline.stages is not None or (words is None and pipeline.cut_stages is not None)
    start_tracing(scratch)
    while start < n:
        ends.n = 0
        end = pipeline.splitter.split(data, n, start, ends)
        first = spans.n
        if is_staged:
            scratch.staged.traces = True
            scratch.staged.n_first = scratch.n_first if scratch.at_start and start == 0 else 0
            if words is None:
                pipeline.cut_stages.run(data, NULL, start, ends, &scratch.staged)
            else:  # a piece is a word
                pipeline.stages.run(data, NULL, start, ends, &scratch.staged)
            _trace_pieces(pipeline, scratch.staged.text.items, scratch.staged.text.n, 0, scratch, spans, words)
            _spans_before_normalizing(spans, first, 0, &scratch.staged.places)
        else:
            _trace_pieces(pipeline, data, n, start, scratch, spans, words)
        start = end
        check_signals(&scratch.watch)
    return 0


cdef int _trace_pieces(
    Pipeline pipeline, const uint8_t* data, size_t n, size_t start, Scratch* scratch, Spans* spans, list words
) except -1 nogil:
    """Append the ids and the spans of the pieces scratch.ends of data, from `start` on."""
    cdef const Ends* ends = &scratch.ends
    cdef Ids* trace = &scratch.trace
    cdef size_t k, i = 0, end, at, begin, length, left
    cdef uint32_t item
    trace.n = 0
    encode_pieces(&scratch.tracing, &pipeline.traced, data, n, start, ends.items, ends.n, trace)
    for k in range(ends.n):
        end = ends.items[k] & ~UNMATCHED
        at = begin = start
        start = end
        if ends.items[k] & UNMATCHED:
            continue
        left = trace.items[i]
        i += 1
        for _ in range(left):
            item = trace.items[i]
            length = item >> 24
            i += 1
            if length == 255:
                length = trace.items[i]
                i += 1
            if at + length > end:
                _note_beyond(scratch, at - begin, at - begin + length)
            add_id(scratch, item & 0xFFFFFF)
            add_span_of_id(spans, min(at, end - 1), min(at + length, end))
            at += length
        if words is not None:
            with gil:
                words.append(scratch.ids.n)
    return 0


cdef int _note_beyond(Scratch* scratch, size_t start, size_t end) except -1 nogil:
    """Note that the next id stands for bytes of a prefix or suffix, which its piece does not have."""
    cdef Ids* beyond = &scratch.beyond
    ids_reserve(beyond, 3)
    beyond.items[beyond.n] = <uint32_t> scratch.ids.n
    beyond.items[beyond.n + 1] = <uint32_t> start
    beyond.items[beyond.n + 2] = <uint32_t> end
    beyond.n += 3
    return 0


cdef void _place_beyond(const Text* text, Scratch* scratch, Spans* spans) noexcept nogil:
    """Give ids whose bytes lie beyond their piece the places that tokenizers gives them.

    It takes their place in the piece for one in the whole text.
    """
    cdef const Ids* beyond = &scratch.beyond
    cdef Span span
    cdef size_t k, start, end, n_bytes = _character_of(text, <size_t> -1)
    for k in range(0, beyond.n, 3):
        start, end = beyond.items[k + 1], beyond.items[k + 2]
        span = Span(start, end)
        if start < n_bytes:
            span.start = _character_of(text, start)
            if end < n_bytes:
                span.end = _character_of(text, end)
            else:
                span.end = 1 + (_character_of(text, end - 1) if end - 1 < n_bytes else span.start + 1)
        spans.items[beyond.items[k]] = span


cdef size_t _character_of(const Text* text, size_t byte) noexcept nogil:
    """Return the index of the character that has a byte of the text's UTF-8; the number of bytes if none has it."""
    cdef Cursor cursor = Cursor(0, 0, 0, 0)
    return move_to(text, &cursor, byte)


cdef int _note_words(
    const Tables* tables, const uint8_t* data, size_t at, const Ends* ends, const Ids* ids, size_t i, list words
) except -1 nogil:
    """Append to words the number of ids up to the end of each piece.

    Requires: ids i and following belong to the pieces `ends`; the first piece begins at data[at]. Bytes
    without a token have no ids.
    """
    cdef size_t k, end, n_left
    cdef uint32_t token
    with gil:
        for k in range(ends.n):
            yield_gil_at(k)
            end = ends.items[k] & ~UNMATCHED
            if ends.items[k] & UNMATCHED:
                at = end
                continue
            n_left = 0
            while at < end:
                n_left += tables.byte_ids[data[at]] != NONE
                at += 1
            while n_left and i < ids.n:
                token = ids.items[i]
                n_left -= min(n_left, tables.token_ends[token] - (tables.token_ends[token - 1] if token else 0))
                i += 1
            words.append(i)
    return 0


cdef int _add_spans_of_ids(
    const Tables* tables, const Ends* ends, size_t begin, const Ids* ids, size_t i, Spans* spans
) except -1 nogil:
    """Append the spans of ids i and following, by the lengths of their tokens.

    Requires: they are the ids of the pieces `ends`; the first piece begins at `begin`.
    """
    cdef size_t k, end, token_end
    cdef uint32_t token
    if ends.n and _add_spans_end_to_end(tables, begin, ends.items[ends.n - 1], ids, i, spans):
        return 0
    for k in range(ends.n):
        end = ends.items[k] & ~UNMATCHED
        while begin < end and not ends.items[k] & UNMATCHED and i < ids.n:
            token = ids.items[i]
            i += 1
            token_end = begin + tables.token_ends[token] - (tables.token_ends[token - 1] if token else 0)
            token_end = min(token_end, end)  # a malformed vocabulary gives strange spans, no worse
            add_span_of_id(spans, begin, token_end)
            begin = token_end
        begin = end
    while i < ids.n:
        add_span_of_id(spans, begin, begin)
        i += 1
    return 0


cdef bint _add_spans_end_to_end(
    const Tables* tables, size_t begin, size_t end, const Ids* ids, size_t i, Spans* spans
) except -1 nogil:
    """Append the spans of ids i and following, each from the end of the one before.

    Returns False, and appends none, unless the last ends at `end`: some text is unmatched, or a vocabulary
    malformed.
    """
    cdef size_t n = ids.n - i, k
    cdef uint32_t token
    cdef Span* out
    while spans.n + n > spans.capacity:
        spans_grow(spans)
    out = spans.items + spans.n
    for k in range(n):
        token = ids.items[i + k]
        out[k].start = begin
        begin += tables.token_ends[token] - (tables.token_ends[token - 1] if token else 0)
        out[k].end = begin
    if begin != end:
        return False
    spans.n += n
    return True


def sizes_of_tokens(Pipeline pipeline not None, str text not None, bint backward):
    """Return how many characters of a text lie before its token k, for each k up to their number.

    backward: count the characters after the k-th token from the end.

    The last item, beyond all tokens, is the text's length. Byte mode only.
    """
    cdef Scratch* scratch
    cdef Text view
    cdef Utf8 utf8
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef Array sizes
    cdef int64_t* items
    cdef size_t i
    scratch = pipeline.pool.take()
    try:
        text_of(text, &view)
        utf8_of(text, &utf8)
        try:
            with nogil:
                encode_spans(pipeline, utf8.data, utf8.n, None, None, scratch, &spans, None, None)
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
        pipeline.pool.give(scratch)


def word_ends(Pipeline pipeline not None, str text not None, SpecialMatcher allowed):
    """Return the ids up to the end of each token and piece of a text, and (index of the id, text) of each token.

    Pieces without ids count, too.

    allowed: matcher of special tokens that become ids; None: there are none. Byte mode only.
    """
    cdef Scratch* scratch = pipeline.pool.take()
    cdef Utf8 utf8
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef list words = [], found = []
    scratch.ids.n = 0
    try:
        utf8_of(text, &utf8)
        try:
            with nogil:
                encode_spans(pipeline, utf8.data, utf8.n, allowed, None, scratch, &spans, found, words)
            return words, found
        finally:
            spans_free(&spans)
            utf8_release(&utf8)
    finally:
        pipeline.pool.give(scratch)


def traced_piece(Pipeline pipeline not None, str piece not None):
    """Return (id, end) of each token of a piece that no step splits.

    An end is the sum of the bytes that the tokens up to there stand for. Bytes of a prefix or suffix count, so that it
    may lie beyond the piece. Only for a pipeline of characters.
    """
    cdef Scratch* scratch = pipeline.pool.take()
    cdef Utf8 utf8
    cdef Ids* trace = &scratch.trace
    cdef size_t i = 1, length, end = 0
    cdef list out = []
    try:
        utf8_of(piece, &utf8)
        try:
            if utf8.n:
                scratch.ends.n = trace.n = 0
                ends_add(&scratch.ends, utf8.n)
                start_tracing(scratch)
                with nogil:
                    encode_pieces(
                        &scratch.tracing, &pipeline.traced, utf8.data, utf8.n, 0, scratch.ends.items, 1, trace
                    )
                while i < trace.n:
                    length = trace.items[i] >> 24
                    if length == 255:
                        length = trace.items[i + 1]
                    end += length
                    out.append((trace.items[i] & 0xFFFFFF, end))
                    i += 2 if trace.items[i] >> 24 == 255 else 1
            return out
        finally:
            utf8_release(&utf8)
    finally:
        pipeline.pool.give(scratch)


def pieces(Splitter splitter not None, text):
    """Return (start, end) of each piece of a text, in characters; unmatched text is left out."""
    cdef Text view
    cdef Utf8 utf8
    cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0)
    cdef size_t at = 0
    if isinstance(text, (bytearray, memoryview)):
        text = bytes(text)  # read twice below: both views must see the same
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


def staged_pieces(Splitter splitter not None, Stage stages not None, text):
    """Return (start, end) of each piece that the stages leave, in the characters of the text that it comes from."""
    cdef Text view
    cdef Utf8 utf8
    cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0)
    cdef Staged staged
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef size_t at = 0, start, i, first, begin
    memset(&staged, 0, sizeof(staged))
    if isinstance(text, (bytearray, memoryview)):
        text = bytes(text)  # read twice below: both views must see the same
    text_of(text, &view)
    try:
        utf8_of(text, &utf8)
        try:
            with nogil:
                while at < utf8.n:
                    start, ends.n, ends.text = at, 0, utf8.data
                    at = splitter.split(utf8.data, utf8.n, at, &ends)
                    staged.traces = True
                    staged.n_first = 0 if start else fb_char_bytes(utf8.data[0])
                    stages.run(utf8.data, NULL, start, &ends, &staged)
                    begin, first = 0, spans.n
                    for i in range(ends.n):
                        if not ends.items[i] & UNMATCHED:
                            add_span_of_id(&spans, begin, ends.items[i])
                        begin = ends.items[i] & ~UNMATCHED
                    _spans_before_normalizing(&spans, first, 0, &staged.places)
                to_characters(&view, &spans)
            return [(spans.items[i].start, spans.items[i].end) for i in range(spans.n)]
        finally:
            utf8_release(&utf8)
            ends_free(&ends)
            staged_free(&staged)
            spans_free(&spans)
    finally:
        text_release(&view)


def changed_pieces(Splitter splitter not None, Stage stages not None, str text not None, bint is_first):
    """Return (piece, places) for each piece that the stages leave.

    piece: its text.
    places: for each of its characters, the index in `text` of the character that it comes from.

    is_first: `text` begins where a whole text does.
    """
    cdef Utf8 utf8
    cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0)
    cdef Staged staged
    cdef size_t at = 0, i, end, begin = 0
    cdef list out = [], places, characters
    memset(&staged, 0, sizeof(staged))
    utf8_of(text, &utf8)
    try:
        ends.text = utf8.data
        staged.traces = True
        staged.n_first = fb_char_bytes(utf8.data[0]) if is_first and utf8.n else 0
        with nogil:
            while at < utf8.n:
                at = splitter.split(utf8.data, utf8.n, at, &ends)
            stages.run(utf8.data, NULL, 0, &ends, &staged)
        characters = []  # index of the character of each byte
        end = 0
        for at in range(utf8.n):
            end += utf8.data[at] & 0xC0 != 0x80
            characters.append(end - 1)
        for i in range(ends.n):
            end = ends.items[i] & ~UNMATCHED
            if not ends.items[i] & UNMATCHED:
                places = [
                    characters[staged.places.items[at]]
                    for at in range(begin, end)
                    if staged.text.items[at] & 0xC0 != 0x80
                ]
                out.append((_text_of(staged.text.items, begin, end), places))
            begin = end
        return out
    finally:
        utf8_release(&utf8)
        ends_free(&ends)
        staged_free(&staged)


def piece_texts(Pipeline pipeline not None, str text not None, SpecialMatcher tokens):
    """Return the pieces of a text, normalized and changed by all steps, and the tokens found in it.

    tokens: matcher of the tokens; None: there are none. Only for a pipeline of characters.
    """
    cdef Scratch* scratch = pipeline.pool.take()
    cdef Utf8 utf8
    cdef Match match
    cdef size_t at = 0
    cdef list out = []
    try:
        utf8_of(text, &utf8)
        try:
            scratch.at_start = True
            match.end = match.resume = 0
            while tokens is not None and tokens.next(utf8.data, utf8.n, &match):
                _texts_between(pipeline, utf8.data + at, match.start - at, tokens.then, scratch, out)
                out.append(_text_of(utf8.data, match.start, match.end))
                at = match.end
                scratch.at_start = False
            _texts_between(pipeline, utf8.data + at, utf8.n - at, None if tokens is None else tokens.then, scratch, out)
            return out
        finally:
            utf8_release(&utf8)
    finally:
        pipeline.pool.give(scratch)


cdef int _texts_between(
    Pipeline pipeline, const uint8_t* data, size_t n, SpecialMatcher then, Scratch* scratch, list out
) except -1:
    """Append the pieces of a text between two tokens, and the tokens in its normalized form."""
    cdef Match match
    cdef size_t at = 0
    if n == 0:
        return 0
    if pipeline.stages is not None and pipeline.stages.needs_first:
        pipeline.note_first(data, n, scratch)
    if pipeline.front is not None and pipeline.front.apply(data, n, &scratch.changed, NULL):
        data, n = scratch.changed.items, scratch.changed.n
    match.end = match.resume = 0
    while then is not None and then.next(data, n, &match):
        _texts_of_pieces(pipeline, data + at, match.start - at, scratch, out)
        out.append(_text_of(data, match.start, match.end))
        note_token(scratch, match.end - at)
        at = match.end
    return _texts_of_pieces(pipeline, data + at, n - at, scratch, out)


cdef int _texts_of_pieces(Pipeline pipeline, const uint8_t* data, size_t n, Scratch* scratch, list out) except -1:
    """Append the pieces of normalized text without tokens."""
    cdef Ends* ends = &scratch.ends
    cdef size_t at = 0, i, end
    ends.n, ends.text = 0, data
    with nogil:
        while at < n:
            at = pipeline.splitter.split(data, n, at, ends)
        if pipeline.stages is not None:
            scratch.staged.traces = False
            scratch.staged.n_first = scratch.n_first if scratch.at_start else 0
            pipeline.stages.run(data, NULL, 0, ends, &scratch.staged)
            data = scratch.staged.text.items
    at = 0
    for i in range(ends.n):
        end = ends.items[i] & ~UNMATCHED
        if not ends.items[i] & UNMATCHED:
            out.append(_text_of(data, at, end))
        at = end
    return 0


cdef object _text_of(const uint8_t* data, size_t start, size_t end):
    return (<const char*> data)[start:end].decode("utf-8")


cdef list _pieces_list(const Text* view, const Ends* ends):
    """Return (start, end) of each piece, part by part, so that the spans stay in the first-level cache.

    Tried and dropped: making the spans of a whole text first: they need a fifth of the memory of the objects.
    """
    cdef Cursor first = Cursor(0, 0, 0, 0)
    cdef Walk walk = Walk(first, first)
    cdef Span items[PART_SPANS]
    cdef Spans spans = Spans(&items[0], 0, PART_SPANS)
    cdef list out = new_list(n_pieces(ends))
    cdef object last = 0
    cdef size_t i, end, begin = 0, n_held = 0
    hide(out)
    for i in range(ends.n):
        end = ends.items[i] & ~UNMATCHED
        if not ends.items[i] & UNMATCHED:
            items[spans.n] = Span(begin, end)
            spans.n += 1
        begin = end
        if spans.n == PART_SPANS or i + 1 == ends.n:
            to_characters_on(view, &spans, &walk)
            last = append_spans(out, &spans, last)
            yield_gil_after(spans.n, &n_held)
            spans.n = 0
    return show(out)

"""Offsets of ids and of pieces in their text, in characters or another unit.

The steps of Pipeline record the bytes that each id comes from, using `piece_spans`. `span_units` then converts
bytes to the unit.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.common.byte_buffer cimport buffer_reset
from fastbpe._core.common.gil_yield cimport yield_gil_after
from fastbpe._core.common.id_buffer cimport Ids, ids_expect
from fastbpe._core.common.interrupts cimport check_signals
from fastbpe._core.common.python cimport PyObject
from fastbpe._core.common.utf8 cimport fb_char_bytes
from fastbpe._core.encode.codepoint_spans cimport spans_as_tokenizers
from fastbpe._core.encode.piece_spans cimport spans_at_places
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch, offer_gil, start_tracing
from fastbpe._core.encode.span_units cimport (
    CHARACTERS, Cursor, Walk, bytes_to_unit, is_ascii, move_to, to_characters, to_characters_on, to_unit,
)
from fastbpe._core.encode.spans cimport Span, Spans, add_span_of_id, append_spans, spans_expect, spans_free
from fastbpe._core.encode.trim_spans cimport SpanTrimmer
from fastbpe._core.ids.id_lists cimport Array, hide, int64_array, new_list, show
from fastbpe._core.merge.spelling cimport next_of_trace
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_add, ends_free, n_pieces
from fastbpe._core.split.stages cimport Stage, Staged, staged_free
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport (
    Text, Utf8, has_surrogate, text_of, text_release, text_utf8, utf8_capacity, utf8_of, utf8_release,
)

cdef enum:
    NOGIL_UNITS = 1 << 13  # shortest text, in units, for which releasing the GIL pays
    STRETCH_UNITS = 1 << 16  # units of a long text that go through all steps before the next stretch
    UNITS_PER_ID = 4  # estimate
    PART_SPANS = 256  # spans that become tuples before the next are computed


cdef int append_text_spans(
    Pipeline pipeline, object text, SpecialMatcher allowed, SpecialMatcher disallowed, Scratch* scratch,
    Spans* spans, SpanTrimmer trimmer, int unit
) except -1:
    """Append the ids of a text to scratch.ids, and the span of each, trimmed, to spans.

    trimmer: None leaves the spans unchanged.
    unit: SpanUnit of the spans.

    Requires: there are as many spans as ids before the call, so that they have the same indices.
    """
    cdef Text view
    cdef size_t first = spans.n
    cdef Spans added
    cdef list found = None if trimmer is None else []
    cdef PyObject* found_pointer = NULL if trimmer is None else <PyObject*> found
    # A space of normalized text may come from a space of several bytes. Then only spans in characters can be
    # trimmed.
    cdef bint trims_characters = trimmer is not None and (
        pipeline.front is not None or pipeline.vocabulary.drops_bytes or pipeline.vocabulary.spelled is not None
    )
    cdef int traced_unit = CHARACTERS if trims_characters else unit
    text_of(text, &view)
    try:
        if view.n < NOGIL_UNITS:
            offer_gil(scratch, view.n)
            _append_spans(pipeline, &view, allowed, disallowed, scratch, spans, found_pointer, traced_unit)
        else:
            scratch.n_held = 0
            with nogil:
                ids_expect(&scratch.ids, view.n // UNITS_PER_ID)
                spans_expect(spans, view.n // UNITS_PER_ID)
                _append_spans(pipeline, &view, allowed, disallowed, scratch, spans, found_pointer, traced_unit)
        if scratch.beyond.n and unit == CHARACTERS:  # the only unit of tokenizers; to_unit() reads the text at spans
            _place_beyond(&view, scratch, spans)
        scratch.beyond.n = 0
        added = Spans(spans.items + first, spans.n - first, 0)
        if trimmer is not None:
            trimmer.trim(scratch.ids.items + first, added.items, added.n, found, first, traced_unit)
        if traced_unit != unit:
            to_unit(&view, &added, unit)
    finally:
        text_release(&view)
    return 0


cdef int _append_spans(
    Pipeline pipeline, const Text* text, SpecialMatcher allowed, SpecialMatcher disallowed, Scratch* scratch,
    Spans* spans, PyObject* found, int unit
) except -1 nogil:
    """Append ids and spans, one stretch at a time, so that a stretch fits into the second-level cache.

    In code-point mode there is one stretch, since spans are traced through the whole text between two tokens.
    """
    cdef size_t start = 0, end, base = 0
    cdef bint may_cut = (
        text.n > STRETCH_UNITS and pipeline.normalizing is None and pipeline.may_cut(allowed, disallowed)
    )
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
    Pipeline pipeline, const Text* text, size_t start, size_t end, SpecialMatcher allowed,
    SpecialMatcher disallowed, Scratch* scratch, Spans* spans, PyObject* found, int unit, size_t base
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
    encode_spans(pipeline, data, n, allowed, disallowed, scratch, spans, found, NULL)
    if pipeline.normalizing is not None and pipeline.normalizing.as_tokenizers:
        spans_as_tokenizers(spans, first, data, n, &scratch.trace, pipeline.normalizing.removes_spaces)
    whole = Span(0, n)
    if not is_ascii(data, n):
        # An extra empty span at the end becomes the length of the stretch in the unit.
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
    Pipeline pipeline, const uint8_t* data, size_t n, SpecialMatcher allowed, SpecialMatcher disallowed,
    Scratch* scratch, Spans* spans, PyObject* found, PyObject* words
) except -1 nogil:
    """Append the ids of UTF-8 to scratch.ids, and the span of each, in bytes, to spans.

    allowed, disallowed: as in Pipeline.encode().
    found, words: as in Scratch.

    The span of an id of normalized text covers the characters that its bytes come from. In byte mode, a space
    inserted before a text belongs to the text's first character.

    In code-point mode, such a space covers no text, and scratch.trace gets the indices of the spans that begin
    with one.
    """
    if pipeline.normalizing is not None:
        scratch.trace.n = 0
        with gil:
            pipeline.pieces.widths_of_ids()  # builds PieceSteps.widths, which _merge() reads without the GIL
    scratch.spans, scratch.found, scratch.words, scratch.notes_texts = spans, found, words, False
    try:
        return pipeline.encode_utf8(data, n, allowed, disallowed, True, True, scratch)
    finally:
        scratch.spans = NULL


cdef void _place_beyond(const Text* text, Scratch* scratch, Spans* spans) noexcept nogil:
    """Set the positions that tokenizers returns for ids whose bytes lie beyond the end of their piece.

    They are bytes of a prefix or suffix (continuing_subword_prefix, end_of_word_suffix). tokenizers mistakes their
    position in the piece for a position in the whole text, and its BytesToCharOffsetConverter converts it to
    characters. That leaves a start outside the text as it is; an end there is after the character before it.
    """
    cdef const Ids* beyond = &scratch.beyond
    cdef Span span
    cdef Cursor none = Cursor(0, 0, 0, 0), at_start = none, ahead = none
    cdef size_t k, start, end, last = 0, n_bytes = move_to(text, &ahead, <size_t> -1)  # no text has that byte
    for k in range(0, beyond.n, 3):
        start, end = beyond.items[k + 1], beyond.items[k + 2]
        span = Span(start, end)
        if start < n_bytes:
            if start < last:  # a later piece, whose positions begin at 0 again
                at_start = none
            last = start
            span.start = move_to(text, &at_start, start)
            ahead = at_start
            if end < n_bytes:
                span.end = move_to(text, &ahead, end)
            else:
                span.end = 1 + (move_to(text, &ahead, end - 1) if end - 1 < n_bytes else span.start + 1)
        spans.items[beyond.items[k]] = span


def sizes_of_tokens(Pipeline pipeline not None, str text not None, bint backward):
    """Return how many characters of a text are before each of its tokens, and then the length of the text.

    backward: count the characters after each token instead, beginning with the last token.

    Byte mode only.
    """
    cdef Scratch* scratch = pipeline.pool.take()
    cdef Text view
    cdef Utf8 utf8
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef Array sizes
    cdef int64_t* items
    cdef size_t i
    try:
        utf8_of(text, &utf8)
        text_of(text, &view)  # a str owns its view
        with nogil:
            encode_spans(pipeline, utf8.data, utf8.n, None, None, scratch, &spans, NULL, NULL)
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
        pipeline.pool.give(scratch)


def word_ends(Pipeline pipeline not None, str text not None, SpecialMatcher allowed):
    """Return (words, found) of a text.

    words: number of ids up to the end of each token and piece. Pieces without ids count, too. In code-point mode,
        the text between two tokens is one piece, which counts if it has ids.
    found: (index of the id, text) of each special, added or unknown Unigram token.

    allowed: matcher of special tokens that become ids; None: no tokens.
    """
    cdef Scratch* scratch = pipeline.pool.take()
    cdef Utf8 utf8
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef list words = [], found = []
    try:
        utf8_of(text, &utf8)
        with nogil:
            encode_spans(
                pipeline, utf8.data, utf8.n, allowed, None, scratch, &spans, <PyObject*> found, <PyObject*> words
            )
        return words, found
    finally:
        spans_free(&spans)
        utf8_release(&utf8)
        pipeline.pool.give(scratch)


def numbers_of_words(list ends not None):
    """Return, for each id, the index of its piece. ends: number of ids up to the end of each piece."""
    cdef list numbers = []
    cdef Py_ssize_t number, start = 0, end
    for number, end in enumerate(ends):
        for _ in range(start, end):
            numbers.append(number)
        start = end
    return numbers


def traced_piece(Pipeline pipeline not None, str piece not None):
    """Return (id, start, end) of each token of a piece, in bytes of UTF-8; the piece is not split further.

    Where byte fallback spells a prefix or suffix, its bytes count, so an end may be beyond the piece. Only for a
    pipeline of characters.
    """
    cdef Scratch* scratch = pipeline.pool.take()
    cdef Utf8 utf8
    cdef Ids* trace = &scratch.trace
    cdef size_t i = 1, length, start = 0
    cdef uint32_t token
    cdef bint is_shared
    cdef list out = []
    try:
        utf8_of(piece, &utf8)
        if utf8.n:
            trace.n = 0
            ends_add(&scratch.ends, utf8.n)
            start_tracing(scratch)
            with nogil:
                encode_pieces(
                    &scratch.tracing, &pipeline.pieces.traced, utf8.data, utf8.n, 0, scratch.ends.items, 1, trace
                )
            while i < trace.n:  # item 0 is the number of ids
                token = next_of_trace(trace, &i, &length, &is_shared)
                out.append((token, start, start + length))
                if not is_shared:
                    start += length
        return out
    finally:
        utf8_release(&utf8)
        pipeline.pool.give(scratch)


def pieces(Splitter splitter not None, text):
    """Return (start, end) of each piece of a text, in characters; unmatched text is left out."""
    cdef Text view
    cdef Utf8 utf8
    cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0, 0, 0)
    cdef size_t at = 0
    if isinstance(text, (bytearray, memoryview)):
        text = bytes(text)  # read twice below: both views must see the same bytes
    try:
        utf8_of(text, &utf8)
        text_of(text, &view)  # owns nothing: the text is a str or bytes
        ends.text = utf8.data
        with nogil:
            while at < utf8.n:
                at = splitter.split(utf8.data, utf8.n, at, &ends)
        return _pieces_list(&view, &ends)
    finally:
        utf8_release(&utf8)
        ends_free(&ends)


def staged_pieces(Splitter splitter not None, Stage stages not None, text):
    """Return (start, end) of each piece after the stages, in characters of the original text."""
    cdef Text view
    cdef Utf8 utf8
    cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0, 0, 0)
    cdef Staged staged
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef size_t at = 0, start, i, first, begin
    memset(&staged, 0, sizeof(staged))
    staged.traces = True
    if isinstance(text, (bytearray, memoryview)):
        text = bytes(text)  # read twice below: both views must see the same bytes
    try:
        utf8_of(text, &utf8)
        text_of(text, &view)  # owns nothing: the text is a str or bytes
        with nogil:
            while at < utf8.n:
                start, ends.n, ends.text = at, 0, utf8.data
                at = splitter.split(utf8.data, utf8.n, at, &ends)
                staged.n_first = fb_char_bytes(utf8.data[0])
                stages.run(utf8.data, NULL, start, &ends, &staged)
                begin, first = 0, spans.n
                for i in range(ends.n):
                    if not ends.items[i] & UNMATCHED:
                        add_span_of_id(&spans, begin, ends.items[i])
                    begin = ends.items[i] & ~UNMATCHED
                spans_at_places(&spans, first, &staged.places)
            to_characters(&view, &spans)
        return [(spans.items[i].start, spans.items[i].end) for i in range(spans.n)]
    finally:
        utf8_release(&utf8)
        ends_free(&ends)
        staged_free(&staged)
        spans_free(&spans)


def changed_pieces(Splitter splitter not None, Stage stages not None, str text not None, bint is_first):
    """Return (piece, places) for each piece after the stages.

    piece: text of the piece.
    places: for each of its characters, the index in `text` of the character that it comes from.

    is_first: `text` begins where the whole text begins.
    """
    cdef Utf8 utf8
    cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0, 0, 0)
    cdef Staged staged
    cdef size_t at = 0, i, end, begin = 0
    cdef list out = [], places, characters
    memset(&staged, 0, sizeof(staged))
    staged.traces = True
    try:
        utf8_of(text, &utf8)
        ends.text = utf8.data
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
                out.append(((<const char*> staged.text.items)[begin:end].decode("utf-8"), places))
            begin = end
        return out
    finally:
        utf8_release(&utf8)
        ends_free(&ends)
        staged_free(&staged)


def piece_texts(Pipeline pipeline not None, str text not None, SpecialMatcher tokens):
    """List in order the tokens found in a text, and the pieces between them as all steps have changed them.

    tokens: matcher of the tokens; None: `Pipeline.always`. Only for a pipeline of characters.
    """
    cdef Scratch* scratch = pipeline.pool.take()
    cdef Utf8 utf8
    cdef Spans spans = Spans(NULL, 0, 0)
    cdef list out = []
    try:
        utf8_of(text, &utf8)
        scratch.spans, scratch.found, scratch.words, scratch.notes_texts = &spans, NULL, <PyObject*> out, True
        with nogil:
            pipeline.encode_utf8(utf8.data, utf8.n, tokens, None, True, True, scratch)
        return out
    finally:
        utf8_release(&utf8)
        pipeline.pool.give(scratch)


cdef list _pieces_list(const Text* view, const Ends* ends):
    """Return (start, end) of each piece, part by part, so that the spans fit into the first-level cache.

    Tried and dropped: making the spans of a whole text first. These take a fifth as much memory as the tuples, in
    addition to the tuples.
    """
    cdef Cursor first = Cursor(0, 0, 0, 0)
    cdef Walk walk = Walk(first, first)
    cdef Span items[PART_SPANS]
    cdef Spans spans = Spans(&items[0], 0, PART_SPANS)
    cdef list out = new_list(n_pieces(ends))
    cdef object last_end = 0
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
            last_end = append_spans(out, &spans, last_end)
            yield_gil_after(spans.n, &n_held)
            spans.n = 0
    return show(out)

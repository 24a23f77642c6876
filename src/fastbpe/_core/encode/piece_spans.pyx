"""Spans of the ids of pieces, and other data that a pipeline records while it encodes.

A pipeline with scratch.spans records the bytes that each id comes from. merge_with_spans() records a token's bytes
in the text that was split; then each earlier step converts the spans in its output to spans in its input.
"""

from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.common.byte_buffer cimport Buffer, buffer_add
from fastbpe._core.common.gil_yield cimport yield_gil_at
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids, ids_reserve
from fastbpe._core.common.places cimport FB_NOWHERE, Places
from fastbpe._core.common.python cimport PyObject
from fastbpe._core.encode.scratch_pool cimport Scratch, add_id, start_tracing
from fastbpe._core.encode.superwords cimport encode_byte_pieces
from fastbpe._core.encode.spans cimport Span, Spans, add_span_of_id, spans_grow
from fastbpe._core.merge.spelling cimport next_of_trace
from fastbpe._core.merge.vocabulary cimport Tables, token_length, token_start
from fastbpe._core.segment.segmenter cimport UNIGRAM
from fastbpe._core.split.splitter cimport UNMATCHED, Ends
from fastbpe._core.text.special_tokens cimport Match


# Conversion of spans to the input of a step

cdef void add_to_spans(Spans* spans, size_t first, size_t by) noexcept nogil:
    """Add `by` to the spans from index first on."""
    cdef size_t i
    for i in range(first, spans.n):
        spans.items[i].start += by
        spans.items[i].end += by


cdef void spans_without_prefix(Spans* spans, size_t first, size_t least_end) noexcept nogil:
    """Remove a space inserted before a text from the spans from index first on.

    least_end: smallest end of a span: 1 gives the space the text's first byte, 0 an empty span.
    """
    cdef size_t i
    cdef Span* span
    for i in range(first, spans.n):
        span = &spans.items[i]
        span.start = max(span.start, <size_t> 1) - 1
        span.end = max(span.end, 1 + least_end) - 1


cdef void spans_at_places(Spans* spans, size_t first, const Places* places) noexcept nogil:
    """Convert spans of a changed text, from index first on, to spans of the text that it comes from.

    places: for each byte of the changed text, a byte of the character that it comes from, or FB_NOWHERE.
    """
    cdef size_t i, place
    cdef Span* span
    for i in range(first, spans.n):
        span = &spans.items[i]
        span.end = places.items[span.end - 1] + 1 if span.end else 0
        # Only with a malformed vocabulary (see _add_spans_of_ids), a span may begin at the end of the text.
        place = places.items[min(span.start, places.n - 1)]
        span.start = place if place != FB_NOWHERE else 0


cdef int note_token_found(Scratch* scratch, const uint8_t* data, const Match* match) except -1 nogil:
    """Record a special or added token, whose id was appended last."""
    if not scratch.notes_texts:
        add_span_of_id(scratch.spans, match.start, match.end)
    if scratch.found != NULL or scratch.words != NULL:
        with gil:
            text = (<const char*> data)[match.start:match.end].decode("utf-8")
            if scratch.found != NULL:
                (<list> scratch.found).append((scratch.ids.n - 1, text))
            if scratch.words != NULL:
                (<list> scratch.words).append(text if scratch.notes_texts else scratch.ids.n)
    return 0


# Pieces

cdef int merge_with_spans(
    const Tables* tables, bint drops_bytes, const uint8_t* data, size_t n, size_t start, size_t end, Scratch* scratch
) except -1 nogil:
    """Append the ids of the pieces of data[start:end], and record their spans.

    With scratch.notes_texts, only append the texts of the pieces to scratch.words.

    tables: tables of the vocabulary; for a vocabulary of characters, `PieceSteps.traced`.
    drops_bytes: the vocabulary lacks some bytes, and these are left out.

    Requires: scratch.ends has the pieces.
    """
    cdef size_t first_id = scratch.ids.n
    if scratch.notes_texts:
        return _note_texts(data, start, &scratch.ends, scratch.words)
    if tables.spelling != NULL:
        return _merge_characters(tables, data, n, start, scratch)
    if drops_bytes and _has_byte_without_token(tables, data, start, end):
        _merge_known_bytes(tables, data, start, scratch)
    else:
        encode_byte_pieces(tables, data, n, start, scratch.ends.items, scratch.ends.n, scratch)
        _add_spans_of_ids(tables, &scratch.ends, start, &scratch.ids, first_id, scratch.spans)
    if scratch.words != NULL:
        _note_words(tables, data, start, &scratch.ends, &scratch.ids, first_id, scratch.words)
    return 0


cdef int _note_texts(const uint8_t* data, size_t at, const Ends* ends, PyObject* texts) except -1 nogil:
    """Append the texts of the pieces to a list."""
    cdef size_t k, end
    with gil:
        for k in range(ends.n):
            end = ends.items[k] & ~UNMATCHED
            if not ends.items[k] & UNMATCHED:
                (<list> texts).append((<const char*> data)[at:end].decode("utf-8"))
            at = end
    return 0


cdef int _merge_characters(
    const Tables* tables, const uint8_t* data, size_t n, size_t start, Scratch* scratch
) except -1 nogil:
    """Do the work of merge_with_spans() for a vocabulary of characters, using the traces of its pieces."""
    cdef const Ends* ends = &scratch.ends
    cdef Ids* trace = &scratch.trace
    cdef size_t k, i = 0, end, at, begin, length, n_ids
    cdef uint32_t token
    cdef bint is_shared  # the next id stands for the same bytes
    start_tracing(scratch)
    trace.n = 0
    encode_pieces(&scratch.tracing, tables, data, n, start, ends.items, ends.n, trace)
    for k in range(ends.n):
        end = ends.items[k] & ~UNMATCHED
        at = begin = start
        start = end
        if ends.items[k] & UNMATCHED:
            continue
        n_ids = trace.items[i]
        i += 1
        for _ in range(n_ids):
            token = next_of_trace(trace, &i, &length, &is_shared)
            if at + length > end:
                _note_beyond(scratch, at - begin, at - begin + length)
            add_id(scratch, token)
            add_span_of_id(scratch.spans, min(at, end - 1), min(at + length, end))
            if scratch.found != NULL and _is_its_text(tables, token, data + at, length):
                with gil:
                    text = (<const char*> data)[at:at + length].decode("utf-8")
                    (<list> scratch.found).append((scratch.ids.n - 1, text))
            if not is_shared:
                at += length
        if scratch.words != NULL:
            with gil:
                (<list> scratch.words).append(scratch.ids.n)
    return 0


cdef bint _is_its_text(const Tables* tables, uint32_t token, const uint8_t* text, size_t n) noexcept nogil:
    """Tell whether tokenizers shows the text of a token instead of its name.

    It does so for Unigram's unknown token, unless all bytes of the text have tokens.
    """
    cdef size_t i
    if tables.segmenting == NULL or tables.segmenting.kind != UNIGRAM or token != tables.spelling.unknown_id:
        return False
    if not tables.spelling.has_bytes:
        return True
    for i in range(n):
        if tables.spelling.byte_ids[text[i]] == NONE:
            return True
    return False


cdef int _note_beyond(Scratch* scratch, size_t start, size_t end) except -1 nogil:
    """Record that the next id stands for bytes of a prefix or suffix, which its piece does not have."""
    cdef Ids* beyond = &scratch.beyond
    ids_reserve(beyond, 3)
    beyond.items[beyond.n] = <uint32_t> scratch.ids.n
    beyond.items[beyond.n + 1] = <uint32_t> start
    beyond.items[beyond.n + 2] = <uint32_t> end
    beyond.n += 3
    return 0


cdef int _note_words(
    const Tables* tables, const uint8_t* data, size_t at, const Ends* ends, const Ids* ids, size_t i, PyObject* words
) except -1 nogil:
    """Append to words the number of ids up to the end of each piece.

    Requires: the ids from index i on belong to the pieces `ends`; the first piece begins at data[at]. Bytes
    without a token have no ids. An id that covers several pieces belongs to the first.
    """
    cdef size_t k, end, n_left, length, n_over = 0  # bytes of later pieces that the last id covers
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
            length = min(n_left, n_over)
            n_left -= length
            n_over -= length
            while n_left and i < ids.n:
                token = ids.items[i]
                length = token_length(tables, token)
                n_over = length - min(n_left, length)
                n_left -= min(n_left, length)
                i += 1
            (<list> words).append(i)
    return 0


cdef int _add_spans_of_ids(
    const Tables* tables, const Ends* ends, size_t begin, const Ids* ids, size_t i, Spans* spans
) except -1 nogil:
    """Append the spans of the ids from index i on, by the lengths of their tokens.

    Requires: they are the ids of the pieces `ends`; the first piece begins at `begin`.
    """
    cdef size_t k, end, token_end
    cdef uint32_t token
    if ends.n and _add_spans_end_to_end(tables, begin, ends.items[ends.n - 1], ids, i, spans):
        return 0
    for k in range(ends.n):
        end = ends.items[k] & ~UNMATCHED
        if k + 1 < ends.n and not (ends.items[k] | ends.items[k + 1]) & UNMATCHED:
            continue  # an id may belong to this piece and the next
        while begin < end and not ends.items[k] & UNMATCHED and i < ids.n:
            token = ids.items[i]
            i += 1
            # with a malformed vocabulary spans are wrong, but nothing worse
            token_end = min(begin + token_length(tables, token), end)
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
    """Append the spans of the ids from index i on, each starting at the end of the previous one.

    Returns False and appends nothing unless the last ends at `end`: some text is unmatched, or the vocabulary is
    malformed.
    """
    cdef size_t n = ids.n - i, k
    cdef Span* out
    while spans.n + n > spans.capacity:
        spans_grow(spans)
    out = spans.items + spans.n
    for k in range(n):
        out[k].start = begin
        begin += token_length(tables, ids.items[i + k])
        out[k].end = begin
    if begin != end:
        return False
    spans.n += n
    return True


cdef bint _has_byte_without_token(const Tables* tables, const uint8_t* data, size_t at, size_t end) noexcept nogil:
    """Tell whether data[at:end] has a byte without a token."""
    while at < end and tables.byte_ids[data[at]] != NONE:
        at += 1
    return at < end


cdef int _merge_known_bytes(
    const Tables* tables, const uint8_t* data, size_t begin, Scratch* scratch
) except -1 nogil:
    """Encode the pieces in scratch.ends without the bytes that have no token, as tokenizers does.

    begin: offset of the first piece.

    As in tokenizers, the spans of the ids of a piece begin at its first byte and follow each other as if no byte
    had been left out.
    """
    cdef Buffer* kept = &scratch.kept
    cdef size_t i, k, end, first_id
    for k in range(scratch.ends.n):
        end = scratch.ends.items[k] & ~UNMATCHED
        kept.n = 0
        if not scratch.ends.items[k] & UNMATCHED:
            for i in range(begin, end):
                if tables.byte_ids[data[i]] != NONE:
                    buffer_add(kept, data + i, 1)
        if kept.n:
            first_id = scratch.ids.n
            encode_byte_pieces(tables, kept.items, kept.n, 0, &kept.n, 1, scratch)  # one piece, which ends at kept.n
            _add_spans_by_characters(tables, data, begin, end, &scratch.ids, first_id, scratch.spans)
        begin = end
    return 0


cdef int _add_spans_by_characters(
    const Tables* tables, const uint8_t* data, size_t at, size_t end, const Ids* ids, size_t i, Spans* spans
) except -1 nogil:
    """Append the spans of the ids from index i on, in the piece data[at:end], as tokenizers counts them.

    tokenizers writes each byte as a character (GPT-2's bytes_to_unicode) and counts the bytes of these
    characters' UTF-8.
    """
    cdef size_t n_left = _character_bytes(data[at])  # bytes of the character for data[at] that no id covers so far
    cdef size_t n, start, token_at, token_end
    cdef uint32_t token
    for i in range(i, ids.n):
        token = ids.items[i]
        token_at = token_start(tables, token)
        token_end = tables.token_ends[token]
        n = 0  # bytes of the characters of the token
        while token_at < token_end:
            n += _character_bytes(tables.token_bytes[token_at])
            token_at += 1
        start = at
        while n > n_left and at + 1 < end:
            n -= n_left
            at += 1
            n_left = _character_bytes(data[at])
        add_span_of_id(spans, start, at + 1)
        n_left -= min(n, n_left)
        if not n_left and at + 1 < end:
            at += 1
            n_left = _character_bytes(data[at])
    return 0


cdef inline size_t _character_bytes(uint8_t byte) noexcept nogil:
    """Return the number of UTF-8 bytes of the character that stands for a byte in GPT-2's files."""
    return 1 if 0x21 <= byte <= 0x7E else 2

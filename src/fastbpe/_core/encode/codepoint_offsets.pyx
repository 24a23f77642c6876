"""Ids of texts in code-point mode with the span of each.

The span of an id is found as in codepoint_pieces: by the lengths of the pieces and, where a normalizer changes
text, by the offsets that it notes.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, malloc

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.encode.codepoint_pieces cimport TokenEncoder
from fastbpe._core.encode.scratch_pool cimport Scratch, offer_gil, put_space_before
from fastbpe._core.encode.spans cimport (
    Span, Spans, add_span_of_id, bytes_to_unit, is_ascii, span_unit, spans_array, spans_expect, spans_free, spans_grow,
    spans_list, take_spare_spans, to_characters, to_unit,
)
from fastbpe._core.ids.id_lists cimport ids_array, ids_list, take_spare
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized, normalized_free
from fastbpe._core.text.utf8_text cimport Text, has_surrogates, text_of, text_release

cdef enum:
    NOGIL_BYTES = 1 << 13  # bytes of a text from which giving up the GIL pays


@cython.final
cdef class TracedIds:
    """Ids of texts, one text after another, each in parts, with the span of each id.

    n_units: length of all texts together, an estimate.
    """

    cdef Ids _ids
    cdef Spans _spans  # of the text at hand in bytes of its UTF-8, of the texts before it in their unit
    cdef size_t _begin  # index of the first id of the text at hand
    cdef Normalized _normalized  # of the section at hand
    cdef uint32_t* _ends  # of its tokens, in bytes of normalized text
    cdef size_t _n_units  # length of the texts
    cdef size_t _n_ends  # that the memory holds

    def __cinit__(self, size_t n_units):
        self._n_units = n_units
        take_spare(&self._ids, n_units)
        take_spare_spans(&self._spans, n_units)

    def __dealloc__(self):
        free(self._ends)
        normalized_free(&self._normalized)
        ids_free(&self._ids)
        spans_free(&self._spans)

    def __len__(self):
        return self._ids.n

    def begin(self):
        """Begin a text: the ids added from now on belong to it."""
        self._begin = self._ids.n

    @property
    def n(self):
        """Number of ids of the text at hand."""
        return self._ids.n - self._begin

    def add(self, uint32_t token_id, size_t start, size_t end):
        """Append an id and its span, in bytes."""
        ids_reserve(&self._ids, 1)
        self._ids.items[self._ids.n] = token_id
        self._ids.n += 1
        add_span_of_id(&self._spans, start, end)

    def add_section(
        self, TokenEncoder encoder not None, bytes data not None, size_t start, size_t end, bint has_dummy, size_t last
    ):
        """Append the ids and spans of data[start:end], text between two tokens.

        encoder: puts a space before text if has_dummy.
        last: no span is let end after it.
        """
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
        cdef Scratch* scratch
        if not start <= end <= <size_t> PyBytes_GET_SIZE(data):
            raise IndexError(f"bytes {start} to {end} of {len(data)}")
        scratch = encoder._pipeline.pool.take()
        try:
            if end - start < NOGIL_BYTES:
                offer_gil(scratch, end - start)
                self._add_section(encoder, text + start, end - start, start, has_dummy, last, scratch)
            else:
                with nogil:
                    self._add_section(encoder, text + start, end - start, start, has_dummy, last, scratch)
        finally:
            encoder._pipeline.pool.give(scratch)

    cdef int _add_section(
        self,
        TokenEncoder encoder,
        const uint8_t* text,
        size_t n,
        size_t start,
        bint has_dummy,
        size_t last,
        Scratch* scratch,
    ) except -1 nogil:
        """Do the work of add_section() for a text of n bytes at offset `start`."""
        cdef const uint8_t* normalized = text
        cdef size_t n_normalized = n
        cdef const uint32_t* offsets = NULL
        if n >= NONE - 1:
            with gil:
                raise OverflowError(f"{n} bytes of text: places are counted up to 2**32 - 2; cut the text")
        if encoder._pipeline.normalizing.normalizer is None:
            if has_dummy:
                put_space_before(scratch, &normalized, &n_normalized)
        else:
            self._normalized.with_offsets = True
            if encoder._normalizer.run(text, n, &self._normalized) != 0 or self._normalized.n >= NONE:
                with gil:
                    raise MemoryError(f"no memory to encode {n} bytes of text")
            normalized, n_normalized, offsets = self._normalized.data, self._normalized.n, self._normalized.offsets
        scratch.ids.n = 0
        encoder._pipeline.encode_normalized(normalized, n_normalized, scratch)
        return self._append(encoder, normalized, &scratch.ids, offsets, start, has_dummy, last)

    cdef int _append(
        self,
        TokenEncoder encoder,
        const uint8_t* normalized,
        const Ids* ids,
        const uint32_t* offsets,
        size_t start,
        bint has_dummy,
        size_t last,
    ) except -1 nogil:
        """Append ids of normalized text, with their spans.

        offsets: offset in the text of each byte of normalized text. NULL: they are the same, but for the space put
            before the text if has_dummy.
        start: offset of the text in the whole.
        """
        cdef size_t n, i, at = 0, begin = start
        cdef Span* out
        if ids.n > self._n_ends:
            free(self._ends)
            self._n_ends = 0
            self._ends = <uint32_t*> malloc((ids.n + ids.n // 4 + 64) * sizeof(uint32_t))
            if self._ends == NULL:
                with gil:
                    raise MemoryError(f"no memory for the places of {ids.n} ids")
            self._n_ends = ids.n + ids.n // 4 + 64
        ids_reserve(&self._ids, ids.n)
        spans_expect(&self._spans, ids.n)
        while self._spans.n + ids.n > self._spans.capacity:
            spans_grow(&self._spans)
        out = self._spans.items + self._spans.n
        n = encoder.measure(normalized, ids.items, ids.n, self._ids.items + self._ids.n, self._ends)
        if offsets == NULL:
            for i in range(n):
                out[i].start = begin
                begin = min(start + (max(self._ends[i], <uint32_t> 1) - 1 if has_dummy else self._ends[i]), last)
                out[i].end = begin
        else:
            for i in range(n):
                out[i].start = start + offsets[at]
                at = self._ends[i]
                out[i].end = min(start + offsets[at], last)
        self._ids.n += n
        self._spans.n += n
        return 0

    def begin_at_last_space(self, bytes data not None):
        """Shorten the spans of the text to begin with one space at most: the last of several that became one.

        data: the text.
        """
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
        cdef size_t i
        cdef Span* span
        for i in range(self._begin, self._spans.n):
            span = &self._spans.items[i]
            while span.start + 1 < span.end and text[span.start] == 0x20 and text[span.start + 1] == 0x20:
                span.start += 1

    def widen(self, bytes data not None, list prefixed not None):
        """Widen the empty spans of the text, as tokenizers has them.

        A space put before text gets the span of its first character, one put after it that of its last. Each byte
        id of a character spans the character.

        data: the text.
        prefixed: ascending indices, among the ids of the text, of those that begin with a space put before text.
        """
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
        cdef size_t n = <size_t> PyBytes_GET_SIZE(data), i = self._spans.n, n_prefixed = len(prefixed)
        cdef size_t next_prefixed = i  # the last of those before the id at hand
        cdef Span* span
        while i > self._begin:
            while n_prefixed and next_prefixed >= i:
                n_prefixed -= 1
                next_prefixed = self._begin + <size_t> prefixed[n_prefixed]
            i -= 1
            span = &self._spans.items[i]
            if span.start != span.end:
                continue
            if i == next_prefixed:
                span.end = _next(text, n, span.start)
            elif i + 1 == self._spans.n:
                span.start = _before(text, span.start)
            else:
                span.end = (span + 1).end

    def finish(self, text, bytes data not None, unit):
        """Turn the spans of the text to a unit.

        text: the text as given.
        data: its UTF-8.
        unit: as in `Tokenizer.encode_with_offsets`.
        """
        cdef Spans own = Spans(self._spans.items + self._begin, self._spans.n - self._begin, 0)
        cdef const uint8_t* utf8 = <const uint8_t*> PyBytes_AS_STRING(data)
        cdef size_t n = <size_t> PyBytes_GET_SIZE(data)
        cdef int kind = span_unit(unit)
        cdef Text view
        if is_ascii(utf8, n):
            return
        if not isinstance(text, str) or not has_surrogates(text):
            with nogil:
                bytes_to_unit(utf8, n, &own, kind)
            return
        text_of(text, &view)
        try:
            to_characters(&view, &own)
            to_unit(&view, &own, kind)
        finally:
            text_release(&view)

    def lists(self):
        """Return the lists of all ids and of their spans."""
        return ids_list(self._ids.items, self._ids.n), spans_list(&self._spans)

    def arrays(self):
        """Return the arrays of all ids (uint32) and of start, end, … (int64), and forget them."""
        return ids_array(&self._ids, self._n_units), spans_array(&self._spans, self._n_units)


cdef inline size_t _next(const uint8_t* text, size_t n, size_t at) noexcept nogil:
    """Return the offset of the character after the one at `at`; one more than `at` at the end of the text."""
    at += 1
    while at < n and text[at] & 0xC0 == 0x80:
        at += 1
    return at


cdef inline size_t _before(const uint8_t* text, size_t at) noexcept nogil:
    """Return the offset of the character before the one at `at`; 0 without one."""
    if at:
        at -= 1
    while at and text[at] & 0xC0 == 0x80:
        at -= 1
    return at

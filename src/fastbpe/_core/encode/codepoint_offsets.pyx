"""Ids of texts in code-point mode with the span of each.

The span of an id is found as in codepoint_pieces: by the lengths of the pieces and, where a normalizer changes
text, by the offsets that it notes.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

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
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text, Utf8, has_surrogate, text_of, text_release, utf8_of, utf8_release

cdef const uint8_t* METASPACE_UTF8 = b"\xe2\x96\x81"

cdef list _FIRST = [0]
cdef list _NONE = []

cdef enum:
    NOGIL_BYTES = 1 << 13  # bytes of a text from which giving up the GIL pays


@cython.final
cdef class SectionRules:
    """Rules for a text between two tokens.

    plain, prefixed: encoders of such a text; `prefixed` puts a space before it.
    dummy_prefix: the model puts a space before text.
    prefix: "always", "first" or "": before each text, or the first, that does not begin with one.
    as_tokenizers: give the spans of tokenizers, not sentencepiece's.
    removes_spaces: the model makes one space of several.
    """

    cdef readonly TokenEncoder plain
    cdef readonly TokenEncoder prefixed
    cdef readonly bint dummy_prefix
    cdef readonly bint as_tokenizers
    cdef readonly bint removes_spaces
    cdef bint _always
    cdef bint _first

    def __cinit__(
        self,
        TokenEncoder plain not None,
        TokenEncoder prefixed not None,
        *,
        bint dummy_prefix,
        str prefix not None,
        bint as_tokenizers,
        bint removes_spaces,
    ):
        self.plain, self.prefixed = plain, prefixed
        self.dummy_prefix = dummy_prefix
        self.as_tokenizers = as_tokenizers
        self.removes_spaces = removes_spaces
        self._always = prefix == "always"
        self._first = prefix == "first"

    def puts_space(self, bytes data not None, size_t start, size_t end):
        """Tell whether the rule `prefix` puts a space before data[start:end]."""
        if not start <= end <= <size_t> PyBytes_GET_SIZE(data):
            raise IndexError(f"bytes {start} to {end} of {len(data)}")
        return self._puts_space(<const uint8_t*> PyBytes_AS_STRING(data) + start, end - start, start == 0)

    cdef bint _puts_space(self, const uint8_t* text, size_t n, bint is_first) noexcept nogil:
        if not n or not (self._always or self._first and is_first):
            return False
        return text[0] != 0x20 and not (n > 2 and memcmp(text, METASPACE_UTF8, 3) == 0)


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

    def add_texts(
        self, list texts not None, list ends not None, SectionRules rules not None, SpecialMatcher allowed,
        SpecialMatcher disallowed, unit
    ):
        """Add texts until one needs more than this: it is neither str nor bytes, or holds a token.

        ends: a 0, then the number of ids up to the end of each text so far; the texts added append theirs.
        allowed, disallowed: matchers of tokens; None: there are none.
        unit: as in `Tokenizer.encode_with_offsets`.

        The slow twin is `Places._add`.
        """
        cdef int kind = span_unit(unit)
        cdef Scratch* scratch
        cdef size_t at = <size_t> len(ends) - 1
        if allowed is not None and allowed.then is not None:
            return
        scratch = rules.plain._pipeline.pool.take()
        try:
            while at < <size_t> len(texts):
                PyErr_CheckSignals()
                if not self._add_text(texts[at], rules, allowed, disallowed, kind, scratch):
                    break
                ends.append(self._ids.n)
                at += 1
        finally:
            rules.plain._pipeline.pool.give(scratch)

    cdef bint _add_text(
        self,
        object text,
        SectionRules rules,
        SpecialMatcher allowed,
        SpecialMatcher disallowed,
        int unit,
        Scratch* scratch,
    ) except -1:
        """Add a text; False, and nothing is added, if it needs more than this."""
        cdef Text view
        cdef Utf8 utf8
        cdef Match match
        cdef bint is_prefixed
        cdef TokenEncoder encoder
        if type(text) is not str and type(text) is not bytes:
            return False
        text_of(text, &view)  # which lends the memory of a str or bytes
        utf8_of(text, &utf8)
        try:
            if disallowed is not None and disallowed.find(utf8.data, utf8.n, 0, &match):
                return False
            if allowed is not None and allowed.find(utf8.data, utf8.n, 0, &match):
                return False
            self._begin = self._ids.n
            if not utf8.n:
                return True
            is_prefixed = rules.dummy_prefix or rules._puts_space(utf8.data, utf8.n, True)
            encoder = rules.prefixed if is_prefixed else rules.plain
            if utf8.n < NOGIL_BYTES:
                offer_gil(scratch, utf8.n)
                self._add_section(encoder, utf8.data, utf8.n, 0, is_prefixed, utf8.n, scratch)
            else:
                scratch.n_held = 0
                with nogil:
                    self._add_section(encoder, utf8.data, utf8.n, 0, is_prefixed, utf8.n, scratch)
            if rules.as_tokenizers:
                self._end_as_tokenizers(utf8.data, utf8.n, _FIRST if is_prefixed else _NONE, rules.removes_spaces)
            with nogil:
                self._finish(&view, utf8.data, utf8.n, unit)
            return True
        finally:
            utf8_release(&utf8)
            text_release(&view)

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
        if encoder._pipeline.normalizing.normalizer is None and not _has_metaspace(text, n):
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
        return self._append(encoder, normalized, n_normalized, &scratch.ids, offsets, start, has_dummy, last)

    cdef int _append(
        self,
        TokenEncoder encoder,
        const uint8_t* normalized,
        size_t n_normalized,
        const Ids* ids,
        const uint32_t* offsets,
        size_t start,
        bint has_dummy,
        size_t last,
    ) except -1 nogil:
        """Append ids of normalized text, with their spans.

        offsets: offset in the text of each byte of normalized text. NULL: they are the same, except for the space put
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
        n = encoder.measure(normalized, n_normalized, ids.items, ids.n, self._ids.items + self._ids.n, self._ends)
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

    def end_as_tokenizers(self, bytes data not None, list prefixed not None, bint removes_spaces):
        """Change the spans of the text to the spans that tokenizers gives.

        - If removes_spaces, spans begin with one space at most: the last of several that became one.
        - A space put before text gets the span of the text's first character, a space put after it the last's.
        - Each byte id of a character spans the character.

        data: the text.
        prefixed: ascending indices, among the ids of the text, of those that begin with a space put before text.
        """
        self._end_as_tokenizers(
            <const uint8_t*> PyBytes_AS_STRING(data), <size_t> PyBytes_GET_SIZE(data), prefixed, removes_spaces
        )

    cdef int _end_as_tokenizers(
        self, const uint8_t* text, size_t n, list prefixed, bint removes_spaces
    ) except -1:
        cdef size_t i = self._spans.n, n_prefixed = <size_t> len(prefixed)
        cdef size_t next_prefixed = i  # the last of those before the id at hand
        cdef Span* span
        while i > self._begin:
            while n_prefixed and next_prefixed >= i:
                n_prefixed -= 1
                next_prefixed = self._begin + <size_t> prefixed[n_prefixed]
            i -= 1
            span = &self._spans.items[i]
            if removes_spaces:
                while span.start + 1 < span.end and text[span.start] == 0x20 and text[span.start + 1] == 0x20:
                    span.start += 1
            if span.start != span.end:
                continue
            if i == next_prefixed:
                span.end = _next(text, n, span.start)
            elif i + 1 == self._spans.n:
                span.start = _before(text, span.start)
            else:
                span.end = (span + 1).end
        return 0

    def finish(self, text, bytes data not None, unit):
        """Turn the spans of the text to a unit.

        text: the text as given.
        data: its UTF-8.
        unit: as in `Tokenizer.encode_with_offsets`.
        """
        cdef Text view
        text_of(text, &view)
        try:
            self._finish(
                &view, <const uint8_t*> PyBytes_AS_STRING(data), <size_t> PyBytes_GET_SIZE(data), span_unit(unit)
            )
        finally:
            text_release(&view)

    cdef void _finish(self, const Text* text, const uint8_t* data, size_t n, int unit) noexcept nogil:
        cdef Spans own = Spans(self._spans.items + self._begin, self._spans.n - self._begin, 0)
        if is_ascii(data, n):
            return
        if has_surrogate(text):
            to_characters(text, &own)
            to_unit(text, &own, unit)
        else:
            bytes_to_unit(data, n, &own, unit)

    def lists(self):
        """Return the lists of all ids and of their spans."""
        return ids_list(self._ids.items, self._ids.n), spans_list(&self._spans)

    def arrays(self):
        """Return the arrays of all ids (uint32) and of start, end, … (int64), and forget them."""
        return ids_array(&self._ids, self._n_units), spans_array(&self._spans, self._n_units)


cdef bint _has_metaspace(const uint8_t* text, size_t n) noexcept nogil:
    """Tell whether a text holds U+2581, which vocabularies count as the one byte of a space."""
    cdef const uint8_t* found = text
    cdef const uint8_t* end = text + n
    while end - found >= 3:
        found = <const uint8_t*> memchr(found, METASPACE_UTF8[0], end - found - 2)
        if found == NULL:
            return False
        if found[1] == METASPACE_UTF8[1] and found[2] == METASPACE_UTF8[2]:
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
    """Return the offset of the character before the one at `at`; 0 without one."""
    if at:
        at -= 1
    while at and text[at] & 0xC0 == 0x80:
        at -= 1
    return at

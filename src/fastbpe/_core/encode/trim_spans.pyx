"""Trim white space off the spans of tokens, like the post-processors of a tokenizer.json.

`tests/reference/measuring.py` has the same function in plain Python, `trimmed`.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free

from fastbpe._core.common.atomics cimport is_set, set_flag
from fastbpe._core.common.free_threading cimport lock, unlock
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.encode.span_units cimport BYTES, CHARACTERS
from fastbpe._core.encode.spans cimport Span, Spans, add_span_of_id, spans_free, spans_list


@cython.final
cdef class SpanTrimmer:
    """Trimmer of spans, which trims once for each post-processor that does so.

    prefixed: for each of these post-processors, True if a space was inserted before the text; a token at the start
        of the text then keeps its leading space, if it has only one.
    tokens: function that returns the bytes of each id; called at the first text.
    blank_characters: characters that are trimmed off the text of special and added tokens.
    """

    def __cinit__(self, prefixed, tokens, str blank_characters not None):
        self._prefixed = bytes(map(bool, prefixed))
        self._tokens = tokens
        self._blank_characters = blank_characters

    def __dealloc__(self):
        free(self._blanks)

    def __call__(self, ids, spans, found):
        """Return the trimmed spans. found: as for trim(), with the index 0 for ids[0]."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Spans out = Spans(NULL, 0, 0)
        try:
            ids_reserve(&values, <size_t> len(ids))
            for value, (start, end) in zip(ids, spans, strict=True):
                values.items[values.n] = value
                values.n += 1
                add_span_of_id(&out, start, end)
            self.trim(values.items, out.items, out.n, list(found), 0, CHARACTERS)
            return spans_list(&out)
        finally:
            ids_free(&values)
            spans_free(&out)

    cdef int _make_blanks(self) except -1:
        """Count the spaces at both ends of each token."""
        cdef list tokens = list(self._tokens())
        cdef bytes token
        cdef size_t n = len(tokens), i
        cdef Blanks* blanks = <Blanks*> calloc(n + 1, sizeof(Blanks))
        if blanks == NULL:
            raise MemoryError(f"no memory for the white space of {n} tokens")
        for i in range(n):
            token = tokens[i]
            if token.startswith(b" ") or token.endswith(b" "):
                blanks[i] = Blanks(len(token) - len(token.lstrip(b" ")), len(token) - len(token.rstrip(b" ")))
        lock(&self._lock)
        if not is_set(&self._has_blanks):
            self._blanks, self._n_ids, blanks = blanks, n, NULL
            set_flag(&self._has_blanks)
        unlock(&self._lock)
        free(blanks)  # if another thread was faster
        return 0

    cdef int trim(self, const uint32_t* ids, Span* spans, size_t n, list found, size_t first, int unit) except -1:
        """Trim the spans of n ids.

        found: (index, text) of each special, added or unknown Unigram token; ids[0] has the index `first`.
        unit: SpanUnit of the spans. White space is below U+10000 and has one UTF-16 unit.
        """
        cdef size_t i, next_found, at = 0, n_found = len(found)
        cdef Blanks blanks
        cdef str text
        if not is_set(&self._has_blanks):
            self._make_blanks()
        next_found = <size_t> found[0][0] - first if n_found else n
        for i in range(n):
            if i == next_found:
                text = found[at][1]
                at += 1
                next_found = <size_t> found[at][0] - first if at < n_found else n
                blanks.before = _size(text, unit) - _size(text.lstrip(self._blank_characters), unit)
                blanks.behind = _size(text, unit) - _size(text.rstrip(self._blank_characters), unit)
            elif ids[i] < self._n_ids:
                blanks = self._blanks[ids[i]]
            else:
                continue
            if blanks.before or blanks.behind:
                self._trim(&spans[i], blanks, i == 0)
        return 0

    cdef void _trim(self, Span* span, Blanks blanks, bint is_first) noexcept:
        """Trim a span once for each post-processor, as `process_offsets` of tokenizers does."""
        cdef const uint8_t* prefixed = self._prefixed
        cdef Py_ssize_t i
        for i in range(len(self._prefixed)):
            if not (blanks.before == 1 and prefixed[i] and (is_first or span.start == 0)):
                span.start = min(span.start + blanks.before, span.end)
            if span.end >= blanks.behind:
                span.end = max(span.end - blanks.behind, span.start)


cdef size_t _size(str text, int unit) except? 0:
    return len(text.encode()) if unit == BYTES else len(text)

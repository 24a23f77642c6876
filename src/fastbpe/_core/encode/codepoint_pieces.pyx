"""Encoding code points with what the ids alone do not tell: the piece of each, and where in the text it comes from.

The text is normalised with the place that each byte comes from, and encoded through the piece cache as always. An id
then tells how many bytes of the normalised text it stands for: those of its piece; of an unknown character that
character's; and the ids of bytes come together, for a character. So nothing is merged in a second way.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from fastbpe._core.merge.merge_dropout cimport Dropout, dropout_free, merge_with_dropout
from fastbpe._core.encode.encoder cimport Encoder
from fastbpe._core.ids.int_table cimport Ints, kept_ints, offset_int
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized, Normalizer, normalized_free
from fastbpe._core.ids.id_lists cimport add_item, add_span, hide, ids_array, ids_list, new_list, show
from fastbpe._core.encode.pipeline cimport Pipeline, Scratch
from fastbpe._core.encode.offsets cimport Spans, add_place, spans_free, spans_list, to_characters
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.text.utf8_text cimport Text, text_of, text_release
from fastbpe._core.merge.codepoint_symbols cimport EXPANDED, Characters
from fastbpe._core.merge.vocabulary cimport Tables

cdef enum:
    NOGIL_BYTES = 1 << 13  # below this, handing the GIL over costs more than it gives
    MANY_IDS = 1 << 20

cdef extern from *:
    # Not Cython enums: those would be ints.
    """
    #define FASTBPE_A_CHARACTER 0u
    #define FASTBPE_A_BYTE UINT32_MAX
    """
    const uint32_t A_CHARACTER "FASTBPE_A_CHARACTER"  # in place of a width: an unknown character, whatever it takes
    const uint32_t A_BYTE "FASTBPE_A_BYTE"  # a byte of a character whose other bytes have ids too


@cython.final
cdef class Tokens:
    """What a text was encoded to. Made by TokenEncoder."""

    cdef Ids _ids
    cdef uint32_t* _ends  # of each token, in the normalised text
    cdef Normalized _normalized
    cdef bytes _text
    cdef TokenEncoder _encoder

    def __dealloc__(self):
        ids_free(&self._ids)
        free(self._ends)
        normalized_free(&self._normalized)

    def __len__(self):
        return self._ids.n

    def ids(self):
        """The ids: a list."""
        return ids_list(self._ids.items, self._ids.n)

    def pieces(self, list names not None):
        """The pieces: a list of str. names: those of all ids, which are handed out as they are.

        Of unknown characters the piece is their text.
        """
        return self._pieces(names, False)

    def byte_pieces(self, list names not None):
        """As `pieces`, of bytes throughout."""
        return self._pieces(names, True)

    cdef list _pieces(self, list names, bint as_bytes):
        cdef list out = new_list(self._ids.n)
        cdef uint32_t token
        cdef size_t i, start = 0
        cdef object piece
        if <size_t> len(names) < self._encoder._n_ids:
            raise ValueError(f"{len(names)} names for {self._encoder._n_ids} ids")
        hide(out)
        for i in range(self._ids.n):
            token = self._ids.items[i]
            if self._encoder._widths[token] == A_CHARACTER:
                piece = self._surface(start, self._ends[i], as_bytes)
            else:
                piece = names[<Py_ssize_t> token]
            start = self._ends[i]
            add_item(out, piece)
        return show(out)

    cdef object _surface(self, size_t start, size_t end, bint as_bytes):
        """A stretch of the normalised text, with U+2581 for the spaces that stand for it."""
        cdef bytes data = (<const char*> self._normalized.data)[start:end]
        if self._encoder._marks_spaces:
            data = data.replace(b" ", b"\xe2\x96\x81")
        return data if as_bytes else data.decode()

    def offsets(self, *, bint in_characters):
        """(begin, end) of each token in the text: a list. in_characters: not in bytes.

        A byte that does not begin a character counts as the first of as many as it would if it did.

        A space that was put before the text has an empty span at its beginning; of the ids of a character's bytes
        all but the last have one.
        """
        cdef list out = new_list(self._ids.n)
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(self._text)
        cdef const uint32_t* places = self._normalized.offsets
        cdef size_t n = <size_t> PyBytes_GET_SIZE(self._text), at = 0, counted = 0, i, place, last = 0
        cdef Ints* ints = kept_ints()
        cdef object begin, end
        cdef tuple empty = None  # the span before, if it is
        if self._ids.n == 0:
            return out
        if places == NULL:
            raise ValueError("encoded without offsets")
        end = None
        hide(out)
        for i in range(self._ids.n + 1):
            # Where token i begins is where the one before it ends.
            place = places[self._ends[i - 1] if i else 0]
            if in_characters:
                while at < n and at + min(_lead_bytes(text[at]), n - at) <= place:
                    at += min(_lead_bytes(text[at]), n - at)
                    counted += 1
                place = counted
            if i and place == last and empty is not None:
                add_item(out, empty)
            elif i and place == last:
                empty = add_span(out, end, end)
            else:
                begin, end, last, empty = end, offset_int(ints, place), place, None
                if i:
                    add_span(out, begin, end)
        return show(out)

    def to_array(self):
        """The ids as an array of uint32."""
        cdef Ids ids = Ids(NULL, 0, 0)
        ids_reserve(&ids, self._ids.n)
        memcpy(ids.items, self._ids.items, self._ids.n * sizeof(uint32_t))
        ids.n = self._ids.n
        return ids_array(&ids)


@cython.final
cdef class Offsets:
    """Where the ids of a text come from whose parts are encoded one after the other."""

    cdef Spans _spans  # of its UTF-8

    def __dealloc__(self):
        spans_free(&self._spans)

    def add(self, size_t start, size_t end):
        """That of one id, in bytes."""
        add_place(&self._spans, start, end)

    def add_tokens(self, Tokens tokens not None, size_t start, size_t end):
        """Those of the ids of text[start:end], of which no end lies beyond that."""
        cdef const uint32_t* places = tokens._normalized.offsets
        cdef size_t i, at = 0
        if tokens._ids.n and places == NULL:
            raise ValueError("encoded without offsets")
        for i in range(tokens._ids.n):
            add_place(&self._spans, start + places[at], min(start + places[tokens._ends[i]], end))
            at = tokens._ends[i]

    def in_characters(self, text):
        """(start, end) of each id: a list. text: all of it, str or bytes. Nothing may be added afterwards."""
        cdef Text view
        text_of(text, &view)
        try:
            to_characters(&view, &self._spans)
            return spans_list(&self._spans)
        finally:
            text_release(&view)


cdef inline size_t _lead_bytes(uint8_t lead) noexcept nogil:
    """How many bytes a character that begins with this one has."""
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


@cython.final
cdef class TokenEncoder:
    """Encodes as an Encoder in code-point mode does, with its piece cache, and tells more.

    normalizer: with spaces where it gives U+2581 if the encoder's symbols have them.
    """

    cdef Pipeline _pipeline
    cdef Normalizer _normalizer
    cdef uint32_t* _widths  # of each id, in bytes of the normalised text
    cdef size_t _n_ids
    cdef bint _marks_spaces

    def __cinit__(self, Encoder encoder not None, Normalizer normalizer not None):
        cdef const Tables* tables
        self._pipeline = encoder._ready()
        self._normalizer = normalizer
        tables = &self._pipeline.vocabulary.tables
        if tables.characters == NULL or self._pipeline.normalizing is None:
            raise ValueError("an encoder in code-point mode is needed")
        self._marks_spaces = tables.characters.marks_spaces
        self._set_widths(tables)

    def __dealloc__(self):
        free(self._widths)

    cdef int _set_widths(self, const Tables* tables) except -1:
        cdef const Characters* characters = tables.characters
        cdef SpecialMatcher symbols = self._pipeline.normalizing.symbols
        cdef size_t n_symbols = 0 if symbols is None else len(symbols.tokens), i
        cdef size_t n_bytes = 256 if characters.has_bytes else 0
        cdef uint32_t token, start = 0
        self._n_ids = characters.unknown_id + 1
        for i in range(tables.n_ids):
            if characters.ids[i] < EXPANDED:
                self._n_ids = max(self._n_ids, <size_t> characters.ids[i] + 1)
        for i in range(n_bytes):
            self._n_ids = max(self._n_ids, <size_t> characters.byte_ids[i] + 1)
        for i in range(n_symbols):
            self._n_ids = max(self._n_ids, <size_t> symbols._ids[i] + 1)
        self._widths = <uint32_t*> calloc(self._n_ids, sizeof(uint32_t))
        if self._widths == NULL:
            raise MemoryError(f"no memory for {self._n_ids} widths")
        for i in range(tables.n_ids):
            token = characters.ids[i]
            if token < EXPANDED:
                self._widths[token] = tables.token_ends[i] - start
            start = tables.token_ends[i]
        for i in range(n_symbols):
            self._widths[symbols._ids[i]] = <uint32_t> len(symbols.tokens[i])
        for i in range(n_bytes):
            self._widths[characters.byte_ids[i]] = A_BYTE
        if not characters.has_bytes:
            self._widths[characters.unknown_id] = A_CHARACTER
        return 0

    def encode(self, bytes text not None, *, bint offsets=False, double dropout=0, uint64_t seed=0):
        """The Tokens of a text: bytes, each of which that is no UTF-8 is U+FFFD.

        offsets: they will be asked for. dropout: the probability with which a pair whose turn to be merged has come
        is left alone for good; what is drawn follows from seed.
        """
        cdef Tokens out = Tokens.__new__(Tokens)
        cdef Scratch* scratch
        cdef size_t n = <size_t> PyBytes_GET_SIZE(text)
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        if n >= NONE:
            raise OverflowError(f"{n} bytes of text: places are counted up to 2**32 - 2; cut the text")
        out._encoder = self
        out._text = text
        out._normalized.with_offsets = offsets
        scratch = self._pipeline.take()
        try:
            if n < NOGIL_BYTES:
                self._encode(data, n, dropout, seed, scratch, out)
            else:
                with nogil:
                    self._encode(data, n, dropout, seed, scratch, out)
        finally:
            self._pipeline.give(scratch)
        return out

    cdef int _encode(
        self, const uint8_t* data, size_t n, double dropout, uint64_t seed, Scratch* scratch, Tokens out
    ) except -1 nogil:
        cdef Normalized* normalized = &out._normalized
        if self._normalizer.run(data, n, normalized) != 0:
            _no_memory(n)
        if normalized.n >= NONE:
            _no_memory(n)
        if dropout > 0:
            self._drop(normalized.data, normalized.n, dropout, seed, scratch)
        else:
            self._pipeline.encode_normalized(normalized.data, normalized.n, scratch)
        return self._measure(scratch, out)

    cdef int _drop(
        self, const uint8_t* data, size_t n, double rate, uint64_t seed, Scratch* scratch
    ) except -1 nogil:
        cdef Dropout dropout
        cdef Match match
        cdef size_t at = 0
        memset(&dropout, 0, sizeof(dropout))
        dropout.rate, dropout.state = rate, seed
        try:
            if self._pipeline.normalizing.symbols is not None:
                while self._pipeline.normalizing.symbols.find(data, n, at, &match):
                    self._drop_between(data + at, match.start - at, &dropout, scratch)
                    ids_reserve(&scratch.ids, 1)
                    scratch.ids.items[scratch.ids.n] = match.id
                    scratch.ids.n += 1
                    at = match.end
            return self._drop_between(data + at, n - at, &dropout, scratch)
        finally:
            dropout_free(&dropout)

    cdef int _drop_between(
        self, const uint8_t* data, size_t n, Dropout* dropout, Scratch* scratch
    ) except -1 nogil:
        """Text without user-defined symbols."""
        cdef size_t at = 0, start = 0, i
        while at < n:
            scratch.ends.n = 0
            at = self._pipeline.splitter.split(data, n, at, &scratch.ends)
            for i in range(scratch.ends.n):
                merge_with_dropout(
                    &self._pipeline.vocabulary.tables, data + start, scratch.ends.items[i] - start, dropout,
                    &scratch.ids,
                )
                start = scratch.ends.items[i]
        return 0

    cdef int _measure(self, Scratch* scratch, Tokens out) except -1 nogil:
        """Take over the ids, unknown characters in a row as one, with where each ends."""
        cdef size_t n_ids = scratch.ids.n, at = 0, i = 0, n = 0, n_bytes, k
        cdef const uint32_t* ids = scratch.ids.items
        cdef const uint8_t* data = out._normalized.data
        cdef uint32_t width
        cdef bint was_unknown = False
        out._ends = <uint32_t*> malloc((n_ids + 1) * sizeof(uint32_t))
        if out._ends == NULL:
            _no_memory(n_ids)
        if n_ids >= MANY_IDS:  # fewer are copied, so that the scratch keeps its memory
            out._ids, scratch.ids = scratch.ids, Ids(NULL, 0, 0)
        else:
            ids_reserve(&out._ids, n_ids)
        while i < n_ids:
            width = self._widths[ids[i]]
            if width == A_BYTE:
                n_bytes = _lead_bytes(data[at])
                for k in range(n_bytes):
                    out._ids.items[n] = ids[i + k]
                    out._ends[n] = <uint32_t> at
                    n += 1
                at += n_bytes
                i += n_bytes
                out._ends[n - 1] = <uint32_t> at
                was_unknown = False
                continue
            at += width if width != A_CHARACTER else _lead_bytes(data[at])
            if width != A_CHARACTER or not was_unknown or self._pipeline.normalizing.fused == NONE:
                out._ids.items[n] = ids[i]
                n += 1
            out._ends[n - 1] = <uint32_t> at
            was_unknown = width == A_CHARACTER
            i += 1
        out._ids.n = n
        return 0


cdef int _no_memory(size_t n) except -1 nogil:
    with gil:
        raise MemoryError(f"no memory to encode {n} bytes of text")


def marks_spaces(Encoder encoder not None):
    """Whether an encoder in code-point mode has spaces wherever its model has U+2581."""
    cdef const Tables* tables = &encoder._ready().vocabulary.tables
    return tables.characters != NULL and tables.characters.marks_spaces

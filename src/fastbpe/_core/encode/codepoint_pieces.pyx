"""Encoding in code-point mode with the piece and the offsets of each id.

If offsets are wanted, the normalizer records, for each byte that it writes, the offset of its source in the text.
Then the text is encoded as always, with dropout, or along a path of the lattice. Each id determines how many bytes
of normalized text it stands for (see codepoint_spans), so pieces and offsets need no merging of their own.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.merge.merge_dropout cimport Dropout, dropout_free
from fastbpe._core.encode.encoder cimport Encoder
from fastbpe._core.ids.int_table cimport Ints, kept_ints, offset_int
from fastbpe._core.common.gil_yield cimport yield_gil_at
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.normalize.sentencepiece_normalizer cimport (
    Normalized, Normalizer, check_n_bytes, normalized_free,
)
from fastbpe._core.ids.id_lists cimport add_item, add_span, hide, ids_array, ids_list, new_list, show
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.encode.codepoint_spans cimport BYTE_OF_CHARACTER, UNKNOWN_CHARACTER, Widths
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.utf8 cimport fb_char_bytes
from fastbpe._core.merge.segmented cimport add_token
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.segment.lattice cimport (
    Lattice, Node, Paths, Search, best_paths, draw, lattice_fill, lattice_free, lattice_link, paths_free, sample_path,
    search_free,
)

cdef enum:
    NOGIL_BYTES = 1 << 13  # shortest text, in bytes, for which releasing the GIL pays
    MOVED_FROM_IDS = 1 << 20  # number of ids from which the scratch hands over its memory instead of copying


cdef class TokenEncoder


@cython.final
cdef class NormalizedText:
    """Normalized text, which several Tokens may share."""

    cdef Normalized text

    def __dealloc__(self):
        normalized_free(&self.text)


@cython.final
cdef class Tokens:
    """Tokens of one text: ids, pieces and offsets. Created by TokenEncoder."""

    cdef Ids _ids
    cdef uint32_t* _ends  # by token: its end in the normalized text, in bytes
    cdef NormalizedText _normalized
    cdef bytes _text
    cdef TokenEncoder _encoder

    def __dealloc__(self):
        ids_free(&self._ids)
        free(self._ends)

    def __len__(self):
        return self._ids.n

    def ids(self):
        """Return the ids as a list."""
        return ids_list(self._ids.items, self._ids.n)

    def pieces(self, list names not None):
        """Return the pieces as a list of str; the piece of unknown characters is their text.

        names: the piece of each id; the returned list contains these objects themselves.
        """
        return self._pieces(names, False)

    def byte_pieces(self, list names not None):
        """Return the pieces as a list of bytes, from names that are bytes."""
        return self._pieces(names, True)

    cdef list _pieces(self, list names, bint as_bytes):
        cdef list out = new_list(self._ids.n)
        cdef uint32_t token
        cdef size_t i, start = 0
        cdef object piece
        if <size_t> len(names) < self._encoder._widths.n_ids:
            raise ValueError(f"{len(names)} names for {self._encoder._widths.n_ids} ids")
        hide(out)
        for i in range(self._ids.n):
            yield_gil_at(i)
            token = self._ids.items[i]
            if self._encoder._widths.of[token] == UNKNOWN_CHARACTER:
                piece = self._surface(start, self._ends[i], as_bytes)
            else:
                piece = names[<Py_ssize_t> token]
            start = self._ends[i]
            add_item(out, piece)
        return show(out)

    cdef object _surface(self, size_t start, size_t end, bint as_bytes):
        """Return bytes start to end of the normalized text, with U+2581 where a space stands for it."""
        cdef bytes data = (<const char*> self._normalized.text.data)[start:end]
        if self._encoder._marks_spaces:
            data = data.replace(b" ", b"\xe2\x96\x81")
        return data if as_bytes else data.decode()

    def offsets(self, *, bint in_characters):
        """Return (start, end) of each token in the text as a list.

        Raises ValueError if the text was encoded without offsets, unless it has no tokens.

        in_characters: count characters, not bytes. A lead byte counts as a character together with as many bytes
            as it announces, an unexpected continuation byte as a character of one byte.

        A span is empty if its token ends at the same offset as the token before it: for example, a space inserted
        before the text, and each byte id of a character except the last.
        """
        cdef list out = new_list(self._ids.n)
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(self._text)
        cdef const uint32_t* offsets_of_bytes = self._normalized.text.offsets
        cdef size_t n = <size_t> PyBytes_GET_SIZE(self._text), at = 0, n_characters = 0, i, offset, last = 0
        cdef Ints* ints = kept_ints()
        cdef object begin, end
        cdef tuple empty = None  # the previous span, if it is empty
        if self._ids.n == 0:
            return out
        if offsets_of_bytes == NULL:
            raise ValueError("encoded without offsets")
        end = None
        hide(out)
        for i in range(self._ids.n + 1):
            yield_gil_at(i)
            # Token i begins where token i - 1 ends: this round finds the position, and appends the span of i - 1.
            offset = offsets_of_bytes[self._ends[i - 1] if i else 0]
            if in_characters:
                while at < n and at + min(fb_char_bytes(text[at]), n - at) <= offset:
                    at += min(fb_char_bytes(text[at]), n - at)
                    n_characters += 1  # that end at or before the offset
                offset = n_characters
            if i and offset == last and empty is not None:
                add_item(out, empty)
            elif i and offset == last:
                empty = add_span(out, end, end)
            else:
                begin, end, last, empty = end, offset_int(ints, offset), offset, None
                if i:
                    add_span(out, begin, end)
        return show(out)

    def to_array(self):
        """Return the ids as an array of uint32."""
        cdef Ids ids = Ids(NULL, 0, 0)
        ids_reserve(&ids, self._ids.n)
        if self._ids.n:
            memcpy(ids.items, self._ids.items, self._ids.n * sizeof(uint32_t))
        ids.n = self._ids.n
        return ids_array(&ids)


@cython.final
cdef class TokenEncoder:
    """Encoder in code-point mode that also returns the pieces and offsets of ids.

    encoder: provides the vocabulary and the piece cache.
    normalizer: writes spaces instead of U+2581 if marks_spaces(encoder).
    """

    cdef Pipeline _pipeline
    cdef Normalizer _normalizer
    cdef Widths _widths
    cdef bint _marks_spaces

    def __cinit__(self, Encoder encoder not None, Normalizer normalizer not None):
        cdef const Tables* tables
        self._pipeline = encoder._ready()
        self._normalizer = normalizer
        tables = &self._pipeline.vocabulary.tables
        if tables.characters == NULL or self._pipeline.normalizing is None:
            raise ValueError("the encoder must be in code-point mode")
        self._marks_spaces = tables.characters.marks_spaces
        self._widths = self._pipeline.pieces.widths_of_ids()

    def encode(self, bytes text not None, *, bint offsets=False, double dropout=0, uint64_t seed=0):
        """Encode a text.

        text: UTF-8; each invalid byte counts as U+FFFD.
        offsets: make Tokens.offsets() possible.
        dropout: probability that a merge is skipped for good when it would be done (BPE-dropout: Provilkov et al.
            2020).
        seed: seed of the random numbers for dropout.
        """
        cdef Tokens out = self._start(text, offsets)
        cdef Scratch* scratch
        cdef size_t n = <size_t> PyBytes_GET_SIZE(text)
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        scratch = self._pipeline.pool.take()
        try:
            if n < NOGIL_BYTES:
                self._encode(data, n, dropout, seed, scratch, out)
            else:
                with nogil:
                    self._encode(data, n, dropout, seed, scratch, out)
        finally:
            self._pipeline.pool.give(scratch)
        return out

    cdef Tokens _start(self, bytes text, bint offsets):
        """Create the Tokens of a text, still empty, with an empty NormalizedText."""
        cdef Tokens out = Tokens.__new__(Tokens)
        check_n_bytes(<size_t> PyBytes_GET_SIZE(text))
        out._encoder = self
        out._text = text
        out._normalized = NormalizedText.__new__(NormalizedText)
        out._normalized.text.with_offsets = offsets
        return out

    def encode_best(self, bytes text not None, size_t n_best, *, bint offsets=False, int64_t milliseconds=0):
        """Return [(Tokens, total of the scores), …] of the n best segmentations of a text, best first.

        Raises ValueError for a model that merges, which has only one segmentation.

        n_best: if it is 0 or 1, the segmentation of encode(), with the total 0, for any model.
        milliseconds: time limit, after which only the best is returned; 0: no limit.
        """
        cdef Tokens unfilled
        cdef Lattice lattice
        cdef Paths paths
        cdef size_t i
        if n_best <= 1:
            return [(self.encode(text, offsets=offsets), 0.0)]
        unfilled = self._start(text, offsets)
        memset(&lattice, 0, sizeof(lattice))
        memset(&paths, 0, sizeof(paths))
        try:
            self._find_paths(unfilled, n_best, milliseconds, &lattice, &paths)
            return [(self._of_path(unfilled, &lattice, &paths, i), paths.totals[i]) for i in range(paths.n)]
        finally:
            lattice_free(&lattice)
            paths_free(&paths)

    def sample(
        self, bytes text not None, uint64_t seed, *, float alpha, size_t n_best=0, bint offsets=False,
        int64_t milliseconds=0,
    ):
        """Return the Tokens of a random segmentation, drawn with a probability proportional to exp(alpha * total).

        Raises ValueError for a model that merges, which has only one segmentation.

        n_best: draw from this many best segmentations; 0: from all.
        milliseconds: as in encode_best(); no effect if n_best is 0.
        """
        cdef Tokens unfilled = self._start(text, offsets)
        cdef Lattice lattice
        cdef Paths paths
        cdef double* log_weights = NULL
        cdef size_t i
        memset(&lattice, 0, sizeof(lattice))
        memset(&paths, 0, sizeof(paths))
        try:
            self._find_paths(unfilled, n_best, milliseconds, &lattice, &paths)
            if n_best:
                log_weights = <double*> malloc((paths.n + 1) * sizeof(double))
                if log_weights == NULL:
                    _no_memory(paths.n)
                for i in range(paths.n):
                    log_weights[i] = <double> alpha * <double> paths.totals[i]
                return self._of_path(unfilled, &lattice, &paths, draw(log_weights, paths.n, &seed))
            with nogil:
                sample_path(&lattice, alpha, &seed, &paths)
            return self._of_path(unfilled, &lattice, &paths, 0)
        finally:
            free(log_weights)
            lattice_free(&lattice)
            paths_free(&paths)

    cdef int _find_paths(
        self, Tokens unfilled, size_t n_best, int64_t milliseconds, Lattice* lattice, Paths* paths
    ) except -1:
        """Normalize a text, make its lattice, and find its best paths. n_best: number of paths; 0: none.

        unfilled: result of _start(); gets the normalized text.
        """
        cdef Normalized* normalized = &unfilled._normalized.text
        cdef const Tables* tables = &self._pipeline.vocabulary.tables
        cdef bytes text = unfilled._text
        cdef size_t n = <size_t> PyBytes_GET_SIZE(text)
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        cdef Search search
        memset(&search, 0, sizeof(search))
        if not self._pipeline.pieces.is_sentence:
            raise ValueError("a model that merges has only one segmentation of a text")
        with nogil:
            # The lattice has 32-bit positions, up to n + 1.
            if self._normalizer.run(data, n, normalized) != 0 or normalized.n >= NONE - 2:
                _no_memory(n)
            lattice_fill(lattice, tables.segmenting, normalized.data, normalized.n)
            lattice_link(lattice)
            try:
                if n_best:
                    best_paths(lattice, n_best, milliseconds, &search, paths)
            finally:
                search_free(&search)
        return 0

    cdef Tokens _of_path(self, Tokens unfilled, const Lattice* lattice, const Paths* paths, size_t number):
        """Create the tokens of a path. unfilled: as _find_paths() left it. number: index of the path in `paths`."""
        cdef Tokens out = Tokens.__new__(Tokens)
        cdef const Tables* tables = &self._pipeline.vocabulary.tables
        cdef const uint8_t* text = unfilled._normalized.text.data
        cdef size_t i
        cdef const Node* node
        cdef Ids ids = Ids(NULL, 0, 0)
        out._encoder, out._text, out._normalized = self, unfilled._text, unfilled._normalized
        try:
            ids_reserve(&ids, lattice.n)
            for i in range(paths.ends[number - 1] if number else 0, paths.ends[number]):
                node = &lattice.nodes[paths.nodes[i]]
                add_token(tables, text + node.begin, node.end - node.begin, node.id, &ids)
            self._measure(&ids, out)
        finally:
            ids_free(&ids)
        return out

    cdef int _encode(
        self, const uint8_t* data, size_t n, double dropout, uint64_t seed, Scratch* scratch, Tokens out
    ) except -1 nogil:
        """Normalize, encode and measure a text.

        Requires: out._normalized is empty; its with_offsets tells whether to record offsets.
        """
        cdef Normalized* normalized = &out._normalized.text
        if self._normalizer.run(data, n, normalized) != 0:
            _no_memory(n)
        if normalized.n >= NONE:  # Tokens._ends has 32 bits
            _no_memory(n)
        if dropout > 0:
            self._encode_with_dropout(normalized.data, normalized.n, dropout, seed, scratch)
        else:
            self._pipeline.pieces.encode_normalized(normalized.data, normalized.n, scratch)
        return self._measure(&scratch.ids, out)

    cdef int _encode_with_dropout(
        self, const uint8_t* data, size_t n, double rate, uint64_t seed, Scratch* scratch
    ) except -1 nogil:
        """Append the ids of normalized text, skipping merges at random."""
        cdef Dropout dropout
        memset(&dropout, 0, sizeof(dropout))
        dropout.rate, dropout.state = rate, seed
        scratch.dropout = &dropout
        try:
            return self._pipeline.pieces.encode_normalized(data, n, scratch)
        finally:
            scratch.dropout = NULL
            dropout_free(&dropout)

    cdef int _measure(self, Ids* source, Tokens out) except -1 nogil:
        """Move the ids to `out`, and store the end of each. Fuse consecutive unknown ids, if the pipeline does so.

        source: the ids of all of out._normalized, with an unknown id for each unknown character; empty afterwards if
            they were moved without a copy.
        """
        cdef size_t n_ids = source.n
        cdef const uint32_t* ids
        out._ends = <uint32_t*> malloc((n_ids + 1) * sizeof(uint32_t))
        if out._ends == NULL:
            _no_memory(n_ids)
        if n_ids >= MOVED_FROM_IDS:
            out._ids, source[0] = source[0], Ids(NULL, 0, 0)
            ids = out._ids.items
        else:
            ids_reserve(&out._ids, n_ids)
            ids = source.items
        out._ids.n = self._ends_of(
            out._normalized.text.data, out._normalized.text.n, ids, n_ids, out._ids.items, out._ends
        )
        return 0

    cdef size_t _ends_of(
        self, const uint8_t* data, size_t n_data, const uint32_t* ids, size_t n_ids, uint32_t* out, uint32_t* ends
    ) noexcept nogil:
        """Copy ids, fuse consecutive unknown ones if the pipeline does so, and store their ends; return how many.

        data, n_data: normalized text that has these ids, with an unknown id for each unknown character.
        out: memory for n_ids ids; may be `ids`.
        ends: memory for the same number of ends, in bytes of the normalized text.
        """
        cdef size_t at = 0, i = 0, n = 0, n_bytes, k
        cdef uint32_t width
        cdef bint was_unknown = False
        while i < n_ids:
            width = self._widths.of[ids[i]]
            if width == BYTE_OF_CHARACTER:
                n_bytes = min(fb_char_bytes(data[at]), n_data - at)  # the text may end inside a character
                for k in range(n_bytes):
                    out[n] = ids[i + k]
                    ends[n] = <uint32_t> at
                    n += 1
                at += n_bytes
                i += n_bytes
                ends[n - 1] = <uint32_t> at
                was_unknown = False
                continue
            at += width if width != UNKNOWN_CHARACTER else min(fb_char_bytes(data[at]), n_data - at)
            if width != UNKNOWN_CHARACTER or not was_unknown or self._pipeline.normalizing.fused == NONE:
                out[n] = ids[i]
                n += 1
            ends[n - 1] = <uint32_t> at
            was_unknown = width == UNKNOWN_CHARACTER
            i += 1
        return n


cdef int _no_memory(size_t n) except -1 nogil:
    with gil:
        raise MemoryError(f"no memory to encode a text: {n} bytes, ids or paths")


def marks_spaces(Encoder encoder not None):
    """Tell whether an encoder in code-point mode has spaces in its symbols in place of the model's U+2581."""
    cdef const Tables* tables = &encoder._ready().vocabulary.tables
    return tables.characters != NULL and tables.characters.marks_spaces

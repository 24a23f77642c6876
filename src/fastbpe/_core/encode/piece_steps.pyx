"""Turn text that is ready to be split into ids: the last steps of one text, which follow the steps of `pipeline`.

    text to be split
     │  find_symbols               user-defined symbols become ids (only in code-point mode)
     │  split_and_merge            split by the pattern, a group of pieces at a time
     ▼
    pieces
     │  _merge                     look pieces up in the piece cache; merge new ones
     ▼
    scratch.ids, or a list in scratch.out, or a count
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memmove, memset

from fastbpe._core.cache.two_phases cimport TwoPhases
from fastbpe._core.common.atomics cimport is_set, set_flag
from fastbpe._core.common.byte_buffer cimport buffer_add
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.interrupts cimport check_signals
from fastbpe._core.common.utf8 cimport char_bytes, fb_char_bytes
from fastbpe._core.encode.codepoint_spans cimport (
    Widths, add_bytes_with_spans, has_metaspace, merge_characters_with_spans, spans_at_offsets,
)
from fastbpe._core.encode.piece_spans cimport merge_with_spans, n_spans, spans_at_places
from fastbpe._core.encode.scratch_pool cimport Scratch, add_id
from fastbpe._core.encode.sentence_totals cimport encode_all_pieces
from fastbpe._core.encode.spans cimport Span, add_span_of_id
from fastbpe._core.encode.superwords cimport n_complete
from fastbpe._core.encode.table_ids cimport resolve
from fastbpe._core.ids.id_lists cimport move_ids
from fastbpe._core.merge.codepoint_symbols cimport Characters
from fastbpe._core.merge.merge_dropout cimport merge_with_dropout
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized, Normalizing, normalized_free
from fastbpe._core.segment.segmenter cimport SENTENCE
from fastbpe._core.split.splitter cimport UNMATCHED, Splitter, ends_add
from fastbpe._core.split.stages cimport Stage
from fastbpe._core.text.special_tokens cimport Match


@cython.final
cdef class PieceSteps:
    """Steps from text to be split to ids, for any number of threads.

    vocabulary: the tokens and their merges.
    splitter: the split pattern.
    normalizing: the steps of code-point mode; None: byte mode.
    stages: stages that change the pieces of the splitter, for a vocabulary of characters; None: no stages.
    cut_stages: the same stages, which also cut long pieces where no merge crosses; None: only `stages`.
    phases: the phases of a vocabulary with superwords; None: it has no superwords.
    """

    def __cinit__(
        self, Vocabulary vocabulary not None, Splitter splitter not None, *, Normalizing normalizing=None,
        Stage stages=None, Stage cut_stages=None, TwoPhases phases=None
    ):
        self.vocabulary = vocabulary
        self.splitter = splitter
        self.normalizing = normalizing
        self.stages = stages
        self.cut_stages = stages if cut_stages is None else cut_stages
        if vocabulary.spelled is not None:
            self.traced = vocabulary.tables
            self.traced.spelling = &vocabulary.spelled.tracing
        self.is_sentence = vocabulary.segmenter is not None and vocabulary.segmenter.segmenting.kind == SENTENCE
        self.phases = phases
        self.joins_pieces = phases is not None and phases.joins_pieces

    cdef Widths widths_of_ids(self):
        """Return the widths of the ids in code-point mode; build them at the first call."""
        cdef Widths made
        if not is_set(&self._has_widths):
            made = Widths(self.vocabulary, self.normalizing.symbols)
            with cython.critical_section(self):
                if not is_set(&self._has_widths):
                    self.widths = made
                    set_flag(&self._has_widths)
        return self.widths

    cdef int find_symbols(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Append the ids of user-defined symbols, and encode the text between them."""
        cdef size_t at = 0
        cdef Match match
        scratch.total = 0
        if self.normalizing.normalizer is not None and not self.normalizing.normalizer.gives_utf8:
            if self.is_sentence:  # its search reads bytes that are not UTF-8 as sentencepiece does
                scratch.base = scratch.ends.n = 0
                if n:  # the cache has no key for an empty piece
                    ends_add(&scratch.ends, n)
                return self._merge(data, n, 0, n, scratch)
            return self._read_as_sentencepiece(data, n, scratch)
        if self.normalizing.symbols is not None:
            while self.normalizing.symbols.find(data, n, at, &match):
                scratch.base = at
                self.split_and_merge(data + at, match.start - at, scratch)
                _add_symbol(scratch, &match)
                at = match.end
        scratch.base = at
        return self.split_and_merge(data + at, n - at, scratch)

    cdef int trace_symbols(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Do the work of find_symbols(), and record spans. Without a normalizer, first make U+2581 a space."""
        cdef Normalized out
        cdef size_t first = scratch.spans.n
        if self.normalizing.normalizer is not None or not has_metaspace(data, n):
            return self.find_symbols(data, n, scratch)
        memset(&out, 0, sizeof(out))
        try:
            self.normalizing.to_spaces.run_with_offsets(data, n, &out)
            self.find_symbols(out.data, out.n, scratch)
            spans_at_offsets(scratch.spans, first, &out)
        finally:
            normalized_free(&out)
        return 0

    cdef int encode_normalized(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Append the ids of normalized text in code-point mode, an id for each unknown character."""
        scratch.keeps_runs = True  # until the pool lends the scratch again
        return self.find_symbols(data, n, scratch)

    cdef int _read_as_sentencepiece(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Do the work of find_symbols() for normalized text that may not be UTF-8.

        sentencepiece reads a character as the number of bytes that its lead byte announces, without checking them.
        A character that is not UTF-8 is in no token: it becomes the ids of its bytes, or an unknown id, which
        consecutive such characters share if ids fuse.
        """
        cdef const Characters* characters = self.vocabulary.tables.characters
        cdef size_t at = 0, start = 0, n_bytes
        cdef uint32_t c
        cdef Match match
        while at < n:
            if self.normalizing.symbols is not None and self.normalizing.symbols.find_here(data, n, at, &match):
                scratch.base = start
                self.split_and_merge(data + start, at - start, scratch)
                _add_symbol(scratch, &match)
                at = start = match.end
                continue
            n_bytes = fb_char_bytes(data[at])
            if data[at] < 0x80 or char_bytes(data, n, at, &c) == n_bytes:
                at += n_bytes
                continue
            n_bytes = min(n_bytes, n - at)
            scratch.base = start
            self.split_and_merge(data + start, at - start, scratch)
            if characters.has_bytes:
                add_bytes_with_spans(characters.byte_ids, data, n_bytes, at, scratch)
                scratch.after_fused = False
            elif not scratch.after_fused or self.normalizing.fused == NONE or scratch.keeps_runs:
                add_id(scratch, characters.unknown_id)
                scratch.after_fused = True
                if scratch.spans != NULL:
                    add_span_of_id(scratch.spans, at, at + n_bytes)
            elif scratch.spans != NULL:
                scratch.spans.items[scratch.spans.n - 1].end = at + n_bytes
            at += n_bytes
            start = at
        scratch.base = start
        return self.split_and_merge(data + start, n - start, scratch)

    cdef int split_and_merge(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Split a text into pieces and encode them, a group at a time while it is in the caches."""
        cdef size_t start = 0, end, first
        cdef bint whole = scratch.spans != NULL and scratch.words != NULL  # each piece is a word: do not cut it
        if self.joins_pieces:
            return self._split_runs(data, n, scratch)
        if self.normalizing is not None and self.normalizing.table is not None:
            scratch.ends.n = 0
            while start < n:  # all pieces at once: a group could end within unknown characters or ids to drop
                start = self.splitter.split(data, n, start, &scratch.ends)
                check_signals(&scratch.watch)
            return self._merge(data, n, 0, n, scratch)
        while start < n:
            scratch.ends.n = 0
            end = self.splitter.split(data, n, start, &scratch.ends)
            if self.cut_stages is None or (whole and self.stages is None):
                self._merge(data, n, start, end, scratch)
            else:
                scratch.staged.traces = scratch.spans != NULL
                scratch.staged.n_first = scratch.n_first  # for each group, because run() changes it
                if whole:
                    self.stages.run(data, NULL, start, &scratch.ends, &scratch.staged)
                else:
                    self.cut_stages.run(data, NULL, start, &scratch.ends, &scratch.staged)
                first = n_spans(scratch)
                self._merge(scratch.staged.text.items, scratch.staged.text.n, 0, scratch.staged.text.n, scratch)
                if scratch.spans != NULL:
                    spans_at_places(scratch.spans, first, &scratch.staged.places)
            start = end
            if start < n:
                check_signals(&scratch.watch)
        return 0

    cdef int _split_runs(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Do the work of split_and_merge() if superwords join pieces: no superword crosses the end of a group."""
        cdef size_t start = 0, at = 0, end, n_done, n_left = 0
        scratch.ends.n = 0
        while at < n:
            at = self.splitter.split(data, n, at, &scratch.ends)
            n_done = scratch.ends.n
            if at < n:
                n_done = n_complete(&self.phases.phases, data, &scratch.ends, n_left)
            n_left = scratch.ends.n - n_done
            if n_done:
                end = scratch.ends.items[n_done - 1] & ~UNMATCHED
                scratch.ends.n = n_done
                self._merge(data, n, start, end, scratch)
                memmove(scratch.ends.items, scratch.ends.items + n_done, n_left * sizeof(size_t))
                scratch.ends.n = n_left
                start = end
            check_signals(&scratch.watch)
        return 0

    cdef int _merge(
        self, const uint8_t* data, size_t n, size_t start, size_t end, Scratch* scratch
    ) except -1 nogil:
        """Append, move or count the ids of the pieces of data[start:end].

        Requires: scratch.ends has the pieces.
        """
        cdef size_t n_before = scratch.ids.n
        cdef const Tables* tables = &self.vocabulary.tables
        if scratch.spans != NULL and self.normalizing is not None:
            merge_characters_with_spans(tables, self.widths, self.normalizing.fused, data, n, start, scratch)
            if self.normalizing.table is not None:
                resolve(self.normalizing.table, scratch, n_before)
                _drop(scratch, n_before, self.normalizing.dropped)
            return 0
        if scratch.spans != NULL:
            if self.vocabulary.spelled is not None:
                tables = &self.traced
            return merge_with_spans(tables, self.vocabulary.drops_bytes, data, n, start, end, scratch)
        if scratch.dropout != NULL:
            self._merge_with_dropout(data, start, end, scratch)
        elif self.vocabulary.drops_bytes and self._drop_bytes(data, start, end, scratch):
            encode_all_pieces(tables, scratch.kept.items, scratch.kept.n, 0, scratch)
        else:
            encode_all_pieces(tables, data, n, start, scratch)
        if self.normalizing is not None and self.normalizing.fused != NONE and not scratch.keeps_runs:
            _fuse(scratch, n_before, self.normalizing.fused)
        elif self.normalizing is not None and self.normalizing.table is not None:  # then no ids fuse
            resolve(self.normalizing.table, scratch, n_before)
            _drop(scratch, n_before, self.normalizing.dropped)
        if scratch.counts_only:  # the next group overwrites these ids while they are in the first-level cache
            scratch.n_counted += scratch.ids.n
            scratch.ids.n = 0
        elif scratch.out != NULL and not move_ids(scratch.out, &scratch.ids):
            scratch.out = NULL
        return 0

    cdef int _merge_with_dropout(
        self, const uint8_t* data, size_t start, size_t end, Scratch* scratch
    ) except -1 nogil:
        """Append the ids of the pieces of data[start:end], merged with scratch.dropout."""
        cdef size_t i
        if self.vocabulary.drops_bytes and self._drop_bytes(data, start, end, scratch):
            data, start = scratch.kept.items, 0
        for i in range(scratch.ends.n):
            end = scratch.ends.items[i] & ~UNMATCHED
            if not scratch.ends.items[i] & UNMATCHED:
                merge_with_dropout(
                    &self.vocabulary.tables, data + start, end - start, scratch.dropout, &scratch.ids
                )
            start = end
        return 0

    cdef bint _drop_bytes(self, const uint8_t* data, size_t start, size_t end, Scratch* scratch) except -1 nogil:
        """Copy the pieces of data[start:end] without bytes that have no token; return False if all have tokens.

        Ensures: on True, scratch.kept has the pieces and scratch.ends their ends in it; a piece without any byte
        left is gone. On False nothing has changed.
        """
        cdef const uint32_t* ids = self.vocabulary.tables.byte_ids
        cdef size_t i, at, n_kept = 0, before
        at = start
        while at < end and ids[data[at]] != NONE:
            at += 1
        if at == end:
            return False
        scratch.kept.n = 0
        at = start
        for i in range(scratch.ends.n):
            before = scratch.kept.n
            end = scratch.ends.items[i] & ~UNMATCHED
            while at < end:
                if ids[data[at]] != NONE:
                    buffer_add(&scratch.kept, data + at, 1)
                at += 1
            if scratch.kept.n > before:
                scratch.ends.items[n_kept] = scratch.kept.n | (scratch.ends.items[i] & UNMATCHED)
                n_kept += 1
        scratch.ends.n = n_kept
        return True


cdef int _add_symbol(Scratch* scratch, const Match* match) except -1 nogil:
    """Append the id of a user-defined symbol."""
    add_id(scratch, match.id)
    scratch.after_fused = False
    return 0 if scratch.spans == NULL else add_span_of_id(scratch.spans, match.start, match.end)


cdef void _drop(Scratch* scratch, size_t start, size_t n) noexcept nogil:
    """Drop n ids, and their spans, from scratch.ids.items[start] on; do nothing if fewer ids are left."""
    cdef size_t n_ids = scratch.ids.n - start, first
    if n == 0 or n_ids < n:
        return
    memmove(scratch.ids.items + start, scratch.ids.items + start + n, (n_ids - n) * sizeof(uint32_t))
    scratch.ids.n -= n
    if scratch.spans != NULL:
        first = scratch.spans.n - n_ids
        memmove(scratch.spans.items + first, scratch.spans.items + first + n, (n_ids - n) * sizeof(Span))
        scratch.spans.n -= n


cdef void _fuse(Scratch* scratch, size_t start, uint32_t fused) noexcept nogil:
    """Replace each run of ids `fused` by a single one, from scratch.ids.items[start] on.

    If the id before them was also `fused` (scratch.after_fused), a run at the start is dropped.
    """
    cdef uint32_t* ids = scratch.ids.items
    cdef size_t i, n = start
    cdef bint is_fused, after = scratch.after_fused
    for i in range(start, scratch.ids.n):
        is_fused = ids[i] == fused
        ids[n] = ids[i]
        n += not (is_fused and after)
        after = is_fused
    scratch.after_fused = after
    scratch.ids.n = n

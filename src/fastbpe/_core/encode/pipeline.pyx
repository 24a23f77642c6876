"""One text on one thread: text → UTF-8 → special tokens → pieces → ids."""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memset

from fastbpe._core.common.byte_buffer cimport buffer_add, buffer_free, buffer_reset
from fastbpe._core.cache.piece_cache cimport cache_bytes, cache_free, cache_limit, cache_start, encode_pieces
from fastbpe._core.text.safe_cuts cimport text_cut, word_cut
from fastbpe._core.normalize.unicode_forms cimport Front
from fastbpe._core.common.memory cimport use_huge_pages
from fastbpe._core.common.id_buffer cimport HUGE_PAGES_FROM_ESTIMATE, Ids, ids_expect, ids_free, ids_reserve
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized, normalized_free
from fastbpe._core.cache.pending_pieces cimport discard_gaps
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.normalize.codepoint_steps cimport Normalizing
from fastbpe._core.ids.id_lists cimport expect_items, move_ids
from fastbpe._core.split.splitter cimport UNMATCHED, Splitter, ends_free
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.text.utf8_text cimport Text, text_room, text_utf8
from fastbpe._core.common.gil_yield cimport yield_gil_if_due
from fastbpe._core.merge.vocabulary cimport Vocabulary
from fastbpe._core.common.interrupts cimport check_signals

import os

from fastbpe.errors import SpecialTokenError

cdef enum:
    HELD_UNITS = 1 << 16  # of short texts, then it is asked whether it is others' turn: a tenth of a millisecond
    CALL_UNITS = 1 << 6  # what a text costs besides its units
    STRETCH = 1 << 16  # units of a long text taken at once: transcoded, they stay in the second-level cache
    ROOM = 1 << 12  # ids beyond those of a text: what the last group of pieces asks for
    SPARE_IDS = 1 << 22  # what grew beyond this many items is not kept between calls
    SPARE_ARENA = 1 << 23
    SPARE_ENDS = 1 << 17
    SPARE_BYTES = 1 << 20
    SPARE_SCRATCHES = 64

cdef const uint8_t* METASPACE_UTF8 = b"\xe2\x96\x81"

cdef PyObject* _newest = NULL  # of all pipelines that live, a list that owns none of them; changed under the GIL


@cython.final
cdef class Pipeline:
    """Encodes with one vocabulary and one splitter. Any number of threads, each with a scratch of its own.

    cache_bytes: what the piece caches of all threads together may take.
    front: what becomes of text before it is split; None: nothing. always: what is found in text, special tokens
    apart; None: nothing. normalizing: in code-point mode, what is done to text in place of that.
    """

    def __cinit__(
        self, Vocabulary vocabulary not None, Splitter splitter not None, size_t cache_bytes, *, Front front=None,
        SpecialMatcher always=None, Normalizing normalizing=None,
    ):
        self.vocabulary = vocabulary
        self.splitter = splitter
        self.front = front
        self.always = always
        self.normalizing = normalizing
        self.cache_bytes = cache_bytes
        self.is_plain = front is None and always is None and normalizing is None and not vocabulary.drops_bytes
        self.may_defer = normalizing is None or normalizing.fused == NONE
        self.only_prefixes = self.is_plain or (normalizing is not None and always is None and normalizing.only_prefixes)
        self._seed = <uint64_t> int.from_bytes(os.urandom(8), "little")
        _list(self)

    def __dealloc__(self):
        if self._is_listed:
            _unlist(self)
        self._free_kept()

    cdef size_t _free_kept(self) noexcept:
        """Free what waits for the next call; how many bytes. Threads that are encoding now keep what they work with."""
        cdef Scratch* scratch = self._spare
        cdef size_t n_bytes = self._spare_arena.capacity * sizeof(uint32_t)
        while scratch != NULL:
            self._spare = scratch.next
            self._n_scratch -= 1
            n_bytes += _bytes_of(scratch)
            _free(scratch)
            scratch = self._spare
        self._limit = self.cache_bytes // max(self._n_scratch, <size_t> 1)
        ids_free(&self._spare_arena)
        return n_bytes

    cdef Scratch* take(self) except NULL:
        """A scratch, warm if one is spare. Under the GIL, as is give."""
        cdef Scratch* scratch = self._spare
        if scratch != NULL:
            self._spare = scratch.next
        else:
            scratch = <Scratch*> calloc(1, sizeof(Scratch))
            if scratch == NULL:
                raise MemoryError("no memory for an encoder's scratch space")
            self._n_scratch += 1
            self._limit = self.cache_bytes // self._n_scratch
            cache_start(&scratch.cache, self._seed, self._limit)
        if scratch.cache.limit > self._limit:
            cache_limit(&scratch.cache, self._limit)
        scratch.ids.n = scratch.ends.n = 0
        scratch.out = NULL
        scratch.watch.checked = 0
        scratch.watch.abandoned = NULL
        scratch.keeps_runs = scratch.cache.skips_long = scratch.cache.defers = False
        return scratch

    cdef void give(self, Scratch* scratch) noexcept:
        if scratch.cache.n_gaps:  # an error left them
            discard_gaps(&scratch.cache, &self.vocabulary.tables)
        if self._n_scratch > SPARE_SCRATCHES:
            self._n_scratch -= 1
            self._limit = self.cache_bytes // self._n_scratch
            _free(scratch)
            return
        if scratch.ids.capacity > SPARE_IDS:
            ids_free(&scratch.ids)
        if scratch.other_ids.capacity > SPARE_IDS:
            ids_free(&scratch.other_ids)
        if scratch.ends.capacity > SPARE_ENDS:
            ends_free(&scratch.ends)
        if scratch.normalized.room > SPARE_BYTES:
            normalized_free(&scratch.normalized)
            memset(&scratch.normalized, 0, sizeof(Normalized))
        if scratch.utf8.capacity > SPARE_BYTES:
            buffer_free(&scratch.utf8)
        if scratch.changed.capacity + scratch.prefixed.capacity + scratch.kept.capacity > SPARE_BYTES:
            buffer_free(&scratch.changed)
            buffer_free(&scratch.kept)
            buffer_free(&scratch.prefixed)
        scratch.next = self._spare
        self._spare = scratch

    cdef int hold_gil(self, Scratch* scratch, size_t n_units) except -1:
        """Before a short text is encoded under the GIL: once in a while others may have it."""
        scratch.n_held += n_units + CALL_UNITS
        if scratch.n_held >= HELD_UNITS:
            scratch.n_held = 0
            yield_gil_if_due()
        return 0

    cdef Ids take_arena(self, size_t capacity, bint* is_fresh) noexcept:
        """Room for so many ids of several threads; its capacity is 0 without memory. Under the GIL, as is give_arena.

        What was given back lies on pages that were touched before, unless is_fresh: fresh ones would cost a third of a
        warm call.
        """
        cdef Ids arena = self._spare_arena
        self._spare_arena = Ids(NULL, 0, 0)
        is_fresh[0] = arena.capacity < capacity
        if is_fresh[0]:
            free(arena.items)
            arena = Ids(<uint32_t*> malloc(capacity * sizeof(uint32_t)), 0, capacity)
            if arena.items == NULL:
                arena.capacity = 0
            if capacity >= HUGE_PAGES_FROM_ESTIMATE:
                use_huge_pages(arena.items, arena.capacity * sizeof(uint32_t))
        arena.n = 0
        return arena

    cdef void give_arena(self, Ids arena) noexcept:
        if arena.n > SPARE_ARENA or arena.capacity <= self._spare_arena.capacity:
            free(arena.items)
            return
        free(self._spare_arena.items)
        self._spare_arena = arena

    cdef bint may_cut(self, SpecialMatcher allowed, SpecialMatcher disallowed) noexcept nogil:
        """Whether a text cut by `cut` gives the same ids."""
        if self.normalizing is not None and not self.normalizing.cuttable:
            return False
        if not self.splitter.cuttable or not (disallowed is None or disallowed.cuttable):
            return False
        if allowed is None:
            return self._may_cut_finding(self.always)
        return self._may_cut_finding(allowed)

    cdef bint _may_cut_finding(self, SpecialMatcher tokens) noexcept nogil:
        if self.front is not None and (self.front.change is not None or self.front.prefix_space):
            return False
        if tokens is None:
            return True
        if self.normalizing is not None and (tokens.ends_in_letter or tokens.then is not None):
            return False  # what is behind such a token begins anew, and would not where it is cut off
        return tokens.cuttable and (self.front is None or tokens.then is None)

    cdef size_t cut(self, const Text* text, size_t start, size_t at) noexcept nogil:
        """Where to cut a text near `at`, behind start: the last such place up to it, or else the next, or the end.

        Only where what stands before stays as it is.
        """
        cdef size_t place
        if self.normalizing is not None:
            return word_cut(text, start, at)
        place = text_cut(text, start, at)
        if self.front is not None and self.front.form is not None:
            while place < text.n and not self.front.form.keeps_before(text, place):
                place = text_cut(text, place, place + 1)
        return place

    cdef int encode(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch, size_t* count,
    ) except -1 nogil:
        """Append the ids of units start to end, or, if count is not NULL, add how many they are."""
        cdef size_t cut
        cdef bint may_cut = end - start > STRETCH and self.may_cut(allowed, disallowed)
        while start < end:
            cut = end
            if may_cut and end - start > STRETCH:
                cut = min(self.cut(text, start, start + STRETCH), end)
            self._stretch(text, start, cut, allowed, disallowed, scratch, count)
            start = cut
            if start < end:
                check_signals(&scratch.watch)
        return 0

    cdef int _stretch(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch, size_t* count,
    ) except -1 nogil:
        cdef const uint8_t* data
        cdef size_t n = end - start
        cdef Match match
        if n > 2 * STRETCH and count == NULL:  # text without cuts: what grows would be copied again and again
            if scratch.out != NULL:
                with gil:
                    expect_items(<list> scratch.out, n * text.unit + ROOM)
            else:
                ids_expect(&scratch.ids, n * text.unit + ROOM)
        if text.is_utf8:
            data = <const uint8_t*> text.data + start
        else:
            buffer_reset(&scratch.utf8, text_room(text, n))
            n = text_utf8(text, start, end, scratch.utf8.items)
            data = scratch.utf8.items
        scratch.ends.text = data  # only splitters that are never given a part of a text say where they are
        if disallowed is not None and disallowed.find(data, n, 0, &match):
            with gil:
                raise SpecialTokenError.disallowed(disallowed.tokens[match.index].decode())
        if allowed is None:
            return self._find_tokens(data, n, self.always, start == 0, end == text.n, scratch, count)
        return self._find_tokens(data, n, allowed, start == 0, end == text.n, scratch, count)

    cdef int _find_tokens(
        self, const uint8_t* data, size_t n, SpecialMatcher tokens, bint is_first, bint is_last, Scratch* scratch,
        size_t* count,
    ) except -1 nogil:
        cdef size_t at = 0
        cdef Match match
        scratch.at_start = is_first
        if tokens is None:
            return self._change(data, n, None, is_first, is_last, scratch, count)
        match.end = match.resume = 0
        while tokens.next(data, n, &match):
            if at < match.start:
                self._change(data + at, match.start - at, tokens.then, is_first, True, scratch, count)
            _add_id(match.id, scratch, count)
            at = match.end
            is_first = True
            scratch.at_start = False
        return self._change(data + at, n - at, tokens.then, is_first, is_last, scratch, count)

    cdef int _change(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, bint is_last, Scratch* scratch,
        size_t* count,
    ) except -1 nogil:
        """What no token was found in yet: make of it what is to be split, and look for normalized tokens.

        is_first, is_last: whether it begins, and whether it ends, where a text does or at a token.
        """
        cdef size_t at = 0
        cdef Match match
        if self.normalizing is not None:
            return self._normalize(data, n, then, is_first, is_last, scratch, count)
        if self.front is not None and self.front.apply(data, n, &scratch.changed, NULL):
            data, n = scratch.changed.items, scratch.changed.n
            scratch.ends.text = data
        if then is not None:
            match.end = match.resume = 0
            while then.next(data, n, &match):
                if at < match.start:
                    self._prefix(data + at, match.start - at, scratch, count)
                _add_id(match.id, scratch, count)
                at = match.end
        return self._prefix(data + at, n - at, scratch, count)

    cdef int _prefix(self, const uint8_t* data, size_t n, Scratch* scratch, size_t* count) except -1 nogil:
        if n and self.front is not None and self.front.prefix_space and data[0] != 0x20:
            scratch.prefixed.n = 0
            buffer_add(&scratch.prefixed, b" ", 1)
            buffer_add(&scratch.prefixed, data, n)
            data, n = scratch.prefixed.items, scratch.prefixed.n
            scratch.ends.text = data
        return self._ordinary(data, n, scratch, count)

    # Code points

    cdef int _normalize(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, bint is_last, Scratch* scratch,
        size_t* count,
    ) except -1 nogil:
        cdef Normalized* out = &scratch.normalized
        cdef int failed
        if is_first:
            scratch.after_fused = False
        if n == 0:
            return 0
        if self.normalizing.normalizer is None:
            return self._with_dummy_prefix(data, n, then, is_first, scratch, count)
        if is_first:
            failed = self.normalizing.normalizer.begin(data, n, out)
            if failed == 0 and out.at == n:
                return 0  # nothing but spaces that are left out
        else:
            failed = self.normalizing.normalizer.go_on(out)
        if failed != 0 or self.normalizing.normalizer.advance(data, n, n, out) != 0:
            _no_memory(n)
        if is_last and self.normalizing.normalizer.finish(out) != 0:
            _no_memory(n)
        return self._find_normalized(out.data, out.n, then, is_first, scratch, count)

    cdef int _with_dummy_prefix(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, Scratch* scratch, size_t* count
    ) except -1 nogil:
        if is_first and self.normalizing.dummy_prefix:
            scratch.prefixed.n = 0
            buffer_add(&scratch.prefixed, b" ", 1)
            buffer_add(&scratch.prefixed, data, n)
            data, n = scratch.prefixed.items, scratch.prefixed.n
        return self._find_normalized(data, n, then, is_first, scratch, count)

    cdef int _find_normalized(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, Scratch* scratch, size_t* count
    ) except -1 nogil:
        """Normalized text: cut at tokens that are looked for in it."""
        cdef size_t at = 0
        cdef Match match
        if then is not None:
            match.end = match.resume = 0
            while then.next(data, n, &match):
                if at < match.start:
                    self._section(data + at, match.start - at, is_first, scratch, count)
                _add_id(match.id, scratch, count)
                scratch.after_fused = False
                at = match.end
                is_first = True
                scratch.at_start = False
        return self._section(data + at, n - at, is_first, scratch, count)

    cdef int _section(
        self, const uint8_t* data, size_t n, bint is_first, Scratch* scratch, size_t* count
    ) except -1 nogil:
        """Normalized text between tokens: with a space before it where it is to have one."""
        if is_first and n and (self.normalizing.prefix_always or self.normalizing.prefix_first and scratch.at_start):
            if data[0] != 0x20 and not (n > 2 and memcmp(data, METASPACE_UTF8, 3) == 0):
                scratch.prefixed.n = 0
                buffer_add(&scratch.prefixed, b" ", 1)
                buffer_add(&scratch.prefixed, data, n)
                data, n = scratch.prefixed.items, scratch.prefixed.n
        return self._find_symbols(data, n, scratch, count)

    cdef int encode_normalized(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """In code-point mode: append the ids of a normalized text, one for each unknown character of several."""
        scratch.keeps_runs = True
        return self._find_symbols(data, n, scratch, NULL)

    cdef int _find_symbols(self, const uint8_t* data, size_t n, Scratch* scratch, size_t* count) except -1 nogil:
        """Normalized text: cut at user-defined symbols."""
        cdef size_t at = 0
        cdef Match match
        if self.normalizing.symbols is not None:
            while self.normalizing.symbols.find(data, n, at, &match):
                self._ordinary(data + at, match.start - at, scratch, count)
                _add_id(match.id, scratch, count)
                scratch.after_fused = False
                at = match.end
        return self._ordinary(data + at, n - at, scratch, count)

    cdef int _ordinary(self, const uint8_t* data, size_t n, Scratch* scratch, size_t* count) except -1 nogil:
        cdef size_t start = 0, at = 0, before
        while at < n:
            scratch.ends.n = 0
            before = scratch.ids.n
            at = self.splitter.split(data, n, at, &scratch.ends)
            if self.vocabulary.drops_bytes and self._drop(data, start, at, scratch):
                encode_pieces(
                    &scratch.cache, &self.vocabulary.tables, scratch.kept.items, scratch.kept.n, 0,
                    scratch.ends.items, scratch.ends.n, &scratch.ids,
                )
            else:
                encode_pieces(
                    &scratch.cache, &self.vocabulary.tables, data, n, start, scratch.ends.items, scratch.ends.n,
                    &scratch.ids,
                )
            start = at
            if self.normalizing is not None and self.normalizing.fused != NONE and not scratch.keeps_runs:
                _fuse(scratch, before, self.normalizing.fused)
            if count != NULL:  # the same few cache lines are written again and again: it costs nothing
                count[0] += scratch.ids.n
                scratch.ids.n = 0
            elif scratch.out != NULL and not move_ids(scratch.out, &scratch.ids):
                scratch.out = NULL
            if at < n:
                check_signals(&scratch.watch)
        return 0

    cdef bint _drop(self, const uint8_t* data, size_t start, size_t end, Scratch* scratch) except -1 nogil:
        """Whether bytes that are no tokens stand in the pieces, which end at `end`; if so, pieces without them."""
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

    @property
    def used_bytes(self):
        """What the piece caches of threads that are not encoding now take."""
        cdef Scratch* scratch = self._spare
        cdef size_t total = 0
        while scratch != NULL:
            total += cache_bytes(&scratch.cache)
            scratch = scratch.next
        return total


cdef inline int _add_id(uint32_t token_id, Scratch* scratch, size_t* count) except -1 nogil:
    if count != NULL:
        count[0] += 1
        return 0
    ids_reserve(&scratch.ids, 1)
    scratch.ids.items[scratch.ids.n] = token_id
    scratch.ids.n += 1
    return 0


cdef void _fuse(Scratch* scratch, size_t start, uint32_t fused) noexcept nogil:
    """Leave out ids that follow their like, from a place on."""
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


cdef int _no_memory(size_t n) except -1 nogil:
    with gil:
        raise MemoryError(f"no memory to normalise {n} bytes of text")


cdef void _free(Scratch* scratch) noexcept:
    normalized_free(&scratch.normalized)
    buffer_free(&scratch.changed)
    buffer_free(&scratch.prefixed)
    buffer_free(&scratch.kept)
    ids_free(&scratch.ids)
    ids_free(&scratch.other_ids)
    ends_free(&scratch.ends)
    cache_free(&scratch.cache)
    buffer_free(&scratch.utf8)
    free(scratch)


cdef size_t _bytes_of(const Scratch* scratch) noexcept nogil:
    cdef size_t n_bytes = scratch.utf8.capacity + scratch.changed.capacity + scratch.prefixed.capacity
    n_bytes += scratch.kept.capacity + scratch.normalized.room + scratch.ends.capacity * sizeof(size_t)
    n_bytes += (scratch.ids.capacity + scratch.other_ids.capacity) * sizeof(uint32_t)
    return n_bytes + cache_bytes(&scratch.cache)


# All pipelines

cdef void _list(Pipeline pipeline) noexcept:
    global _newest
    pipeline._listed_after = _newest
    if _newest != NULL:
        (<Pipeline> _newest)._listed_before = <PyObject*> pipeline
    _newest = <PyObject*> pipeline
    pipeline._is_listed = True


cdef void _unlist(Pipeline pipeline) noexcept:
    global _newest
    if pipeline._listed_before == NULL:
        _newest = pipeline._listed_after
    else:
        (<Pipeline> pipeline._listed_before)._listed_after = pipeline._listed_after
    if pipeline._listed_after != NULL:
        (<Pipeline> pipeline._listed_after)._listed_before = pipeline._listed_before


cdef size_t free_scratches() noexcept:
    """Free what all pipelines keep for their next calls; how many bytes.

    Requires the GIL, and no Python code runs in between: none of the pipelines dies, and none hands out a scratch.
    """
    cdef PyObject* pipeline = _newest
    cdef size_t n_bytes = 0
    while pipeline != NULL:
        n_bytes += (<Pipeline> pipeline)._free_kept()
        pipeline = (<Pipeline> pipeline)._listed_after
    return n_bytes

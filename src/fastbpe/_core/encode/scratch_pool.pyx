"""Scratch: the buffers and the piece cache that one thread encodes with; and the pool that lends them.

A pipeline's pool lends one scratch to each call and keeps it afterwards, so that the next call finds warm memory
and a full cache.
"""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from fastbpe._core.cache.pending_pieces cimport discard_gaps
from fastbpe._core.cache.piece_cache cimport cache_bytes, cache_free, cache_limit, cache_start
from fastbpe._core.common.byte_buffer cimport buffer_add, buffer_free
from fastbpe._core.common.gil_yield cimport yield_gil_if_due
from fastbpe._core.common.id_buffer cimport HUGE_PAGES_FROM_ESTIMATE, Ids, ids_free
from fastbpe._core.common.memory cimport use_huge_pages
from fastbpe._core.common.places cimport places_free
from fastbpe._core.merge.vocabulary cimport Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized, normalized_free
from fastbpe._core.split.splitter cimport ends_free
from fastbpe._core.split.stages cimport staged_free

import os

cdef enum:
    # Capacities above which a buffer is freed after the call.
    MAX_KEPT_IDS = 1 << 22
    MAX_KEPT_ENDS = 1 << 17
    MAX_KEPT_BYTES = 1 << 20
    MAX_KEPT_ARENA_IDS = 1 << 23  # ids written, not capacity: memory that was never touched costs nothing
    MAX_KEPT_SCRATCHES = 64
    UNITS_PER_GIL_OFFER = 1 << 16  # units of short texts before others may have the GIL
    UNITS_PER_CALL = 1 << 6  # units that a call costs beside the units of its text

cdef PyObject* _newest = NULL  # head of the list of all living pools, which it does not own; under the GIL


@cython.final
cdef class ScratchPool:
    """Pool of the scratches of one pipeline.

    vocabulary: the pipeline's vocabulary.
    cache_bytes: bytes that the piece caches of all threads together may take.
    phases: the phases of a vocabulary with superwords; None: it has none.
    """

    def __cinit__(self, Vocabulary vocabulary not None, size_t cache_bytes, *, TwoPhases phases=None):
        self._vocabulary = vocabulary
        self._phases = phases
        self.cache_bytes = cache_bytes
        self._seed = <uint64_t> int.from_bytes(os.urandom(8), "little")
        _list(self)

    def __dealloc__(self):
        if self._is_listed:
            _unlist(self)
        self.free_spare()

    cdef Scratch* take(self) except NULL:
        """Lend a scratch, warm if one is spare.

        Requires: the GIL. The caller hands it back to give().
        """
        cdef Scratch* scratch = self._spare
        if scratch != NULL:
            self._spare = scratch.next
        else:
            scratch = _new(self._seed, self.cache_bytes // self._n_caches() // (self._n_scratches + 1))
            self._n_scratches += 1
            self._share_cache_bytes()
        if scratch.cache.limit > self._cache_limit:
            cache_limit(&scratch.cache, self._cache_limit)
        if scratch.tracing.limit > self._cache_limit:
            cache_limit(&scratch.tracing, self._cache_limit)
        _reset(scratch)
        scratch.phases = NULL if self._phases is None else &self._phases.phases
        return scratch

    cdef void give(self, Scratch* scratch) noexcept:
        """Take a scratch back.

        Requires: the GIL.
        """
        if scratch.cache.n_gaps:  # an error left pieces pending
            discard_gaps(
                &scratch.cache, &self._vocabulary.tables if self._phases is None else self._phases.phases.words
            )
        if self._n_scratches > MAX_KEPT_SCRATCHES:
            self._n_scratches -= 1
            self._share_cache_bytes()
            _free(scratch)
            return
        _trim(scratch)
        scratch.next = self._spare
        self._spare = scratch

    cdef void _share_cache_bytes(self) noexcept:
        """Share cache_bytes out to all scratches evenly."""
        self._cache_limit = self.cache_bytes // self._n_caches() // max(self._n_scratches, <size_t> 1)

    cdef size_t _n_caches(self) noexcept:
        """Count the caches of a scratch: a vocabulary of characters has one for traces, too."""
        return 1 if self._vocabulary.tables.spelling == NULL else 2

    cdef size_t free_spare(self) noexcept:
        """Free the spare scratches and the arena; return how many bytes. Threads that encode now keep theirs.

        Requires: the GIL.
        """
        cdef Scratch* scratch = self._spare
        cdef size_t n_bytes = self._spare_arena.capacity * sizeof(uint32_t)
        while scratch != NULL:
            self._spare = scratch.next
            self._n_scratches -= 1
            n_bytes += _bytes(scratch)
            _free(scratch)
            scratch = self._spare
        self._share_cache_bytes()
        ids_free(&self._spare_arena)
        return n_bytes

    cdef Ids take_arena(self, size_t capacity) noexcept:
        """Lend a block for the ids of several threads; its capacity is 0 without memory.

        capacity: ids.

        A block that was given back has its pages: for fresh ones the system would take a third of a warm call.

        Requires: the GIL. The caller hands the block back to give_arena(), with n as far as ids were written.
        """
        cdef Ids arena = self._spare_arena
        self._spare_arena = Ids(NULL, 0, 0)
        if arena.capacity < capacity:
            free(arena.items)
            arena = Ids(<uint32_t*> malloc(capacity * sizeof(uint32_t)), 0, capacity)
            if arena.items == NULL:
                arena.capacity = 0
            if capacity >= HUGE_PAGES_FROM_ESTIMATE:
                use_huge_pages(arena.items, arena.capacity * sizeof(uint32_t))
        arena.n = 0
        return arena

    cdef void give_arena(self, Ids arena) noexcept:
        """Take a block back; keep the larger of it and the spare one.

        Requires: the GIL.
        """
        if arena.n > MAX_KEPT_ARENA_IDS or arena.capacity <= self._spare_arena.capacity:
            free(arena.items)
            return
        free(self._spare_arena.items)
        self._spare_arena = arena

    cdef size_t used_bytes(self) noexcept:
        """Count the bytes of the spare scratches' piece caches."""
        cdef Scratch* scratch = self._spare
        cdef size_t total = 0
        while scratch != NULL:
            total += cache_bytes(&scratch.cache) + cache_bytes(&scratch.tracing)
            scratch = scratch.next
        return total


# The list of all living pools

cdef void _list(ScratchPool pool) noexcept:
    global _newest
    pool._listed_after = _newest
    if _newest != NULL:
        (<ScratchPool> _newest)._listed_before = <PyObject*> pool
    _newest = <PyObject*> pool
    pool._is_listed = True


cdef void _unlist(ScratchPool pool) noexcept:
    global _newest
    if pool._listed_before == NULL:
        _newest = pool._listed_after
    else:
        (<ScratchPool> pool._listed_before)._listed_after = pool._listed_after
    if pool._listed_after != NULL:
        (<ScratchPool> pool._listed_after)._listed_before = pool._listed_before


cdef size_t free_scratches() noexcept:
    """Free the memory that all pools keep for their next calls; return how many bytes.

    Requires: the GIL. It runs no Python code, so no pool can die or lend a scratch at that time.
    """
    cdef PyObject* pool = _newest
    cdef size_t n_bytes = 0
    while pool != NULL:
        n_bytes += (<ScratchPool> pool).free_spare()
        pool = (<ScratchPool> pool)._listed_after
    return n_bytes


# Scratches

cdef Scratch* _new(uint64_t seed, size_t cache_limit) except NULL:
    """Allocate a scratch with empty buffers.

    seed: secret of the cache's hash.
    cache_limit: bytes that the cache may take.
    """
    cdef Scratch* scratch = <Scratch*> calloc(1, sizeof(Scratch))
    if scratch == NULL:
        raise MemoryError("no memory for an encoder's scratch space")
    cache_start(&scratch.cache, seed, cache_limit)
    return scratch


cdef void start_tracing(Scratch* scratch) noexcept nogil:
    """Prepare the cache of traces."""
    if not scratch.tracing.limit:
        cache_start(&scratch.tracing, scratch.cache.seed, scratch.cache.limit)


cdef void _reset(Scratch* scratch) noexcept nogil:
    """Prepare for a call: no ids, no output list, no modes. Buffers and cache stay."""
    scratch.ids.n = scratch.ends.n = scratch.beyond.n = 0
    scratch.out = NULL
    scratch.spans = NULL
    scratch.counts_only = scratch.keeps_runs = False
    scratch.watch.checked = 0
    scratch.watch.abandoned = NULL
    scratch.cache.skips_long = scratch.cache.defers = False


cdef void _trim(Scratch* scratch) noexcept nogil:
    """Free the buffers that have grown large, so that a long text does not hold memory for ever."""
    if scratch.ids.capacity > MAX_KEPT_IDS:
        ids_free(&scratch.ids)
    if scratch.other_ids.capacity > MAX_KEPT_IDS:
        ids_free(&scratch.other_ids)
    if scratch.ends.capacity > MAX_KEPT_ENDS:
        ends_free(&scratch.ends)
    if scratch.word_ends.capacity > MAX_KEPT_ENDS:
        ends_free(&scratch.word_ends)
    if scratch.normalized.capacity > MAX_KEPT_BYTES:
        normalized_free(&scratch.normalized)
        memset(&scratch.normalized, 0, sizeof(Normalized))
    if scratch.utf8.capacity > MAX_KEPT_BYTES:
        buffer_free(&scratch.utf8)
    if scratch.changed.capacity + scratch.prefixed.capacity + scratch.kept.capacity > MAX_KEPT_BYTES:
        buffer_free(&scratch.changed)
        buffer_free(&scratch.kept)
        buffer_free(&scratch.prefixed)
    if scratch.steps.capacity + scratch.heads.capacity * sizeof(uint32_t) > MAX_KEPT_BYTES:
        buffer_free(&scratch.steps)
        ids_free(&scratch.heads)
    if _staged_bytes(scratch) > MAX_KEPT_BYTES:
        staged_free(&scratch.staged)
        places_free(&scratch.places)
        ids_free(&scratch.trace)
        ids_free(&scratch.beyond)


cdef void _free(Scratch* scratch) noexcept nogil:
    normalized_free(&scratch.normalized)
    buffer_free(&scratch.changed)
    buffer_free(&scratch.prefixed)
    buffer_free(&scratch.kept)
    buffer_free(&scratch.steps)
    places_free(&scratch.places)
    staged_free(&scratch.staged)
    ids_free(&scratch.trace)
    ids_free(&scratch.heads)
    ids_free(&scratch.beyond)
    cache_free(&scratch.tracing)
    ids_free(&scratch.ids)
    ids_free(&scratch.other_ids)
    ends_free(&scratch.ends)
    ends_free(&scratch.word_ends)
    cache_free(&scratch.cache)
    buffer_free(&scratch.utf8)
    free(scratch)


cdef size_t _bytes(const Scratch* scratch) noexcept nogil:
    """Count the bytes of all buffers and of the cache."""
    cdef size_t n_bytes = scratch.utf8.capacity + scratch.changed.capacity + scratch.prefixed.capacity
    n_bytes += scratch.steps.capacity + scratch.heads.capacity * sizeof(uint32_t)
    n_bytes += scratch.kept.capacity + scratch.normalized.capacity + scratch.ends.capacity * sizeof(size_t)
    n_bytes += (scratch.ids.capacity + scratch.other_ids.capacity) * sizeof(uint32_t)
    return n_bytes + _staged_bytes(scratch) + cache_bytes(&scratch.cache) + cache_bytes(&scratch.tracing)


cdef size_t _staged_bytes(const Scratch* scratch) noexcept nogil:
    """Count the bytes of the buffers for pieces that stages change, for places and for traces."""
    cdef size_t n_bytes = scratch.staged.text.capacity + scratch.staged.spare.capacity
    cdef size_t n_places = scratch.staged.places.capacity + scratch.staged.spare_places.capacity
    n_bytes += (n_places + scratch.places.capacity) * sizeof(size_t)
    return n_bytes + (scratch.trace.capacity + scratch.beyond.capacity) * sizeof(uint32_t)


cdef int put_space_before(Scratch* scratch, const uint8_t** data, size_t* n) except -1 nogil:
    """Copy a text with a space before it, and let data and n be the copy.

    Requires: data does not point into scratch.prefixed, which the copy overwrites. A pipeline puts a space
        before a text once at most: the dummy prefix of sentencepiece excludes the prefix of a Hugging Face
        pre-tokenizer.
    """
    scratch.prefixed.n = 0
    buffer_add(&scratch.prefixed, b" ", 1)
    buffer_add(&scratch.prefixed, data[0], n[0])
    data[0], n[0] = scratch.prefixed.items, scratch.prefixed.n
    scratch.ends.text = data[0]
    return 0


cdef int offer_gil(Scratch* scratch, size_t n_units) except -1:
    """Release the GIL from time to time, before a short text is encoded under it.

    n_units: units of the text.
    """
    scratch.n_held += n_units + UNITS_PER_CALL
    if scratch.n_held >= UNITS_PER_GIL_OFFER:
        scratch.n_held = 0
        yield_gil_if_due()
    return 0

"""Scratch: the buffers and the piece cache of a thread that encodes; and the pool that lends them.

A pipeline's pool lends a scratch to each thread of a call and keeps it afterwards, so that the next call finds
warm memory and a full cache.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from fastbpe._core.cache.pending_pieces cimport discard_gaps
from fastbpe._core.cache.piece_cache cimport cache_bytes, cache_free, cache_limit, cache_start
from fastbpe._core.common.byte_buffer cimport buffer_add, buffer_free
from fastbpe._core.common.free_threading cimport Lock, lock, unlock
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
    MAX_KEPT_SCRATCHES = 64  # scratches, lent and spare; while there are more, one that is given back is freed
    UNITS_PER_GIL_OFFER = 1 << 16  # units of short texts to encode before the GIL is offered to other threads
    UNITS_PER_CALL = 1 << 6  # units charged for each call; its text is charged too

cdef Kept* _newest = NULL  # head of the list of the Kept of all living pools; protected by _list_lock
cdef Lock _list_lock  # acquired before the lock of a pool, if both are needed


@cython.final
cdef class ScratchPool:
    """Pool of the scratches of a pipeline, which other pipelines with its vocabulary may share.

    vocabulary: the pipeline's vocabulary.
    cache_bytes: bytes that the piece caches of all threads together may take.
    phases: the phases of a vocabulary with superwords; None: it has no superwords.
    """

    def __cinit__(self, Vocabulary vocabulary not None, size_t cache_bytes, *, TwoPhases phases=None):
        self._vocabulary = vocabulary
        self._phases = phases
        self.cache_bytes = cache_bytes
        self._seed = <uint64_t> int.from_bytes(os.urandom(8), "little")
        # Half of the memory is for caches of traces, if any.
        self._kept.shared_bytes = cache_bytes // (1 if vocabulary.tables.spelling == NULL else 2)
        _list(&self._kept)
        self._is_listed = True

    def __dealloc__(self):
        if self._is_listed:
            _unlist(&self._kept)
        _free_spare(&self._kept)

    cdef Scratch* take(self) except NULL:
        """Lend a scratch, a warm one if possible.

        Requires: the GIL. The caller returns the scratch with give().
        """
        cdef Scratch* scratch
        cdef size_t limit
        lock(&self._kept.lock)
        scratch = self._kept.spare
        if scratch != NULL:
            self._kept.spare = scratch.next
        else:
            _count_scratches(&self._kept, 1)
        limit = self._kept.cache_limit
        unlock(&self._kept.lock)
        if scratch == NULL:
            scratch = self._new(limit)
        if scratch.cache.limit != limit:  # other scratches have been created or freed since it was last lent
            cache_limit(&scratch.cache, limit)
            if scratch.tracing.limit:  # 0: not started
                cache_limit(&scratch.tracing, limit)
        _reset(scratch)
        scratch.phases = NULL if self._phases is None else &self._phases.phases
        return scratch

    cdef Scratch* _new(self, size_t limit) except NULL:
        """Create a scratch that has already been counted."""
        try:
            return _new(self._seed, limit)
        except MemoryError:
            lock(&self._kept.lock)
            _count_scratches(&self._kept, -1)
            unlock(&self._kept.lock)
            raise

    cdef void give(self, Scratch* scratch) noexcept:
        """Take a scratch back.

        Requires: the GIL.
        """
        cdef bint is_kept
        if scratch.cache.n_gaps:  # an error left pieces pending
            discard_gaps(
                &scratch.cache, &self._vocabulary.tables if self._phases is None else self._phases.phases.words
            )
        _trim(scratch)
        lock(&self._kept.lock)
        is_kept = self._kept.n_scratches <= MAX_KEPT_SCRATCHES
        if is_kept:
            scratch.next = self._kept.spare
            self._kept.spare = scratch
        else:
            _count_scratches(&self._kept, -1)
        unlock(&self._kept.lock)
        if not is_kept:
            _free(scratch)

    cdef Ids take_arena(self, size_t capacity) noexcept:
        """Lend a block for the ids of several threads; its capacity is 0 if out of memory.

        capacity: number of ids that must fit.

        A block that was given back still has its pages: fresh pages would take a third of the time of a warm call.

        Requires: the GIL. The caller returns the block with give_arena(); its n is then the number of ids written.
        """
        cdef Ids arena
        lock(&self._kept.lock)
        arena, self._kept.arena = self._kept.arena, Ids(NULL, 0, 0)
        unlock(&self._kept.lock)
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
        """Take a block back; keep it or the spare one, whichever is larger.

        Does not keep a block to which more than MAX_KEPT_ARENA_IDS ids were written.

        Requires: the GIL.
        """
        if arena.n <= MAX_KEPT_ARENA_IDS:
            lock(&self._kept.lock)
            if arena.capacity > self._kept.arena.capacity:
                arena, self._kept.arena = self._kept.arena, arena
            unlock(&self._kept.lock)
        free(arena.items)

    cdef size_t used_bytes(self) noexcept:
        """Count the bytes of the spare scratches' piece caches."""
        cdef Scratch* scratch
        cdef size_t total = 0
        lock(&self._kept.lock)
        scratch = self._kept.spare
        while scratch != NULL:
            total += cache_bytes(&scratch.cache) + cache_bytes(&scratch.tracing)
            scratch = scratch.next
        unlock(&self._kept.lock)
        return total


# The memory that pools keep

cdef void _count_scratches(Kept* kept, Py_ssize_t n_more) noexcept:
    """Count scratches that are created or freed, and divide the cache memory among all. Requires: the lock."""
    kept.n_scratches += n_more
    kept.cache_limit = kept.shared_bytes // max(kept.n_scratches, <size_t> 1)


cdef size_t _free_spare(Kept* kept) noexcept:
    """Free the spare scratches and the arena; return the number of bytes. Threads that are encoding keep theirs.

    Requires: the GIL.
    """
    cdef Scratch* scratch
    cdef Scratch* next
    cdef Ids arena
    cdef size_t n_bytes
    cdef Py_ssize_t n_freed = 0
    lock(&kept.lock)
    scratch, kept.spare = kept.spare, NULL
    arena, kept.arena = kept.arena, Ids(NULL, 0, 0)
    unlock(&kept.lock)
    n_bytes = arena.capacity * sizeof(uint32_t)
    ids_free(&arena)
    while scratch != NULL:
        next = scratch.next
        n_freed += 1
        n_bytes += _bytes(scratch)
        _free(scratch)
        scratch = next
    lock(&kept.lock)
    _count_scratches(kept, -n_freed)
    unlock(&kept.lock)
    return n_bytes


cdef void _list(Kept* kept) noexcept:
    """Add a Kept to the list of all living pools."""
    global _newest
    lock(&_list_lock)
    kept.after = _newest
    if _newest != NULL:
        _newest.before = kept
    _newest = kept
    unlock(&_list_lock)


cdef void _unlist(Kept* kept) noexcept:
    global _newest
    lock(&_list_lock)
    if kept.before == NULL:
        _newest = kept.after
    else:
        kept.before.after = kept.after
    if kept.after != NULL:
        kept.after.before = kept.before
    unlock(&_list_lock)


cdef size_t free_scratches() noexcept:
    """Free the memory that all pools keep for their next calls; return the number of bytes.

    Requires: the GIL. The memory is freed under the lock of the list, for which only pools that are being created
    or destroyed wait.
    """
    cdef Kept* kept
    cdef size_t n_bytes = 0
    lock(&_list_lock)
    kept = _newest
    while kept != NULL:
        n_bytes += _free_spare(kept)
        kept = kept.after
    unlock(&_list_lock)
    return n_bytes


# Scratches

cdef Scratch* _new(uint64_t seed, size_t cache_limit) except NULL:
    """Allocate a scratch with empty buffers.

    seed: secret seed of the cache's hashes.
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
    """Free the buffers that have grown large, so that the pool does not keep the memory for a long text."""
    if scratch.ids.capacity > MAX_KEPT_IDS:
        ids_free(&scratch.ids)
    if scratch.other_ids.capacity > MAX_KEPT_IDS:
        ids_free(&scratch.other_ids)
    if scratch.cache.aside.capacity > MAX_KEPT_IDS:
        ids_free(&scratch.cache.aside)
    if scratch.tracing.aside.capacity > MAX_KEPT_IDS:
        ids_free(&scratch.tracing.aside)
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
    """Count the bytes of all buffers and of both caches."""
    cdef size_t n_bytes = scratch.utf8.capacity + scratch.changed.capacity + scratch.prefixed.capacity
    n_bytes += scratch.steps.capacity + scratch.heads.capacity * sizeof(uint32_t)
    n_bytes += (scratch.ends.capacity + scratch.word_ends.capacity) * sizeof(size_t)
    n_bytes += scratch.kept.capacity + scratch.normalized.capacity
    if scratch.normalized.offsets != NULL:
        n_bytes += (scratch.normalized.capacity + 1) * sizeof(uint32_t)
    n_bytes += (scratch.ids.capacity + scratch.other_ids.capacity) * sizeof(uint32_t)
    n_bytes += (scratch.cache.aside.capacity + scratch.tracing.aside.capacity) * sizeof(uint32_t)
    return n_bytes + _staged_bytes(scratch) + cache_bytes(&scratch.cache) + cache_bytes(&scratch.tracing)


cdef size_t _staged_bytes(const Scratch* scratch) noexcept nogil:
    """Count the bytes of the buffers for pieces that stages change, for places and for traces."""
    cdef size_t n_bytes = scratch.staged.text.capacity + scratch.staged.spare.capacity
    cdef size_t n_places = scratch.staged.places.capacity + scratch.staged.spare_places.capacity
    n_bytes += (n_places + scratch.places.capacity) * sizeof(size_t)
    return n_bytes + (scratch.trace.capacity + scratch.beyond.capacity) * sizeof(uint32_t)


cdef int put_space_before(Scratch* scratch, const uint8_t** data, size_t* n) except -1 nogil:
    """Copy a text with a space before it, and make data and n refer to the copy.

    Requires: data does not point into scratch.prefixed, which the copy overwrites. A pipeline puts at most one
        space before a text: the dummy prefix of sentencepiece excludes the prefix of a Hugging Face pre-tokenizer.
    """
    scratch.prefixed.n = 0
    buffer_add(&scratch.prefixed, b" ", 1)
    buffer_add(&scratch.prefixed, data[0], n[0])
    data[0], n[0] = scratch.prefixed.items, scratch.prefixed.n
    scratch.ends.text = data[0]
    return 0


cdef int offer_gil(Scratch* scratch, size_t n_units) except -1:
    """Release the GIL from time to time, before a short text is encoded under the GIL.

    n_units: units of the text.
    """
    scratch.n_held += n_units + UNITS_PER_CALL
    if scratch.n_held >= UNITS_PER_GIL_OFFER:
        scratch.n_held = 0
        yield_gil_if_due()
    return 0

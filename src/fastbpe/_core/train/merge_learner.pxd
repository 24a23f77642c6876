from libc.stdint cimport int64_t, uint32_t, uint64_t

from fastbpe._core.train.pair_table cimport QueuedPair, Pair, PairIndex, State

cdef enum:
    N_BUCKETS = 4096  # pairs with counts below this wait in buckets, one per count
    WORK_PER_REPORT = 500_000  # occurrences and pairs to handle between two checks for signals and progress


cdef struct LearnedMerge:
    # A merge that was learned.
    uint32_t left
    uint32_t right
    int64_t count  # occurrences of the pair when it was merged


cdef void* allocated(size_t n_items, size_t item_size) except NULL nogil
cdef int index_grow(PairIndex* index, const State* s, size_t n_slots) except -1 nogil


cdef class MergeLearner:
    cdef State _state
    cdef size_t _n_cells, _counts_capacity, _pairs_capacity, _new_capacity
    cdef size_t _n_occurrences, _occurrences_capacity
    cdef size_t _n_gone  # occurrences of pairs that no longer occur
    cdef QueuedPair* _heap
    cdef size_t _n_heap, _heap_capacity
    cdef uint32_t _buckets[N_BUCKETS]  # first pair of each count; Pair.next is the next one; NONE: empty
    cdef uint32_t _level  # the heap has the waiting pairs with at least this count
    cdef uint32_t _n_base, _n_ids, _max_ids
    cdef int64_t _min_count
    cdef bint _keys_change  # the key of a waiting pair may change
    cdef bint _is_learning
    cdef LearnedMerge* _merges  # merge i makes the id _n_base + i
    cdef size_t _work  # occurrences and pairs handled since the last report
    cdef object _progress
    cdef uint64_t _key(self, uint32_t index) noexcept nogil
    cdef bint _precedes(self, uint32_t pair, uint32_t other) noexcept nogil
    cdef bint _is_valid(self, const Pair* pair) noexcept nogil
    cdef bint _is_new(self, uint32_t pair) except -1 nogil
    cdef int _allocate(self, size_t n_cells, size_t n_weights, size_t n_ids) except -1
    cdef int _first_pairs(self) except -1 nogil
    cdef void _mark_pieces(self) noexcept nogil
    cdef int _reserve_pairs(self, size_t n_more) except -1 nogil
    cdef int _reserve_occurrences(self, size_t n_more) except -1 nogil
    cdef void _drop_gone(self) noexcept nogil
    cdef void _give_slices(self, uint32_t first) noexcept nogil
    cdef int _offer_from(self, uint32_t first) except -1 nogil
    cdef int _offer(self, uint32_t pair) except -1 nogil
    cdef bint _comes_first(self, const QueuedPair* a, const QueuedPair* b) noexcept nogil
    cdef int _push(self, uint32_t pair) except -1 nogil
    cdef QueuedPair _pop(self) noexcept nogil
    cdef uint32_t _take_best(self) except? 0xFFFFFFFF nogil
    cdef int _merge(self, uint32_t index, uint32_t merged) except -1 nogil
    cdef int _learn(self) except -1 nogil
    cdef int _note_work(self, size_t n) except -1 nogil
    cdef int _report(self) except -1 nogil

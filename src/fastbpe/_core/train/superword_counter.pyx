"""Count what superwords are learned from: runs of ids that the first phase makes of the pieces of a text.

The pieces are lines or longer, so distinct ones take as much memory as the text. But a merge that joins two symbols
across the border of two ids happens at most as often as these ids are neighbours, now and later. So no merge of at least
`least` occurrences crosses a border between neighbours that are rarer, and pieces are cut there. What is left are
runs: short and frequent, and their number hardly grows with the text.

Neighbours are counted in one array, by hash. Pairs that share a count have one that is too high. That
only keeps borders that might be cut; it never cuts one that a merge crosses.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from fastbpe._core.cache.piece_cache cimport cache_free, cache_start
from fastbpe._core.cache.two_phases cimport Phases, encode_words
from fastbpe._core.common.atomics cimport add
from fastbpe._core.common.byte_buffer cimport buffer_free, buffer_reset
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.ids.sequences cimport Sequences
from fastbpe._core.split.splitter cimport UNMATCHED, Splitter, ends_add, ends_free
from fastbpe._core.train.piece_table cimport PieceTable

cdef enum:
    MIN_BITS = 12  # log2 of the number of counts
    MAX_BITS = 25
    TEXT_BYTES_PER_COUNT = 16
    MAX_RANKED = 1 << 14  # greatest count that nth_largest() tells apart


@cython.final
cdef class NeighbourCounts:
    """Counts of neighbours among ids, none too low; shared by several threads.

    n_ids: number of ids.
    n_bytes: bytes of text that will be counted, about; the counts take half of that, 256 MB at most.
    """

    def __cinit__(self, size_t n_ids, size_t n_bytes):
        cdef int bits = MIN_BITS
        while bits < MAX_BITS and (<size_t> TEXT_BYTES_PER_COUNT << bits) < n_bytes:
            bits += 1
        self.n_ids = n_ids
        self.shift = <uint32_t> (64 - bits)
        self.counts = <size_t*> calloc(<size_t> 1 << bits, sizeof(size_t))
        self.seen = <uint8_t*> calloc(max(n_ids, <size_t> 1), 1)
        if self.counts == NULL or self.seen == NULL:
            raise MemoryError(f"no memory for the counts of 2**{bits} neighbours")

    def __dealloc__(self):
        free(self.counts)
        free(self.seen)

    def nth_largest(self, size_t n):
        """Return the n-th largest count, 1 at least and MAX_RANKED at most."""
        cdef size_t counts[MAX_RANKED + 1]  # how many counts there are of each value
        cdef size_t i, value = MAX_RANKED, n_values = <size_t> 1 << (64 - self.shift)
        memset(counts, 0, sizeof(counts))
        for i in range(n_values):
            counts[min(self.counts[i], <size_t> MAX_RANKED)] += 1
        while value > 1 and counts[value] < n:
            n -= counts[value]
            value -= 1
        return value

    def ids(self):
        """List the ids that the text has."""
        return [i for i in range(self.n_ids) if self.seen[i]]


@cython.final
cdef class SuperwordCounter(PieceCounter):
    """Counter of neighbours or of runs of ids.

    splitter: Splitter – cuts the texts into the pieces of the second phase.
    phases: TwoPhases – with the tokens of the first phase. Its joins are not used.
    neighbours: NeighbourCounts – shared by all counters of a source.
    least: int – 0: count neighbours, and no runs. Else count the runs of two ids or more whose neighbours all
        have at least this count.
    spill, limit: as for PieceTable.
    """

    def __cinit__(
        self, Splitter splitter not None, *, TwoPhases phases not None, NeighbourCounts neighbours not None,
        size_t least, spill=None, size_t limit=0,
    ):
        self.phases, self.neighbours, self._least = phases, neighbours, least
        cache_start(&self._cache, self._seed, CACHE_BYTES)

    def __dealloc__(self):
        cache_free(&self._cache)
        ends_free(&self._words)
        ids_free(&self._ids)
        buffer_free(&self._runs)
        ends_free(&self._run_ends)

    cdef int count_pieces(
        self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends
    ) except -1 nogil:
        """Count what the pieces of a text hold. Arguments as in PieceCounter.count_pieces()."""
        encode_words(
            &self.phases.phases, &self._cache, data, n, start, ends, n_ends, &self._words, &self._ids
        )
        if not self._least:
            return self._count_neighbours()
        self._count_runs(start, ends, n_ends)
        return PieceCounter.count_pieces(
            self, self._runs.items, self._runs.n, 0, self._run_ends.items, self._run_ends.n
        )

    cdef int _count_neighbours(self) except -1 nogil:
        """Count the neighbours among the ids, also those across the ends of pieces."""
        cdef size_t* counts = self.neighbours.counts
        cdef uint32_t shift = self.neighbours.shift
        cdef const uint32_t* ids = self._ids.items
        cdef size_t i, n = self._ids.n
        for i in range(n):
            self.neighbours.seen[ids[i]] = 1
        for i in range(1, n):
            if i + IDS_AHEAD < n:
                prefetch(&counts[slot_of(&ids[i + IDS_AHEAD - 1], shift)])
            add(&counts[slot_of(&ids[i - 1], shift)], 1)
        return 0

    cdef int _count_runs(self, size_t start, const size_t* ends, size_t n_ends) except -1 nogil:
        """Write the runs of the ids as keys."""
        cdef size_t* counts = self.neighbours.counts
        cdef uint32_t shift = self.neighbours.shift
        cdef const Phases* phases = &self.phases.phases
        cdef const uint32_t* ids = self._ids.items
        cdef size_t i = 0, n = self._ids.n, k, end, first, at = start
        cdef uint8_t* to
        buffer_reset(&self._runs, ID_BYTES * n)
        self._run_ends.n = 0
        for k in range(n_ends):
            end = ends[k] & ~UNMATCHED
            if ends[k] & UNMATCHED:
                at = end
            while at < end and i < n:
                first = i
                to = self._runs.items + self._runs.n
                while True:
                    at += phases.ids[ids[i]].n_bytes
                    to[0], to[1], to[2] = <uint8_t> ids[i], <uint8_t> (ids[i] >> 8), <uint8_t> (ids[i] >> 16)
                    to += ID_BYTES
                    i += 1
                    if i + IDS_AHEAD < n:
                        prefetch(&counts[slot_of(&ids[i + IDS_AHEAD - 1], shift)])
                    if at >= end or i >= n:
                        break
                    if counts[slot_of(&ids[i - 1], shift)] < self._least:
                        break
                if i - first > 1:
                    self._runs.n += ID_BYTES * (i - first)
                    ends_add(&self._run_ends, self._runs.n)
        return 0


def sequences_of(PieceTable table not None, uint32_t n_ids):
    """Make Sequences of runs that SuperwordCounter counted, with their counts.

    n_ids: int – one more than the greatest id.
    """
    cdef Sequences out = Sequences(n_ids)
    cdef size_t i, k, n
    cdef const uint8_t* key
    cdef Ids ids = Ids(NULL, 0, 0)
    table.settle()
    try:
        for i in range(table.n_pieces):
            key = table.arena + table.pieces[i].start
            n = table.pieces[i].n_bytes // ID_BYTES
            ids_reserve(&ids, n)
            for k in range(n):
                ids.items[k] = key[3 * k] | <uint32_t> key[3 * k + 1] << 8 | <uint32_t> key[3 * k + 2] << 16
            out.add_ids(ids.items, n, table.pieces[i].count)
    finally:
        ids_free(&ids)
    return out

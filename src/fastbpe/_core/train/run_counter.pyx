"""Count the material of superwords: runs of ids that the first phase makes of the pieces of a text.

Runs may be as long as lines or longer, and distinct ones then take as much memory as the text. But at any step of
learning, a merge across the border of two ids happens at most as often as these ids are neighbours in the text.
So no merge of at least `least` occurrences crosses a border between neighbours that are rarer, and runs are cut
there. The resulting parts are short and frequent, and their number hardly grows with the text.

Neighbours are counted in one array, by hash. If pairs share a count, it is too high. This only keeps borders that
might be cut; it never cuts one that a merge crosses.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free

from fastbpe._core.cache.piece_cache cimport cache_free, cache_start
from fastbpe._core.common.atomics cimport add
from fastbpe._core.common.byte_buffer cimport buffer_free, buffer_reset
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.ids.sequences cimport Sequences
from fastbpe._core.split.splitter cimport ends_add, ends_free
from fastbpe._core.train.piece_table cimport PieceCount, PieceTable

cdef enum:
    MIN_BITS = 12  # log2 of the number of counts
    MAX_BITS = 25
    TEXT_BYTES_PER_COUNT = 16
    MAX_RANKED = 1 << 20  # greatest count that nth_largest() distinguishes; enough for about 1 TB of text
    # Bytes of an id in the key of a run: ids are below vocabulary.MAX_IDS, 2**24. A run of five ids is a short piece of
    # the table.
    ID_BYTES = 3
    IDS_AHEAD = 16  # distance, in ids, at which counts are prefetched
    CACHE_BYTES = 64 << 20  # cache of the words of a counter


@cython.final
cdef class NeighbourCounts:
    """Counts of neighbours among ids, none too low; shared by several threads.

    n_ids: number of ids.
    n_bytes: approximate number of bytes of text to count. The counts take from n_bytes / 2 to n_bytes, but at
        least 32 KB and at most 256 MB.

    Attributes:
        weight: int – amount by which each pair counts from now on. Initially 1.
    """

    def __cinit__(self, size_t n_ids, size_t n_bytes):
        cdef int bits = MIN_BITS
        while bits < MAX_BITS and (<size_t> TEXT_BYTES_PER_COUNT << bits) < n_bytes:
            bits += 1
        self.n_ids, self.weight = n_ids, 1
        self.shift = <uint32_t> (64 - bits)
        self.counts = <size_t*> calloc(<size_t> 1 << bits, sizeof(size_t))
        self.seen = <uint8_t*> calloc(n_ids, 1)
        if self.counts == NULL or self.seen == NULL:
            raise MemoryError(f"no memory for the counts of 2**{bits} neighbours")

    def __dealloc__(self):
        free(self.counts)
        free(self.seen)

    def nth_largest(self, size_t n):
        """Return the n-th largest count; 1 if the count is 0, and MAX_RANKED if it is greater than MAX_RANKED."""
        cdef size_t i, value = MAX_RANKED, n_values = <size_t> 1 << (64 - self.shift)
        cdef size_t* counts = <size_t*> calloc(MAX_RANKED + 1, sizeof(size_t))  # by value: how many counts have it
        if counts == NULL:
            raise MemoryError(f"no memory to rank {n_values} counts")
        for i in range(n_values):
            counts[min(self.counts[i], <size_t> MAX_RANKED)] += 1
        while value > 1 and counts[value] < n:
            n -= counts[value]
            value -= 1
        free(counts)
        return value

    def ids(self):
        """List the ids that occur in the text."""
        return [i for i in range(self.n_ids) if self.seen[i]]


cdef class RunCounter(PieceCounter):
    """Counter of neighbours or of runs of ids. A subclass says which ids of a text are neighbours.

    splitter: Splitter – cuts the texts into pieces.
    neighbours: NeighbourCounts – shared by all counters of a source; None: count runs without cutting any.
    least: int – 0: count neighbours, and no runs. Otherwise count the runs of two ids or more whose neighbours all
        have at least this count.
    by_pairs: bool – count every pair of neighbours as a separate run.
    spill, limit: as for PieceTable.
    """

    def __cinit__(self, *args, NeighbourCounts neighbours=None, size_t least=1, bint by_pairs=False, **kwargs):
        if not least and neighbours is None:
            raise ValueError("least=0 counts only neighbours, so neighbours= must not be None")
        self.neighbours, self._least, self._by_pairs = neighbours, least, by_pairs
        cache_start(&self._cache, self._seed, CACHE_BYTES)

    def __dealloc__(self):
        cache_free(&self._cache)
        ids_free(&self._ids)
        ids_free(&self._separated)
        buffer_free(&self._runs)
        ends_free(&self._run_ends)

    cdef int _count_separated(self) except -1 nogil:
        """Count the neighbours, or the runs, in self._separated."""
        cdef size_t* counts = NULL
        cdef uint32_t shift = 0
        cdef const uint32_t* ids = self._separated.items
        cdef size_t i, n = self._separated.n, n_in_run = 0
        cdef uint8_t* to
        cdef bint are_neighbours  # this id and the one before it
        if not n:
            return 0  # without any memory, _end_run() would return NULL, which means an error
        if self.neighbours is not None:
            counts, shift = self.neighbours.counts, self.neighbours.shift
        buffer_reset(&self._runs, 2 * ID_BYTES * n if self._by_pairs else ID_BYTES * n)
        self._run_ends.n = 0
        to = self._runs.items
        for i in range(n):
            if counts != NULL and i + IDS_AHEAD < n:
                prefetch(&counts[slot_of(ids[i + IDS_AHEAD - 1], ids[i + IDS_AHEAD], shift)])
            are_neighbours = i > 0 and ids[i - 1] != NONE and ids[i] != NONE
            if not self._least:
                if ids[i] != NONE:
                    self.neighbours.seen[ids[i]] = 1  # threads may store it at once: all of them store 1
                if are_neighbours:
                    add(&counts[slot_of(ids[i - 1], ids[i], shift)], self.neighbours.weight)
                continue
            if not are_neighbours or counts != NULL and counts[slot_of(ids[i - 1], ids[i], shift)] < self._least:
                to = self._end_run(to, n_in_run)
                n_in_run = 0
            elif self._by_pairs and n_in_run == 2:
                to = _write_id(self._end_run(to, n_in_run), ids[i - 1])
                n_in_run = 1
            if ids[i] != NONE:
                to = _write_id(to, ids[i])
                n_in_run += 1
        if not self._least:
            return 0
        self._runs.n = self._end_run(to, n_in_run) - self._runs.items
        return PieceCounter.count_pieces(
            self, self._runs.items, self._runs.n, 0, self._run_ends.items, self._run_ends.n
        )

    cdef uint8_t* _end_run(self, uint8_t* to, size_t n_in_run) except NULL nogil:
        """End the run of the last n_in_run ids written, or drop a single id. Returns the start of the next run."""
        if n_in_run < 2:
            return to - ID_BYTES * n_in_run
        ends_add(&self._run_ends, to - self._runs.items)
        return to


def sequences_of(PieceTable table not None, uint32_t n_ids):
    """Make Sequences from the runs that a RunCounter counted, with their counts.

    n_ids: int – one more than the greatest id.
    """
    cdef Sequences out = Sequences(n_ids)
    cdef size_t i, k, n
    cdef Ids ids = Ids(NULL, 0, 0)
    table.settle()
    try:
        for i in range(table.n_pieces):
            n = table.pieces[i].n_bytes // ID_BYTES
            ids_reserve(&ids, n)
            for k in range(n):
                ids.items[k] = _id_at(table.arena + table.pieces[i].start, k)
            out.add_ids(ids.items, n, table.pieces[i].count)
    finally:
        ids_free(&ids)
    return out


def cut_runs(PieceTable runs not None, PieceTable out not None, NeighbourCounts neighbours not None, size_t least):
    """Cut whole runs between neighbours that occur less often than `least`.

    runs: PieceTable – runs that a RunCounter counted without neighbours.
    out: PieceTable – receives the parts of two ids or more, with their counts.
    neighbours: NeighbourCounts – all 0; receives the counts of the neighbours in the runs, but not their ids.
    """
    cdef size_t i, k, n, first
    cdef const uint8_t* key
    cdef PieceCount* run
    runs.settle()
    for i in range(runs.n_pieces):
        run = &runs.pieces[i]
        key = runs.arena + run.start
        for k in range(1, run.n_bytes // ID_BYTES):
            neighbours.counts[slot_of(_id_at(key, k - 1), _id_at(key, k), neighbours.shift)] += <size_t> run.count
    for i in range(runs.n_pieces):
        run = &runs.pieces[i]
        key = runs.arena + run.start
        n = run.n_bytes // ID_BYTES
        first = 0
        for k in range(1, n + 1):
            if k == n or neighbours.counts[slot_of(_id_at(key, k - 1), _id_at(key, k), neighbours.shift)] < least:
                if k - first > 1:
                    out.add_piece((<const char*> key)[ID_BYTES * first:ID_BYTES * k], run.count)
                first = k
    out.finish()


cdef inline uint8_t* _write_id(uint8_t* to, uint32_t i) noexcept nogil:
    """Write an id of the key of a run. Returns the position after it."""
    to[0], to[1], to[2] = <uint8_t> i, <uint8_t> (i >> 8), <uint8_t> (i >> 16)
    return to + ID_BYTES


cdef inline uint32_t _id_at(const uint8_t* key, size_t k) noexcept nogil:
    """Read an id from the key of a run."""
    key += ID_BYTES * k
    return key[0] | <uint32_t> key[1] << 8 | <uint32_t> key[2] << 16

"""Count the runs of whole words that BoundlessBPE learns superwords from.

A run is two or more neighbouring pieces that each are one token, of those that may be part of a superword. As in
`superword_counter`, whose counts of neighbours it shares, runs are cut between neighbours that are too rare.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.cache.piece_cache cimport cache_free, cache_start, encode_pieces
from fastbpe._core.common.atomics cimport add
from fastbpe._core.common.byte_buffer cimport buffer_free, buffer_reset
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport ids_free, ids_reserve
from fastbpe._core.common.interrupts cimport check_signals
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.merge.vocabulary cimport Tables, token_length
from fastbpe._core.split.splitter cimport UNMATCHED, Splitter, ends_add, ends_free
from fastbpe._core.train.piece_table cimport PieceCount, PieceTable
from fastbpe._core.train.superword_counter cimport CACHE_BYTES, ID_BYTES, IDS_AHEAD, slot_of


@cython.final
cdef class WordRunCounter(PieceCounter):
    """Counter of neighbours or of runs of whole words.

    splitter: Splitter – cuts the texts into pieces. It has no safe cuts, since runs go on across them.
    words: Vocabulary – the tokens of words.
    members: bytes – by id: 1 if a run may have this token.
    neighbours: NeighbourCounts – shared by all counters of a source; None: count runs without cutting any.
    least: int – 0: count neighbours, and no runs. Else count the runs of two ids or more whose neighbours all
        have at least this count.
    spill, limit: as for PieceTable.
    """

    def __cinit__(
        self, Splitter splitter not None, *, Vocabulary words not None, bytes members not None,
        NeighbourCounts neighbours=None, size_t least=1, spill=None, size_t limit=0,
    ):
        if <size_t> PyBytes_GET_SIZE(members) != words.tables.n_ids:
            raise ValueError(f"{len(members)} members for {words.n_ids} ids")
        if splitter.cuttable:
            raise ValueError("the splitter has safe cuts, which runs cross")
        self.words, self.neighbours, self._owner, self._least = words, neighbours, members, least
        self._members = <const uint8_t*> PyBytes_AS_STRING(members)
        cache_start(&self._cache, self._seed, CACHE_BYTES)

    def __dealloc__(self):
        cache_free(&self._cache)
        ids_free(&self._ids)
        ids_free(&self._kept)
        buffer_free(&self._runs)
        ends_free(&self._run_ends)

    cdef int _count_between_tokens(self, const uint8_t* data, size_t n) except -1 nogil:
        """Count the runs of a text, which no group of pieces divides."""
        cdef size_t at = 0
        self._ends.n = 0
        while at < n:
            at = self.splitter.split(data, n, at, &self._ends)
            check_signals(&self._watch)
        self._ids.n = 0
        encode_pieces(
            &self._cache, &self.words.tables, data, n, 0, self._ends.items, self._ends.n, &self._ids
        )
        self._keep_members()
        self._count_runs()
        self.position += n
        return 0

    cdef int _keep_members(self) except -1 nogil:
        """List the members among the ids, with a NONE for all that lies between two of them."""
        cdef const Tables* tables = &self.words.tables
        cdef const uint32_t* ids = self._ids.items
        cdef uint32_t* kept
        cdef size_t i = 0, k, at = 0, end, n_kept = 0
        self._kept.n = 0
        ids_reserve(&self._kept, 2 * self._ids.n + 1)
        kept = self._kept.items
        for k in range(self._ends.n):
            end = self._ends.items[k] & ~UNMATCHED
            if self._ends.items[k] & UNMATCHED:
                at = end
            elif i < self._ids.n and token_length(tables, ids[i]) == end - at and self._members[ids[i]]:
                kept[n_kept] = ids[i]
                n_kept += 1
                i += 1
                at = end
                continue
            while at < end and i < self._ids.n:
                at += token_length(tables, ids[i])
                i += 1
            at = end
            if n_kept and kept[n_kept - 1] != NONE:
                kept[n_kept] = NONE
                n_kept += 1
        self._kept.n = n_kept
        return 0

    cdef int _count_runs(self) except -1 nogil:
        """Count the neighbours, or the runs, among the members."""
        cdef size_t* counts = NULL
        cdef uint32_t shift = 0
        cdef const uint32_t* ids = self._kept.items
        cdef size_t i, n = self._kept.n, n_in_run = 0
        cdef uint8_t* to
        cdef bint joins
        if not n:
            return 0
        if self.neighbours is not None:
            counts, shift = self.neighbours.counts, self.neighbours.shift
        buffer_reset(&self._runs, ID_BYTES * n)
        self._run_ends.n = 0
        to = self._runs.items
        for i in range(n):
            if counts != NULL and i + IDS_AHEAD < n:
                prefetch(&counts[slot_of(&ids[i + IDS_AHEAD - 1], shift)])
            joins = i > 0 and ids[i - 1] != NONE and ids[i] != NONE
            if not self._least:
                if joins:
                    add(&counts[slot_of(&ids[i - 1], shift)], 1)
                continue
            if not joins or counts != NULL and counts[slot_of(&ids[i - 1], shift)] < self._least:
                to = self._end_run(to, n_in_run)
                n_in_run = 0
            if ids[i] != NONE:
                to[0], to[1], to[2] = <uint8_t> ids[i], <uint8_t> (ids[i] >> 8), <uint8_t> (ids[i] >> 16)
                to += ID_BYTES
                n_in_run += 1
        if not self._least:
            return 0
        self._runs.n = self._end_run(to, n_in_run) - self._runs.items
        return PieceCounter.count_pieces(
            self, self._runs.items, self._runs.n, 0, self._run_ends.items, self._run_ends.n
        )

    cdef uint8_t* _end_run(self, uint8_t* to, size_t n_in_run) except NULL nogil:
        """End the run of the last ids that were written. Returns where the next one begins."""
        if n_in_run < 2:
            return to - ID_BYTES * n_in_run
        ends_add(&self._run_ends, to - self._runs.items)
        return to


def cut_runs(PieceTable runs not None, PieceTable out not None, NeighbourCounts neighbours not None, size_t least):
    """Cut runs that were counted whole between neighbours that occur less often than `least`.

    runs: PieceTable – what WordRunCounter counted without neighbours.
    out: PieceTable – gets the parts of two ids or more, with their counts.
    neighbours: NeighbourCounts – all 0; gets the counts of the neighbours in the runs.
    """
    cdef size_t i, k, n, first
    cdef const uint8_t* key
    cdef PieceCount* run
    runs.settle()
    for i in range(runs.n_pieces):
        run = &runs.pieces[i]
        n = run.n_bytes // ID_BYTES
        for k in range(1, n):
            neighbours.counts[_slot(runs.arena + run.start, k, neighbours.shift)] += <size_t> run.count
    for i in range(runs.n_pieces):
        run = &runs.pieces[i]
        key = runs.arena + run.start
        n = run.n_bytes // ID_BYTES
        first = 0
        for k in range(1, n + 1):
            if k == n or neighbours.counts[_slot(key, k, neighbours.shift)] < least:
                if k - first > 1:
                    out.add_piece((<const char*> key)[ID_BYTES * first:ID_BYTES * k], run.count)
                first = k
    out.finish()


cdef size_t _slot(const uint8_t* key, size_t k, uint32_t shift) noexcept nogil:
    """Position of the count of ids k - 1 and k of a run."""
    cdef uint32_t pair[2]
    cdef size_t i
    for i in range(2):
        pair[i] = (
            key[ID_BYTES * (k - 1 + i)] | <uint32_t> key[ID_BYTES * (k - 1 + i) + 1] << 8
            | <uint32_t> key[ID_BYTES * (k - 1 + i) + 2] << 16
        )
    return slot_of(pair, shift)

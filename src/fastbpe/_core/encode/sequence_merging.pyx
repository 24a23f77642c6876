"""Encode and decode sequences of integers.

Sequences are merged one after another, or in jobs: some whole sequences, or a part of a long one. Parts of a
sequence overlap, and two of them are joined at a token that both contain. This is exact, because merging turns a
sequence into tokens t1 … tn if and only if it turns any two neighbours alone into themselves (merge_long has the
proof). Here, any two neighbours of the joined list are neighbours in one of the parts. If two parts have no common
token where they overlap, the whole sequence is merged at once.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fastbpe._core.common.growing cimport reserve
from fastbpe._core.common.id_buffer cimport Ids, ids_expect, ids_free, ids_reserve
from fastbpe._core.common.interrupts cimport Watch, check_signals
from fastbpe._core.ids.id_lists cimport Array, hide, ids_array, ids_list, int64_array, show_all
from fastbpe._core.ids.sequences cimport Sequences, sequence_start
from fastbpe._core.merge.merge_long cimport merge_symbols
from fastbpe._core.merge.sequence_vocabulary cimport SequenceVocabulary

cdef enum:
    JOB_SYMBOLS = 1 << 18  # symbols of a part of a long sequence, or of the whole sequences of a job
    OVERLAP_SYMBOLS = 1 << 12  # smallest overlap of two parts, in symbols
    OVERLAP_TOKENS = 32  # smallest overlap, in lengths of the longest token
    MIN_OVERLAPS = 16  # length of the shortest part, in lengths of an overlap
    NOGIL_SYMBOLS = 1 << 12  # number of symbols from which releasing the GIL pays
    CHECKED_SEQUENCES = 1 << 7  # sequences between two checks of the clock, for signals


cdef struct SequenceEnds:
    # Growing array. Initialize with zeros; its owner frees the items.
    size_t* items
    size_t n
    size_t capacity


def plan(SequenceVocabulary vocabulary not None, Sequences sequences not None):
    """Divide sequences into jobs: a list of (first, last, start, end).

    A job is the sequences first to last (exclusive), which are all of items[start:end]. If last equals first, the
    job is the part items[start:end] of sequence `first`; if last is -1, it is the last part of that sequence.
    """
    cdef size_t overlap = max(<size_t> OVERLAP_SYMBOLS, OVERLAP_TOKENS * <size_t> vocabulary.tables.max_token_bytes)
    cdef size_t size = max(<size_t> JOB_SYMBOLS, MIN_OVERLAPS * overlap)
    cdef size_t i = 0, first, start, end
    cdef list jobs = []
    while i < sequences.n:
        first, start = i, sequence_start(sequences, i)
        if sequences.ends[i] - start >= 2 * size:
            end = sequences.ends[i]
            while end - start >= 2 * size:
                jobs.append((i, i, start, start + size + overlap))
                start += size
            jobs.append((i, -1, start, end))
            i += 1
            continue
        end = start
        while i < sequences.n and end - start < size and sequences.ends[i] - end < 2 * size:
            end = sequences.ends[i]
            i += 1
        jobs.append((first, i, start, end))
    return jobs


@cython.final
cdef class Merged:
    """Ids of sequences, end to end."""

    cdef SequenceVocabulary _vocabulary
    cdef Ids _ids
    cdef SequenceEnds _ends  # end of each sequence's ids
    cdef size_t _behind  # end, in the items, of the last part appended or merged; 0: none
    cdef Watch _watch

    def __cinit__(self, SequenceVocabulary vocabulary not None):
        self._vocabulary = vocabulary

    def __dealloc__(self):
        ids_free(&self._ids)
        free(self._ends.items)

    def __len__(self):
        return self._ends.n

    @property
    def n_ids(self):
        """Number of ids of all sequences."""
        return self._ids.n

    def merge(self, Sequences sequences not None, size_t first, size_t last):
        """Append the ids of the sequences first to last (exclusive)."""
        cdef size_t n_symbols = sequence_start(sequences, last) - sequence_start(sequences, first)
        if n_symbols < NOGIL_SYMBOLS:
            self._merge_all(sequences, first, last)
            return
        with nogil:
            ids_expect(&self._ids, n_symbols)
            self._merge_all(sequences, first, last)

    cdef int _merge_all(self, Sequences sequences, size_t first, size_t last) except -1 nogil:
        cdef size_t i, start
        _reserve_ends(&self._ends, last - first)
        for i in range(first, last):
            start = sequence_start(sequences, i)
            self._merge(sequences, start, sequences.ends[i])
            self._ends.items[self._ends.n] = self._ids.n
            self._ends.n += 1
            if i % CHECKED_SEQUENCES == 0:
                check_signals(&self._watch)
        return 0

    def merge_part(self, Sequences sequences not None, size_t start, size_t end):
        """Append the ids of items[start:end], a part of a sequence, without ending the sequence."""
        with nogil:
            ids_expect(&self._ids, end - start)
            self._merge(sequences, start, end)
        self._behind = end

    cdef int _merge(self, Sequences sequences, size_t start, size_t end) except -1 nogil:
        return merge_symbols(
            &self._vocabulary.tables, sequences.items.items + start, end - start, &self._ids, NULL
        )

    def append(self, Merged job not None):
        """Append the ids of a job of whole sequences."""
        cdef size_t before = self._ids.n, i
        self._copy(&job._ids, 0)
        _reserve_ends(&self._ends, job._ends.n)
        for i in range(job._ends.n):
            self._ends.items[self._ends.n + i] = before + job._ends.items[i]
        self._ends.n += job._ends.n

    def append_part(self, Merged part not None, size_t start):
        """Join the ids of the next part of a sequence to the ids so far; return False without a common token.

        part: the ids of a part that begins at items[start]. The first part of a sequence is joined to nothing.
        """
        cdef const uint32_t* lengths = self._vocabulary.lengths
        # here, there: positions in the items at which the ids self._ids[i] and part._ids[k] begin
        cdef size_t i = self._ids.n, k = 0, here = self._behind, there = start
        if not self._behind:
            self._copy(&part._ids, 0)
            self._behind = part._behind
            return True
        while i and here > start:
            i -= 1
            here -= lengths[self._ids.items[i]]
        # Two equal tokens that begin at the same position are a common token.
        while i < self._ids.n and k < part._ids.n:
            if here < there:
                here += lengths[self._ids.items[i]]
                i += 1
            elif there < here:
                there += lengths[part._ids.items[k]]
                k += 1
            elif self._ids.items[i] == part._ids.items[k]:
                self._ids.n = i
                self._copy(&part._ids, k)
                self._behind = part._behind
                return True
            else:
                here += lengths[self._ids.items[i]]
                i += 1
        return False

    def drop_parts(self):
        """Drop the ids after the last sequence that has ended."""
        self._ids.n = self._ends.items[self._ends.n - 1] if self._ends.n else 0
        self._behind = 0

    def end_parts(self):
        """End the sequence of the parts that have been appended."""
        _reserve_ends(&self._ends, 1)
        self._ends.items[self._ends.n] = self._ids.n
        self._ends.n += 1
        self._behind = 0

    cdef int _copy(self, const Ids* ids, size_t start) except -1:
        ids_reserve(&self._ids, ids.n - start)
        if ids.n > start:
            memcpy(self._ids.items + self._ids.n, ids.items + start, (ids.n - start) * sizeof(uint32_t))
        self._ids.n += ids.n - start
        return 0

    def lists(self):
        """Return a list of ids for each sequence."""
        return _lists(&self._ids, &self._ends)

    def arrays(self):
        """Return (ids, offsets) as arrays of uint32 and int64. Call it once: the ids move out."""
        return _arrays(&self._ids, &self._ends)


cdef int _reserve_ends(SequenceEnds* ends, size_t n_more) except -1 nogil:
    """Make space for n_more ends."""
    return reserve(<void**> &ends.items, &ends.capacity, ends.n + n_more, sizeof(size_t), 0)


cdef list _lists(const Ids* ids, const SequenceEnds* ends):
    """Cut ids into lists."""
    cdef list out = [], sequence
    cdef size_t start = 0, i
    hide(out)
    for i in range(ends.n):
        sequence = ids_list(ids.items + start, ends.items[i] - start)
        hide(sequence)
        out.append(sequence)
        start = ends.items[i]
    show_all(out)
    return out


cdef tuple _arrays(Ids* ids, const SequenceEnds* ends):
    """Make arrays of ids, which become empty, and of offsets."""
    cdef Array offsets = int64_array(ends.n + 1)
    cdef size_t i
    for i in range(ends.n):
        (<int64_t*> offsets._items)[i + 1] = ends.items[i]
    return ids_array(ids), offsets


@cython.final
cdef class Expanded:
    """Symbols of sequences of ids, end to end.

    sequences: the ids, each below the vocabulary's n_ids.
    """

    cdef Ids _symbols
    cdef SequenceEnds _ends

    def __cinit__(self, SequenceVocabulary vocabulary not None, Sequences sequences not None):
        cdef const uint32_t* ids = sequences.items.items
        cdef const uint32_t* lengths = vocabulary.lengths
        cdef size_t n = sequences.items.n, n_symbols = 0, i, at = 0
        _reserve_ends(&self._ends, sequences.n)
        for i in range(sequences.n):
            while at < sequences.ends[i]:
                n_symbols += lengths[ids[at]]
                at += 1
            self._ends.items[i] = n_symbols
        self._ends.n = sequences.n
        with nogil:
            vocabulary.expand(ids, n, n_symbols, &self._symbols)

    def __dealloc__(self):
        ids_free(&self._symbols)
        free(self._ends.items)

    def lists(self):
        """Return a list of symbols for each sequence."""
        return _lists(&self._symbols, &self._ends)

    def arrays(self):
        """Return (symbols, offsets) as arrays of uint32 and int64. Call it once: the symbols move out."""
        return _arrays(&self._symbols, &self._ends)

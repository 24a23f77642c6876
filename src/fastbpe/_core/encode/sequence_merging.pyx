"""Encoding and decoding of sequences of integers.

Sequences are merged one after another, or in jobs: some whole sequences, or a part of a long one. Parts of a
sequence overlap, and two of them are joined at a token that both have. That is exact: merging turns a sequence into
tokens t1 … tn if and only if it turns each two neighbours alone into themselves (merge_long has the proof), and each
two neighbours of the joined list are neighbours in one of the parts. If two parts have no token in common where they
overlap, the whole sequence is merged at once.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from fastbpe._core.common.id_buffer cimport Ids, ids_expect, ids_free, ids_reserve
from fastbpe._core.ids.id_lists cimport Array, hide, ids_array, ids_list, int64_array, show_all
from fastbpe._core.ids.sequences cimport Sequences, sequence_start
from fastbpe._core.merge.merge_long cimport merge_symbols
from fastbpe._core.merge.sequence_vocabulary cimport SequenceVocabulary

from array import array

cdef enum:
    JOB_SYMBOLS = 1 << 18  # symbols of a part of a long sequence, and of the whole ones of a job
    OVERLAP_SYMBOLS = 1 << 12  # symbols that two parts share, at least
    OVERLAP_TOKENS = 32  # and at least so many times the longest token
    MIN_OVERLAPS = 16  # a part is at least so many times as long as its overlap
    SYMBOLS_PER_CHECK = 1 << 20  # symbols of short sequences between two checks for signals


def plan(SequenceVocabulary vocabulary not None, Sequences sequences not None):
    """Divide sequences into jobs: a list of (first, last, start, end).

    A job is the sequences first to last (exclusive), all of items[start:end]. If last is first, it is a part of a
    sequence; if last is -1, it is the last part.
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
        while i < sequences.n and sequences.ends[i] - start < 2 * size:
            i += 1
        jobs.append((first, i, start, sequences.ends[i - 1]))
    return jobs


@cython.final
cdef class Merged:
    """Ids of sequences, end to end."""

    cdef SequenceVocabulary _vocabulary
    cdef Ids _ids
    cdef object _ends  # array of int64: the end of each sequence's ids
    cdef size_t _behind  # in a job that is a part: where it ends in the items

    def __cinit__(self, SequenceVocabulary vocabulary not None):
        self._vocabulary = vocabulary
        self._ends = array("q")

    def __dealloc__(self):
        ids_free(&self._ids)

    def __len__(self):
        return len(self._ends)

    @property
    def n_ids(self):
        """Number of ids of all sequences."""
        return self._ids.n

    def merge(self, Sequences sequences not None, size_t first, size_t last):
        """Append the ids of the sequences first to last (exclusive)."""
        cdef size_t i, start, n_unchecked = 0
        for i in range(first, last):
            start = sequence_start(sequences, i)
            self._merge(sequences, start, sequences.ends[i])
            self._ends.append(self._ids.n)
            n_unchecked += sequences.ends[i] - start
            if n_unchecked >= SYMBOLS_PER_CHECK:
                n_unchecked = 0
                PyErr_CheckSignals()

    def merge_part(self, Sequences sequences not None, size_t start, size_t end):
        """Append the ids of items[start:end], a part of a sequence, and end no sequence."""
        self._merge(sequences, start, end)
        self._behind = end

    cdef int _merge(self, Sequences sequences, size_t start, size_t end) except -1:
        cdef const uint32_t* symbols = sequences.items.items
        if start == end:
            return 0
        if end - start < JOB_SYMBOLS // 64:
            return merge_symbols(&self._vocabulary.tables, symbols + start, end - start, &self._ids)
        ids_expect(&self._ids, end - start)
        with nogil:
            merge_symbols(&self._vocabulary.tables, symbols + start, end - start, &self._ids)
        return 0

    def append(self, Merged job not None):
        """Append the ids of a job of whole sequences."""
        cdef size_t before = self._ids.n
        self._copy(&job._ids, 0)
        self._ends.extend([before + end for end in job._ends])

    def append_part(self, Merged part not None, size_t start):
        """Append the ids of the next part of a sequence, and join both; return False if they share no token.

        part: the ids of items[start:]. The first part of a sequence has nothing to be joined to.
        """
        cdef const uint32_t* lengths = self._vocabulary.lengths
        cdef size_t i = self._ids.n, k = 0, here = self._behind, there = start
        if not self._behind:
            self._copy(&part._ids, 0)
            self._behind = part._behind
            return True
        while i and here > start:
            i -= 1
            here -= lengths[self._ids.items[i]]
        # Two tokens that begin at the same position and are equal are a token in common.
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
        """Drop the ids behind the last sequence that was ended."""
        self._ids.n = self._ends[-1] if len(self._ends) else 0
        self._behind = 0

    def end_parts(self):
        """End the sequence of the parts that were appended."""
        self._ends.append(self._ids.n)
        self._behind = 0

    cdef int _copy(self, const Ids* ids, size_t start) except -1:
        ids_reserve(&self._ids, ids.n - start)
        if ids.n > start:
            memcpy(self._ids.items + self._ids.n, ids.items + start, (ids.n - start) * sizeof(uint32_t))
        self._ids.n += ids.n - start
        return 0

    def lists(self):
        """Return a list of ids for each sequence."""
        return _lists(&self._ids, self._ends)

    def arrays(self):
        """Return (ids, offsets) as arrays of uint32 and int64, and be empty afterwards."""
        return _arrays(&self._ids, self._ends)


cdef list _lists(const Ids* ids, object ends):
    """Cut ids into lists."""
    cdef list out = [], one
    cdef size_t start = 0, end
    hide(out)
    for end in ends:
        one = ids_list(ids.items + start, end - start)
        hide(one)
        out.append(one)
        start = end
    show_all(out)
    return out


cdef tuple _arrays(Ids* ids, object ends):
    cdef Array offsets = int64_array(len(ends) + 1)
    cdef size_t i
    for i in range(<size_t> len(ends)):
        (<int64_t*> offsets._items)[i + 1] = ends[i]
    return ids_array(ids), offsets


@cython.final
cdef class Expanded:
    """Symbols of sequences of ids, end to end.

    sequences: the ids, each below the vocabulary's n_ids.
    """

    cdef Ids _symbols
    cdef object _ends

    def __cinit__(self, SequenceVocabulary vocabulary not None, Sequences sequences not None):
        cdef const uint32_t* ids = sequences.items.items
        cdef const uint32_t* lengths = vocabulary.lengths
        cdef size_t n = sequences.items.n, n_symbols = 0, i, at = 0
        self._ends = array("q")
        for i in range(sequences.n):
            while at < sequences.ends[i]:
                n_symbols += lengths[ids[at]]
                at += 1
            self._ends.append(n_symbols)
        with nogil:
            vocabulary.expand(ids, n, n_symbols, &self._symbols)

    def __dealloc__(self):
        ids_free(&self._symbols)

    def lists(self):
        """Return a list of symbols for each sequence."""
        return _lists(&self._symbols, self._ends)

    def arrays(self):
        """Return (symbols, offsets) as arrays of uint32 and int64, and be empty afterwards."""
        return _arrays(&self._symbols, self._ends)

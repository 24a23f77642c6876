"""Expectation maximization of unigram models, with the sums of sentencepiece 0.2.3.

The rounding of sums is part of the model (see `path_sums`). Words are divided among slots as sentencepiece divides
them among threads, and the sums of slots are added in their order. So the model depends on the number of slots,
but not on the number of threads.
"""

cimport cython
from cpython cimport array
from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastbpe._core.common.atomics cimport set_flag
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.common.interrupts cimport Watch, check_signals
from fastbpe._core.ids.id_lists cimport ids_array
from fastbpe._core.segment.lattice cimport (
    BEGINNING, Lattice, Paths, Search, best_paths, find_best, lattice_fill, lattice_free, lattice_link, paths_free,
    search_free,
)
from fastbpe._core.segment.segmenter cimport Segmenting, Trie
from fastbpe._core.train.log_scores cimport digamma, loss_without
from fastbpe._core.train.merge_learner cimport allocated
from fastbpe._core.train.path_sums cimport PathSums, add_expected, piece_of, sums_free
from fastbpe._core.train.sentence_store cimport SentenceStore
from fastbpe._core.train.sorting cimport Keyed, sort_keyed

import array

from fastbpe.errors import SpecError

cdef array.array FLOATS = array.array("f"), INTS = array.array("I")

cdef extern from *:
    """
    #define FASTBPE_PENALTY 10.0f
    #define FASTBPE_LEAST_COUNT 0.5f
    """
    const float PENALTY "FASTBPE_PENALTY"  # penalty of a character that is not a piece, below the lowest score
    const float LEAST_COUNT "FASTBPE_LEAST_COUNT"  # lowest expected count of a piece that stays

cdef enum:
    WORDS_PER_LOOK = 1 << 8  # words between two checks of the clock


cdef struct Piece:
    size_t start  # in the bytes of all pieces
    uint32_t length
    uint32_t node  # its node in the trie
    float score


cdef struct Work:
    # Memory of one thread
    Lattice lattice
    Search search
    Paths paths
    PathSums sums


@cython.final
cdef class UnigramLearner:
    """Learner of a unigram model.

    pieces, scores: the initial pieces, and their scores.
    words: SentenceStore – words, in the order of summation, and how often each occurs. It must not change.
    """

    cdef bytes _piece_bytes
    cdef const uint8_t* _text_of_pieces
    cdef Piece* _pieces
    cdef readonly size_t n_pieces
    cdef size_t _n_in_trie  # number of pieces when the trie was built; some may have been dropped since
    cdef Trie _trie
    cdef Segmenting _segmenting
    cdef SentenceStore _words
    cdef int _abandoned

    def __cinit__(self, list pieces not None, list scores not None, SentenceStore words not None):
        cdef size_t n = <size_t> len(pieces), i, at = 0
        self._piece_bytes = b"".join(pieces)
        self._text_of_pieces = <const uint8_t*> <const char*> self._piece_bytes
        self._words = words
        self._pieces = <Piece*> allocated(n, sizeof(Piece))
        for i in range(n):
            self._pieces[i] = Piece(at, <uint32_t> len(pieces[i]), 0, scores[i])
            at += self._pieces[i].length
        self.n_pieces = n
        self._build()

    def __dealloc__(self):
        free(self._pieces)

    def abandon(self):
        """Make the threads that use this learner stop soon, with an error."""
        set_flag(&self._abandoned)

    # Pieces

    cdef int _build(self) except -1:
        """Build the trie of the pieces."""
        cdef size_t i, at = 0
        cdef array.array ends = array.clone(INTS, self.n_pieces, False)
        cdef bytearray text
        cdef uint8_t* to
        for i in range(self.n_pieces):
            at += self._pieces[i].length
            ends.data.as_uints[i] = <uint32_t> at
        if at >= NONE:
            raise MemoryError(
                f"{at} bytes of pieces: the limit is 2**32 - 2 bytes; lower seed_sentencepiece_size="
            )
        text = bytearray(at)
        to = <uint8_t*> <char*> text
        for i in range(self.n_pieces):
            memcpy(to, self._text_of_pieces + self._pieces[i].start, self._pieces[i].length)
            to += self._pieces[i].length
        self._trie = Trie(
            text, ends, array.array("I", range(self.n_pieces)), array.array("f", bytes(4 * self.n_pieces))
        )
        for i in range(self._trie.n_units):
            if self._trie.units[i].id != NONE:
                self._pieces[self._trie.units[i].id].node = <uint32_t> i
        self._n_in_trie = self.n_pieces
        return self._use_scores()

    cdef int _use_scores(self) except -1:
        """Put the scores into the trie. Raises SpecError if no pieces are left."""
        cdef size_t i
        cdef float least = INFINITY
        if self.n_pieces == 0:
            raise SpecError("no piece is left: the text is too short; pass more text", "no pieces are loaded.")
        for i in range(self.n_pieces):
            self._trie.units[self._pieces[i].node].score = self._pieces[i].score
            self._trie.units[self._pieces[i].node].id = <uint32_t> i
            least = min(least, self._pieces[i].score)
        self._segmenting.units = self._trie.units
        self._segmenting.unknown = least - PENALTY
        return 0

    cdef int _keep(self, const uint32_t* kept, size_t n) except -1:
        """Keep only the n pieces with the indices `kept`, in that order."""
        cdef size_t i
        cdef Piece* pieces = <Piece*> allocated(n, sizeof(Piece))
        for i in range(self.n_pieces):
            self._trie.units[self._pieces[i].node].id = NONE
        for i in range(n):
            pieces[i] = self._pieces[kept[i]]
        free(self._pieces)
        self._pieces, self.n_pieces = pieces, n
        if 2 * n < self._n_in_trie:  # a smaller trie is faster to walk
            return self._build()
        return self._use_scores()

    def pieces(self):
        """List (piece, score)."""
        cdef Piece piece
        return [
            (self._piece_bytes[piece.start:piece.start + piece.length], piece.score)
            for piece in self._pieces[:self.n_pieces]
        ]

    cdef int _fill_with_piece(self, Lattice* lattice, size_t i) except -1 nogil:
        """Make the lattice of the text of a piece."""
        cdef const Piece* piece = &self._pieces[i]
        lattice_fill(lattice, &self._segmenting, self._text_of_pieces + piece.start, piece.length)
        lattice_link(lattice)
        return 0

    # Expectation

    def expect(self, size_t slot, size_t n_slots):
        """Return how often each piece is expected in the words slot, slot + n_slots and so on, as floats."""
        return self._counted(slot, n_slots, False)

    cdef array.array _counted(self, size_t slot, size_t n_slots, bint on_best_paths):
        """Count the pieces in the words of a slot: on their best paths, or on all, weighted by probability."""
        cdef array.array out = array.clone(FLOATS, self.n_pieces, True)
        cdef float* found = out.data.as_floats
        cdef const uint8_t* text = self._words.text.items
        cdef const size_t* ends = self._words.ends
        cdef const int64_t* counts = self._words.counts
        cdef size_t i = slot, start, n = 0
        cdef Work work
        cdef Watch watch = Watch(0, &self._abandoned)
        memset(&work, 0, sizeof(work))
        try:
            with nogil:
                while i < self._words.n:
                    start = ends[i - 1] if i else 0
                    lattice_fill(&work.lattice, &self._segmenting, text + start, ends[i] - start)
                    if on_best_paths:
                        lattice_link(&work.lattice)
                        _count_best(&work.lattice, <float> counts[i], found)
                    else:
                        add_expected(&work.lattice, &work.sums, <float> counts[i], found)
                    n += 1
                    if n % WORDS_PER_LOOK == 0:
                        check_signals(&watch)
                    i += n_slots
            return out
        finally:
            _work_free(&work)

    def maximize(self, const float[::1] expected not None):
        """Set the scores from the expected counts; drop pieces that are expected less than 0.5 times.

        The scores are from a variational Bayes estimate, which keeps fewer pieces than maximum likelihood would
        (Liang and Klein 2007).
        """
        cdef uint32_t* kept = <uint32_t*> allocated(self.n_pieces, sizeof(uint32_t))
        cdef size_t i, n = 0
        cdef float total = 0, log_total
        try:
            for i in range(self.n_pieces):
                if expected[i] < LEAST_COUNT:
                    continue
                kept[n] = <uint32_t> i
                n += 1
                total += expected[i]
            log_total = <float> digamma(total)
            for i in range(n):
                self._pieces[kept[i]].score = <float> (digamma(expected[kept[i]]) - log_total)
            self._keep(kept, n)
        finally:
            free(kept)

    # Pruning

    def count_best(self, size_t slot, size_t n_slots):
        """Return how often each piece is on the best paths of the words of a slot (see expect), as floats."""
        return self._counted(slot, n_slots, True)

    def alternatives(self, size_t first, size_t end):
        """Return, for pieces first to end - 1, the pieces that the text of each piece would become without it.

        Returns two uint32 arrays: the pieces for all texts, end to end, and their number for each text. Number 0:
        the text can become nothing else. NONE: the text becomes other pieces even now.

        Requires: first <= n_pieces.
        """
        cdef Ids others = Ids(NULL, 0, 0)
        cdef array.array numbers
        cdef size_t i, k, n_paths
        cdef Work work
        cdef Watch watch = Watch(0, &self._abandoned)
        end = min(end, self.n_pieces)
        numbers = array.clone(INTS, end - first, True)
        memset(&work, 0, sizeof(work))
        try:
            with nogil:
                for i in range(first, end):
                    self._fill_with_piece(&work.lattice, i)
                    best_paths(&work.lattice, 2, 0, &work.search, &work.paths)
                    n_paths = work.paths.n
                    if n_paths > 1 and work.paths.ends[0] != 1:
                        numbers.data.as_uints[i - first] = NONE
                    elif n_paths > 1:
                        numbers.data.as_uints[i - first] = <uint32_t> work.paths.ends[1] - 1
                        ids_reserve(&others, work.paths.ends[1])
                        for k in range(1, work.paths.ends[1]):
                            others.items[others.n] = piece_of(&work.lattice.nodes[work.paths.nodes[k]])
                            others.n += 1
                    if i % WORDS_PER_LOOK == 0:
                        check_signals(&watch)
            return ids_array(&others), numbers
        finally:
            ids_free(&others)
            _work_free(&work)

    def prune(self, const float[::1] counts not None, list alternatives not None, *, size_t n_least, float shrinking_factor):
        """Drop the pieces whose removal reduces the likelihood least.

        A piece goes too if it is on no best path, or if its text becomes other pieces even now.

        counts: how often each piece is on the best paths, as floats.
        alternatives: the results of `alternatives` for all pieces, in parts.
        n_least: lower bound of the number of pieces to keep.
        shrinking_factor: share of the pieces to keep.
        """
        cdef const uint32_t[::1] others, numbers
        cdef size_t i, k, at, n = 0, n_candidates = 0
        cdef size_t n_wanted = max(n_least, <size_t> (shrinking_factor * <float> self.n_pieces))
        cdef double sum = 0
        cdef float total, log_total, loss
        cdef uint32_t* kept = <uint32_t*> allocated(self.n_pieces, sizeof(uint32_t))
        cdef Keyed* candidates = NULL
        try:
            candidates = <Keyed*> allocated(self.n_pieces, sizeof(Keyed))
            for i in range(self.n_pieces):
                sum += counts[i]
            total = <float> sum
            log_total = <float> log(<double> total)
            i = 0
            for part, of_each in alternatives:
                numbers, others, at = of_each, part, 0
                for k in range(<size_t> numbers.shape[0]):
                    if counts[i] != 0 and numbers[k] == 0:
                        kept[n] = <uint32_t> i
                        n += 1
                    elif counts[i] != 0 and numbers[k] != NONE:
                        loss = loss_without(&counts[0], i, &others[at], numbers[k], total, log_total)
                        candidates[n_candidates] = Keyed(_worst_last(loss) << 32 | i, <uint32_t> i, 0)
                        n_candidates += 1
                    at += numbers[k] if numbers[k] != NONE else 0
                    i += 1
            sort_keyed(candidates, n_candidates)
            # As in sentencepiece, which stops at exactly n_wanted: if more pieces are kept already, it keeps all.
            if n <= n_wanted:
                n_candidates = min(n_candidates, n_wanted - n)
            for i in range(n_candidates):
                kept[n] = candidates[i].at
                n += 1
            self._keep(kept, n)
        finally:
            free(kept)
            free(candidates)

    def drop_unreachable(self):
        """Drop the pieces whose text has a better path without them: they are never on the best path of a text."""
        cdef size_t i
        cdef int32_t last
        cdef list kept = []
        cdef Work work
        memset(&work, 0, sizeof(work))
        try:
            for i in range(self.n_pieces):
                self._fill_with_piece(&work.lattice, i)
                _leave_whole_out(&work.lattice, <uint32_t> i)
                if not find_best(&work.lattice, &last) > self._pieces[i].score:
                    kept.append(i)
        finally:
            _work_free(&work)
        cdef array.array order = array.array("I", kept)
        self._keep(order.data.as_uints, <size_t> len(kept))


cdef void _work_free(Work* work) noexcept nogil:
    lattice_free(&work.lattice)
    search_free(&work.search)
    paths_free(&work.paths)
    sums_free(&work.sums)


cdef void _count_best(Lattice* lattice, float count, float* found) noexcept nogil:
    """Add to the counts of the pieces on the best path."""
    cdef int32_t node
    find_best(lattice, &node)
    while node != BEGINNING:  # within a word, the order does not change the sums
        found[piece_of(&lattice.nodes[node])] += count
        node = lattice.nodes[node].before


cdef void _leave_whole_out(Lattice* lattice, uint32_t piece) noexcept nogil:
    """Set the worst score for the node that is the whole text, which is this piece."""
    cdef size_t i
    for i in range(lattice.first[0], lattice.first[1]):
        if lattice.nodes[i].id == piece:
            lattice.nodes[i].score = -INFINITY


cdef inline uint64_t _worst_last(float loss) noexcept nogil:
    """Return a 32-bit number that is smaller the greater the loss is."""
    cdef uint32_t bits
    loss += 0.0  # avoid -0.0
    memcpy(&bits, &loss, sizeof(bits))
    return bits if bits >> 31 else ~bits & 0x7FFFFFFF


def add_floats(float[::1] total not None, const float[::1] part not None):
    """Add the floats of `part` to the floats of `total`, index by index."""
    cdef Py_ssize_t i
    if total.shape[0] != part.shape[0]:
        raise ValueError(f"cannot add an array of length {part.shape[0]} to an array of length {total.shape[0]}")
    for i in range(total.shape[0]):
        total[i] += part[i]

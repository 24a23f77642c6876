"""Expectation maximization of unigram models, in double precision, as tokenizers 0.23 computes it.

tokenizers sums in the order of a hash table, which differs from run to run; so sums differ in their last bits, but
these bits hardly ever decide which pieces are kept. Here words are in a fixed order, and the rest is as in
tokenizers: which of equally good paths is the best one, and the order of the pieces that pruning keeps.

Piece 0 stands for all characters that are not a piece.
"""

cimport cython
from cpython cimport array
from libc.math cimport INFINITY, exp, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from fastbpe._core.common.atomics cimport set_flag
from fastbpe._core.common.growing cimport grow, reserve
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.common.interrupts cimport Watch, check_signals
from fastbpe._core.ids.id_lists cimport ids_array
from fastbpe._core.segment.lattice cimport BEGINNING, Lattice, Node, lattice_fill, lattice_free, lattice_link
from fastbpe._core.segment.segmenter cimport Segmenting, Trie
from fastbpe._core.train.log_scores cimport digamma
from fastbpe._core.train.sentence_store cimport SentenceStore

import array
from operator import itemgetter

cdef array.array DOUBLES = array.array("d"), INTS = array.array("I")

cdef extern from *:
    """
    #define FASTBPE_TOKENIZERS_PENALTY 10.0
    #define FASTBPE_TOKENIZERS_NEGLIGIBLE 50.0
    #define FASTBPE_TOKENIZERS_LEAST_COUNT 0.5
    """
    # Penalty of a character that is not a piece, below the lowest score
    const double PENALTY "FASTBPE_TOKENIZERS_PENALTY"
    # Difference of logarithms beyond which the smaller one is ignored
    const double NEGLIGIBLE "FASTBPE_TOKENIZERS_NEGLIGIBLE"
    # Lowest expected count of a piece that stays
    const double LEAST_COUNT "FASTBPE_TOKENIZERS_LEAST_COUNT"

cdef enum:
    WORDS_PER_LOOK = 1 << 8  # words between two checks of the clock
    UNKNOWN = 0  # piece that stands for characters that are not a piece
    END = -2  # stands for the end of the text instead of a node
    N_CHILDREN = 4  # of an item of the heap


cdef struct Hypothesis:
    # A path to the end of the text
    int32_t node  # its first node, or BEGINNING or END
    int32_t behind  # index in Work.made of the hypothesis without that node; -1: none
    double priority  # total of the best path through the text that ends with it
    double total  # sum of its scores


cdef struct Work:
    # Memory of one thread. Initialize with zeros; free with _work_free().
    Lattice lattice
    double* before  # by position: log of the sum of exp(total) over the paths to it
    double* behind  # by position: log of the sum of exp(total) over the paths from it
    size_t sums_capacity  # items of `before` and `behind`
    double* best  # by node: total of the best path up to its end
    int32_t* back  # by node: the node before it on that path
    size_t paths_capacity  # items of `best` and `back`
    Hypothesis* made  # all hypotheses, also those that have left the agenda
    size_t n_made
    size_t made_capacity
    int32_t* agenda  # a heap of hypotheses
    size_t n_waiting
    size_t agenda_capacity


@cython.final
cdef class DoubleUnigramLearner:
    """Learner of a unigram model.

    pieces: list of bytes – the initial pieces; the first one is not read.
    scores: array of double – their scores; the first one is not read.
    words: SentenceStore – words and how often each occurs. It must not change.
    """

    cdef list _pieces
    cdef array.array _scores
    cdef const double* _values  # the scores
    cdef double _unknown  # score of a character that is not a piece
    cdef Trie _trie
    cdef Segmenting _segmenting
    cdef readonly double lowest  # lowest score
    cdef SentenceStore _words
    cdef int _abandoned

    def __cinit__(self, list pieces not None, array.array scores not None, SentenceStore words not None):
        if not pieces or len(pieces) != len(scores):
            raise ValueError(f"{len(pieces)} pieces do not match {len(scores)} scores")
        self._words = words
        self._use(pieces, scores)

    @property
    def n_pieces(self):
        return len(self._pieces)

    def abandon(self):
        """Make the threads that use this learner stop soon, with an error."""
        set_flag(&self._abandoned)

    def pieces(self):
        """List (piece, score), without the first one."""
        return list(zip(self._pieces[1:], self._scores[1:], strict=True))

    cdef int _use(self, list pieces, array.array scores) except -1:
        """Take these pieces and their scores, and build the trie, whose own scores are not read."""
        cdef size_t n = <size_t> len(pieces), i, at = 0
        cdef array.array ends = array.clone(INTS, n - 1, True)
        for i in range(1, n):
            at += <size_t> len(pieces[i])
            if at >= NONE:
                raise MemoryError("more than 2**32 - 2 bytes of pieces; lower seed_size=")
            ends.data.as_uints[i - 1] = <uint32_t> at
        self._trie = Trie(
            bytearray(b"".join(pieces[1:])), ends, array.array("I", range(1, n)),
            array.array("f", bytes(4 * (n - 1))),
        )
        self._segmenting.units = self._trie.units
        self._pieces, self._scores, self._values = pieces, scores, scores.data.as_doubles
        self.lowest = INFINITY
        for i in range(1, n):
            self.lowest = min(self.lowest, self._values[i])
        self._unknown = self.lowest - PENALTY
        return 0

    cdef inline double _score(self, const Node* node) noexcept nogil:
        """Return the score of a node in double precision; Node.score is not read."""
        return self._unknown if node.id == NONE else self._values[node.id]

    # Expectation

    def expect(self, size_t first, size_t end):
        """Return how often each piece is expected in the words first to end - 1, as doubles."""
        return self._counted(first, end, False)

    def count_best(self, size_t first, size_t end):
        """Return how often each piece is on the best paths of these words, as doubles."""
        return self._counted(first, end, True)

    cdef array.array _counted(self, size_t first, size_t end, bint on_best_paths):
        """Count the pieces in the words first to end - 1: on their best paths, or on all, weighted by probability."""
        cdef array.array out = array.clone(DOUBLES, len(self._pieces), True)
        cdef double* found = out.data.as_doubles
        cdef const uint8_t* text = self._words.text.items
        cdef const size_t* ends = self._words.ends
        cdef const int64_t* counts = self._words.counts
        cdef size_t i, start
        cdef int32_t node
        cdef Work work
        cdef Watch watch = Watch(0, &self._abandoned)
        if end > self._words.n:
            raise ValueError(f"there are {self._words.n} words, not {end}")
        memset(&work, 0, sizeof(work))
        try:
            with nogil:
                for i in range(first, end):
                    start = ends[i - 1] if i else 0
                    lattice_fill(&work.lattice, &self._segmenting, text + start, ends[i] - start)
                    lattice_link(&work.lattice)
                    if on_best_paths:
                        self._find_best(&work, &node)
                        while node != BEGINNING:
                            found[_id_of(&work.lattice.nodes[node])] += <double> counts[i]
                            node = work.back[node]
                    else:
                        self._expect(&work, <double> counts[i], found)
                    if i % WORDS_PER_LOOK == 0:
                        check_signals(&watch)
            return out
        finally:
            _work_free(&work)

    cdef int _expect(self, Work* work, double count, double* expected) except -1 nogil:
        """Add to the expected counts the pieces of a text that occurs `count` times."""
        cdef Lattice* lattice = &work.lattice
        cdef size_t n = lattice.n, at, i, first
        cdef const Node* node
        cdef double sum
        cdef double* before
        cdef double* behind
        if n >= work.sums_capacity:
            grow(<void**> &work.before, n + 1, sizeof(double))
            grow(<void**> &work.behind, n + 1, sizeof(double))
            work.sums_capacity = n + 1
        before, behind = work.before, work.behind
        before[0] = behind[n] = 0  # both stay unset inside characters, where no node begins or ends
        for at in range(1, n + 1):
            first = lattice.first_ender[at]
            for i in range(first, lattice.first_ender[at + 1]):
                node = &lattice.nodes[lattice.enders[i]]
                sum = self._score(node) + before[node.begin]
                before[at] = sum if i == first else _log_add(before[at], sum)
        for at in range(n, 0, -1):
            first = lattice.first[at - 1]
            for i in range(first, lattice.first[at]):
                node = &lattice.nodes[i]
                sum = self._score(node) + behind[node.end]
                behind[at - 1] = sum if i == first else _log_add(behind[at - 1], sum)
        for i in range(lattice.n_nodes):
            node = &lattice.nodes[i]
            sum = before[node.begin] + self._score(node)
            sum = sum + behind[node.end]
            expected[_id_of(node)] += count * exp(sum - before[n])
        return 0

    def maximize(self, array.array expected not None):
        """Set the scores from the expected counts; drop pieces that are expected less than 0.5 times.

        The scores are from a variational Bayes estimate, which keeps fewer pieces than maximum likelihood would
        (Liang and Klein 2007).
        """
        cdef size_t i, n = <size_t> len(self._pieces)
        cdef double total = 0, log_total, count
        cdef list pieces = [self._pieces[0]]
        cdef array.array scores = array.clone(DOUBLES, n, True)
        if <size_t> len(expected) != n:
            raise ValueError(f"{len(expected)} counts do not match {n} pieces")
        for i in range(1, n):
            count = expected.data.as_doubles[i]
            if not count < LEAST_COUNT:
                scores.data.as_doubles[len(pieces)] = count
                pieces.append(self._pieces[i])
                total += count
        array.resize(scores, len(pieces))
        log_total = digamma(total)
        for i in range(1, <size_t> len(pieces)):
            scores.data.as_doubles[i] = digamma(scores.data.as_doubles[i]) - log_total
        self._use(pieces, scores)

    # Pruning

    def alternatives(self, size_t first, size_t end):
        """Return, for pieces first to end - 1, the pieces that the text of each piece would become without it.

        Returns two uint32 arrays: the pieces for all texts, end to end, and their number for each text. Number 0:
        the text can become nothing else. NONE: the text becomes other pieces even now.
        """
        cdef Ids others = Ids(NULL, 0, 0)
        cdef array.array numbers
        cdef list texts = self._pieces[first:end]
        cdef size_t i, k = 0, n = <size_t> len(texts)
        cdef Work work
        cdef Watch watch = Watch(0, &self._abandoned)
        numbers = array.clone(INTS, n, True)
        cdef bytes joined = b"".join(texts)
        cdef array.array ends = array.clone(INTS, n, True)
        for i in range(n):
            k += <size_t> len(texts[i])
            ends.data.as_uints[i] = <uint32_t> k
        cdef const uint8_t* data = <const uint8_t*> <const char*> joined
        memset(&work, 0, sizeof(work))
        try:
            with nogil:
                k = 0
                for i in range(n):
                    lattice_fill(&work.lattice, &self._segmenting, data + k, ends.data.as_uints[i] - k)
                    lattice_link(&work.lattice)
                    self._second_best(&work, &numbers.data.as_uints[i], &others)
                    k = ends.data.as_uints[i]
                    if i % WORDS_PER_LOOK == 0:
                        check_signals(&watch)
            return ids_array(&others), numbers
        finally:
            ids_free(&others)
            _work_free(&work)

    def prune(
        self, array.array counts not None, list alternatives not None, *, size_t n_least, double shrinking_factor
    ):
        """Drop the pieces whose removal reduces the likelihood least.

        A piece on no best path goes too, unless its text can become nothing else.

        counts: how often each piece is on the best paths, as doubles.
        alternatives: the results of `alternatives` for all pieces, in parts.
        n_least: lower bound of the number of pieces to keep.
        shrinking_factor: share of the pieces to keep.
        """
        cdef const double* found = counts.data.as_doubles
        cdef const uint32_t[::1] others, numbers
        cdef size_t n = <size_t> len(self._pieces), i = 0, k, at, n_wanted, n_others
        cdef double total = 0, all_words = 0, log_total, theirs, log_new_total
        cdef list kept = [0], losses = []
        if <size_t> len(counts) != n:
            raise ValueError(f"{len(counts)} counts do not match {n} pieces")
        n_wanted = max(n_least, <size_t> (<double> n * shrinking_factor))
        for i in range(n):
            total += found[i]
        for i in range(self._words.n):
            all_words += <double> self._words.counts[i]
        log_total = log(total)
        i = 0
        for part, of_each in alternatives:
            numbers, others, at = of_each, part, 0
            for k in range(<size_t> numbers.shape[0]):
                n_others = numbers[k] if numbers[k] != NONE else 0
                if i and n_others == 0 and (found[i] != 0 or numbers[k] == 0):
                    kept.append(i)
                elif i and n_others and found[i] != 0:
                    log_new_total = log(total + found[i] * <double> (n - 1))  # not n_others - 1: like tokenizers
                    theirs = 0
                    for j in range(at, at + n_others):
                        theirs += log(found[others[j]] + found[i]) - log_new_total
                    losses.append((found[i] / all_words * (log(found[i]) - log_total - theirs), i))
                at += n_others
                i += 1
        losses.sort(key=itemgetter(0), reverse=True)  # keeps the order of equal ones
        kept += [k for _, k in losses[:max(n_wanted, <size_t> len(kept)) - <size_t> len(kept)]]
        scores = array.array("d", [self._scores[k] for k in kept])
        self._use([self._pieces[k] for k in kept], scores)

    # Paths

    cdef int _find_best(self, Work* work, int32_t* last) except -1 nogil:
        """Find the best path to each node, and the last node of the best one through the text."""
        cdef Lattice* lattice = &work.lattice
        cdef size_t i, k
        cdef uint32_t ender, begin
        cdef double score, sum
        last[0] = BEGINNING
        if lattice.n_nodes > work.paths_capacity:
            k = max(lattice.n_nodes, 2 * work.paths_capacity)
            grow(<void**> &work.best, k, sizeof(double))
            grow(<void**> &work.back, k, sizeof(int32_t))
            work.paths_capacity = k
        for i in range(lattice.n_nodes):
            begin, score = lattice.nodes[i].begin, self._score(&lattice.nodes[i])
            work.best[i], work.back[i] = score, BEGINNING
            for k in range(lattice.first_ender[begin], lattice.first_ender[begin + 1]):
                ender = lattice.enders[k]
                sum = work.best[ender] + score
                if work.back[i] == BEGINNING or sum > work.best[i]:
                    work.best[i], work.back[i] = sum, <int32_t> ender
        for k in range(lattice.first_ender[lattice.n], lattice.first_ender[lattice.n + 1]):
            ender = lattice.enders[k]
            if last[0] == BEGINNING or work.best[ender] > work.best[last[0]]:
                last[0] = <int32_t> ender
        return 0

    cdef int _second_best(self, Work* work, uint32_t* number, Ids* others) except -1 nogil:
        """Add the pieces of the second best path, if the best one is a single piece. number: see `alternatives`.

        An A* search from the end, with the best path up to a node as the estimate.
        """
        cdef Lattice* lattice = &work.lattice
        cdef int32_t top, node, best_last, step
        cdef uint32_t position, ender
        cdef size_t k, length
        cdef bint is_second = False
        self._find_best(work, &best_last)  # fills work.best, which the priorities need
        number[0] = 0
        work.n_made = work.n_waiting = 0
        _add(work, Hypothesis(END, -1, 0, 0))
        while work.n_waiting:
            top = _pop(work)
            node = work.made[top].node
            if node == BEGINNING:
                length = 0
                step = work.made[top].behind
                while work.made[step].node != END:
                    if is_second:
                        ids_reserve(others, 1)
                        others.items[others.n] = _id_of(&lattice.nodes[work.made[step].node])
                        others.n += 1
                    length += 1
                    step = work.made[step].behind
                if is_second:
                    number[0] = <uint32_t> length
                    return 0
                if length > 1:
                    number[0] = NONE
                    return 0
                is_second = True
                continue
            position = <uint32_t> lattice.n if node == END else lattice.nodes[node].begin
            if position == 0:
                _add(work, Hypothesis(BEGINNING, top, work.made[top].total, work.made[top].total))
            for k in range(lattice.first_ender[position], lattice.first_ender[position + 1]):
                ender = lattice.enders[k]
                _add(work, Hypothesis(
                    <int32_t> ender, top, work.best[ender] + work.made[top].total,
                    self._score(&lattice.nodes[ender]) + work.made[top].total,
                ))
        return 0


def add_doubles(array.array total not None, array.array part not None):
    """Add the doubles of `part` to the doubles of `total`, index by index."""
    cdef size_t i, n = <size_t> len(total)
    if <size_t> len(part) != n:
        raise ValueError(f"cannot add an array of length {len(part)} to an array of length {n}")
    for i in range(n):
        total.data.as_doubles[i] += part.data.as_doubles[i]


cdef inline uint32_t _id_of(const Node* node) noexcept nogil:
    """Return the piece that a node stands for."""
    return node.id if node.id != NONE else UNKNOWN


cdef inline double _log_add(double a, double b) noexcept nogil:
    """Return log(exp(a) + exp(b))."""
    cdef double least = b if a > b else a, most = a if a > b else b
    return most if most > least + NEGLIGIBLE else most + log(exp(least - most) + 1)


cdef void _work_free(Work* work) noexcept nogil:
    lattice_free(&work.lattice)
    free(work.before)
    free(work.behind)
    free(work.best)
    free(work.back)
    free(work.made)
    free(work.agenda)


# The agenda: a heap whose items have four children. Of equal priorities, a later item goes up past an earlier one,
# and the first of several children goes up: the order of tokenizers' heap.

cdef int _add(Work* work, Hypothesis hypothesis) except -1 nogil:
    """Add a hypothesis, and put it into the agenda."""
    reserve(<void**> &work.made, &work.made_capacity, work.n_made + 1, sizeof(Hypothesis), 64)
    reserve(<void**> &work.agenda, &work.agenda_capacity, work.n_waiting + 1, sizeof(int32_t), 64)
    work.made[work.n_made] = hypothesis
    work.agenda[work.n_waiting] = <int32_t> work.n_made
    work.n_made += 1
    work.n_waiting += 1
    _rise(work, work.n_waiting - 1)
    return 0


cdef void _rise(Work* work, size_t at) noexcept nogil:
    """Move the item at index `at` of the agenda up to its place."""
    cdef int32_t item = work.agenda[at]
    cdef size_t above
    while at:
        above = (at - 1) // N_CHILDREN
        if work.made[item].priority < work.made[work.agenda[above]].priority:
            break
        work.agenda[at] = work.agenda[above]
        at = above
    work.agenda[at] = item


cdef int32_t _pop(Work* work) noexcept nogil:
    """Take the hypothesis with the greatest priority. The agenda must not be empty."""
    cdef int32_t top = work.agenda[0], last
    cdef size_t at = 0, child, best, i
    work.n_waiting -= 1
    last = work.agenda[work.n_waiting]
    while True:
        child = N_CHILDREN * at + 1
        if child >= work.n_waiting:
            break
        best = child
        for i in range(child + 1, min(child + N_CHILDREN, work.n_waiting)):
            if work.made[work.agenda[best]].priority < work.made[work.agenda[i]].priority:
                best = i
        work.agenda[at] = work.agenda[best]
        at = best
    work.agenda[at] = last
    _rise(work, at)
    return top

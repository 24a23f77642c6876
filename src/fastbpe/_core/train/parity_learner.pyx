"""Learn merges over several languages, as tokenizers' ParityBpeTrainer does (Foroutan et al., arXiv 2508.04796).

The first `global_merges` steps take the best pair of all languages together. Each later step chooses a language
and takes the best pair of its words. Each pair is merged in all languages. Every language is a `Corpus` with its
own counts and queue; ids are shared. The cost of a step is proportional to the pair's occurrences, plus one
look-up per corpus, whereas the original reads all dev words in each step. Every merge is applied to all corpora
at once, so in each of them a pair gains no occurrences after the merge that creates it, which merge_learner.pyx
relies on. An index finds the pair that another corpus chose.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from fastbpe._core.common.bits cimport head_of
from fastbpe._core.common.growing cimport reserve
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.ids.sequences cimport Sequences
from fastbpe._core.train.byte_learner cimport Learner
from fastbpe._core.train.language_choice cimport LanguageChoice
from fastbpe._core.train.merge_learner cimport allocated, index_grow
from fastbpe._core.train.pair_table cimport Cell, Pair, PairIndex, index_slot, weight_at

cdef enum:
    GLOBAL = -1  # instead of a language: the merge was chosen by the counts of all languages
    MAX_IDS = 0x7FFFFFFF  # ids stay below the learner's TAIL


cdef struct ParityMerge:
    uint32_t left
    uint32_t right
    int64_t count
    int language  # or GLOBAL


cdef class Corpus(Learner)
cdef class TokenTexts


@cython.final
cdef class ParityLearner:
    """Learner of merges over several languages; each merge is for the language that needs it most.

    languages: list of PieceCounter, or of Sequences, which are emptied – the words of each language.
    texts: list of bytes – the text of each existing id; of equally frequent pairs, the one with the greatest texts
        is merged.
    n_merges: int – number of merges to learn.
    dev: list of PieceCounter or Sequences, or None – texts whose symbols show which language needs a merge; None:
        the languages themselves, as also with `ratio`.
    ratio: list of float, or None – a number per language: the language with the least (symbols before the first
        merge) / (symbols now) / ratio in its words needs a merge. None: the language with the most symbols.
    window: int or None – a language with more than alpha / len(languages) of the last `window` choices must wait,
        as long as another can learn.
    alpha: float – see window.
    whole: PieceCounter or Sequences, or None – the words of all languages, for global_merges.
    global_merges: int – number of merges before the first choice of a language, by the counts in all languages.
    min_count: int – merge only pairs that occur at least this often.
    max_token_length: int or None – maximum length of a token in base symbols.
    prefix: bytes – prefix that the right one of two tokens loses when they are joined.
    """

    cdef list _corpora  # all corpora to which merges are applied: the languages, then their dev texts
    cdef Corpus _whole  # None: not needed, or no longer needed
    cdef TokenTexts _texts
    cdef LanguageChoice _choice
    cdef void** _items  # borrowed from _corpora, which owns them: without the GIL, no list can be read
    cdef size_t _n_items
    cdef ParityMerge* _merges
    cdef uint32_t _n_base, _n_merges, _n_wanted, _n_global
    cdef bint _is_learning

    def __init__(
        self, languages not None, texts not None, *, size_t n_merges, dev=None, ratio=None, window=None,
        double alpha=2.0, whole=None, size_t global_merges=0, int64_t min_count=1, max_token_length=None,
        bytes prefix=b"",
    ):
        if self._items != NULL:
            raise RuntimeError("a ParityLearner cannot be initialized twice")
        self._texts = TokenTexts(texts, prefix)
        self._n_base = self._texts.n
        cdef size_t n_symbols = sum([_n_symbols(source) for source in languages])
        self._n_wanted = min(n_merges, n_symbols, MAX_IDS - self._n_base)
        self._n_global = min(global_merges, self._n_wanted)
        options = {
            "max_ids": self._n_base + self._n_wanted,
            "n_base": self._n_base,
            "min_count": min_count,
            "max_token_length": max_token_length,
            "more_symbols": n_symbols,
        }
        self._corpora = [Corpus(source, self._texts, chooses=True, **options) for source in languages]
        if dev is not None and ratio is None:
            self._corpora += [Corpus(source, self._texts, chooses=False, **options) for source in dev]
        if self._n_global:
            self._whole = Corpus(whole, self._texts, chooses=True, **options)
        self._merges = <ParityMerge*> allocated(self._n_wanted, sizeof(ParityMerge))
        self._n_items = len(self._corpora)
        self._items = <void**> allocated(self._n_items, sizeof(void*))
        cdef size_t i
        for i in range(self._n_items):
            self._items[i] = <void*> self._corpora[i]
        # The last ones are the dev texts if there are any, otherwise the languages.
        n_before = [(<Corpus> corpus).n_symbols for corpus in self._corpora[-len(languages) :]]
        self._choice = LanguageChoice(n_before, ratio, window, alpha)

    def __dealloc__(self):
        free(self._items)
        free(self._merges)

    # Learning

    cdef int _learn(self) except -1 nogil:
        """Learn merges until there are enough or no pair is left."""
        cdef int language = GLOBAL
        cdef uint32_t pair
        while self._n_merges < self._n_wanted and self._choice.n_exhausted < self._choice.n_languages:
            if self._n_merges < self._n_global:
                pair = self._whole._take_best()
                if pair == NONE:  # then no language has a pair left, either
                    break
                self._merge(self._whole, pair, GLOBAL)
                continue
            if language == GLOBAL and self._n_global:
                with gil:
                    self._whole = None  # frees its memory: no more global merges
            language = self._choice.choose()
            pair = (<Corpus> self._items[language])._take_best()
            if pair == NONE:
                self._choice.exhaust(language)
            else:
                self._merge(<Corpus> self._items[language], pair, language)
        return 0

    cdef int _merge(self, Corpus corpus, uint32_t pair, int language) except -1 nogil:
        """Merge a pair of one corpus in all corpora."""
        cdef ParityMerge* merge = &self._merges[self._n_merges]
        cdef uint32_t merged = self._n_base + self._n_merges
        cdef size_t i, first_judged = self._n_items - self._choice.n_languages
        merge.left = corpus._state.pairs[pair].left
        merge.right = corpus._state.pairs[pair].right
        merge.count = corpus._state.counts[pair]
        merge.language = language
        self._texts.append_joined(merge.left, merge.right)
        self._n_merges += 1
        for i in range(self._n_items):
            (<Corpus> self._items[i]).apply(merge.left, merge.right, merged)
            if i >= first_judged:
                self._choice.set_symbols(<int> (i - first_judged), (<Corpus> self._items[i]).n_symbols)
        if language == GLOBAL:  # _whole is not among the items
            corpus.apply(merge.left, merge.right, merged)
        return 0

    def learn(self, progress=None):
        """Learn all merges.

        progress: callable or None – called as progress(n_merges) from time to time, and at the end.
        """
        if self._is_learning:
            raise RuntimeError("this ParityLearner is in use, or was interrupted; create another one")
        self._is_learning = True
        # No variable may hold _whole, so that _learn() can free it.
        report = None if progress is None else lambda n_ids: progress(self._n_merges)
        for corpus in self._corpora:
            corpus.report_to(report)
        if self._whole is not None:
            self._whole.report_to(report)
        try:
            with nogil:
                self._learn()
            if progress is not None:
                progress(self._n_merges)
        finally:
            for corpus in self._corpora:
                corpus.report_to(None)
            self._whole = None
        self._is_learning = False

    def merges(self):
        """Return (left id, right id, count) of each merge, in order; merge i makes id len(texts) + i.

        The count is from the language for which the merge was made, or from all languages for a global merge.
        """
        cdef uint32_t i
        return [(self._merges[i].left, self._merges[i].right, self._merges[i].count) for i in range(self._n_merges)]

    def chosen(self):
        """Return the index of the language for which each merge was made; -1: a global merge."""
        cdef uint32_t i
        return [self._merges[i].language for i in range(self._n_merges)]

    def n_symbols(self):
        """Return the current number of symbols of each language: in its dev text, if used, or in its words."""
        return [(<Corpus> corpus).n_symbols for corpus in self._corpora[-self._choice.n_languages :]]

    def limits_met(self):
        """Return two bools, like `Learner.limits_met`, for all languages."""
        met = [corpus.limits_met() for corpus in self._corpora[: self._choice.n_languages]]
        return any(rare for rare, _ in met), any(long for _, long in met)


cdef size_t _n_symbols(source) except? 0xFFFFFFFF:
    """Return the number of symbols in the distinct words of a source."""
    return source.n_items if isinstance(source, Sequences) else source.n_arena


cdef enum:
    MIN_INDEX_SLOTS = 1 << 10
    SLOTS_PER_PAIR = 4  # slots per pair, at least


@cython.final
cdef class Corpus(Learner):
    """Words of one language, to which the merges of all languages are applied.

    source: PieceCounter or Sequences – the words.
    texts: TokenTexts – texts of the ids; of equally frequent pairs, the one with the greatest texts is taken.
    chooses: bool – pairs are taken from this corpus. False: merges are only applied to it.
    options: options of `Learner`.
    """

    cdef TokenTexts _texts
    cdef bint _chooses
    cdef PairIndex _index
    cdef int64_t n_symbols  # current number of symbols of its text; a piece that occurs n times counts n times

    def __init__(self, source, TokenTexts texts not None, *, bint chooses, **options):
        self._texts = texts
        self._chooses = chooses
        Learner.__init__(self, source, **options)
        cdef Cell* cells = self._state.cells
        cdef size_t at, piece = 0
        with nogil:
            for at in range(1, self._n_cells - 1):
                if cells[at].symbol == NONE:
                    piece += 1
                else:
                    self.n_symbols += self._state.weights[piece]
            self._add_to_index(0)

    def __dealloc__(self):
        free(self._index.slots)

    def report_to(self, progress):
        """Call progress(n_ids) from time to time while merges are applied; None: do not call anything."""
        self._progress = progress

    # Choosing

    cdef uint64_t _key(self, uint32_t index) noexcept nogil:
        """Return a number that is smaller for greater texts; if two numbers are equal, the texts decide."""
        return ~self._texts.heads[self._state.pairs[index].left]

    cdef bint _precedes(self, uint32_t pair, uint32_t other) noexcept nogil:
        cdef const Pair* a = &self._state.pairs[pair]
        cdef const Pair* b = &self._state.pairs[other]
        cdef int order = self._texts.compare(a.left, b.left)
        return order > 0 or (order == 0 and self._texts.compare(a.right, b.right) > 0)

    cdef bint _is_valid(self, const Pair* pair) noexcept nogil:
        return self._chooses and Learner._is_valid(self, pair)

    # Merging

    cdef int apply(self, uint32_t left, uint32_t right, uint32_t merged) except -1 nogil:
        """Merge a pair wherever it occurs.

        merged: the new id, one above the last.
        """
        cdef uint32_t pair, first_new = self._state.n_pairs
        cdef int64_t count
        self._state.length[merged] = self._state.length[left] + self._state.length[right]
        self._n_ids = merged + 1
        pair = self._index.slots[index_slot(&self._index, &self._state, left, right)]
        if pair == NONE or not self._state.counts[pair]:
            return 0
        count = self._state.counts[pair]
        self._merge(pair, merged)
        self.n_symbols -= self._n_merged(pair, merged) if left == right else count
        return self._add_to_index(first_new)

    cdef int64_t _n_merged(self, uint32_t pair, uint32_t merged) noexcept nogil:
        """Return how often a pair was merged; each occurrence counts as often as its piece occurs.

        Occurrences of a pair (x, x) may overlap, so not every occurrence is merged.

        Requires: no other merge has followed, so the pair still has its slice.
        """
        cdef const Pair* it = &self._state.pairs[pair]
        cdef const uint32_t* occurrences = self._state.occurrences + it.start
        cdef int64_t n = 0
        cdef uint32_t i
        for i in range(it.n):
            if self._state.cells[occurrences[i]].symbol == merged:
                n += weight_at(&self._state, occurrences[i])
        return n

    cdef int _add_to_index(self, uint32_t first) except -1 nogil:
        """Add the pairs, starting at number `first`, to the index."""
        cdef size_t n_slots = SLOTS_PER_PAIR * <size_t> self._state.n_pairs
        cdef const Pair* pairs = self._state.pairs
        cdef uint32_t i
        if self._index.slots == NULL or n_slots > self._index.mask + 1:
            n_slots = max(2 * n_slots, <size_t> MIN_INDEX_SLOTS)
            while n_slots & (n_slots - 1):  # round down to a power of two: at least SLOTS_PER_PAIR per pair remain
                n_slots &= n_slots - 1
            index_grow(&self._index, &self._state, n_slots)
        else:
            for i in range(first, self._state.n_pairs):
                self._index.slots[index_slot(&self._index, &self._state, pairs[i].left, pairs[i].right)] = i
        return 0


cdef enum:
    FIRST_BYTES = 1 << 12  # initial capacities of TokenTexts
    FIRST_TEXTS = 1 << 9


@cython.final
cdef class TokenTexts:
    """Texts of ids, for ordering ids by their texts.

    texts: iterable of bytes – the text of each id.
    prefix: bytes – prefix that the right one of two texts loses when they are joined.
    """

    cdef uint8_t* _bytes  # bytes of all texts, end to end
    cdef size_t* _ends  # text i is _bytes[_ends[i]:_ends[i + 1]]
    cdef uint64_t* heads  # first 8 bytes of each text, padded with zeros, as a number that sorts like them
    cdef size_t _bytes_capacity, _ends_capacity, _heads_capacity
    cdef readonly uint32_t n
    cdef bytes _prefix
    cdef const uint8_t* _prefix_bytes
    cdef size_t _n_prefix

    def __init__(self, texts, bytes prefix=b""):
        if self._ends != NULL:
            raise RuntimeError("TokenTexts cannot be initialized twice")
        reserve(<void**> &self._ends, &self._ends_capacity, 1, sizeof(size_t), FIRST_TEXTS)
        self._ends[0] = 0
        self._prefix = prefix  # keeps its bytes alive
        self._prefix_bytes, self._n_prefix = prefix, len(prefix)
        cdef bytes text
        for text in texts:
            memcpy(self._place(len(text)), <const uint8_t*> text, len(text))
            self._append(len(text))

    def __dealloc__(self):
        free(self._bytes)
        free(self._ends)
        free(self.heads)

    cdef uint8_t* _place(self, size_t n_bytes) except NULL nogil:
        """Return the address after the last text, with space for n_bytes."""
        cdef size_t start = self._ends[self.n]
        # One more, so that the array exists even if all texts are empty.
        reserve(<void**> &self._bytes, &self._bytes_capacity, start + n_bytes + 1, 1, FIRST_BYTES)
        return self._bytes + start

    cdef int _append(self, size_t n_bytes) except -1 nogil:
        """Append the text that was written after the last one."""
        cdef size_t start = self._ends[self.n]
        reserve(<void**> &self._ends, &self._ends_capacity, self.n + 2, sizeof(size_t), FIRST_TEXTS)
        reserve(<void**> &self.heads, &self._heads_capacity, self.n + 1, sizeof(uint64_t), FIRST_TEXTS)
        self.heads[self.n] = head_of(self._bytes + start, n_bytes)
        self.n += 1
        self._ends[self.n] = start + n_bytes
        return 0

    cdef int append_joined(self, uint32_t left, uint32_t right) except -1 nogil:
        """Append the text of the token that two others form."""
        cdef size_t n_left = self._ends[left + 1] - self._ends[left]
        cdef size_t n_right = self._ends[right + 1] - self._ends[right]
        cdef uint8_t* place = self._place(n_left + n_right)  # first, because it may move _bytes
        cdef const uint8_t* second = self._bytes + self._ends[right]
        cdef size_t n_prefix = self._n_prefix
        if n_right >= n_prefix and memcmp(second, self._prefix_bytes, n_prefix) == 0:
            second += n_prefix
            n_right -= n_prefix
        memcpy(place, self._bytes + self._ends[left], n_left)
        memcpy(place + n_left, second, n_right)
        return self._append(n_left + n_right)

    cdef int compare(self, uint32_t a, uint32_t b) noexcept nogil:
        """Compare the texts of two ids, like memcmp."""
        cdef size_t n_a = self._ends[a + 1] - self._ends[a], n_b = self._ends[b + 1] - self._ends[b]
        cdef int order
        if self.heads[a] != self.heads[b]:
            return 1 if self.heads[a] > self.heads[b] else -1
        order = memcmp(self._bytes + self._ends[a], self._bytes + self._ends[b], min(n_a, n_b))
        return order if order else (n_a > n_b) - (n_a < n_b)

"""Learn merges over several languages, as tokenizers' ParityBpeTrainer does (Foroutan et al., arXiv 2508.04796).

Each step chooses a language, takes the best pair of its words, and merges it in all languages. Every language is a
`Corpus` with its own counts and queue; ids are shared. A step costs what its occurrences cost, and one look-up per
corpus: the original reads all dev words at each step.

Where no language may be chosen any more, the original asks the first one again, for ever if that has no pair left
(`_choose_within_window`), and it never ends when languages without text are the last ones with ratio=. This learner
takes the neediest language then, or ends.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free

from fastbpe._core.common.growing cimport reserve
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.ids.sequences cimport Sequences
from fastbpe._core.train.merge_learner cimport allocated
from fastbpe._core.train.parity_corpus cimport Corpus
from fastbpe._core.train.token_texts cimport TokenTexts

cdef enum:
    GLOBAL = -1  # instead of a language: the merge was chosen by the counts of all
    FIRST_CHOICES = 1 << 8


cdef struct Language:
    void* words  # its Corpus
    void* judged  # the Corpus whose symbols tell what it needs
    double n_before  # symbols of that before the first merge
    double ratio
    double rate  # with ratio=: how much it shrank, by its ratio
    uint32_t n_chosen  # among the latest choices
    bint is_exhausted
    bint is_passed_over


cdef struct ParityMerge:
    uint32_t left
    uint32_t right
    int64_t count
    int language  # or GLOBAL


@cython.final
cdef class ParityLearner:
    """Learner of merges over several languages; each merge is for the language that needs it most.

    languages: list of PieceCounter, or of Sequences, which are emptied – the words of each language.
    texts: list of bytes – the text of each id that exists; of equally frequent pairs the one with the greatest
        texts is merged.
    n_merges: int – number of merges to learn.
    dev: list of PieceCounter or Sequences, or None – texts whose symbols tell what a language needs; None: the
        languages themselves.
    ratio: list of float, or None – symbols before the first merge by symbols now are compared by their ratio to
        this number, for the words of the languages; None: symbols are compared.
    window: int or None – of the last `window` choices, a language has no more than alpha / len(languages).
    whole: PieceCounter or Sequences, or None – the words of all languages, for global_merges.
    global_merges: int – number of merges before the first choice of a language, by the counts in all of them.
    min_count: int – merge only pairs that occur at least so often.
    max_token_length: int or None – make no token of more base symbols.
    prefix: bytes – what the right one of two tokens loses when they are joined.
    """

    cdef list _corpora  # all, to which merges are applied
    cdef Corpus _whole  # None: not needed, or no longer
    cdef TokenTexts _texts
    cdef void** _items  # the corpora
    cdef size_t _n_items
    cdef Language* _languages
    cdef int _n_languages, _n_exhausted
    cdef bint _by_ratio
    cdef size_t _window  # 0: none
    cdef uint32_t* _latest  # the last choices, a ring
    cdef size_t _n_latest, _latest_capacity, _oldest
    cdef double _greatest_share  # of the window, for a language
    cdef ParityMerge* _merges
    cdef uint32_t _n_base, _n_merges, _n_wanted, _n_global
    cdef bint _is_learning

    def __init__(
        self, languages not None, texts not None, *, size_t n_merges, dev=None, ratio=None, window=None,
        double alpha=2.0, whole=None, size_t global_merges=0, int64_t min_count=1, max_token_length=None,
        bytes prefix=b"",
    ):
        if self._languages != NULL:
            raise RuntimeError("a ParityLearner is made once")
        self._texts = TokenTexts(texts, prefix)
        cdef list judged = languages if dev is None or ratio is not None else dev
        cdef size_t n_symbols = sum([_n_symbols(source) for source in languages])
        self._n_base, self._n_languages = self._texts.n, len(languages)
        self._n_wanted = min(n_merges, n_symbols)
        self._n_global = min(global_merges, n_merges)
        options = {
            "max_ids": self._n_base + self._n_wanted,
            "n_base": self._n_base,
            "min_count": min_count,
            "max_token_length": max_token_length,
            "more_symbols": n_symbols,
        }
        corpora = [Corpus(source, self._texts, chooses=True, **options) for source in languages]
        self._corpora = [*corpora]
        if judged is not languages:
            corpora = [Corpus(source, self._texts, chooses=False, **options) for source in judged]
            self._corpora += corpora
        if self._n_global:
            self._whole = Corpus(whole, self._texts, chooses=True, **options)
        self._merges = <ParityMerge*> allocated(self._n_wanted, sizeof(ParityMerge))
        self._n_items = len(self._corpora)
        self._items = <void**> allocated(self._n_items, sizeof(void*))
        cdef size_t i
        for i in range(self._n_items):
            self._items[i] = <void*> self._corpora[i]
        self._by_ratio = ratio is not None
        self._window = 0 if window is None else window
        self._greatest_share = alpha / self._n_languages
        self._languages = <Language*> allocated(self._n_languages, sizeof(Language))
        for i in range(<size_t> self._n_languages):
            self._languages[i] = Language(
                words=self._items[i],
                judged=self._items[self._n_items - self._n_languages + i],
                n_before=<double> (<Corpus> corpora[i]).n_symbols,
                ratio=ratio[i] if self._by_ratio else 1.0,
                rate=0.0,
                n_chosen=0,
                is_exhausted=False,
                is_passed_over=False,
            )
            if self._by_ratio and not (<Corpus> corpora[i]).n_symbols:
                self._exhaust(&self._languages[i])

    def __dealloc__(self):
        free(self._items)
        free(self._languages)
        free(self._latest)
        free(self._merges)

    # Choosing a language

    cdef void _exhaust(self, Language* language) noexcept nogil:
        """Note that a language has no pair left."""
        self._n_exhausted += not language.is_exhausted
        language.is_exhausted = True

    cdef int _neediest(self) noexcept nogil:
        """Return the first of the languages that need a merge most; GLOBAL if all are exhausted or passed over."""
        cdef int i, best = GLOBAL
        cdef Language* language
        cdef Language* other
        for i in range(self._n_languages):
            language = &self._languages[i]
            if language.is_exhausted or language.is_passed_over:
                continue
            if self._by_ratio:
                language.rate = language.n_before / <double> (<Corpus> language.judged).n_symbols / language.ratio
            if best == GLOBAL:
                best = i
                continue
            other = &self._languages[best]
            if self._by_ratio:
                if language.rate < other.rate:
                    best = i
            elif (<Corpus> language.judged).n_symbols > (<Corpus> other.judged).n_symbols:
                best = i
        return best

    cdef bint _may_choose(self, int language) noexcept nogil:
        """Tell whether the window has room for another choice of a language."""
        return <double> self._languages[language].n_chosen / <double> self._window <= self._greatest_share

    cdef int _choose(self) except -2 nogil:
        """Choose the language of the next merge, of which some has pairs left."""
        cdef int i, found
        if not self._window:
            return self._neediest()
        for i in range(self._n_languages):
            self._languages[i].is_passed_over = False
        found = self._choose_within_window()
        reserve(
            <void**> &self._latest, &self._latest_capacity, min(self._n_latest + 1, self._window), sizeof(uint32_t),
            FIRST_CHOICES,
        )
        if self._n_latest < self._window:
            self._latest[self._n_latest] = found
            self._n_latest += 1
        else:
            self._languages[self._latest[self._oldest]].n_chosen -= 1
            self._latest[self._oldest] = found
            self._oldest = (self._oldest + 1) % self._window
        self._languages[found].n_chosen += 1
        return found

    cdef int _choose_within_window(self) noexcept nogil:
        """Choose the neediest language that the window has room for.

        If there is none, the original takes the least needy one. If a language is exhausted, it takes the first one
        instead, exhausted or not. If the window has no room for that one, and a later one is exhausted, it searches
        for ever: then this is the neediest.
        """
        cdef int neediest = self._neediest(), found = neediest, last = neediest
        while found != GLOBAL:
            if self._may_choose(found):
                return found
            self._languages[found].is_passed_over = True
            last = found
            found = self._neediest()
        if not self._n_exhausted:
            return last
        if self._may_choose(0) or (self._n_exhausted == 1 and self._languages[0].is_exhausted):
            return 0
        return neediest

    # Learning

    cdef int _learn(self) except -1 nogil:
        """Learn merges until there are enough or no pair is left."""
        cdef int language = GLOBAL
        cdef uint32_t pair
        while self._n_merges < self._n_wanted and self._n_exhausted < self._n_languages:
            if self._n_merges < self._n_global:
                pair = self._whole.take()
                if pair == NONE:
                    break
                self._merge(self._whole, pair, GLOBAL)
                continue
            if language == GLOBAL and self._n_global:
                with gil:
                    self._whole = None
            language = self._choose()
            pair = (<Corpus> self._languages[language].words).take()
            if pair == NONE:
                self._exhaust(&self._languages[language])
            else:
                self._merge(<Corpus> self._languages[language].words, pair, language)
        return 0

    cdef int _merge(self, Corpus corpus, uint32_t pair, int language) except -1 nogil:
        """Merge a pair of a corpus in all of them."""
        cdef ParityMerge* merge = &self._merges[self._n_merges]
        cdef uint32_t merged = self._n_base + self._n_merges
        cdef size_t i
        merge.left = corpus.left(pair)
        merge.right = corpus.right(pair)
        merge.count = corpus.count(pair)
        merge.language = language
        self._texts.append_joined(merge.left, merge.right)
        self._n_merges += 1
        for i in range(self._n_items):
            (<Corpus> self._items[i]).apply(merge.left, merge.right, merged)
        if language == GLOBAL:
            corpus.apply(merge.left, merge.right, merged)
        return 0

    def learn(self, progress=None):
        """Learn all merges.

        progress: callable or None – called as progress(n_merges) from time to time, and at the end.
        """
        if self._is_learning:
            raise RuntimeError("this ParityLearner is learning, or was interrupted while it did; make another one")
        self._is_learning = True
        cdef list corpora = [*self._corpora] + ([] if self._whole is None else [self._whole])
        report = None if progress is None else lambda n_ids: progress(self._n_merges)
        for corpus in corpora:
            corpus.report_to(report)
        del corpora
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

        The count is that of the language for which the merge was made, or of all languages for a global merge.
        """
        cdef uint32_t i
        return [(self._merges[i].left, self._merges[i].right, self._merges[i].count) for i in range(self._n_merges)]

    def chosen(self):
        """Return the number of the language for which each merge was made; -1: a global merge."""
        cdef uint32_t i
        return [self._merges[i].language for i in range(self._n_merges)]

    def n_symbols(self):
        """Return the number of symbols of each language now: of its dev text, or else of its words."""
        cdef int i
        return [(<Corpus> self._languages[i].judged).n_symbols for i in range(self._n_languages)]

    def limits_met(self):
        """Return two bools, as `Learner.limits_met` does, for all languages."""
        met = [corpus.limits_met() for corpus in self._corpora[: self._n_languages]]
        return any(rare for rare, _ in met), any(long for _, long in met)


cdef size_t _n_symbols(source) except? 0xFFFFFFFF:
    """Return the number of symbols in the distinct words of a source."""
    return source.n_items if isinstance(source, Sequences) else source.n_arena

"""Learn merges over several languages, as tokenizers' ParityBpeTrainer does (Foroutan et al., arXiv 2508.04796).

Each step chooses a language, takes the best pair of its words, and merges it in all languages. Every language is a
`Corpus` with its own counts and queue; ids are shared. A step costs what its occurrences cost, and one look-up per
corpus: the original reads all dev words at each step.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.ids.sequences cimport Sequences
from fastbpe._core.train.language_choice cimport LanguageChoice
from fastbpe._core.train.merge_learner cimport allocated
from fastbpe._core.train.parity_corpus cimport Corpus
from fastbpe._core.train.token_texts cimport TokenTexts

cdef enum:
    GLOBAL = -1  # instead of a language: the merge was chosen by the counts of all
    MAX_IDS = 0x7FFFFFFF  # ids stay below the learner's TAIL


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

    cdef list _corpora  # all, to which merges are applied: the languages, then their dev texts
    cdef Corpus _whole  # None: not needed, or no longer
    cdef TokenTexts _texts
    cdef LanguageChoice _choice
    cdef void** _items  # the corpora
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
            raise RuntimeError("a ParityLearner is made once")
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
                pair = self._whole.take()
                if pair == NONE:
                    break
                self._merge(self._whole, pair, GLOBAL)
                continue
            if language == GLOBAL and self._n_global:
                with gil:
                    self._whole = None
            language = self._choice.choose()
            pair = (<Corpus> self._items[language]).take()
            if pair == NONE:
                self._choice.exhaust(language)
            else:
                self._merge(<Corpus> self._items[language], pair, language)
        return 0

    cdef int _merge(self, Corpus corpus, uint32_t pair, int language) except -1 nogil:
        """Merge a pair of a corpus in all of them."""
        cdef ParityMerge* merge = &self._merges[self._n_merges]
        cdef uint32_t merged = self._n_base + self._n_merges
        cdef size_t i, first_judged = self._n_items - self._choice.n_languages
        merge.left = corpus.left(pair)
        merge.right = corpus.right(pair)
        merge.count = corpus.count(pair)
        merge.language = language
        self._texts.append_joined(merge.left, merge.right)
        self._n_merges += 1
        for i in range(self._n_items):
            (<Corpus> self._items[i]).apply(merge.left, merge.right, merged)
            if i >= first_judged:
                self._choice.set_symbols(<int> (i - first_judged), (<Corpus> self._items[i]).n_symbols)
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
        return [(<Corpus> corpus).n_symbols for corpus in self._corpora[-self._choice.n_languages :]]

    def limits_met(self):
        """Return two bools, as `Learner.limits_met` does, for all languages."""
        met = [corpus.limits_met() for corpus in self._corpora[: self._choice.n_languages]]
        return any(rare for rare, _ in met), any(long for _, long in met)


cdef size_t _n_symbols(source) except? 0xFFFFFFFF:
    """Return the number of symbols in the distinct words of a source."""
    return source.n_items if isinstance(source, Sequences) else source.n_arena

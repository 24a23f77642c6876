"""Choice of a language in parity-aware training, as in tokenizers' ParityBpeTrainer.

In one case tokenizers searches for a language forever; this module chooses the neediest language instead: see
`_choose_within_window`. With ratios, tokenizers also loops forever if the last languages with pairs left are
followed by languages without text; here these count as exhausted from the start.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free

from fastbpe._core.common.growing cimport reserve
from fastbpe._core.train.merge_learner cimport allocated

cdef enum:
    NOBODY = -1  # instead of a language
    FIRST_CHOICES = 1 << 8  # initial capacity of _latest


@cython.final
cdef class LanguageChoice:
    """Choice of the language that needs the next merge most.

    n_symbols: list of int – symbols of the text of each language, before the first merge.
    ratio: list of float, or None – a number per language: the language with the least (symbols before the first
        merge) / (symbols now) / ratio needs a merge, and a language without text is exhausted. None: the language
        with the most symbols needs a merge.
    window: int or None – number of recent merges; a language with a larger share of them than alpha / number of
        languages must wait, as long as another can learn.
    alpha: float – see window.
    """

    def __init__(self, n_symbols not None, ratio=None, window=None, double alpha=2.0):
        if self._languages != NULL:
            raise RuntimeError("a LanguageChoice cannot be initialized twice")
        self.n_languages = len(n_symbols)
        self._by_ratio = ratio is not None
        self._window = 0 if window is None else window
        self._greatest_share = alpha / self.n_languages
        self._languages = <Language*> allocated(self.n_languages, sizeof(Language))
        cdef int i
        for i in range(self.n_languages):
            self._languages[i] = Language(
                n_symbols=n_symbols[i],
                n_before=n_symbols[i],
                ratio=ratio[i] if self._by_ratio else 1.0,
                rate=0.0,
                n_chosen=0,
                is_exhausted=False,
                is_passed_over=False,
            )
            if self._by_ratio and not n_symbols[i]:
                self.exhaust(i)

    def __dealloc__(self):
        free(self._languages)
        free(self._latest)

    cpdef void exhaust(self, int language) noexcept nogil:
        """Record that a language has no pair left."""
        self.n_exhausted += not self._languages[language].is_exhausted
        self._languages[language].is_exhausted = True

    cpdef void set_symbols(self, int language, int64_t n_symbols) noexcept nogil:
        """Set the current number of symbols of the text of a language."""
        self._languages[language].n_symbols = n_symbols

    cpdef int choose(self) except -1 nogil:
        """Choose the language of the next merge. Requires: not all are exhausted.

        The result may be language 0 even if that is exhausted; then call again.
        """
        cdef int i, found
        if not self._window:
            return self._neediest()
        for i in range(self.n_languages):
            self._languages[i].is_passed_over = False
        found = self._choose_within_window()
        if self._n_latest < self._window:
            reserve(
                <void**> &self._latest, &self._latest_capacity, self._n_latest + 1, sizeof(uint32_t), FIRST_CHOICES
            )
            self._latest[self._n_latest] = found
            self._n_latest += 1
        else:
            self._languages[self._latest[self._oldest]].n_chosen -= 1
            self._latest[self._oldest] = found
            self._oldest = (self._oldest + 1) % self._window
        self._languages[found].n_chosen += 1
        return found

    cdef int _neediest(self) noexcept nogil:
        """Return the first of the languages that need a merge most; NOBODY if all are exhausted or passed over."""
        cdef int i, best = NOBODY
        cdef Language* language
        for i in range(self.n_languages):
            language = &self._languages[i]
            if language.is_exhausted or language.is_passed_over:
                continue
            if self._by_ratio:
                language.rate = language.n_before / <double> language.n_symbols / language.ratio
            if best == NOBODY:
                best = i
            elif self._by_ratio:
                if language.rate < self._languages[best].rate:
                    best = i
            elif language.n_symbols > self._languages[best].n_symbols:
                best = i
        return best

    cdef bint _may_choose(self, int language) noexcept nogil:
        """Tell whether the window has room for another choice of a language."""
        return <double> self._languages[language].n_chosen / <double> self._window <= self._greatest_share

    cdef int _choose_within_window(self) noexcept nogil:
        """Choose the neediest language that the window has room for.

        If the window has room for no language with pairs left, tokenizers chooses the least needy of them; but if
        a language is exhausted, it chooses the first language, exhausted or not. If the window has no room for the
        first and a later language is exhausted, tokenizers searches forever; this function then chooses the
        neediest.
        """
        cdef int neediest = self._neediest(), found = neediest, last = neediest
        while found != NOBODY:
            if self._may_choose(found):
                return found
            self._languages[found].is_passed_over = True
            last = found
            found = self._neediest()
        if not self.n_exhausted:
            return last
        if self._may_choose(0) or (self.n_exhausted == 1 and self._languages[0].is_exhausted):
            return 0
        return neediest

"""Sentences for the training of unigram models: normalized and in their order, or their words with counts.

Training reads two things from sentences: words with their counts, for expectation maximization, and the strings
that occur in different contexts, which are the initial pieces. The context of a string depends on the sentence
after its own, so the order of the sentences matters. The counts of words give the same results
(`CountedSentences`) if each sentence begins with U+2581 and words end at white space. Then every word is followed
by the first byte of U+2581, or by the end of its sentence. So it is enough to know how often a word ends a
sentence, and which word is the last of all.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

from fastbpe._core.common.byte_buffer cimport Buffer, buffer_add, buffer_free
from fastbpe._core.common.growing cimport grow
from fastbpe._core.common.utf8 cimport is_metaspace
from fastbpe._core.train.merge_learner cimport allocated
from fastbpe._core.train.piece_table cimport GROUP_PIECES, PieceCount, PieceTable
from fastbpe._core.train.scripts cimport N_CODE_POINTS, next_code_point
from fastbpe._core.train.sorting cimport Keyed, sort_pieces

cdef const uint8_t* RESERVED_UTF8 = b"\xe2\x96\x85"  # U+2585, which stands for a character outside the alphabet


@cython.final
cdef class KnownCharacters:
    """Characters of the alphabet; U+2585 stands for all other characters.

    known: code points of the alphabet.
    """

    def __cinit__(self, list known not None):
        self._is_known = <uint8_t*> calloc(N_CODE_POINTS, 1)
        if self._is_known == NULL:
            raise MemoryError("no memory for an alphabet")
        for character in known:
            self._is_known[<uint32_t> character] = 1

    def __dealloc__(self):
        free(self._is_known)

    cdef int add(self, Buffer* out, const uint8_t* text, size_t n) except -1 nogil:
        """Append a text, with U+2585 instead of characters that are not known."""
        cdef size_t at = 0, kept = 0, start
        while at < n:
            start = at
            if not self._is_known[next_code_point(text, n, &at)]:
                buffer_add(out, text + kept, start - kept)
                buffer_add(out, RESERVED_UTF8, 3)
                kept = at
        return buffer_add(out, text + kept, n - kept)


@cython.final
cdef class SentenceStore:
    """Normalized sentences in their order, with their counts.

    split_by_whitespace: a word begins at each U+2581; False: a sentence is a word.
    treat_whitespace_as_suffix: a word ends after each U+2581 instead.
    allow_whitespace_only_pieces: consecutive U+2581 stay together at the beginning, or end, of one word.
    """

    def __cinit__(
        self, *, bint split_by_whitespace=True, bint treat_whitespace_as_suffix=False,
        bint allow_whitespace_only_pieces=False,
    ):
        self._split_by_whitespace = split_by_whitespace
        self._treat_whitespace_as_suffix = treat_whitespace_as_suffix
        self._allow_whitespace_only_pieces = allow_whitespace_only_pieces

    def __dealloc__(self):
        self.clear()

    cdef int add(self, const uint8_t* text, size_t n, int64_t count) except -1 nogil:
        """Add a sentence that occurs `count` times."""
        cdef size_t capacity = self._capacity
        if self.n == capacity:
            capacity = max(2 * capacity, <size_t> 1024)
            grow(<void**> &self.ends, capacity, sizeof(size_t))
            grow(<void**> &self.counts, capacity, sizeof(int64_t))
            self._capacity = capacity
        buffer_add(&self.text, text, n)
        self.ends[self.n], self.counts[self.n] = self.text.n, count
        self.n += 1
        self.n_empty += n == 0
        return 0

    def append(self, bytes text not None, int64_t count):
        """Add a sentence that occurs `count` times."""
        self.add(<const uint8_t*> text, len(text), count)

    def extend(self, SentenceStore other not None):
        """Append the sentences of another store."""
        cdef size_t i
        with nogil:
            for i in range(other.n):
                self.add(
                    other.text.items + other._start(i), other.ends[i] - other._start(i), other.counts[i]
                )

    def sentence(self, size_t i):
        """Return sentence i."""
        if i >= self.n:
            raise IndexError(f"sentence {i}: there are only {self.n} sentences")
        # Without bytes, text.items is NULL.
        return (<const char*> self.text.items)[self._start(i):self.ends[i]] if self.n > self.n_empty else b""

    def clear(self):
        """Drop all sentences."""
        buffer_free(&self.text)
        free(self.ends)
        free(self.counts)
        self.ends, self.counts = NULL, NULL
        self.n = self.n_empty = self._capacity = 0

    cdef inline size_t _start(self, size_t i) noexcept nogil:
        """Return the start of sentence i in the text."""
        return self.ends[i - 1] if i else 0

    def drop_empty(self):
        """Drop empty sentences. As in sentencepiece, the last sentence moves to the place of each empty one."""
        cdef size_t i, at, last = self.n
        cdef SentenceStore kept
        if self.n_empty == 0:
            return
        kept = SentenceStore()
        with nogil:
            for i in range(self.n - self.n_empty):
                at = i
                while self.ends[at] == self._start(at):
                    last -= 1
                    at = last
                kept.add(self.text.items + self._start(at), self.ends[at] - self._start(at), self.counts[at])
        self.text, kept.text = kept.text, self.text
        self.ends, kept.ends = kept.ends, self.ends
        self.counts, kept.counts = kept.counts, self.counts
        self.n, self._capacity, self.n_empty = kept.n, kept._capacity, 0

    def last_word(self):
        """Return the last word of the last sentence; b"" if there is no sentence."""
        cdef size_t at = self._start(self.n - 1) if self.n else 0, start = at
        while at < self.text.n:
            start = at
            at = self._word_end(at, self.text.n)
        return (<const char*> self.text.items)[start:at] if at else b""

    # Words

    cdef size_t _word_end(self, size_t at, size_t end) noexcept nogil:
        """Return the end of the word at text[at], in a sentence that ends at `end`.

        Requires: at < end.
        """
        cdef const uint8_t* text = self.text.items
        cdef bint is_space, was_space
        if not self._split_by_whitespace:
            return end
        was_space = is_metaspace(text + at, end - at)
        at += 3 if was_space else 1
        while at < end:
            is_space = is_metaspace(text + at, end - at)
            if self._treat_whitespace_as_suffix:
                # A word ends after a space, but not between spaces that are kept together.
                if was_space and not (is_space and self._allow_whitespace_only_pieces):
                    return at
            elif is_space and not (was_space and self._allow_whitespace_only_pieces):
                return at
            was_space = is_space
            at += 3 if is_space else 1
        return end

    def words(self):
        """Count the words. Returns a PieceTable."""
        cdef PieceTable words = PieceTable()
        cdef size_t i
        with nogil:
            for i in range(self.n):
                self._add_words(words, i)
        words.finish()
        return words

    cdef int _add_words(self, PieceTable words, size_t i) except -1 nogil:
        """Count the words of sentence i as often as it occurs."""
        cdef size_t at = self._start(i), end = self.ends[i], word_end, n = 0
        while at < end:
            if n % GROUP_PIECES == 0:
                words.reserve_group()
            word_end = self._word_end(at, end)
            words.add_counted(self.text.items + at, word_end - at, 0, self.counts[i])
            at = word_end
            n += 1
        return 0

    def characters(self):
        """Count the characters, by code point, without NUL.

        Raises OverflowError beyond 2**63 - 1 characters.
        """
        cdef int64_t* counts = _no_characters()
        cdef int64_t left = INT64_MAX
        cdef size_t i, start = 0
        try:
            with nogil:
                for i in range(self.n):
                    _add_characters(self.text.items + start, self.ends[i] - start, self.counts[i], counts, &left)
                    start = self.ends[i]
            return _by_code_point(counts)
        finally:
            free(counts)

    def replace_others(self, list known not None):
        """Replace all characters except these code points by U+2585."""
        cdef KnownCharacters alphabet = KnownCharacters(known)
        cdef Buffer replaced = Buffer(NULL, 0, 0)
        cdef size_t i, start = 0, end
        try:
            with nogil:
                for i in range(self.n):
                    end = self.ends[i]
                    alphabet.add(&replaced, self.text.items + start, end - start)
                    self.ends[i] = replaced.n
                    start = end
            self.text, replaced = replaced, self.text
        finally:
            buffer_free(&replaced)

    # Units

    def units(self, size_t first, size_t max_bytes):
        """Count the units of a chunk: sentences from index `first` on, until they have max_bytes.

        A unit is a word with its context. This is the first byte of the next word; or at the end of a sentence a
        NUL, and the first byte of the next sentence, or NO_SENTENCE at the end of the chunk. A sentence that
        occurs several times is followed by itself. In sentencepiece a NUL ends each sentence, and the last copy in
        a chunk is the one that reaches max_bytes.

        Requires: no sentence is empty (see drop_empty).

        Returns (PieceTable, index of the first sentence of the next chunk).
        """
        cdef PieceTable units = PieceTable()
        cdef size_t i = first, n_bytes = 0, length
        cdef int64_t n_copies
        cdef uint8_t behind
        with nogil:
            while i < self.n and n_bytes < max_bytes:
                length = self.ends[i] - self._start(i) + 1
                n_copies = min(self.counts[i], <int64_t> ((max_bytes - n_bytes + length - 1) // length))
                n_bytes += length * <size_t> n_copies
                behind = NO_SENTENCE
                if i + 1 < self.n and n_bytes < max_bytes:
                    behind = self.text.items[self.ends[i]]
                if n_copies > 1:
                    self._add_units(units, i, n_copies - 1, self.text.items[self._start(i)])
                self._add_units(units, i, 1, behind)
                i += 1
        units.finish()
        return units, i

    cdef int _add_units(self, PieceTable units, size_t i, int64_t count, uint8_t behind) except -1 nogil:
        """Count the units of sentence i; the next sentence begins with the byte `behind`."""
        cdef size_t at = self._start(i), end = self.ends[i], word_end, n = 0
        cdef Buffer last = Buffer(NULL, 0, 0)
        while at < end:
            if n % GROUP_PIECES == 0:
                units.reserve_group()
            n += 1
            word_end = self._word_end(at, end)
            if word_end < end:
                units.add_counted(self.text.items + at, word_end - at + 1, 0, count)
            else:
                try:
                    buffer_add(&last, self.text.items + at, word_end - at)
                    buffer_add(&last, b"\0", 1)
                    buffer_add(&last, &behind, 1)
                    units.add_counted(last.items, last.n, 0, count)
                finally:
                    buffer_free(&last)
            at = word_end
        return 0


def characters(PieceTable words not None):
    """Return how often each character occurs in counted words, by code point, without NUL and SENTENCE_END.

    Raises OverflowError beyond 2**63 - 1 characters.
    """
    cdef int64_t* counts = _no_characters()
    cdef int64_t left = INT64_MAX
    cdef const PieceCount* word
    cdef size_t i, n
    try:
        words.settle()
        with nogil:
            for i in range(words.n_pieces):
                word, n = &words.pieces[i], words.pieces[i].n_bytes
                if words.arena[word.start + n - 1] == SENTENCE_END:
                    n -= 1
                _add_characters(words.arena + word.start, n, word.count, counts, &left)
        return _by_code_point(counts)
    finally:
        free(counts)


cdef int64_t* _no_characters() except NULL:
    """Allocate a count of zero for each code point."""
    cdef int64_t* counts = <int64_t*> calloc(N_CODE_POINTS, sizeof(int64_t))
    if counts == NULL:
        raise MemoryError("no memory to count characters")
    return counts


cdef int _add_characters(
    const uint8_t* text, size_t n, int64_t count, int64_t* counts, int64_t* left
) except -1 nogil:
    """Count the characters of a text that occurs `count` times.

    left: number of characters that may still be counted; reduced by the number counted.
    """
    cdef size_t at = 0
    cdef uint32_t c
    while at < n:
        c = next_code_point(text, n, &at)
        if c:
            if left[0] < count:
                with gil:
                    raise OverflowError("the text has more than 2**63 - 1 characters")
            left[0] -= count
            counts[c] += count
    return 0


cdef dict _by_code_point(const int64_t* counts):
    """Return the counts that are not 0, by code point."""
    return {c: counts[c] for c in range(<uint32_t> N_CODE_POINTS) if counts[c]}


def sorted_words(PieceTable words not None):
    """Return words as sentences of a SentenceStore: most frequent first, then by their bytes."""
    cdef SentenceStore out = SentenceStore()
    cdef const PieceCount* word
    cdef size_t i, n
    cdef Keyed* order
    words.settle()
    n = words.n_pieces
    order = <Keyed*> allocated(n, sizeof(Keyed))
    try:
        with nogil:
            for i in range(n):
                order[i] = Keyed(~<uint64_t> words.pieces[i].count, <uint32_t> i, 0)
            sort_pieces(words.arena, words.pieces, order, n, n)  # no word has a NUL: U+2585 replaces it
            for i in range(n):
                word = &words.pieces[order[i].at]
                out.add(words.arena + word.start, word.n_bytes, word.count)
        return out
    finally:
        free(order)


# Contexts of words (see SentenceStore.units), if every sentence begins with U+2581: its first byte is E2.
cdef const uint8_t* WITHIN = b"\xe2"  # after a word inside a sentence
cdef const uint8_t* AT_END = b"\0\xe2"  # after the last word of a sentence
cdef uint8_t[2] AT_THE_LAST = [0, NO_SENTENCE]  # after the last word of the last sentence


@cython.final
cdef class CountedSentences:
    """Words of sentences with their counts.

    words: PieceTable – as `WordCounter` counts them with marks_ends. It must not change.
    last_word: bytes – last word of the last sentence; b"" or a text that is not among the words: not known.
    known: list of int – code points of the alphabet, including U+2581; U+2585 stands for the others.
    """

    cdef PieceTable _words
    cdef bytes _last
    cdef list _known
    cdef KnownCharacters _alphabet
    cdef readonly int64_t n_bytes  # of all sentences, plus one per sentence; at most 2**63 - 1

    def __cinit__(self, PieceTable words not None, bytes last_word not None, list known not None):
        cdef Buffer word = Buffer(NULL, 0, 0)
        cdef size_t i
        cdef int64_t count
        self._words, self._last, self._known, self._alphabet = words, last_word, known, KnownCharacters(known)
        words.settle()
        try:
            with nogil:
                for i in range(words.n_pieces):
                    count = words.pieces[i].count
                    self._write(&word, i)
                    if <int64_t> word.n + 1 > (INT64_MAX - self.n_bytes) // count:
                        self.n_bytes = INT64_MAX
                        break
                    self.n_bytes += <int64_t> (word.n + self._ends_sentence(i)) * count
        finally:
            buffer_free(&word)

    @property
    def n(self):
        """Number of chunks."""
        return 1

    cdef bint _ends_sentence(self, size_t i) noexcept nogil:
        cdef const PieceCount* word = &self._words.pieces[i]
        return self._words.arena[word.start + word.n_bytes - 1] == SENTENCE_END

    cdef bint _is_last(self, size_t i, const uint8_t* last, size_t n) noexcept nogil:
        """Tell whether word i is the last word of all, which has n bytes. Requires: word i ends a sentence."""
        cdef const PieceCount* word = &self._words.pieces[i]
        return word.n_bytes == n + 1 and memcmp(self._words.arena + word.start, last, n) == 0

    cdef int _write(self, Buffer* out, size_t i) except -1 nogil:
        """Replace `out` by word i, with U+2585 for characters outside the alphabet and without an end mark."""
        cdef const PieceCount* word = &self._words.pieces[i]
        out.n = 0
        return self._alphabet.add(out, self._words.arena + word.start, word.n_bytes - self._ends_sentence(i))

    def characters(self):
        """Count the characters of the alphabet, by code point."""
        cdef dict counts = characters(self._words)
        return {c: counts[c] for c in self._known if c in counts}

    def words(self):
        """Count the words, without marks of sentence ends. Returns a PieceTable."""
        cdef PieceTable out = PieceTable()
        cdef Buffer word = Buffer(NULL, 0, 0)
        cdef size_t i
        try:
            with nogil:
                for i in range(self._words.n_pieces):
                    if i % GROUP_PIECES == 0:
                        out.reserve_group()
                    self._write(&word, i)
                    out.add_counted(word.items, word.n, 0, self._words.pieces[i].count)
            out.finish()
            return out
        finally:
            buffer_free(&word)

    def units(self, size_t first, size_t max_bytes):
        """Count the units; see `SentenceStore.units`. All sentences are one chunk, whatever its size."""
        cdef PieceTable units = PieceTable()
        cdef Buffer unit = Buffer(NULL, 0, 0)
        cdef const uint8_t* last = <const uint8_t*> self._last
        cdef size_t i, n, n_last = <size_t> len(self._last)
        cdef int64_t count
        try:
            with nogil:
                for i in range(self._words.n_pieces):
                    if i % (GROUP_PIECES - 1) == 0:  # the last word is added twice
                        units.reserve_group()
                    count = self._words.pieces[i].count
                    self._write(&unit, i)
                    n = unit.n
                    if not self._ends_sentence(i):
                        buffer_add(&unit, WITHIN, 1)
                    else:
                        if self._is_last(i, last, n_last):
                            buffer_add(&unit, AT_THE_LAST, 2)
                            units.add_counted(unit.items, unit.n, 0, 1)
                            unit.n = n
                            count -= 1
                        buffer_add(&unit, AT_END, 2)
                    if count:
                        units.add_counted(unit.items, unit.n, 0, count)
            units.finish()
            return units, 1
        finally:
            buffer_free(&unit)

"""Words of sentences with their counts, for the training of unigram models.

Training asks a `SentenceStore` for characters, words and units. The counts of words tell the same, if each sentence
begins with U+2581 and words end at white space. Then every word is followed by the first byte of U+2581, or by the
end of its sentence; so it is enough to know how often a word ends a sentence, and which one is the last of all.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int64_t, uint8_t
from libc.string cimport memcmp

from fastbpe._core.common.byte_buffer cimport Buffer, buffer_add, buffer_free
from fastbpe._core.train.piece_table cimport GROUP_PIECES, PieceCount, PieceTable
from fastbpe._core.train.sentence_store cimport NO_SENTENCE, SENTENCE_END, KnownCharacters

from fastbpe._core.train.word_counter import characters

cdef const uint8_t* WITHIN = b"\xe2"  # behind a word: the first byte of U+2581, with which the next one begins
cdef const uint8_t* AT_END = b"\0\xe2"
cdef uint8_t[2] AT_THE_LAST = [0, NO_SENTENCE]


@cython.final
cdef class CountedSentences:
    """Words of sentences with their counts.

    words: PieceTable – as `WordCounter` counts them with marks_ends. It must not change.
    last_word: bytes – of the last sentence; b"", or what is not among the words: none is known.
    known: list of int – code points of the alphabet, U+2581 among them; U+2585 stands for the others.
    """

    cdef PieceTable _words
    cdef bytes _last
    cdef list _known
    cdef KnownCharacters _alphabet
    cdef readonly int64_t n_bytes  # of all sentences, each with one more byte at its end; 2**63 - 1 if they are more

    def __cinit__(self, PieceTable words not None, bytes last_word not None, list known not None):
        cdef Buffer made = Buffer(NULL, 0, 0)
        cdef size_t i
        cdef int64_t count
        self._words, self._last, self._known, self._alphabet = words, last_word, known, KnownCharacters(known)
        words.settle()
        try:
            with nogil:
                for i in range(words.n_pieces):
                    count = words.pieces[i].count
                    self._write(&made, i)
                    if <int64_t> made.n + 1 > (INT64_MAX - self.n_bytes) // count:
                        self.n_bytes = INT64_MAX
                        break
                    self.n_bytes += <int64_t> (made.n + self._ends_sentence(i)) * count
        finally:
            buffer_free(&made)

    @property
    def n(self):
        """Number of chunks."""
        return 1

    cdef bint _ends_sentence(self, size_t i) noexcept nogil:
        cdef const PieceCount* word = &self._words.pieces[i]
        return self._words.arena[word.start + word.n_bytes - 1] == SENTENCE_END

    cdef bint _is_last(self, size_t i, const uint8_t* last, size_t n) noexcept nogil:
        """Tell whether word i is the last of all, of n bytes."""
        cdef const PieceCount* word = &self._words.pieces[i]
        return word.n_bytes == n + 1 and memcmp(self._words.arena + word.start, last, n) == 0

    cdef int _write(self, Buffer* out, size_t i) except -1 nogil:
        """Write word i in the alphabet, without its mark."""
        cdef const PieceCount* word = &self._words.pieces[i]
        out.n = 0
        return self._alphabet.add(out, self._words.arena + word.start, word.n_bytes - self._ends_sentence(i))

    def characters(self):
        """Count the characters of the alphabet, by code point."""
        cdef dict counts = characters(self._words)
        return {c: counts[c] for c in self._known if c in counts}

    def words(self):
        """Count the words, wherever they stand. Returns a PieceTable."""
        cdef PieceTable out = PieceTable()
        cdef Buffer made = Buffer(NULL, 0, 0)
        cdef size_t i
        try:
            with nogil:
                for i in range(self._words.n_pieces):
                    if i % GROUP_PIECES == 0:
                        out.reserve_group()
                    self._write(&made, i)
                    out.add_counted(made.items, made.n, 0, self._words.pieces[i].count)
            out.finish()
            return out
        finally:
            buffer_free(&made)

    def units(self, size_t first, size_t max_bytes):
        """Count the units; see `SentenceStore.units`. All sentences are one chunk, whatever its size."""
        cdef PieceTable units = PieceTable()
        cdef Buffer made = Buffer(NULL, 0, 0)
        cdef const uint8_t* last = <const uint8_t*> self._last
        cdef size_t i, n, n_last = <size_t> len(self._last)
        cdef int64_t count
        try:
            with nogil:
                for i in range(self._words.n_pieces):
                    if i % (GROUP_PIECES - 1) == 0:  # the last word is added twice
                        units.reserve_group()
                    count = self._words.pieces[i].count
                    self._write(&made, i)
                    n = made.n
                    if not self._ends_sentence(i):
                        buffer_add(&made, WITHIN, 1)
                    else:
                        if self._is_last(i, last, n_last):
                            buffer_add(&made, AT_THE_LAST, 2)
                            units.add_counted(made.items, made.n, 0, 1)
                            made.n = n
                            count -= 1
                        buffer_add(&made, AT_END, 2)
                    if count:
                        units.add_counted(made.items, made.n, 0, count)
            units.finish()
            return units, 1
        finally:
            buffer_free(&made)

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


@cython.final
cdef class CountedSentences:
    """Words of sentences with their counts.

    words: PieceTable – as `WordCounter` counts them with marks_ends.
    last_word: bytes – of the last sentence; b"": it is not among the words.
    known: list of int – code points of the alphabet, U+2581 among them; U+2585 stands for the others.
    """

    cdef PieceTable _words  # of the alphabet
    cdef readonly int64_t n_bytes  # of all sentences, each with one more byte at its end; 2**63 - 1 if they are more
    cdef Buffer _last  # unit of the last sentence

    def __cinit__(self, PieceTable words not None, bytes last_word not None, list known not None):
        cdef KnownCharacters alphabet = KnownCharacters(known)
        cdef Buffer made = Buffer(NULL, 0, 0)
        cdef const PieceCount* word
        cdef const uint8_t* text
        cdef const uint8_t* last = <const uint8_t*> last_word
        cdef size_t i, n, n_last = <size_t> len(last_word)
        self._words = PieceTable()
        words.settle()
        try:
            with nogil:
                for i in range(words.n_pieces):
                    if i % GROUP_PIECES == 0:
                        self._words.reserve_group()
                    word = &words.pieces[i]
                    text = words.arena + word.start
                    n = word.n_bytes
                    made.n = 0
                    if text[n - 1] == SENTENCE_END:
                        alphabet.add(&made, text, n - 1)
                        if n - 1 == n_last and memcmp(text, last, n_last) == 0:
                            buffer_add(&self._last, made.items, made.n)
                        buffer_add(&made, text + n - 1, 1)
                    else:
                        alphabet.add(&made, text, n)
                    self._words.add_counted(made.items, made.n, 0, word.count)
                    if <int64_t> made.n > (INT64_MAX - self.n_bytes) // word.count:
                        self.n_bytes = INT64_MAX
                    else:
                        self.n_bytes += <int64_t> made.n * word.count
            self._words.finish()
        finally:
            buffer_free(&made)

    def __dealloc__(self):
        buffer_free(&self._last)

    @property
    def n(self):
        """Number of chunks."""
        return 1

    def characters(self):
        """Count the characters, by code point; see `SentenceStore.characters`."""
        return characters(self._words)

    def words(self):
        """Count the words, wherever they stand. Returns a PieceTable."""
        cdef PieceTable out = PieceTable()
        cdef const PieceCount* word
        cdef const uint8_t* text
        cdef size_t i, n
        with nogil:
            for i in range(self._words.n_pieces):
                if i % GROUP_PIECES == 0:
                    out.reserve_group()
                word = &self._words.pieces[i]
                text = self._words.arena + word.start
                n = word.n_bytes - (text[word.n_bytes - 1] == SENTENCE_END)
                out.add_counted(text, n, 0, word.count)
        out.finish()
        return out

    def units(self, size_t first, size_t max_bytes):
        """Count the units; see `SentenceStore.units`. All sentences are one chunk, whatever its size."""
        cdef PieceTable units = PieceTable()
        cdef Buffer made = Buffer(NULL, 0, 0)
        cdef const PieceCount* word
        cdef const uint8_t* text
        cdef uint8_t behind = NO_SENTENCE
        cdef size_t i, n
        cdef int64_t count
        try:
            with nogil:
                for i in range(self._words.n_pieces):
                    if i % GROUP_PIECES == 0:
                        units.reserve_group()
                    word = &self._words.pieces[i]
                    text = self._words.arena + word.start
                    n = word.n_bytes
                    count = word.count
                    made.n = 0
                    if text[n - 1] != SENTENCE_END:
                        buffer_add(&made, text, n)
                        buffer_add(&made, WITHIN, 1)
                    else:
                        buffer_add(&made, text, n - 1)
                        if self._is_last(text, n - 1):
                            count -= 1
                        buffer_add(&made, AT_END, 2)
                    if count:
                        units.add_counted(made.items, made.n, 0, count)
                if self._last.n:
                    made.n = 0
                    units.reserve_group()
                    buffer_add(&made, self._last.items, self._last.n)
                    buffer_add(&made, AT_END, 1)
                    buffer_add(&made, &behind, 1)
                    units.add_counted(made.items, made.n, 0, 1)
            units.finish()
            return units, 1
        finally:
            buffer_free(&made)

    cdef bint _is_last(self, const uint8_t* word, size_t n) noexcept nogil:
        return n > 0 and n == self._last.n and memcmp(word, self._last.items, n) == 0

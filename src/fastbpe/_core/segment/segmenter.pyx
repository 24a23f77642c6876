"""Segmenter: how a vocabulary cuts pieces into tokens without merging. Immutable."""

cimport cython
from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.segment.trie cimport Trie, walk

from array import array

from fastbpe.errors import VocabularyError

_KINDS = {"Unigram": UNIGRAM, "sentence": SENTENCE, "WordPiece": WORD_PIECE, "WordLevel": WORD_LEVEL}


@cython.final
cdef class Segmenter:
    """Rules by which a vocabulary cuts pieces into tokens.

    kind: "Unigram", "sentence" (unigram with the sums of sentencepiece), "WordPiece" or "WordLevel".
    token_bytes, token_ends: the tokens, as a Vocabulary takes them.
    ids: uint32 array, the id of each token; NONE: it is not found in text. None: their numbers.
    scores: array of doubles, the score of each id of "Unigram".
    gains: array of floats, what each id of "sentence" adds to a total: with byte fallback the id of the first byte
        of a character has the score of an unknown one.
    are_symbols: bytes, 1 for each id of "sentence" that is user-defined.
    unknown_score: score of a character without a token, of "Unigram" and "sentence".
    prefix: text before the tokens of "WordPiece" that do not begin a piece.
    longest: most characters of a piece of "WordPiece"; a longer one is unknown.
    """

    def __cinit__(
        self, str kind not None, token_bytes, token_ends, *, ids=None, scores=None, gains=None, are_symbols=None,
        double unknown_score=0.0, bytes prefix not None=b"", size_t longest=0,
    ):
        cdef size_t n = len(memoryview(token_ends).cast("B")) // 4, i
        cdef float by_number
        cdef const unsigned char[::1] data = prefix if prefix else b"\0"
        cdef const double[::1] all_scores
        cdef const float[::1] all_gains
        cdef const uint8_t[::1] symbols
        self.kind = kind
        self.segmenting.kind = _KINDS[kind]
        if ids is None:
            ids = array("I", range(n))
        # The trie has the scores of tokens by their numbers; of SENTENCE alone they are read there.
        by_token = array("f", bytes(4 * n))
        if gains is not None:
            numbers = memoryview(ids).cast("B").cast("I")
            gains, are_symbols = memoryview(gains).cast("B").cast("f"), memoryview(are_symbols).cast("B")
            all_gains, symbols = gains, are_symbols
            if all_gains.shape[0] != symbols.shape[0]:
                raise VocabularyError("gains and are_symbols must have the same length")
            for i in range(n):
                if numbers[i] != NONE:
                    by_token[i] = all_gains[<Py_ssize_t> numbers[i]]
            self.segmenting.gains = &all_gains[0]
            self.segmenting.are_symbols = &symbols[0]
            self.segmenting.greatest = 1.001 * max(abs(unknown_score), max(map(abs, gains)))
        if scores is not None:
            scores = memoryview(scores).cast("B").cast("d")
            all_scores = scores
            if <size_t> all_scores.shape[0] < n:
                raise VocabularyError(f"{all_scores.shape[0]} scores for {n} tokens")
            self.segmenting.scores = &all_scores[0] if n else NULL
        self._buffers = (gains, are_symbols, scores)
        self.trie = Trie(token_bytes, token_ends, ids, by_token)
        self.segmenting.units = self.trie.units
        self.segmenting.unknown = unknown_score
        self.segmenting.longest = longest
        self.segmenting.inner = walk(self.trie.units, 0, &data[0], <size_t> len(prefix))

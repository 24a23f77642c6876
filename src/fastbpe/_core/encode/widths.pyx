"""Bytes of normalized text that each id of a code-point vocabulary stands for."""

cimport cython
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free

from fastbpe._core.merge.codepoint_symbols cimport EXPANDED, Characters
from fastbpe._core.merge.vocabulary cimport Vocabulary
from fastbpe._core.text.special_tokens cimport SpecialMatcher


@cython.final
cdef class Widths:
    """Widths of the ids: of tokens, user-defined symbols, bytes and the unknown id."""

    def __cinit__(self, Vocabulary vocabulary not None, SpecialMatcher symbols):
        cdef const Characters* characters = vocabulary.tables.characters
        cdef size_t n_symbols = 0 if symbols is None else len(symbols.tokens), i
        cdef size_t n_bytes = 256 if characters.has_bytes else 0
        cdef uint32_t token, start = 0
        self.n_ids = characters.unknown_id + 1
        for i in range(vocabulary.tables.n_ids):
            if characters.ids[i] < EXPANDED:
                self.n_ids = max(self.n_ids, <size_t> characters.ids[i] + 1)
        for i in range(n_bytes):
            self.n_ids = max(self.n_ids, <size_t> characters.byte_ids[i] + 1)
        for i in range(n_symbols):
            self.n_ids = max(self.n_ids, <size_t> symbols._ids[i] + 1)
        self.of = <uint32_t*> calloc(self.n_ids, sizeof(uint32_t))
        if self.of == NULL:
            raise MemoryError(f"no memory for {self.n_ids} widths")
        for i in range(vocabulary.tables.n_ids):
            token = characters.ids[i]
            if token < EXPANDED:
                self.of[token] = vocabulary.tables.token_ends[i] - start
            start = vocabulary.tables.token_ends[i]
        for i in range(n_symbols):
            self.of[symbols._ids[i]] = <uint32_t> len(symbols.tokens[i])
        for i in range(n_bytes):
            self.of[characters.byte_ids[i]] = BYTE_OF_CHARACTER
        if not characters.has_bytes:
            self.of[characters.unknown_id] = UNKNOWN_CHARACTER

    def __dealloc__(self):
        free(self.of)

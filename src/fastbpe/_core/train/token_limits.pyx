"""Limits of the tokens that merges may make: length, number of words, and texts that no token may contain."""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from fastbpe._core.common.bits cimport head_of
from fastbpe._core.common.growing cimport reserve
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.train.merge_learner cimport allocated

cdef enum:
    SPACE = 0x20
    LEAST_BYTES = 1 << 16  # initial capacity of the arrays
    LEAST_TOKENS = 1 << 12


@cython.final
cdef class TokenLimits:
    """Tokens by id, and which of them may be joined.

    tokens: list of bytes – the initial tokens, each of at most 2**32 - 1 bytes, as in any vocabulary.
    max_bytes: int or None – maximum length of a new token in bytes; None: 2**32 - 1.
    max_words: int or None – maximum number of words of a new token: non-empty parts between spaces; None: no
        limit.
    forbidden: tuple of bytes – texts that no new token may contain.
    """

    def __cinit__(self, list tokens not None, *, max_bytes=None, max_words=None, tuple forbidden=()):
        self._max_bytes = NONE if max_bytes is None else min(max_bytes, NONE)
        self._max_words = NONE if max_words is None else min(max_words, NONE)
        self._forbidden_texts = forbidden
        self._forbidden = <Forbidden*> allocated(len(forbidden), sizeof(Forbidden))
        for text in forbidden:
            self._forbidden[self._n_forbidden] = Forbidden(
                <const uint8_t*> PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)
            )
            self._n_forbidden += 1
        for token in tokens:
            self._append(<const uint8_t*> PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))

    def __dealloc__(self):
        free(self._forbidden)
        free(self._bytes)
        free(self._facts)

    def tokens(self):
        """List the tokens."""
        cdef size_t i
        return [
            (<const char*> self._bytes)[self._facts[i].start:self._facts[i].start + self._facts[i].n_bytes]
            for i in range(self._n)
        ]

    cdef int _append(self, const uint8_t* token, size_t n) except -1:
        """Append a token. Requires: its bytes are not in self._bytes, which may move."""
        cdef TokenFacts* facts
        cdef size_t i
        cdef bytes token_bytes
        # One byte more: memcpy() and memcmp() must not get NULL, not even if all tokens are empty.
        reserve(<void**> &self._bytes, &self._bytes_capacity, self._n_bytes + n + 1, 1, LEAST_BYTES)
        reserve(<void**> &self._facts, &self._facts_capacity, self._n + 1, sizeof(TokenFacts), LEAST_TOKENS)
        facts = &self._facts[self._n]
        facts.start, facts.n_bytes, facts.n_words = self._n_bytes, <uint32_t> n, 0
        for i in range(n):
            facts.n_words += token[i] != SPACE and (i == 0 or token[i - 1] == SPACE)
        token_bytes = (<const char*> token)[:n]
        facts.is_forbidden = any([text in token_bytes for text in self._forbidden_texts])
        memcpy(self._bytes + self._n_bytes, token, n)
        self._n_bytes += n
        self._n += 1
        return 0

    cdef bint allows(self, uint32_t left, uint32_t right) noexcept nogil:
        """Tell whether two tokens may be joined."""
        cdef const TokenFacts* a = &self._facts[left]
        cdef const TokenFacts* b = &self._facts[right]
        cdef uint64_t n_bytes = <uint64_t> a.n_bytes + b.n_bytes  # up to 2**33, but a new token's fits in 32 bits
        cdef uint64_t n_words = <uint64_t> a.n_words + b.n_words
        if a.is_forbidden or b.is_forbidden or n_bytes > self._max_bytes:
            return False
        # Without a space at the border, two words become one. An altered file of runs may have ids without bytes.
        if a.n_bytes and b.n_bytes:
            n_words -= self._bytes[a.start + a.n_bytes - 1] != SPACE and self._bytes[b.start] != SPACE
        return n_words <= self._max_words and not self._crosses(a, b)

    cdef bint _crosses(self, const TokenFacts* left, const TokenFacts* right) noexcept nogil:
        """Tell whether a forbidden text would begin in the left token and end in the right one."""
        cdef const uint8_t* text
        cdef size_t n, k, i
        for i in range(self._n_forbidden):
            text, n = self._forbidden[i].text, self._forbidden[i].n
            for k in range(1, n):
                if k <= left.n_bytes and n - k <= right.n_bytes and (
                    memcmp(text, self._bytes + left.start + left.n_bytes - k, k) == 0
                    and memcmp(text + k, self._bytes + right.start, n - k) == 0
                ):
                    return True
        return False

    cdef uint64_t head(self, uint32_t token) noexcept nogil:
        """First eight bytes of a token as a number: if two numbers differ, they are in the order of the tokens."""
        return head_of(self._bytes + self._facts[token].start, self._facts[token].n_bytes)

    cdef int compare(self, uint32_t left, uint32_t right) noexcept nogil:
        """Compare two tokens as bytes: below 0, 0, or above 0."""
        cdef const TokenFacts* a = &self._facts[left]
        cdef const TokenFacts* b = &self._facts[right]
        cdef int order = memcmp(self._bytes + a.start, self._bytes + b.start, min(a.n_bytes, b.n_bytes))
        return order if order else (a.n_bytes > b.n_bytes) - (a.n_bytes < b.n_bytes)

    cdef int add(self, uint32_t left, uint32_t right) except -1:
        """Append the token that two tokens form."""
        cdef const TokenFacts* a = &self._facts[left]
        cdef const TokenFacts* b = &self._facts[right]
        cdef const char* all_bytes = <const char*> self._bytes
        cdef bytes token = all_bytes[a.start:a.start + a.n_bytes] + all_bytes[b.start:b.start + b.n_bytes]
        return self._append(<const uint8_t*> PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))

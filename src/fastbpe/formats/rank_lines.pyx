"""Reader of plain `.tiktoken` lines: the fast twin of `tiktoken.parse_ranks`.

A plain line is empty, or is a new token in base64, one space and a new rank. If a file has any other line, or too
many unused ranks, this reader gives up without a message: the slow twin then reads the file, or reports the error
and its position.
"""

from fastbpe._core.common.hashing cimport hash_bytes
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

import os

cdef enum:
    MAX_RANK = (1 << 24) - 1  # as in tiktoken.py; also the limit of a token's length in bytes, which has 32 bits
    MAX_UNUSED_IDS = 1 << 18  # as in limits.py, like the next constant
    UNUSED_PER_TOKEN = 16
    MAX_TOKENS_BYTES = 0xFFFFFFFE  # total of all tokens: entries of token_ends have 32 bits
    NO_DIGIT = 0xFF  # in _DIGITS: the byte is not a digit of base64

cdef uint8_t _DIGITS[256]  # the six bits that each digit of base64 stands for


cdef void _number_digits() noexcept:
    cdef const char* digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    cdef int i
    memset(_DIGITS, NO_DIGIT, 256)
    for i in range(64):
        _DIGITS[<uint8_t> digits[i]] = <uint8_t> i


_number_digits()


cdef struct Token:
    const uint8_t* data
    uint32_t n_bytes  # 0: no token


cdef struct Lines:
    uint8_t* bytes_  # bytes of all tokens, in the order of the file
    Token* tokens  # in the order of the file
    uint32_t* ranks  # in the order of the file
    uint32_t* slots  # hash table of the tokens' bytes (open addressing): index in `tokens` plus one; 0: empty
    Token* by_rank
    uint32_t n  # number of tokens
    uint32_t max_rank
    uint64_t seed  # seed of the hash; random, so that nobody can make a file whose tokens collide


def parse(const uint8_t[::1] data not None):
    """Return (token_bytes, token_ends) as in `Model`, by rank; None if the slow twin must read the file."""
    cdef Lines lines
    cdef size_t n_bytes = <size_t> data.shape[0]
    cdef bint plain
    if not n_bytes:
        return None
    memset(&lines, 0, sizeof(lines))
    lines.seed = int.from_bytes(os.urandom(8), "little")
    try:
        with nogil:
            plain = _read(&data[0], n_bytes, &lines) and _all_new(&lines) and _by_rank(&lines)
        return _tables(&lines) if plain else None
    finally:
        free(lines.bytes_)
        free(lines.tokens)
        free(lines.ranks)
        free(lines.slots)
        free(lines.by_rank)


cdef bint _read(const uint8_t* at, size_t n_bytes, Lines* lines) noexcept nogil:
    """Read all lines in the order of the file. Returns False if a line is not plain, or if memory runs out."""
    cdef const uint8_t* end = at + n_bytes
    cdef size_t i, max_tokens = 1
    cdef uint8_t* to
    cdef uint8_t* start
    cdef uint64_t rank
    for i in range(n_bytes):
        max_tokens += at[i] == c'\n'
    lines.bytes_ = to = <uint8_t*> malloc(n_bytes)  # enough: four digits become at most three bytes
    lines.tokens = <Token*> malloc(max_tokens * sizeof(Token))
    lines.ranks = <uint32_t*> malloc(max_tokens * sizeof(uint32_t))
    if to == NULL or lines.tokens == NULL or lines.ranks == NULL or max_tokens >= (<size_t> 1 << 31):  # `n` has 32 bits
        return False
    while at < end:
        if at[0] != c'\n' and at[0] != c'\r':
            start = to
            at = _base64(at, end, &to)
            if at == NULL or to == start or <size_t> (to - start) > MAX_RANK or at == end or at[0] != c' ':
                return False
            at += 1
            rank = 0
            if at == end or not c'0' <= at[0] <= c'9':
                return False
            while at < end and c'0' <= at[0] <= c'9':
                rank = rank * 10 + at[0] - c'0'
                if rank > MAX_RANK:
                    return False
                at += 1
            lines.tokens[lines.n] = Token(start, <uint32_t> (to - start))
            lines.ranks[lines.n] = <uint32_t> rank
            lines.max_rank = max(lines.max_rank, <uint32_t> rank)
            lines.n += 1
        if at < end and at[0] == c'\r':
            at += 1
        if at < end:
            if at[0] != c'\n':
                return False
            at += 1
    return lines.n > 0


cdef const uint8_t* _base64(const uint8_t* at, const uint8_t* end, uint8_t** to) noexcept nogil:
    """Decode four digits at a time, and write the bytes to `to[0]`, which advances.

    Returns:
        The position after the last four digits, or after the padding; NULL if the padding is wrong.
    """
    cdef uint32_t a, b, c, d
    cdef uint8_t* out = to[0]
    while end - at >= 4:
        a, b, c, d = _DIGITS[at[0]], _DIGITS[at[1]], _DIGITS[at[2]], _DIGITS[at[3]]
        if (a | b | c | d) < 64:
            out[0] = <uint8_t> (a << 2 | b >> 4)
            out[1] = <uint8_t> (b << 4 | c >> 2)
            out[2] = <uint8_t> (c << 6 | d)
            out += 3
            at += 4
            continue
        if at[3] == c'=' and (a | b) < 64:
            out[0] = <uint8_t> (a << 2 | b >> 4)
            if c < 64:
                out[1] = <uint8_t> (b << 4 | c >> 2)
                out += 2
            elif at[2] == c'=':
                out += 1
            else:
                return NULL
            at += 4
        break
    to[0] = out
    return at


cdef bint _all_new(Lines* lines) noexcept nogil:
    """Return True if no token appears twice; False also if memory runs out."""
    cdef size_t n_slots = 4, mask, at
    cdef uint32_t i
    cdef Token* token
    cdef Token* other
    while n_slots < <size_t> lines.n * 2:
        n_slots *= 2
    mask = n_slots - 1
    lines.slots = <uint32_t*> calloc(n_slots, sizeof(uint32_t))
    if lines.slots == NULL:
        return False
    for i in range(lines.n):
        token = &lines.tokens[i]
        at = <size_t> hash_bytes(token.data, token.n_bytes, lines.seed) & mask
        while lines.slots[at]:
            other = &lines.tokens[lines.slots[at] - 1]
            if other.n_bytes == token.n_bytes and memcmp(other.data, token.data, token.n_bytes) == 0:
                return False
            at = (at + 1) & mask
        lines.slots[at] = i + 1
    return True


cdef bint _by_rank(Lines* lines) noexcept nogil:
    """Fill the table by rank. Returns False if a rank appears twice, too many are unused, or memory runs out."""
    cdef uint32_t i
    if lines.max_rank > MAX_UNUSED_IDS + <uint64_t> (UNUSED_PER_TOKEN + 1) * lines.n:
        return False
    lines.by_rank = <Token*> calloc(<size_t> lines.max_rank + 1, sizeof(Token))
    if lines.by_rank == NULL:
        return False
    for i in range(lines.n):
        if lines.by_rank[lines.ranks[i]].n_bytes:
            return False
        lines.by_rank[lines.ranks[i]] = lines.tokens[i]
    return True


cdef tuple _tables(const Lines* lines):
    cdef uint32_t i, n_ids = lines.max_rank + 1, end = 0
    cdef uint64_t n_bytes = 0
    for i in range(lines.n):
        n_bytes += lines.tokens[i].n_bytes
    if n_bytes > MAX_TOKENS_BYTES:
        return None
    cdef bytes flat = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_bytes)
    cdef bytes ends = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_ids * 4)
    cdef char* to = PyBytes_AS_STRING(flat)
    for i in range(n_ids):
        if lines.by_rank[i].n_bytes:
            memcpy(to + end, lines.by_rank[i].data, lines.by_rank[i].n_bytes)
            end += lines.by_rank[i].n_bytes
        memcpy(PyBytes_AS_STRING(ends) + <size_t> i * 4, &end, 4)
    return flat, ends

"""`vocab.json` and `merges.txt`, where they are plainly right: the fast twin of `gpt2.read_slowly`.

It judges nothing. At anything but an object of texts and ids, each new, and lines of two known tokens that make a
third, which no other line makes, it gives up, and the slow twin says what is wrong and where, if anything is.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcmp, memcpy, memset

from fastbpe.formats._hash cimport hash_bytes

import os

cdef enum:
    MAX_ID = (1 << 24) - 1  # as in gpt2.py
    N_STAND_INS = 0x144  # code points below which all of them are
    NO_BYTE = 0xFFFF

cdef uint16_t _BYTES[N_STAND_INS]  # that characters stand for


cdef void _number_stand_ins() noexcept:
    cdef int byte, n_hidden = 0
    for byte in range(N_STAND_INS):
        _BYTES[byte] = NO_BYTE
    for byte in range(256):
        if 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174:
            _BYTES[byte] = <uint16_t> byte
        else:
            _BYTES[256 + n_hidden] = <uint16_t> byte
            n_hidden += 1


_number_stand_ins()


cdef struct Token:
    const uint8_t* data  # its bytes; of a name, the JSON string
    uint32_t n_bytes
    uint32_t id
    bint is_name  # it holds characters that stand for no byte


cdef struct Files:
    uint8_t* bytes_  # of all tokens, in the order of the file
    Token* tokens  # likewise
    uint32_t n
    uint32_t max_id
    uint32_t* by_id  # one more than the place above; 0: no token
    uint32_t* seen  # open addressing by the token's bytes, the same
    size_t mask
    uint64_t seed
    uint8_t* line  # the bytes of a merge
    uint32_t* merges  # left, right, merged
    size_t n_merges
    uint8_t* made  # by id


def read(const uint8_t[::1] vocab not None, const uint8_t[::1] merges not None):
    """The tokens and merges of two files; None where something is not plainly right.

    Returns (token_bytes, token_ends as the core has them, merges as Model has them, [(JSON string, id)] of what
    stands for no bytes, ids of the tokens of several bytes that no merge makes).
    """
    cdef Files files
    cdef size_t n_vocab = <size_t> vocab.shape[0], n_merges = <size_t> merges.shape[0]
    cdef bint plain
    if not n_vocab:
        return None
    memset(&files, 0, sizeof(files))
    files.seed = int.from_bytes(os.urandom(8), "little")
    try:
        with nogil:
            plain = (
                _read_vocab(&files, &vocab[0], n_vocab)
                and _number(&files)
                and (not n_merges or _read_merges(&files, &merges[0], n_merges))
            )
        return _results(&files) if plain else None
    finally:
        free(files.bytes_)
        free(files.tokens)
        free(files.by_id)
        free(files.seen)
        free(files.line)
        free(files.merges)
        free(files.made)


# The vocabulary

cdef bint _read_vocab(Files* files, const uint8_t* at, size_t n_bytes) noexcept nogil:
    cdef const uint8_t* end = at + n_bytes
    cdef uint8_t* to
    cdef size_t most = 1, i
    for i in range(n_bytes):
        most += at[i] == 58  # a colon
    files.bytes_ = to = <uint8_t*> malloc(n_bytes)
    files.tokens = <Token*> malloc(most * sizeof(Token))
    if to == NULL or files.tokens == NULL or most >= (<size_t> 1 << 31):
        return False
    at = _after(_skip(at, end), end, 123)
    while at != NULL:
        at = _entry(files, at, end, &to)
        if at == NULL or at == end:
            return False
        if at[0] == 125:
            return _skip(at + 1, end) == end
        at = _after(at, end, 44)
    return False


cdef const uint8_t* _entry(Files* files, const uint8_t* at, const uint8_t* end, uint8_t** to) noexcept nogil:
    """Read a token, a colon and an id; where the next sign stands, or NULL."""
    cdef Token* token = &files.tokens[files.n]
    cdef uint64_t token_id = 0
    cdef const uint8_t* first
    at = _string(at, end, to, token)
    if at != NULL:
        at = _after(_skip(at, end), end, 58)
    if at == NULL:
        return NULL
    first = at
    while at < end and 48 <= at[0] <= 57:
        token_id = token_id * 10 + at[0] - 48
        if token_id > MAX_ID:
            return NULL
        at += 1
    if at == first or (first[0] == 48 and at - first > 1):
        return NULL
    token.id = <uint32_t> token_id
    files.max_id = max(files.max_id, token.id)
    files.n += 1
    return _skip(at, end)


cdef inline const uint8_t* _skip(const uint8_t* at, const uint8_t* end) noexcept nogil:
    while at < end and (at[0] == 32 or at[0] == 10 or at[0] == 13 or at[0] == 9):
        at += 1
    return at


cdef inline const uint8_t* _after(const uint8_t* at, const uint8_t* end, uint8_t sign) noexcept nogil:
    """Where something stands behind a sign that must be here; NULL if it is not."""
    return _skip(at + 1, end) if at < end and at[0] == sign else NULL


cdef const uint8_t* _string(const uint8_t* at, const uint8_t* end, uint8_t** to, Token* token) noexcept nogil:
    """Read a JSON string; its end, or NULL."""
    cdef const uint8_t* start = at
    cdef uint8_t* out = to[0]
    cdef uint32_t code
    if at == end or at[0] != 34:
        return NULL
    at += 1
    token.is_name = False
    while at < end and at[0] != 34:
        code = at[0]
        if code == 92:
            at = _escape(at, end, &code)
            if at == NULL:
                return NULL
        elif 0xC2 <= code <= 0xC5 and end - at > 1 and at[1] & 0xC0 == 0x80:
            code = (code & 0x1F) << 6 | (at[1] & 0x3F)
            at += 2
        elif code < 32:
            return NULL
        else:
            code = code if code < 0x80 else N_STAND_INS
            at += 1
        if code >= N_STAND_INS or _BYTES[code] == NO_BYTE:
            token.is_name = True
        else:
            out[0] = <uint8_t> _BYTES[code]
            out += 1
    if at == end or at - start == 1 or at - start > MAX_ID:
        return NULL
    if token.is_name:
        token.data = start
        token.n_bytes = <uint32_t> (at + 1 - start)
    else:
        token.data = to[0]
        token.n_bytes = <uint32_t> (out - to[0])
        to[0] = out
    return at + 1


cdef const uint8_t* _escape(const uint8_t* at, const uint8_t* end, uint32_t* code) noexcept nogil:
    cdef uint32_t value = 0, digit, i
    if end - at < 2:
        return NULL
    if at[1] != 117:  # u
        code[0] = at[1]
        if at[1] != 34 and at[1] != 47 and at[1] != 92:
            code[0] = N_STAND_INS
        return at + 2
    if end - at < 6:
        return NULL
    for i in range(2, 6):
        digit = at[i] - 48 if at[i] <= 57 else (at[i] | 32) - 87  # below what they begin with: large
        if digit > 15 or (at[i] > 57 and digit < 10):
            return NULL
        value = value << 4 | digit
    code[0] = value
    return at + 6


cdef bint _number(Files* files) noexcept nogil:
    """Find tokens by their bytes and by their ids; False if any stands twice."""
    cdef uint32_t i
    cdef size_t at
    cdef Token* token
    files.mask = 4
    while files.mask < <size_t> files.n * 2:
        files.mask *= 2
    files.seen = <uint32_t*> calloc(files.mask, sizeof(uint32_t))
    files.by_id = <uint32_t*> calloc(<size_t> files.max_id + 1, sizeof(uint32_t))
    if files.seen == NULL or files.by_id == NULL:
        return False
    files.mask -= 1
    for i in range(files.n):
        token = &files.tokens[i]
        if files.by_id[token.id]:
            return False
        files.by_id[token.id] = i + 1
        if not token.is_name:
            at = _place(files, token.data, token.n_bytes)
            if files.seen[at]:
                return False
            files.seen[at] = i + 1
    return True


cdef inline size_t _place(const Files* files, const uint8_t* data, size_t n) noexcept nogil:
    """Where a token is found, or the empty place that says that it is none."""
    cdef size_t at = <size_t> hash_bytes(data, n, files.seed) & files.mask
    cdef const Token* token
    while files.seen[at]:
        token = &files.tokens[files.seen[at] - 1]
        if token.n_bytes == n and memcmp(token.data, data, n) == 0:
            break
        at = (at + 1) & files.mask
    return at


# The merges

cdef bint _read_merges(Files* files, const uint8_t* at, size_t n_bytes) noexcept nogil:
    cdef const uint8_t* end = at + n_bytes
    cdef const uint8_t* line_end
    cdef const uint8_t* next_line
    cdef size_t most = 1, i
    for i in range(n_bytes):
        most += at[i] == 10
    files.line = <uint8_t*> malloc(n_bytes)
    files.merges = <uint32_t*> malloc(most * 3 * sizeof(uint32_t))
    files.made = <uint8_t*> calloc(<size_t> files.max_id + 1, 1)
    if files.line == NULL or files.merges == NULL or files.made == NULL:
        return False
    while at < end:
        line_end = <const uint8_t*> memchr(at, 10, <size_t> (end - at))
        if line_end == NULL:
            line_end = end
        next_line = line_end + (line_end < end)
        if line_end > at and (line_end - 1)[0] == 13:
            line_end -= 1
        if line_end > at and not (line_end - at >= 8 and memcmp(at, b"#version", 8) == 0):
            if not _merge(files, at, line_end):
                return False
        at = next_line
    return True


cdef bint _merge(Files* files, const uint8_t* at, const uint8_t* end) noexcept nogil:
    cdef uint8_t* out = files.line
    cdef size_t n_left = 0, n
    cdef uint32_t code, left, right, merged
    while at < end:
        code = at[0]
        if code == 32:
            if n_left or out == files.line:
                return False
            n_left = <size_t> (out - files.line)
            at += 1
            continue
        if 0xC2 <= code <= 0xC5 and end - at > 1 and at[1] & 0xC0 == 0x80:
            code = (code & 0x1F) << 6 | (at[1] & 0x3F)
            at += 2
        else:
            code = code if code < 0x80 else N_STAND_INS
            at += 1
        if code >= N_STAND_INS or _BYTES[code] == NO_BYTE:
            return False
        out[0] = <uint8_t> _BYTES[code]
        out += 1
    n = <size_t> (out - files.line)
    if not n_left or n == n_left:
        return False
    left = files.seen[_place(files, files.line, n_left)]
    right = files.seen[_place(files, files.line + n_left, n - n_left)]
    merged = _expected(files, n)
    if not merged:
        merged = files.seen[_place(files, files.line, n)]
    if not left or not right or not merged or files.made[files.tokens[merged - 1].id]:
        return False
    files.merges[3 * files.n_merges] = files.tokens[left - 1].id
    files.merges[3 * files.n_merges + 1] = files.tokens[right - 1].id
    files.merges[3 * files.n_merges + 2] = files.tokens[merged - 1].id
    files.made[files.tokens[merged - 1].id] = 1
    files.n_merges += 1
    return True


cdef inline uint32_t _expected(const Files* files, size_t n) noexcept nogil:
    """The token of the line, if its id is the one after that of the line before, as it nearly always is; else 0."""
    cdef uint32_t token_id, at
    if not files.n_merges:
        return 0
    token_id = files.merges[3 * files.n_merges - 1] + 1
    at = files.by_id[token_id] if token_id <= files.max_id else 0
    if not at or files.tokens[at - 1].is_name or files.tokens[at - 1].n_bytes != n:
        return 0
    return at if memcmp(files.tokens[at - 1].data, files.line, n) == 0 else 0


cdef tuple _results(const Files* files):
    cdef uint32_t i, end = 0, n_ids = files.max_id + 1
    cdef uint64_t n_bytes = 0
    cdef const Token* token
    cdef list names = [], unmade = []
    for i in range(files.n):
        n_bytes += 0 if files.tokens[i].is_name else files.tokens[i].n_bytes
    if n_bytes > 0xFFFFFFFE:
        return None
    cdef bytes flat = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_bytes)
    cdef bytes ends = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_ids * 4)
    for i in range(n_ids):
        if files.by_id[i]:
            token = &files.tokens[files.by_id[i] - 1]
            if token.is_name:
                names.append(((<const char*> token.data)[:token.n_bytes], i))
            else:
                memcpy(PyBytes_AS_STRING(flat) + end, token.data, token.n_bytes)
                end += token.n_bytes
                if token.n_bytes > 1 and (files.made == NULL or not files.made[i]):
                    unmade.append(i)
        memcpy(PyBytes_AS_STRING(ends) + <size_t> i * 4, &end, 4)
    merges = (<const char*> files.merges)[:files.n_merges * 12] if files.n_merges else b""
    return flat, ends, merges, names, unmade


def without(bytes token_bytes not None, bytes token_ends not None, ids):
    """The same two tables without the tokens of some ids, which have tokens."""
    cdef const uint32_t* old = <const uint32_t*> PyBytes_AS_STRING(token_ends)
    cdef size_t n_ids = <size_t> len(token_ends) // 4, i
    cdef bytes ends = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_ids * 4)
    cdef uint32_t* new = <uint32_t*> PyBytes_AS_STRING(ends)
    cdef uint32_t start = 0, end = 0
    cdef bytearray dropped = bytearray(n_ids)
    cdef list kept = []
    for token_id in ids:
        dropped[token_id] = 1
        i = token_id
        kept.append(token_bytes[start:old[i - 1] if i else 0])
        start = old[i]
    kept.append(token_bytes[start:])
    start = 0
    for i in range(n_ids):
        if not dropped[i]:
            end += old[i] - start
        start = old[i]
        new[i] = end
    return b"".join(kept), ends

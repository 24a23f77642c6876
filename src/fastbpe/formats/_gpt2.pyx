"""Reader of plain `vocab.json` and `merges.txt` files: the fast twin of `gpt2.read_slowly`.

It reads an object with distinct texts and ids, and lines with two tokens that form a third which no other line
forms. If a file has anything else, this reader gives up without a message: the slow twin then reads the files, or
reports the error and its position.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcmp, memcpy, memset

from fastbpe._core.common.hashing cimport hash_bytes, same_bytes
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from fastbpe._core.text.bytes_to_unicode cimport unicode_to_bytes
from fastbpe._core.text.json_lexer cimport String, read_sign, read_string, read_whole_number, skip_space, unescape

import os

cdef enum:
    MAX_ID = (1 << 24) - 1  # as in gpt2.py
    MAX_UNUSED_IDS = 1 << 18  # as in limits.py, like the next constant
    UNUSED_PER_TOKEN = 16
    MAX_NAME_BYTES = (1 << 24) - 1  # a JSON string must be shorter, so that `Token.n_bytes` has room for its quotes
    MAX_TOKENS_BYTES = 0xFFFFFFFE  # total of all tokens: entries of token_ends have 32 bits


cdef struct Token:
    const uint8_t* data  # its bytes; for a name, the JSON string with its quotes
    uint32_t n_bytes
    uint32_t id
    bint is_name  # True if it has a character that stands for no byte


cdef struct Files:
    uint8_t* bytes_  # bytes of all tokens except names, in the order of the file
    Token* tokens  # in the order of the file
    uint32_t n
    uint32_t max_id
    uint32_t* by_id  # index in `tokens` plus one; 0: no token has the id
    uint32_t* slots  # hash table by bytes, without names (open addressing); index in `tokens` plus one; 0: empty
    size_t mask  # number of slots - 1
    uint64_t seed  # seed of the hash; random, so that nobody can make a file whose tokens collide
    uint8_t* line  # bytes of the token that a line forms
    uint32_t* merges  # left id, right id, merged id
    size_t n_merges
    uint8_t* made  # by id: 1 if a merge makes the token


def read(const uint8_t[::1] vocab not None, const uint8_t[::1] merges not None):
    """Read the tokens and merges of two plain files.

    Args:
        vocab: the bytes of vocab.json, which has passed `limits.check_entries`.
        merges: the bytes of merges.txt, too.

    Returns:
        (token_bytes, token_ends, merges, names, unmade), or None if the slow twin must read the files.
        token_bytes, token_ends, merges: as in `Model`.
        names: (JSON string with its quotes, id) of each text that stands for no bytes. A text may appear twice:
            the caller checks this.
        unmade: ids of the tokens of several bytes that no merge forms.
    """
    cdef Files files
    cdef size_t n_vocab = <size_t> vocab.shape[0], n_merges = <size_t> merges.shape[0]
    cdef bint is_plain
    if not n_vocab:
        return None
    memset(&files, 0, sizeof(files))
    files.seed = int.from_bytes(os.urandom(8), "little")
    try:
        with nogil:
            is_plain = (
                _read_vocab(&files, &vocab[0], n_vocab)
                and _index(&files)
                and (not n_merges or _read_merges(&files, &merges[0], n_merges))
            )
        return _results(&files) if is_plain else None
    finally:
        free(files.bytes_)
        free(files.tokens)
        free(files.by_id)
        free(files.slots)
        free(files.line)
        free(files.merges)
        free(files.made)


# The vocabulary

cdef bint _read_vocab(Files* files, const uint8_t* at, size_t n_bytes) noexcept nogil:
    cdef const uint8_t* end = at + n_bytes
    cdef uint8_t* to
    cdef size_t max_tokens = 1, i
    for i in range(n_bytes):
        max_tokens += at[i] == c':'
    files.bytes_ = to = <uint8_t*> malloc(n_bytes)  # enough: no token has more bytes than its JSON string
    files.tokens = <Token*> malloc(max_tokens * sizeof(Token))
    if to == NULL or files.tokens == NULL:
        return False
    at = read_sign(skip_space(at, end), end, c'{')
    while at != NULL:
        at = _read_entry(files, at, end, &to)
        if at == NULL or at == end:
            return False
        if at[0] == c'}':
            return skip_space(at + 1, end) == end
        at = read_sign(at, end, c',')
    return False


cdef const uint8_t* _read_entry(Files* files, const uint8_t* at, const uint8_t* end, uint8_t** to) noexcept nogil:
    """Read a token, a colon and an id. Returns the position after them and white space, or NULL."""
    cdef Token* token = &files.tokens[files.n]
    at = _read_token(at, end, to, token)
    if at != NULL:
        at = read_sign(skip_space(at, end), end, c':')
    if at != NULL:
        at = read_whole_number(at, end, MAX_ID + 1, &token.id)
    if at == NULL:
        return NULL
    files.max_id = max(files.max_id, token.id)
    files.n += 1
    return skip_space(at, end)


cdef const uint8_t* _read_token(const uint8_t* at, const uint8_t* end, uint8_t** to, Token* token) noexcept nogil:
    """Read a JSON string. If it stands for bytes, write these to `to[0]`, and advance `to[0]` past them.

    Returns:
        The position after the string; NULL: it is damaged, empty or too long.
    """
    cdef const uint8_t* start = at
    cdef String string
    cdef Py_ssize_t n
    at = read_string(at, end, &string)
    if at == NULL or not string.n or string.n >= MAX_NAME_BYTES:
        return NULL
    if string.has_escapes:
        n = <Py_ssize_t> unescape(&string, to[0])
        if n >= 0:
            n = unicode_to_bytes(to[0], <size_t> n, to[0])
    else:
        n = unicode_to_bytes(string.data, string.n, to[0])
    token.is_name = n < 0
    if token.is_name:
        token.data = start
        token.n_bytes = <uint32_t> (at - start)
    else:
        token.data = to[0]
        token.n_bytes = <uint32_t> n
        to[0] += n
    return at


cdef bint _index(Files* files) noexcept nogil:
    """Fill the tables by bytes and by id.

    Returns False if two tokens have the same bytes or the same id, if too many ids are unused, or
    if out of memory. Two names with the same text are not found here.
    """
    cdef uint32_t i
    cdef size_t slot, n_slots = 4
    cdef Token* token
    while n_slots < <size_t> files.n * 2:
        n_slots *= 2
    files.mask = n_slots - 1
    if files.max_id > MAX_UNUSED_IDS + <uint64_t> (UNUSED_PER_TOKEN + 1) * files.n:
        return False
    files.slots = <uint32_t*> calloc(n_slots, sizeof(uint32_t))
    files.by_id = <uint32_t*> calloc(<size_t> files.max_id + 1, sizeof(uint32_t))
    if files.slots == NULL or files.by_id == NULL:
        return False
    for i in range(files.n):
        token = &files.tokens[i]
        if files.by_id[token.id]:
            return False
        files.by_id[token.id] = i + 1
        if not token.is_name:
            slot = _slot(files, token.data, token.n_bytes)
            if files.slots[slot]:
                return False
            files.slots[slot] = i + 1
    return True


cdef inline size_t _slot(const Files* files, const uint8_t* data, size_t n) noexcept nogil:
    """Return the slot of a token, or the empty slot that shows that it is absent."""
    cdef size_t at = <size_t> hash_bytes(data, n, files.seed) & files.mask
    cdef const Token* token
    while files.slots[at]:
        token = &files.tokens[files.slots[at] - 1]
        if token.n_bytes == n and same_bytes(token.data, data, n):
            break
        at = (at + 1) & files.mask
    return at


# The merges

cdef bint _read_merges(Files* files, const uint8_t* at, size_t n_bytes) noexcept nogil:
    cdef const uint8_t* end = at + n_bytes
    cdef const uint8_t* line_end
    cdef const uint8_t* next_line
    cdef size_t max_merges = 1, i
    for i in range(n_bytes):
        max_merges += at[i] == c'\n'
    files.line = <uint8_t*> malloc(n_bytes)  # enough: no token has more bytes than its characters in the file
    files.merges = <uint32_t*> malloc(max_merges * 3 * sizeof(uint32_t))
    files.made = <uint8_t*> calloc(<size_t> files.max_id + 1, 1)
    if files.line == NULL or files.merges == NULL or files.made == NULL:
        return False
    while at < end:
        line_end = <const uint8_t*> memchr(at, c'\n', <size_t> (end - at))
        if line_end == NULL:
            line_end = end
        next_line = line_end + (line_end < end)
        if line_end > at and (line_end - 1)[0] == c'\r':
            line_end -= 1
        if line_end > at and not (line_end - at >= 8 and memcmp(at, b"#version", 8) == 0):
            if not _read_merge(files, at, line_end):
                return False
        at = next_line
    return True


cdef bint _read_merge(Files* files, const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Read a line: two tokens with one space between them, which together form a third token."""
    cdef const uint8_t* space = <const uint8_t*> memchr(at, c' ', <size_t> (end - at))
    cdef Py_ssize_t n_left, n_right
    cdef size_t n
    cdef uint32_t left, right, merged
    if space == NULL:
        return False
    n_left = unicode_to_bytes(at, <size_t> (space - at), files.line)
    if n_left <= 0:
        return False
    n_right = unicode_to_bytes(space + 1, <size_t> (end - space - 1), files.line + n_left)
    if n_right <= 0:
        return False
    n = <size_t> (n_left + n_right)
    left = files.slots[_slot(files, files.line, <size_t> n_left)]
    right = files.slots[_slot(files, files.line + n_left, <size_t> n_right)]
    merged = _guess_merged(files, n)
    if not merged:
        merged = files.slots[_slot(files, files.line, n)]
    if not left or not right or not merged or files.made[files.tokens[merged - 1].id]:
        return False
    files.merges[3 * files.n_merges] = files.tokens[left - 1].id
    files.merges[3 * files.n_merges + 1] = files.tokens[right - 1].id
    files.merges[3 * files.n_merges + 2] = files.tokens[merged - 1].id
    files.made[files.tokens[merged - 1].id] = 1
    files.n_merges += 1
    return True


cdef inline uint32_t _guess_merged(const Files* files, size_t n) noexcept nogil:
    """Try the id after the one that the previous merge made: it is nearly always right, and needs no hashing.

    Returns:
        The index in `tokens` plus one; 0: this is the first merge, or that id has no token with the n bytes in
        `files.line`.
    """
    cdef uint32_t token_id, found
    if not files.n_merges:
        return 0
    token_id = files.merges[3 * files.n_merges - 1] + 1
    found = files.by_id[token_id] if token_id <= files.max_id else 0
    if not found or files.tokens[found - 1].is_name or files.tokens[found - 1].n_bytes != n:
        return 0
    return found if same_bytes(files.tokens[found - 1].data, files.line, n) else 0


cdef tuple _results(const Files* files):
    cdef uint32_t i, end = 0, n_ids = files.max_id + 1
    cdef uint64_t n_bytes = 0
    cdef const Token* token
    cdef list names = [], unmade = []
    for i in range(files.n):
        n_bytes += 0 if files.tokens[i].is_name else files.tokens[i].n_bytes
    if n_bytes > MAX_TOKENS_BYTES:
        return None
    cdef bytes token_bytes = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_bytes)
    cdef bytes token_ends = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_ids * 4)
    for i in range(n_ids):
        if files.by_id[i]:
            token = &files.tokens[files.by_id[i] - 1]
            if token.is_name:
                names.append(((<const char*> token.data)[:token.n_bytes], i))
            else:
                memcpy(PyBytes_AS_STRING(token_bytes) + end, token.data, token.n_bytes)
                end += token.n_bytes
                if token.n_bytes > 1 and (files.made == NULL or not files.made[i]):
                    unmade.append(i)
        memcpy(PyBytes_AS_STRING(token_ends) + <size_t> i * 4, &end, 4)
    merges = (<const char*> files.merges)[:files.n_merges * 12] if files.n_merges else b""
    return token_bytes, token_ends, merges, names, unmade


def without(bytes token_bytes not None, bytes token_ends not None, ids):
    """Return (token_bytes, token_ends) without the tokens of some ids.

    Args:
        token_bytes, token_ends: as in `Model`.
        ids: ascending; each has a token.
    """
    cdef const uint32_t* old = <const uint32_t*> PyBytes_AS_STRING(token_ends)
    cdef size_t n_ids = <size_t> len(token_ends) // 4, i
    cdef bytes ends = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_ids * 4)
    cdef uint32_t* new = <uint32_t*> PyBytes_AS_STRING(ends)
    cdef uint32_t start = 0, end = 0
    cdef bytearray is_dropped = bytearray(n_ids)
    cdef list kept = []
    for token_id in ids:
        is_dropped[token_id] = 1
        i = token_id
        kept.append(token_bytes[start:old[i - 1] if i else 0])
        start = old[i]
    kept.append(token_bytes[start:])
    start = 0
    for i in range(n_ids):
        if not is_dropped[i]:
            end += old[i] - start
        start = old[i]
        new[i] = end
    return b"".join(kept), ends

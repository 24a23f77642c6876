"""Reader of a plain vocabulary and its merges in a tokenizer.json: the fast twin of `byte_vocabulary`.

They make up nearly all of such a file. A JSON parser reads the rest. If a file has anything unusual, this reader
gives up without a message: the slow twin then reads the file, or reports the error and its position.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.hashing cimport same_bytes
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.python cimport (
    PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE, PyUnicode_DecodeUTF8
)
from fastbpe._core.text.bytes_to_unicode cimport N_CHARACTERS, NO_BYTE, byte_of_character, unicode_to_bytes
from fastbpe._core.text.json_lexer cimport String, read_sign, read_string, read_whole_number, skip_space, unescape
from fastbpe._core.text.utf8_text cimport first_invalid
from fastbpe.formats.huggingface._entries cimport BATCH, Table, VocabEntry, Wanted, find, index_tokens, wanted_of
from fastbpe.formats.huggingface._json_values cimport next_item, read_key, skip_value
from fastbpe.formats.huggingface._merge_lists cimport cut_merge, pairs_are_distinct

import os

cdef enum:
    MAX_TOKENS = 1 << 21  # without added tokens, as in byte_vocabulary.py
    MAX_IDS = 1 << 22  # ids are below it; twice MAX_TOKENS, as in byte_vocabulary.py
    FIRST_CAPACITY = 1024  # entries of the first allocation; it doubles, and reaches MAX_TOKENS exactly

cdef enum:
    # Bits of `Entries._used`.
    IN_MERGE = 1  # the token is in a merge, on either side or as the result
    MADE = 2  # the token is the result of a merge


cdef struct Span:
    # A part of the file, in bytes from its start; end 0: not found yet.
    size_t start
    size_t end


@cython.final
cdef class Entries:
    """Vocabulary and merges of a tokenizer.json, and the rest of the file: JSON in which both are empty."""

    cdef bytes _data  # the file
    cdef readonly bytes rest
    cdef Table _table
    cdef uint32_t _n  # entries
    cdef uint32_t _max_id
    cdef uint8_t* _unescaped  # UTF-8 of the strings that have escapes
    cdef size_t _n_unescaped  # bytes in _unescaped
    cdef uint32_t* _by_id  # index of the entry, or NONE
    cdef uint8_t* _used  # by id: IN_MERGE, MADE
    cdef uint32_t* _merges  # left id, right id, merged id
    cdef size_t _n_merges
    cdef uint8_t* _merged  # space for one merged token
    cdef Span _vocab_span
    cdef Span _merges_span

    def __dealloc__(self):
        free(self._table.entries)
        free(self._unescaped)
        free(self._table.slots)
        free(self._by_id)
        free(self._used)
        free(self._merges)
        free(self._merged)

    def __len__(self):
        return self._n

    def __contains__(self, str token not None):
        return self.get(token, -1) >= 0

    def get(self, str token not None, default=None):
        """Return the id of a token, or the default."""
        cdef bytes data = token.encode("utf-8", "surrogatepass")
        cdef uint32_t found = self._find(data)
        return default if found == NONE else self._table.entries[found].id

    cdef uint32_t _find(self, bytes token) noexcept:
        """Return the index of a token's entry, or NONE."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(token)
        return find(&self._table, wanted_of(&self._table, data, <size_t> PyBytes_GET_SIZE(token)))

    def lay_out(self, named, bint strict):
        """Lay out the tables of a byte-level `Model`.

        Args:
            named: tokens that are found in a text only by their names (added tokens). They are left out unless a
                merge uses them, or they stand for a byte.
            strict: give up if a byte is not a token, or a token contains a character that stands for no byte.

        Returns:
            (token_bytes, token_ends, merges, misses_bytes): the first three as in `Model`, and whether a byte is
            not a token. None if the slow twin must read the file.
        """
        cdef uint8_t* is_dropped = <uint8_t*> calloc(self._n + 1, 1)
        cdef uint32_t found
        if is_dropped == NULL:
            raise MemoryError(f"no memory for {self._n} tokens")
        try:
            for name in ("", *named):
                found = self._find(name.encode())
                if found == NONE or _stands_for_byte(name):
                    continue
                if not self._used[self._table.entries[found].id]:
                    is_dropped[found] = 1
            return self._tables(is_dropped, strict)
        finally:
            free(is_dropped)

    cdef object _tables(self, const uint8_t* is_dropped, bint strict):
        cdef uint32_t i, n_ids = 0
        cdef size_t n_bytes = 0
        for i in range(self._n):
            n_bytes += self._table.entries[i].n_bytes
            if not is_dropped[i]:
                n_ids = max(n_ids, self._table.entries[i].id + 1)
        if n_bytes >= NONE:
            return None
        cdef bytes token_ends = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_ids * 4)
        cdef int n_known  # bytes that are tokens
        cdef Py_ssize_t n
        cdef uint8_t* token_bytes = <uint8_t*> malloc(n_bytes + 1)
        if token_bytes == NULL:
            raise MemoryError(f"no memory for {n_bytes} bytes of tokens")
        try:
            n = self._write_tokens(
                is_dropped, strict, n_ids, token_bytes, <uint32_t*> PyBytes_AS_STRING(token_ends), &n_known
            )
            if n < 0 or (strict and n_known < 256):
                return None
            return (
                PyBytes_FromStringAndSize(<const char*> token_bytes, n),
                token_ends,
                PyBytes_FromStringAndSize(<const char*> self._merges, <Py_ssize_t> (12 * self._n_merges)),
                n_known < 256,
            )
        finally:
            free(token_bytes)

    cdef Py_ssize_t _write_tokens(
        self, const uint8_t* is_dropped, bint strict, uint32_t n_ids, uint8_t* token_bytes, uint32_t* token_ends,
        int* n_known,
    ) noexcept:
        """Write the bytes and ends of the tokens, and count the bytes that are tokens.

        Returns:
            The number of bytes written; -1 if an id below n_ids is not taken, or if a token that is not dropped
            contains a character that stands for no byte. Unless `strict`, this applies only to tokens in merges.
        """
        cdef bint[256] has_byte
        cdef uint32_t i, token_id, end = 0
        cdef const VocabEntry* entry
        cdef Py_ssize_t n
        memset(has_byte, 0, sizeof(has_byte))
        n_known[0] = 0
        for token_id in range(n_ids):
            i = self._by_id[token_id]
            if i == NONE:
                return -1
            if not is_dropped[i]:
                entry = &self._table.entries[i]
                n = unicode_to_bytes(entry.token, entry.n_bytes, token_bytes + end)
                if n < 0:
                    if strict or self._used[token_id]:
                        return -1
                    memcpy(token_bytes + end, entry.token, entry.n_bytes)
                    n = entry.n_bytes
                elif n == 1 and not has_byte[token_bytes[end]]:
                    has_byte[token_bytes[end]] = True
                    n_known[0] += 1
                end += <uint32_t> n
            token_ends[token_id] = end
        return end

    def pieces(self):
        """Return (piece_bytes, piece_ends, merges) as in `CodePointModel`.

        None if an id up to the greatest is not taken, a piece is empty, or the pieces have at least 2**32 - 1
        bytes: the slow twin must read the file.
        """
        cdef uint32_t token_id, end = 0
        cdef size_t n_bytes = 0
        cdef const VocabEntry* entry
        for token_id in range(self._max_id + 1):
            if self._by_id[token_id] == NONE or not self._table.entries[self._by_id[token_id]].n_bytes:
                return None
            n_bytes += self._table.entries[self._by_id[token_id]].n_bytes
        if n_bytes >= NONE:
            return None
        cdef bytes piece_bytes = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_bytes)
        cdef bytes piece_ends = PyBytes_FromStringAndSize(NULL, 4 * (<Py_ssize_t> self._max_id + 1))
        cdef char* to = PyBytes_AS_STRING(piece_bytes)
        cdef uint32_t* ends = <uint32_t*> PyBytes_AS_STRING(piece_ends)
        for token_id in range(self._max_id + 1):
            entry = &self._table.entries[self._by_id[token_id]]
            memcpy(to + end, entry.token, entry.n_bytes)
            end += entry.n_bytes
            ends[token_id] = end
        merges = PyBytes_FromStringAndSize(<const char*> self._merges, <Py_ssize_t> (12 * self._n_merges))
        return piece_bytes, piece_ends, merges

    def vocabulary(self):
        """Return (token → id in the order of the ids, id → token)."""
        cdef dict ids = {}, tokens = {}
        cdef const VocabEntry* entry
        cdef uint32_t i
        for i in range(self._max_id + 1):
            if self._by_id[i] != NONE:
                entry = &self._table.entries[self._by_id[i]]
                token = PyUnicode_DecodeUTF8(<const char*> entry.token, <Py_ssize_t> entry.n_bytes, NULL)
                number = i
                ids[token] = number
                tokens[number] = token
        return ids, tokens

    def listed_merges(self, dict tokens not None):
        """Return the merges as lists of two tokens. tokens: id → token."""
        cdef size_t i
        return [
            [tokens[self._merges[i]], tokens[self._merges[i + 1]]] for i in range(0, 3 * self._n_merges, 3)
        ]

    # Reading. Functions that return a position return NULL to give up.

    cdef bint _read(self, bint needs_merges) except -1:
        """Read the file. Returns False to give up."""
        cdef size_t n = <size_t> PyBytes_GET_SIZE(self._data)
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(self._data)
        self._table.seed = int.from_bytes(os.urandom(8), "little")
        self._unescaped = <uint8_t*> malloc(n + 1)  # enough: no string is longer than in the file
        if self._unescaped == NULL or not self._read_parts(data, n):
            return False
        if not self._vocab_span.end or (needs_merges and not self._merges_span.end):
            return False
        if self._merges_span.end and self._merges == NULL:  # they were before the vocabulary, and have been skipped
            if self._read_merges(data + self._merges_span.start, data + n) != data + self._merges_span.end:
                return False
        cuts = [(self._vocab_span.start, self._vocab_span.end, b"{}")]
        if self._merges_span.end:
            cuts.append((self._merges_span.start, self._merges_span.end, b"[]"))
        at, parts = 0, []
        for start, end, empty in sorted(cuts):
            parts += [self._data[at:start], empty]
            at = end
        self.rest = b"".join([*parts, self._data[at:]])
        return True

    cdef bint _read_parts(self, const uint8_t* data, size_t n) noexcept:
        """Find `model` in the file and read it."""
        cdef const uint8_t* end = data + n
        cdef const uint8_t* at = read_sign(skip_space(data, end), end, c'{')
        cdef String key
        cdef bint has_model = False
        while at != NULL and at < end and at[0] == c'"':
            at = read_key(at, end, &key)
            if at == NULL:
                return False
            if key.n == 5 and memcmp(key.data, b"model", 5) == 0:
                if has_model:
                    return False
                at = self._read_model(data, at, end)
                has_model = True
            else:
                at = skip_value(at, end)
            if at == NULL:
                return False
            at = skip_space(at, end)
            if at < end and at[0] == c',':
                at = skip_space(at + 1, end)
        return has_model

    cdef const uint8_t* _read_model(self, const uint8_t* data, const uint8_t* at, const uint8_t* end) noexcept:
        """Read `vocab`, an object, and `merges`, a list; the merges only if they come after the vocabulary."""
        cdef String key
        cdef Span* part
        at = read_sign(at, end, c'{')
        while at != NULL and at < end and at[0] == c'"':
            at = read_key(at, end, &key)
            if at == NULL:
                return NULL
            part = NULL
            if key.n == 5 and memcmp(key.data, b"vocab", 5) == 0:
                part = &self._vocab_span
            elif key.n == 6 and memcmp(key.data, b"merges", 6) == 0:
                part = &self._merges_span
            if part != NULL:
                if part.end or at >= end or at[0] != (c'{' if part == &self._vocab_span else c'['):
                    return NULL
                part.start = <size_t> (at - data)
            if part == &self._vocab_span:
                at = self._read_vocab(at, end)
            elif part != NULL and self._vocab_span.end:
                at = self._read_merges(at, end)
            else:
                at = skip_value(at, end)
            if at == NULL:
                return NULL
            if part != NULL:
                part.end = <size_t> (at - data)
            at = skip_space(at, end)
            if at < end and at[0] == c',':
                at = skip_space(at + 1, end)
        return at + 1 if at != NULL and at < end and at[0] == c'}' else NULL

    cdef const uint8_t* _read_vocab(self, const uint8_t* at, const uint8_t* end) noexcept:
        cdef const uint8_t* start = at
        cdef size_t capacity = 0, n_bytes
        cdef VocabEntry* entry
        at = skip_space(at + 1, end)
        while at < end and at[0] != c'}':
            if self._n == capacity:
                capacity = max(<size_t> FIRST_CAPACITY, 2 * capacity)
                entry = NULL
                if self._n < MAX_TOKENS:
                    entry = <VocabEntry*> realloc(self._table.entries, capacity * sizeof(VocabEntry))
                if entry == NULL:
                    return NULL
                self._table.entries = entry
            entry = &self._table.entries[self._n]
            at = self._read_text(at, end, &entry.token, &entry.n_bytes)
            if at != NULL:
                at = read_sign(skip_space(at, end), end, c':')
            if at != NULL:
                at = read_whole_number(at, end, MAX_IDS, &entry.id)
            if at == NULL:
                return NULL
            self._max_id = max(self._max_id, entry.id)
            self._n += 1
            at = next_item(at, end, c'"', c'}')
            if at == NULL:
                return NULL
        if at >= end or not self._n:
            return NULL
        # UTF-8 can be checked as a whole, because escapes and quotes, at which tokens are cut, are ASCII.
        n_bytes = <size_t> (at - start)
        if first_invalid(start, n_bytes) != n_bytes or not self._index_ids() or not index_tokens(&self._table, self._n):
            return NULL
        return at + 1

    cdef const uint8_t* _read_text(
        self, const uint8_t* at, const uint8_t* end, const uint8_t** text, uint32_t* n_bytes
    ) noexcept:
        """Read a string. text, n_bytes: its UTF-8, in the file or, unescaped, in our buffer."""
        cdef String string
        cdef size_t n
        at = read_string(at, end, &string)
        if at == NULL or string.n >= NONE:
            return NULL
        text[0] = string.data
        n_bytes[0] = <uint32_t> string.n
        if string.has_escapes:
            text[0] = self._unescaped + self._n_unescaped
            n = unescape(&string, self._unescaped + self._n_unescaped)
            if n == <size_t> -1:
                return NULL
            n_bytes[0] = <uint32_t> n
            self._n_unescaped += n
        return at

    cdef bint _index_ids(self) noexcept:
        """Fill `_by_id`; allocate `_used` and `_merged`. Returns False if an id is repeated or memory runs out."""
        cdef uint32_t i, longest = 0
        self._by_id = <uint32_t*> malloc((<size_t> self._max_id + 1) * sizeof(uint32_t))
        self._used = <uint8_t*> calloc(<size_t> self._max_id + 1, 1)
        if self._by_id == NULL or self._used == NULL:
            return False
        memset(self._by_id, 0xFF, (<size_t> self._max_id + 1) * sizeof(uint32_t))
        for i in range(self._n):
            longest = max(longest, self._table.entries[i].n_bytes)
            if self._by_id[self._table.entries[i].id] != NONE:
                return False
            self._by_id[self._table.entries[i].id] = i
        self._merged = <uint8_t*> malloc(2 * <size_t> longest + 1)
        return self._merged != NULL

    cdef const uint8_t* _read_merges(self, const uint8_t* at, const uint8_t* end) noexcept:
        cdef size_t max_merges = 1
        cdef Wanted[2 * BATCH] wanted  # left, right
        cdef bint are_distinct = True, are_pairs
        cdef uint32_t made = NONE
        cdef int n_read = 0
        cdef const uint8_t* comma = at
        while comma < end:
            max_merges += comma[0] == c','
            comma += 1
        self._merges = <uint32_t*> malloc(3 * max_merges * sizeof(uint32_t))
        if self._merges == NULL:
            return NULL
        at = skip_space(at + 1, end)
        are_pairs = at < end and at[0] == c'['
        while at < end and at[0] != c']':
            if (at[0] == c'[') != are_pairs:
                return NULL  # tokenizers refuses texts and pairs in one list, and so does the slow reader
            at = self._read_merge(at, end, &wanted[2 * n_read])
            if at == NULL:
                return NULL
            n_read += 1
            if n_read == BATCH:
                if not self._add_merges(wanted, BATCH, &made, &are_distinct):
                    return NULL
                n_read = 0
            at = next_item(at, end, 0, c']')
            if at == NULL:
                return NULL
        if at >= end or not self._add_merges(wanted, n_read, &made, &are_distinct):
            return NULL
        return at + 1 if are_distinct or pairs_are_distinct(self._merges, self._n_merges, self._table.seed) else NULL

    cdef const uint8_t* _read_merge(self, const uint8_t* at, const uint8_t* end, Wanted* wanted) noexcept:
        """Read "left right" or ["left", "right"]."""
        cdef const uint8_t* left
        cdef const uint8_t* right
        cdef uint32_t n_left, n_right
        if at[0] == c'[':
            at = self._read_text(skip_space(at + 1, end), end, &left, &n_left)
            if at != NULL:
                at = read_sign(skip_space(at, end), end, c',')
            if at != NULL:
                at = self._read_text(at, end, &right, &n_right)
            if at != NULL:
                at = read_sign(skip_space(at, end), end, c']')
        else:
            at = self._read_text(at, end, &left, &n_left)
            if at != NULL and not cut_merge(left, &n_left, &right, &n_right):
                return NULL
        if at == NULL or not n_left or not n_right:
            return NULL
        wanted[0], wanted[1] = wanted_of(&self._table, left, n_left), wanted_of(&self._table, right, n_right)
        return at

    cdef bint _add_merges(self, const Wanted* wanted, int n, uint32_t* made, bint* are_distinct) noexcept:
        """Look up the tokens of n merges, and the tokens that they form.

        Args:
            made: index of the entry that the previous merge formed, NONE before the first; updated.
            are_distinct: set to False if two merges form the same token.

        Returns:
            False if one of these texts is not a token.
        """
        cdef int i
        cdef uint32_t left, right
        cdef uint32_t* merge
        for i in range(2 * n):
            prefetch(&self._table.entries[self._table.slots[<size_t> wanted[i].hash & self._table.mask].entry])
        for i in range(n):
            left, right = find(&self._table, wanted[2 * i]), find(&self._table, wanted[2 * i + 1])
            if left == NONE or right == NONE:
                return False
            made[0] = self._find_made(&self._table.entries[left], &self._table.entries[right], made[0])
            if made[0] == NONE:
                return False
            merge = &self._merges[3 * self._n_merges]
            merge[0], merge[1] = self._table.entries[left].id, self._table.entries[right].id
            merge[2] = self._table.entries[made[0]].id
            self._n_merges += 1
            if self._used[merge[2]] & MADE:
                are_distinct[0] = False
            self._used[merge[0]] |= IN_MERGE
            self._used[merge[1]] |= IN_MERGE
            self._used[merge[2]] |= IN_MERGE | MADE
        return True

    cdef uint32_t _find_made(self, const VocabEntry* left, const VocabEntry* right, uint32_t before) noexcept:
        """Return the index of the entry of two joined tokens, or NONE.

        First tries the entry after the one that the previous merge formed, which is nearly always right.
        """
        cdef uint32_t n = left.n_bytes + right.n_bytes, guess = before + 1
        cdef const VocabEntry* entry
        if before != NONE and guess < self._n:
            entry = &self._table.entries[guess]
            if (
                entry.n_bytes == n and same_bytes(entry.token, left.token, left.n_bytes)
                and same_bytes(entry.token + left.n_bytes, right.token, right.n_bytes)
            ):
                return guess
        memcpy(self._merged, left.token, left.n_bytes)
        memcpy(self._merged + left.n_bytes, right.token, right.n_bytes)
        return find(&self._table, wanted_of(&self._table, self._merged, n))


cdef bint _stands_for_byte(str text) noexcept:
    """Tell whether a text is one character that stands for a byte."""
    return len(text) == 1 and ord(text) < N_CHARACTERS and byte_of_character[<int> ord(text)] != NO_BYTE


def read(data, bint needs_merges=True):
    """Read a tokenizer.json; None if the slow twin must read it.

    needs_merges: give up if the file has no merges; files of WordPiece and WordLevel have no merges.
    """
    cdef Entries entries = Entries()
    entries._data = bytes(data)
    return entries if entries._read(needs_merges) else None

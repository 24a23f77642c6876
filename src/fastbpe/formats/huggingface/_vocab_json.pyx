"""The vocabulary and the merges of a tokenizer.json, where they are plainly right: the fast twin of
`huggingface_vocabulary`.

They are nearly all of such a file. The rest of it is left to a reader of JSON. This one judges nothing: at anything
unusual it gives up, and the slow twin says what is wrong and where.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from fastbpe.formats.huggingface._entries cimport NO_ENTRY, VocabEntry, Slot, Table, Wanted, find, prefetch, same, slot_of, wanted_of
from fastbpe.formats._json cimport Span, is_utf8, pass_string, pass_value, read_number, skip_blanks, unescape
from fastbpe.formats._stand_ins cimport from_stand_ins, is_stand_in

import os

cdef enum:
    MAX_TOKENS = 1 << 21  # as in huggingface_vocabulary
    MAX_IDS = 1 << 22  # likewise
    BATCH = 32  # look-ups that wait for memory side by side

@cython.final
cdef class Entries:
    """The vocabulary of a file, its merges, and the rest of the file without them: JSON with both empty."""

    cdef bytes _data
    cdef readonly bytes rest
    cdef Table _table
    cdef uint32_t _n
    cdef uint32_t _max_id
    cdef uint8_t* _unescaped
    cdef size_t _n_unescaped
    cdef uint32_t* _by_id
    cdef uint8_t* _used  # of each id: 1 in a merge, 2 made by one
    cdef uint32_t* _merges
    cdef size_t _n_merges
    cdef uint8_t* _room  # for one merged token
    cdef Span _vocab  # where it stands in the file; 0: nowhere yet
    cdef Span _list  # the merges

    def __dealloc__(self):
        free(self._table.entries)
        free(self._unescaped)
        free(self._table.slots)
        free(self._by_id)
        free(self._used)
        free(self._merges)
        free(self._room)

    def __len__(self):
        return self._n

    def __contains__(self, str token not None):
        return self.get(token, -1) >= 0

    def get(self, str token not None, default):
        """The id of a token, or the default."""
        cdef bytes data = token.encode("utf-8", "surrogatepass")
        cdef uint32_t found = find(&self._table, wanted_of(&self._table, <const uint8_t*> PyBytes_AS_STRING(data), <size_t> len(data)))
        return default if found == NO_ENTRY else self._table.entries[found].id

    def lay_out(self, named, bint strict):
        """(token_bytes, token_ends, merges) as a Model has them, and whether a byte is no token; or None, where the
        slow twin is to look.

        named: tokens that are no ordinary ones unless a merge says so. strict: a byte must not be missing, nor any
        token be written otherwise than in stand-ins.
        """
        cdef uint8_t* drop = <uint8_t*> calloc(self._n + 1, 1)
        cdef bytes data
        cdef uint32_t found
        if drop == NULL:
            raise MemoryError(f"no memory for {self._n} tokens")
        try:
            for name in ("", *named):
                data = name.encode()
                found = find(&self._table, wanted_of(&self._table, <const uint8_t*> PyBytes_AS_STRING(data), <size_t> len(data)))
                if found != NO_ENTRY and not self._used[self._table.entries[found].id] and not is_stand_in(name):
                    drop[found] = 1
            return self._tables(drop, strict)
        finally:
            free(drop)

    cdef object _tables(self, const uint8_t* drop, bint strict):
        cdef uint32_t i, token_id, end = 0, n_ids = 0
        cdef VocabEntry* entry
        cdef size_t n_bytes = 0
        cdef uint8_t* to
        cdef uint32_t* ends
        cdef Py_ssize_t n
        cdef bint[256] has_byte
        cdef int n_known = 0
        memset(has_byte, 0, sizeof(has_byte))
        for i in range(self._n):
            n_bytes += self._table.entries[i].n_bytes
            if not drop[i]:
                n_ids = max(n_ids, self._table.entries[i].id + 1)
        if n_bytes >= NO_ENTRY:
            return None
        cdef bytes ends_array = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_ids * 4)
        ends = <uint32_t*> PyBytes_AS_STRING(ends_array)
        flat = <uint8_t*> malloc(n_bytes + 1)
        if flat == NULL:
            raise MemoryError(f"no memory for {n_bytes} bytes of tokens")
        try:
            for token_id in range(n_ids):
                i = self._by_id[token_id]
                if i == NO_ENTRY:  # a gap
                    return None
                if not drop[i]:
                    entry = &self._table.entries[i]
                    n = from_stand_ins(entry.token, entry.n_bytes, flat + end)
                    if n < 0:
                        if strict or self._used[token_id]:
                            return None
                        memcpy(flat + end, entry.token, entry.n_bytes)
                        n = entry.n_bytes
                    elif n == 1 and not has_byte[flat[end]]:
                        has_byte[flat[end]] = True
                        n_known += 1
                    end += <uint32_t> n
                ends[token_id] = end
            if strict and n_known < 256:
                return None
            return (
                PyBytes_FromStringAndSize(<const char*> flat, end),
                ends_array,
                PyBytes_FromStringAndSize(<const char*> self._merges, <Py_ssize_t> (12 * self._n_merges)),
                n_known < 256,
            )
        finally:
            free(flat)

    def pieces(self):
        """(piece_bytes, piece_ends, merges) as a CodePointModel has them; None where the slow twin is to look."""
        cdef uint32_t token_id, end = 0
        cdef size_t n_bytes = 0
        cdef const VocabEntry* entry
        for token_id in range(self._max_id + 1):
            if self._by_id[token_id] == NO_ENTRY or not self._table.entries[self._by_id[token_id]].n_bytes:
                return None
            n_bytes += self._table.entries[self._by_id[token_id]].n_bytes
        if n_bytes >= NO_ENTRY:
            return None
        cdef bytes flat = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_bytes)
        cdef bytes ends_array = PyBytes_FromStringAndSize(NULL, 4 * (<Py_ssize_t> self._max_id + 1))
        cdef char* to = PyBytes_AS_STRING(flat)
        cdef uint32_t* ends = <uint32_t*> PyBytes_AS_STRING(ends_array)
        for token_id in range(self._max_id + 1):
            entry = &self._table.entries[self._by_id[token_id]]
            memcpy(to + end, entry.token, entry.n_bytes)
            end += entry.n_bytes
            ends[token_id] = end
        merges = PyBytes_FromStringAndSize(<const char*> self._merges, <Py_ssize_t> (12 * self._n_merges))
        return flat, ends_array, merges

    # Reading

    cdef bint _read(self) except -1:
        """False to give up."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(self._data)
        cdef size_t n = <size_t> PyBytes_GET_SIZE(self._data), at
        self._table.seed = int.from_bytes(os.urandom(8), "little")
        self._unescaped = <uint8_t*> malloc(n + 1)
        if self._unescaped == NULL or not self._read_parts(data, n) or not self._vocab.end or not self._list.end:
            return False
        if self._merges == NULL:  # they stand before the vocabulary
            at = self._list.start
            if not self._read_merges(data, n, &at) or at != self._list.end:
                return False
        first, second = sorted(
            [(self._vocab.start, self._vocab.end, b"{}"), (self._list.start, self._list.end, b"[]")]
        )
        self.rest = b"".join([
            self._data[:first[0]], first[2], self._data[first[1]:second[0]], second[2], self._data[second[1]:],
        ])
        return True

    cdef bint _read_parts(self, const uint8_t* data, size_t n) noexcept:
        """Go through the file and read model.vocab, an object, and what is behind it of model.merges, a list."""
        cdef size_t at = skip_blanks(data, 0)
        cdef Span key
        cdef bint escaped, has_model = False
        if data[at] != 123:
            return False
        at = skip_blanks(data, at + 1)
        while data[at] == 34:
            if not pass_string(data, &at, n, &key, &escaped):
                return False
            at = skip_blanks(data, at)
            if data[at] != 58:
                return False
            at = skip_blanks(data, at + 1)
            if key.end - key.start == 5 and memcmp(data + key.start, b"model", 5) == 0:
                if has_model or data[at] != 123 or not self._read_model(data, n, &at):
                    return False
                has_model = True
            elif not pass_value(data, n, &at):
                return False
            at = skip_blanks(data, at)
            if data[at] == 44:
                at = skip_blanks(data, at + 1)
        return has_model

    cdef bint _read_model(self, const uint8_t* data, size_t n, size_t* at) noexcept:
        cdef Span key
        cdef Span* part
        cdef bint escaped, is_read
        at[0] = skip_blanks(data, at[0] + 1)
        while data[at[0]] == 34:
            if not pass_string(data, at, n, &key, &escaped):
                return False
            at[0] = skip_blanks(data, at[0])
            if data[at[0]] != 58:
                return False
            at[0] = skip_blanks(data, at[0] + 1)
            part = NULL
            if key.end - key.start == 5 and memcmp(data + key.start, b"vocab", 5) == 0:
                part = &self._vocab
            elif key.end - key.start == 6 and memcmp(data + key.start, b"merges", 6) == 0:
                part = &self._list
            if part != NULL:
                if part.end or data[at[0]] != (123 if part == &self._vocab else 91):
                    return False
                part.start = at[0]
            if part == &self._vocab:
                is_read = self._read_vocab(data, n, at)
            elif part != NULL and self._vocab.end:
                is_read = self._read_merges(data, n, at)
            else:
                is_read = pass_value(data, n, at)
            if not is_read:
                return False
            if part != NULL:
                part.end = at[0]
            at[0] = skip_blanks(data, at[0])
            if data[at[0]] == 44:
                at[0] = skip_blanks(data, at[0] + 1)
        if data[at[0]] != 125:
            return False
        at[0] += 1
        return True

    cdef bint _read_vocab(self, const uint8_t* data, size_t n, size_t* behind) noexcept:
        cdef size_t at = skip_blanks(data, behind[0] + 1), capacity = 0
        cdef Span key
        cdef bint escaped
        cdef VocabEntry* entry
        while data[at] != 125:
            if self._n == capacity:
                capacity = max(<size_t> 1024, 2 * capacity)
                entry = <VocabEntry*> realloc(self._table.entries, capacity * sizeof(VocabEntry)) if self._n < MAX_TOKENS else NULL
                if entry == NULL:
                    return False
                self._table.entries = entry
            entry = &self._table.entries[self._n]
            if not pass_string(data, &at, n, &key, &escaped):
                return False
            if not self._text(data, key, escaped, &entry.token, &entry.n_bytes):
                return False
            at = skip_blanks(data, at)
            if data[at] != 58 or not read_number(data, MAX_IDS, skip_blanks(data, at + 1), &at, &entry.id):
                return False
            self._max_id = max(self._max_id, entry.id)
            self._n += 1
            at = skip_blanks(data, at)
            if data[at] == 44:
                at = skip_blanks(data, at + 1)
                if data[at] != 34:
                    return False
            elif data[at] != 125:
                return False
        behind[0] = at + 1
        return self._n > 0 and self._check_text() and self._sort() and self._add_all()

    cdef bint _text(
        self, const uint8_t* data, Span where, bint escaped, const uint8_t** text, uint32_t* n_bytes
    ) noexcept:
        cdef uint8_t* to
        if where.end - where.start >= NO_ENTRY:
            return False
        if not escaped:
            text[0] = data + where.start
            n_bytes[0] = <uint32_t> (where.end - where.start)
            return True
        to = self._unescaped + self._n_unescaped
        text[0] = to
        if not unescape(data, where, &to):
            return False
        n_bytes[0] = <uint32_t> (to - text[0])
        self._n_unescaped += n_bytes[0]
        return True

    cdef bint _add_all(self) noexcept:
        """False if a token stands twice."""
        cdef Wanted[BATCH] wanted
        cdef uint32_t i, k, n
        cdef size_t at
        self._table.mask = 4
        while self._table.mask < 2 * <size_t> self._n:
            self._table.mask *= 2
        self._table.slots = <Slot*> malloc(self._table.mask * sizeof(Slot))
        if self._table.slots == NULL:
            return False
        memset(self._table.slots, 0xFF, self._table.mask * sizeof(Slot))
        self._table.mask -= 1
        for i in range(0, self._n, BATCH):
            n = min(<uint32_t> BATCH, self._n - i)
            for k in range(n):
                wanted[k] = wanted_of(&self._table, self._table.entries[i + k].token, self._table.entries[i + k].n_bytes)
            for k in range(n):
                at = slot_of(&self._table, wanted[k])
                if self._table.slots[at].entry != NO_ENTRY:
                    return False
                self._table.slots[at] = Slot(<uint32_t> (wanted[k].hash >> 32), i + k)
        return True

    cdef bint _sort(self) noexcept:
        """Entries by id; False if one stands twice."""
        cdef uint32_t i, longest = 0
        self._by_id = <uint32_t*> malloc((<size_t> self._max_id + 1) * sizeof(uint32_t))
        self._used = <uint8_t*> calloc(<size_t> self._max_id + 1, 1)
        if self._by_id == NULL or self._used == NULL:
            return False
        memset(self._by_id, 0xFF, (<size_t> self._max_id + 1) * sizeof(uint32_t))
        for i in range(self._n):
            longest = max(longest, self._table.entries[i].n_bytes)
            if self._by_id[self._table.entries[i].id] != NO_ENTRY:
                return False
            self._by_id[self._table.entries[i].id] = i
        self._room = <uint8_t*> malloc(2 * <size_t> longest + 1)
        return self._room != NULL

    cdef bint _check_text(self) noexcept:
        """Whether all tokens are UTF-8."""
        cdef uint32_t i
        for i in range(self._n):
            if not is_utf8(self._table.entries[i].token, self._table.entries[i].n_bytes):
                return False
        return True

    cdef bint _read_merges(self, const uint8_t* data, size_t n, size_t* behind) noexcept:
        cdef size_t at = behind[0] + 1, most = 1, i
        cdef Wanted[2 * BATCH] wanted
        cdef bint distinct = True
        cdef uint32_t made = NO_ENTRY
        cdef int n_read = 0
        for i in range(at, n):
            most += data[i] == 44
        self._merges = <uint32_t*> malloc(12 * most)
        if self._merges == NULL:
            return False
        at = skip_blanks(data, at)
        while data[at] != 93:
            if not self._merge(data, &at, n, &wanted[2 * n_read]):
                return False
            n_read += 1
            if n_read == BATCH:
                if not self._keep(wanted, BATCH, &made, &distinct):
                    return False
                n_read = 0
            at = skip_blanks(data, at)
            if data[at] == 44:
                at = skip_blanks(data, at + 1)
                if data[at] == 93:
                    return False
            elif data[at] != 93:
                return False
        behind[0] = at + 1
        return self._keep(wanted, n_read, &made, &distinct) and (distinct or self._pairs_are_distinct())

    cdef bint _keep(self, const Wanted* wanted, int n, uint32_t* made, bint* distinct) noexcept:
        """Look up what merges join, and what they make; distinct: whether no two make the same."""
        cdef int i, k
        cdef uint32_t one, other
        cdef uint32_t* merge
        for i in range(2 * n):
            prefetch(&self._table.entries[self._table.slots[<size_t> wanted[i].hash & self._table.mask].entry])
        for i in range(n):
            one, other = find(&self._table, wanted[2 * i]), find(&self._table, wanted[2 * i + 1])
            if one == NO_ENTRY or other == NO_ENTRY:
                return False
            made[0] = self._made(&self._table.entries[one], &self._table.entries[other], made[0])
            if made[0] == NO_ENTRY:
                return False
            merge = &self._merges[3 * self._n_merges]
            merge[0], merge[1], merge[2] = self._table.entries[one].id, self._table.entries[other].id, self._table.entries[made[0]].id
            self._n_merges += 1
            for k in range(3):
                distinct[0] = distinct[0] and (k < 2 or not self._used[merge[2]] & 2)
                self._used[merge[k]] |= 1 if k < 2 else 3
        return True

    cdef bint _merge(self, const uint8_t* data, size_t* at, size_t end, Wanted* wanted) noexcept:
        """Read "left right" or ["left", "right"]. wanted: the two."""
        cdef Span where
        cdef bint escaped
        cdef const uint8_t* left
        cdef const uint8_t* right
        cdef uint32_t n_left, n_right
        if data[at[0]] == 91:
            at[0] = skip_blanks(data, at[0] + 1)
            if not pass_string(data, at, end, &where, &escaped) or not self._text(data, where, escaped, &left, &n_left):
                return False
            at[0] = skip_blanks(data, at[0])
            if data[at[0]] != 44:
                return False
            at[0] = skip_blanks(data, at[0] + 1)
            if not pass_string(data, at, end, &where, &escaped) or not self._text(data, where, escaped, &right, &n_right):
                return False
            at[0] = skip_blanks(data, at[0])
            if data[at[0]] != 93:
                return False
            at[0] += 1
        else:
            if not pass_string(data, at, end, &where, &escaped) or not self._text(data, where, escaped, &left, &n_left):
                return False
            if n_left >= 8 and memcmp(left, b"#version", 8) == 0:
                return False
            right = <const uint8_t*> memchr(left, 32, n_left)
            if right == NULL:
                return False
            n_right = n_left - <uint32_t> (right - left) - 1
            n_left = <uint32_t> (right - left)
            right += 1
            if memchr(right, 32, n_right) != NULL:
                return False
        if not n_left or not n_right:
            return False
        wanted[0], wanted[1] = wanted_of(&self._table, left, n_left), wanted_of(&self._table, right, n_right)
        return True

    cdef uint32_t _made(self, const VocabEntry* left, const VocabEntry* right, uint32_t before) noexcept:
        """The entry of two tokens as one: as a rule, that after the one that the merge before has made."""
        cdef uint32_t n = left.n_bytes + right.n_bytes, guess = before + 1
        cdef const VocabEntry* entry
        if before != NO_ENTRY and guess < self._n:
            entry = &self._table.entries[guess]
            if (
                entry.n_bytes == n and same(entry.token, left.token, left.n_bytes)
                and same(entry.token + left.n_bytes, right.token, right.n_bytes)
            ):
                return guess
        memcpy(self._room, left.token, left.n_bytes)
        memcpy(self._room + left.n_bytes, right.token, right.n_bytes)
        return find(&self._table, wanted_of(&self._table, self._room, n))

    cdef bint _pairs_are_distinct(self) noexcept:
        cdef size_t mask = 4, at, i
        cdef uint64_t* seen
        cdef uint64_t pair
        cdef bint distinct = True
        while mask < 2 * self._n_merges:
            mask *= 2
        seen = <uint64_t*> malloc(mask * sizeof(uint64_t))
        if seen == NULL:
            return False
        memset(seen, 0xFF, mask * sizeof(uint64_t))
        mask -= 1
        for i in range(self._n_merges):
            pair = <uint64_t> self._merges[3 * i] << 32 | self._merges[3 * i + 1]
            at = <size_t> ((pair * 0x9E3779B97F4A7C15ULL) >> 20) & mask
            while seen[at] != <uint64_t> -1 and seen[at] != pair:
                at = (at + 1) & mask
            distinct = distinct and seen[at] != pair
            seen[at] = pair
        free(seen)
        return distinct


def read(data):
    """What a file holds; None where the slow twin is to look."""
    cdef Entries entries = Entries()
    entries._data = bytes(data)
    return entries if entries._read() else None

"""How the last ids of a text may change when more text follows, as tiktoken sees it.

The last piece of a text, and white space before it, are unstable: they are the tail. A completion is the ids of the
tail and of some bytes that may follow it, up to the id that covers the tail's last byte; the bytes tried are those
that single tokens would add, if they began anywhere within the tail.

tiktoken encodes the tail anew for each of these tokens. Here each text is encoded once, however many tokens lead to
it; a piece within the tail but once for all; and of a long one that goes on, only the end (`_merge_after`).
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy

from fastbpe._core.merge cimport Ids, ids_free, ids_reserve, merge_piece
from fastbpe._core.output cimport ids_list
from fastbpe._core.special cimport Match, SpecialMatcher
from fastbpe._core.splitter cimport GAP, Ends, Splitter, ends_free
from fastbpe._core.tables cimport NONE, find_piece
from fastbpe._core.text cimport first_invalid
from fastbpe._core.vocabulary cimport Tables, Vocabulary

from array import array

cdef enum:
    LONG_BYTES = 48  # a piece from here on is not merged anew for each text that may follow
    STEP = 4  # ids of its end that are merged again, before more of them are


def last_piece(Splitter splitter not None, SpecialMatcher special, bytes text not None):
    """The bytes of a text's last piece; none where the text ends with a special token, or has no piece."""
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef size_t n = <size_t> len(text), start = 0, at, piece_start = 0, piece_end = 0, last, i
    cdef Ends ends = Ends(NULL, 0, 0, data, NULL, 0)
    cdef Match match
    while special is not None and special.find(data, n, start, &match):
        start = match.end
    if start == n:
        return b""
    at, last = 0, 0  # within what follows the last special token
    try:
        while at < n - start:
            ends.n = 0
            at = splitter.split(data + start, n - start, at, &ends)
            for i in range(ends.n):
                if not ends.items[i] & GAP:
                    piece_start, piece_end = start + last, start + ends.items[i]
                last = ends.items[i] & ~GAP
    finally:
        ends_free(&ends)
    return text[piece_start:piece_end]


@cython.final
cdef class Completions:
    """Completions by one vocabulary and one splitter."""

    cdef Vocabulary _vocabulary
    cdef Splitter _splitter
    cdef object _order  # ids of all tokens, in the order of their bytes
    cdef const uint32_t[::1] _sorted

    def __init__(self, Vocabulary vocabulary not None, Splitter splitter not None):
        self._vocabulary = vocabulary
        self._splitter = splitter
        tokens = vocabulary.tokens()
        self._order = array("I", sorted(filter(tokens.__getitem__, range(len(tokens))), key=tokens.__getitem__))
        self._sorted = self._order

    def of(self, bytes tail not None):
        """The completions of a tail, which is not empty and is UTF-8.

        Ids of tokens that alone are one, and tuples of several ids.
        """
        cdef _Trial trial = _Trial(self._vocabulary, self._splitter, tail)
        cdef set several = {trial.with_extra(extra) for extra in self._extras(tail)}
        several.discard(None)
        return self._beginning_with(tail, 0), several

    def merged(self, bytes data not None):
        """What bytes are merged to, without a look whether they are a token: a tuple of ids."""
        cdef Ids ids = Ids(NULL, 0, 0)
        try:
            merge_piece(
                &self._vocabulary.tables, <const uint8_t*> PyBytes_AS_STRING(data), <size_t> len(data), NONE, &ids
            )
            return tuple([ids.items[i] for i in range(ids.n)])
        finally:
            ids_free(&ids)

    cdef set _extras(self, bytes tail):
        """What tokens that begin within the tail, but not with it, would add to it."""
        cdef const Tables* t = &self._vocabulary.tables
        cdef Py_ssize_t start, n = len(tail)
        cdef set out = set()
        for start in range(max(1, n - <Py_ssize_t> t.max_token_bytes), n):
            for token_id in self._beginning_with(tail, start):
                out.add(self._vocabulary.token(token_id)[n - start:])
        return out

    cdef list _beginning_with(self, bytes tail, Py_ssize_t start):
        """The ids of the tokens that begin with tail[start:]."""
        cdef const Tables* t = &self._vocabulary.tables
        cdef const uint8_t* prefix = <const uint8_t*> PyBytes_AS_STRING(tail) + start
        cdef size_t n = <size_t> (PyBytes_GET_SIZE(tail) - start)
        cdef size_t low = 0, high = <size_t> self._sorted.shape[0], middle
        cdef list out = []
        while low < high:
            middle = (low + high) // 2
            if _is_below(t, self._sorted[middle], prefix, n):
                low = middle + 1
            else:
                high = middle
        while low < <size_t> self._sorted.shape[0] and _begins_with(t, self._sorted[low], prefix, n):
            out.append(self._sorted[low])
            low += 1
        return out


cdef inline const uint8_t* _token(const Tables* t, uint32_t token_id, size_t* n) noexcept nogil:
    cdef uint32_t start = t.token_ends[token_id - 1] if token_id else 0
    n[0] = t.token_ends[token_id] - start
    return t.token_bytes + start


cdef bint _is_below(const Tables* t, uint32_t token_id, const uint8_t* bytes_, size_t n) noexcept nogil:
    cdef size_t length
    cdef const uint8_t* token = _token(t, token_id, &length)
    cdef int order = memcmp(token, bytes_, min(length, n))
    return order < 0 or (order == 0 and length < n)


cdef bint _begins_with(const Tables* t, uint32_t token_id, const uint8_t* bytes_, size_t n) noexcept nogil:
    cdef size_t length
    cdef const uint8_t* token = _token(t, token_id, &length)
    return length >= n and memcmp(token, bytes_, n) == 0


@cython.final
cdef class _Trial:
    """The ids of one tail with different bytes behind it."""

    cdef Vocabulary _vocabulary
    cdef Splitter _splitter
    cdef uint8_t* _text  # the tail, then room for what follows
    cdef size_t _n_tail
    cdef size_t _capacity
    cdef Ends _ends
    cdef Ids _ids
    cdef Ids _again
    # What a long piece up to the tail's end is merged to, and where it begins; GAP: not known yet.
    cdef Ids _long
    cdef size_t _long_start
    # The ids of the tail up to where its pieces were last the same as before, and that place.
    cdef Ids _same
    cdef size_t _same_end

    def __cinit__(
        self, Vocabulary vocabulary not None, Splitter splitter not None, bytes tail not None
    ):
        self._vocabulary = vocabulary
        self._splitter = splitter
        self._n_tail = <size_t> len(tail)
        self._long_start = GAP
        self._room(self._n_tail)
        memcpy(self._text, PyBytes_AS_STRING(tail), self._n_tail)

    def __dealloc__(self):
        free(self._text)
        ends_free(&self._ends)
        ids_free(&self._ids)
        ids_free(&self._again)
        ids_free(&self._long)
        ids_free(&self._same)

    cdef int _room(self, size_t n) except -1:
        cdef uint8_t* text
        if n > self._capacity:
            text = <uint8_t*> realloc(self._text, 2 * n)
            if text == NULL:
                raise MemoryError(f"no memory for {2 * n} bytes of text")
            self._text, self._capacity = text, 2 * n
        return 0

    cdef tuple with_extra(self, bytes extra):
        """The ids of the tail with these bytes behind it, up to the one that covers the tail's last byte.

        None if it is a single one, for that is a token that begins with the tail.
        """
        cdef size_t n_extra = <size_t> len(extra), n = self._n_tail + n_extra
        self._room(n)
        memcpy(self._text + self._n_tail, PyBytes_AS_STRING(extra), n_extra)
        self._ids.n = 0
        if first_invalid(self._text + self._n_tail, n_extra) == n_extra:
            self._encode(n)
        else:
            self._piece(0, n, False)  # no text, and so not split
        return self._covering()

    cdef int _encode(self, size_t n) except -1:
        """Append the ids of the text's pieces, until they cover the tail."""
        cdef size_t at = 0, start = 0, end, covered = 0, i = 0
        self._ends.n = 0
        self._ends.text = self._text
        while covered < self._n_tail and (i < self._ends.n or at < n):
            if i == self._ends.n:
                at = self._splitter.split(self._text, n, at, &self._ends)
                continue
            end = self._ends.items[i] & ~GAP
            if not self._ends.items[i] & GAP:
                if start == 0 and end <= self._n_tail:
                    self._first_piece(end)
                else:
                    self._piece(start, end, True)
                covered += end - start
            start = end
            i += 1
        return 0

    cdef int _first_piece(self, size_t end) except -1:
        """Append the ids of a piece with which the tail begins; mostly the one that it was the last time."""
        if self._same_end != end:
            self._piece(0, end, True)
            self._same.n = 0
            _extend(&self._same, &self._ids, self._ids.n)
            self._same_end = end
            return 0
        return _extend(&self._ids, &self._same, self._same.n)

    cdef int _piece(self, size_t start, size_t end, bint whole_first) except -1:
        """Append the ids of one piece. whole_first: it may be a token without any merge."""
        cdef const Tables* t = &self._vocabulary.tables
        cdef size_t n = end - start
        cdef uint32_t token
        if whole_first and n <= t.max_token_bytes:
            token = find_piece(t.pieces, t.piece_mask, t.token_bytes, t.token_ends, self._text + start, n)
            if token != NONE:
                ids_reserve(&self._ids, 1)
                self._ids.items[self._ids.n] = token
                self._ids.n += 1
                return 0
        if n < LONG_BYTES:
            return merge_piece(t, self._text + start, n, NONE, &self._ids)
        return self._merge_after(start, end)

    cdef int _merge_after(self, size_t start, size_t end) except -1:
        """Append what a long piece that reaches near the tail's end is merged to, by merging its end alone.

        Ids are what their bytes are merged to if each two that stand side by side are: the first merge to cross the
        border between two of them would be the best one in the bytes of these two as well. So what is merged
        anew need only go back to a border where that holds.
        """
        cdef const Tables* t = &self._vocabulary.tables
        cdef size_t kept, at, n_back
        if self._long_start != start:
            self._long.n = 0
            merge_piece(t, self._text + start, self._n_tail - start, NONE, &self._long)
            self._long_start = start
        kept, at = self._long.n, self._n_tail
        while True:
            n_back = 0
            while kept and (n_back < STEP or at >= end):
                kept -= 1
                n_back += 1
                at -= _n_bytes(t, self._long.items[kept])
            self._again.n = 0
            merge_piece(t, self._text + at, end - at, NONE, &self._again)
            if not kept or self._side_by_side(self._long.items[kept - 1], self._again.items[0], at):
                break
        _extend(&self._ids, &self._long, kept)
        return _extend(&self._ids, &self._again, self._again.n)

    cdef bint _side_by_side(self, uint32_t left, uint32_t right, size_t border) except -1:
        """Whether the bytes of two ids, which meet at a border in the text, are merged to these two."""
        cdef const Tables* t = &self._vocabulary.tables
        cdef Ids ids = Ids(NULL, 0, 0)
        cdef size_t n_left = _n_bytes(t, left)
        try:
            merge_piece(t, self._text + border - n_left, n_left + _n_bytes(t, right), NONE, &ids)
            return ids.n == 2 and ids.items[0] == left and ids.items[1] == right
        finally:
            ids_free(&ids)

    cdef tuple _covering(self):
        """The ids up to the one that covers the tail's last byte."""
        cdef const Tables* t = &self._vocabulary.tables
        cdef size_t n = 0, covered = 0
        while n < self._ids.n and covered < self._n_tail:
            covered += _n_bytes(t, self._ids.items[n])
            n += 1
        return tuple(ids_list(self._ids.items, n)) if n > 1 else None


cdef int _extend(Ids* ids, const Ids* others, size_t n) except -1:
    """Append the first n of others."""
    ids_reserve(ids, n)
    memcpy(ids.items + ids.n, others.items, n * sizeof(uint32_t))
    ids.n += n
    return 0


cdef inline size_t _n_bytes(const Tables* t, uint32_t token_id) noexcept nogil:
    return t.token_ends[token_id] - (t.token_ends[token_id - 1] if token_id else 0)

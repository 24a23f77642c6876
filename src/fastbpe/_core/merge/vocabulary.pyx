"""The vocabulary: tokens by id, whole pieces by their bytes, and the pair table. Frozen after birth.

A Vocabulary never builds anything: it looks at four buffers that `building.build_tables` made or that lie in a
memory-mapped file, checks that no look-up in them can leave them, and keeps them alive.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from fastbpe._core.merge.codepoint_symbols cimport CodePoints
from fastbpe._core.common.hash_tables cimport (
    LINE, MAX_RANKED_IDS, NO_KEY, NO_PAIR, NONE, RANKED_MASK, Merge, PairSlot, PieceSlot, find_merge, find_piece, pair_key,
)

from fastbpe._core.text.utf8_text import plain, to_utf8
from fastbpe.errors import VocabularyError

cdef extern from *:
    bint PyUnicode_IS_ASCII(str text)

# Ids index flat arrays, so an id costs memory even where no token has it: 2**24 ids are 64 MB of ends.
MAX_IDS = 1 << 24

SECTIONS = ("token_bytes", "token_ends", "pieces", "pairs", "pair_lines")  # of the last two, one


@cython.final
cdef class Vocabulary:
    """Tokens, whole pieces and pairs, over four buffers (see `building.build_tables`).

    drops_bytes: not every byte need be a token; such bytes must be taken out of a piece before it is merged.
    """

    def __cinit__(
        self, *, token_bytes, token_ends, pieces, pairs=None, pair_lines=None, bint whole_piece_first=True,
        CodePoints code_points=None, bint drops_bytes=False,
    ):
        cdef size_t n_bytes, n_ids, n_pieces, n_pairs
        self._ranked = pair_lines is not None
        if self._ranked == (pairs is not None):
            raise VocabularyError("a vocabulary has one table of pairs: 'pairs' or 'pair_lines'")
        self._take(0, token_bytes, 1, &n_bytes)
        self._take(1, token_ends, sizeof(uint32_t), &n_ids)
        self._take(2, pieces, sizeof(PieceSlot), &n_pieces)
        if self._ranked:
            self._take(3, pair_lines, sizeof(uint64_t), &n_pairs)
        else:
            self._take(3, pairs, sizeof(PairSlot), &n_pairs)
        if n_ids > <size_t> (MAX_RANKED_IDS if self._ranked else MAX_IDS):
            raise VocabularyError(f"{n_ids} ids: the limit is {MAX_RANKED_IDS if self._ranked else MAX_IDS}")
        for name, size, least in (("pieces", n_pieces, 4), (self._name(3), n_pairs, LINE if self._ranked else 4)):
            if size < least or size & (size - 1):
                raise VocabularyError(f"table {name!r} has {size} slots: not a power of two of at least {least}")
        self.tables.token_bytes = <const uint8_t*> self._views[0].buf
        self.tables.token_ends = <const uint32_t*> self._views[1].buf
        self.tables.n_ids = <uint32_t> n_ids
        self.tables.pieces = <const PieceSlot*> self._views[2].buf
        self.tables.piece_mask = n_pieces - 1
        if self._ranked:
            self.tables.pairs.ranked = <const uint64_t*> self._views[3].buf
        else:
            self.tables.pairs.wide = <const PairSlot*> self._views[3].buf
        self.tables.pairs.shift = 64 - (<object> n_pairs).bit_length() + 1
        self.tables.whole_piece_first = whole_piece_first
        self.tables.tied_key = NO_KEY
        if code_points is not None:
            self._code_points = code_points
            self.tables.characters = &code_points.characters
            if code_points.characters.tied_from != NONE:
                self.tables.tied_key = <int32_t> (code_points.characters.tied_from << 6)
        self._check(drops_bytes)
        if self._ranked:
            self._key_bytes()

    cdef str _name(self, int i):
        return SECTIONS[4 if i == 3 and self._ranked else i]

    def __dealloc__(self):
        cdef int i
        for i in range(self._n_views):
            PyBuffer_Release(&self._views[i])
        free(<void*> self.tables.byte_keys)

    cdef int _take(self, int i, object source, size_t item_size, size_t* n_items) except -1:
        PyObject_GetBuffer(source, &self._views[i], PyBUF_SIMPLE)
        self._n_views = i + 1
        if <size_t> self._views[i].len % item_size or <size_t> self._views[i].buf % min(item_size, <size_t> 8):
            raise VocabularyError(
                f"table {self._name(i)!r}: {self._views[i].len} bytes do not hold whole, aligned "
                f"items of {item_size}"
            )
        n_items[0] = <size_t> self._views[i].len // item_size
        return 0

    cdef int _check(self, bint drops_bytes) except -1:
        """Whatever the buffers hold, no look-up may read outside them or run for ever."""
        cdef Tables* t = &self.tables
        cdef uint32_t n_tokens = 0, longest = 0
        cdef size_t i, n_pairs = <size_t> 1 << (64 - t.pairs.shift)
        cdef bint sound
        with nogil:
            sound = ends_rise(t, <size_t> self._views[0].len, &n_tokens, &longest) \
                and _pieces_lead_to_tokens(t, n_tokens == t.n_ids) \
                and _pairs_lead_to_tokens(t, n_pairs, n_tokens == t.n_ids)
        if not sound:
            raise VocabularyError("the tables of the vocabulary contradict each other")
        t.n_tokens = n_tokens
        t.max_token_bytes = longest
        cdef uint8_t byte
        for i in range(256):
            byte = <uint8_t> i
            t.byte_ids[i] = find_piece(t.pieces, t.piece_mask, t.token_bytes, t.token_ends, &byte, 1)
            if t.byte_ids[i] == NONE and t.characters != NULL:
                t.byte_ids[i] = t.n_ids  # a character that no token has; of the others only their bytes are known
            self.drops_bytes = self.drops_bytes or t.byte_ids[i] == NONE
            if t.byte_ids[i] == NONE and not drops_bytes:
                raise VocabularyError(
                    f"no token is the single byte 0x{i:02x}: a byte-level vocabulary must have all 256"
                )
        return 0

    cdef int _key_bytes(self) except -1:
        """The first step of merging any piece without a search: the pairs of bytes, as the two-byte tokens say."""
        cdef Tables* t = &self.tables
        cdef int32_t* keys = <int32_t*> malloc((1 << 16) * sizeof(int32_t))
        cdef uint32_t i, start = 0
        cdef const uint8_t* token
        if keys == NULL:
            raise MemoryError("no memory for the pairs of bytes")
        for i in range(1 << 16):
            keys[i] = NO_KEY
        for i in range(t.n_ids):
            if t.token_ends[i] - start == 2:
                token = t.token_bytes + start
                if t.byte_ids[token[0]] != NONE and t.byte_ids[token[1]] != NONE:
                    keys[token[0] << 8 | token[1]] = pair_key(
                        &t.pairs, t.byte_ids[token[0]], t.byte_ids[token[1]]
                    )
            start = t.token_ends[i]
        t.byte_keys = keys
        return 0

    cdef bytes token(self, uint32_t token_id):
        return PyBytes_FromStringAndSize(
            <const char*> self.tables.token_bytes + token_start(&self.tables, token_id),
            token_length(&self.tables, token_id),
        )

    @property
    def n_ids(self):
        """One more than the greatest id."""
        return self.tables.n_ids

    @property
    def n_tokens(self):
        """How many ids are tokens."""
        return self.tables.n_tokens

    @property
    def whole_piece_first(self):
        """Whether a piece that is a token is never merged up from its bytes."""
        return bool(self.tables.whole_piece_first)

    def find(self, token):
        """The id of the token with these bytes (the lowest, should several have them), or None.

        token: bytes, or a str, of which the UTF-8 is meant.
        """
        cdef const uint8_t* data
        cdef size_t n
        cdef bytes utf8
        if type(token) is str and PyUnicode_IS_ASCII(token):
            data, n = <const uint8_t*> PyUnicode_DATA(token), <size_t> PyUnicode_GET_LENGTH(token)
        elif type(token) is bytes:
            data, n = <const uint8_t*> PyBytes_AS_STRING(token), <size_t> PyBytes_GET_SIZE(token)
        elif isinstance(token, (str, bytes)):
            utf8 = to_utf8(token) if isinstance(token, str) else plain(token)
            data, n = <const uint8_t*> PyBytes_AS_STRING(utf8), <size_t> PyBytes_GET_SIZE(utf8)
        else:
            raise TypeError(f"token must be bytes or str, not {type(token).__name__}")
        cdef uint32_t found = find_piece(
            self.tables.pieces, self.tables.piece_mask, self.tables.token_bytes, self.tables.token_ends, data, n
        )
        return None if found == NONE else found

    def has(self, token_id):
        """Whether the id is a token."""
        return 0 <= token_id < self.tables.n_ids and bool(is_token(&self.tables, token_id))

    def tokens(self):
        """The bytes of every id in order; `b""` where an id is no token."""
        cdef uint32_t i
        return [self.token(i) for i in range(self.tables.n_ids)]

    def pair(self, uint32_t left, uint32_t right):
        """(priority, merged id) of a pair of ids, or None."""
        cdef Merge found
        if left >= self.tables.n_ids or right >= self.tables.n_ids:
            return None
        found = find_merge(&self.tables.pairs, left, right)
        return None if found.priority == NONE else (found.priority, found.id)

    def sections(self):
        """The four buffers by name, as read-only memory views."""
        return {self._name(i): memoryview(<object> self._views[i].obj).cast("B") for i in range(4)}


cdef bint ends_rise(const Tables* t, size_t n_bytes, uint32_t* n_tokens, uint32_t* longest) noexcept nogil:
    """Whether `token_ends` cuts so many bytes into tokens: how many, and how many bytes the longest has."""
    cdef uint32_t i, length, start = 0, n = 0, most = 0
    cdef bint falls = False
    for i in range(t.n_ids):
        length = t.token_ends[i] - start
        falls |= t.token_ends[i] < start
        n += length > 0
        most = max(most, length)
        start = t.token_ends[i]
    n_tokens[0] = n
    longest[0] = most
    return not falls and start == n_bytes


# Where no id is a gap, and few vocabularies have any, being a token is being below n_ids: the loops then have
# no branch and no look-up, and run as fast as memory gives (2.3 ms for cl100k otherwise, 0.6 so).

cdef bint _pieces_lead_to_tokens(const Tables* t, bint no_gaps) noexcept nogil:
    cdef size_t i, n_free = 0, n_strange = 0
    cdef uint32_t token_id
    for i in range(t.piece_mask + 1):
        token_id = t.pieces[i].id
        n_free += token_id == NONE
        n_strange += token_id >= t.n_ids
    if n_strange != n_free or not n_free:
        return False
    if no_gaps:
        return True
    for i in range(t.piece_mask + 1):
        if t.pieces[i].id != NONE and not is_token(t, t.pieces[i].id):
            return False
    return True


cdef bint _pairs_lead_to_tokens(const Tables* t, size_t n_slots, bint no_gaps) noexcept nogil:
    cdef size_t i, n_free = 0, n_strange = 0
    cdef const uint64_t* ranked = t.pairs.ranked
    cdef const PairSlot* wide = t.pairs.wide
    if ranked == NULL:
        for i in range(n_slots):
            n_free += wide[i].priority == NONE
            if wide[i].priority != NONE and not is_token(t, wide[i].id):
                return False
        return n_free > 0
    for i in range(n_slots):
        n_free += ranked[i] == NO_PAIR
        # The top bit makes NONE of what a look-up finds: only an empty slot may have it.
        n_strange += <size_t> ((ranked[i] & RANKED_MASK) >= t.n_ids) | <size_t> (ranked[i] >> 63)
    if n_strange != n_free or not n_free:
        return False
    if no_gaps:
        return True
    for i in range(n_slots):
        if ranked[i] != NO_PAIR and not is_token(t, <uint32_t> (ranked[i] & RANKED_MASK)):
            return False
    return True

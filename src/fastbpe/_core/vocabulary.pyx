"""The vocabulary: tokens by id, whole pieces by their bytes, and the pair table. Frozen after birth.

A Vocabulary never builds anything: it looks at four buffers that `build_tables` made or that lie in a
memory-mapped file, checks that no look-up in them can leave them, and keeps them alive.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from fastbpe._core.tables cimport (
    NONE, PairSlot, PieceSlot, find_pair, find_piece, hash_bytes, table_bits,
)

from fastbpe.errors import VocabularyError

# Ids index flat arrays, so an id costs memory even where no token has it: 2**24 ids are 64 MB of ends.
MAX_IDS = 1 << 24

SECTIONS = ("token_bytes", "token_ends", "pieces", "pairs")


cdef inline bint _is_token(const Tables* t, uint32_t i) noexcept nogil:
    return i < t.n_ids and t.token_ends[i] > (t.token_ends[i - 1] if i else 0)


@cython.final
cdef class Vocabulary:
    """Tokens, whole pieces and pairs, over four buffers (see `build_tables`)."""

    def __cinit__(self, *, token_bytes, token_ends, pieces, pairs, bint whole_piece_first=True):
        cdef size_t n_bytes, n_ids, n_pieces, n_pairs
        self._take(0, token_bytes, 1, &n_bytes)
        self._take(1, token_ends, sizeof(uint32_t), &n_ids)
        self._take(2, pieces, sizeof(PieceSlot), &n_pieces)
        self._take(3, pairs, sizeof(PairSlot), &n_pairs)
        if n_ids > MAX_IDS:
            raise VocabularyError(f"{n_ids} ids: the limit is {MAX_IDS}")
        for name, size in (("pieces", n_pieces), ("pairs", n_pairs)):
            if size < 4 or size & (size - 1):
                raise VocabularyError(f"table {name!r} has {size} slots: not a power of two of at least 4")
        self.tables.token_bytes = <const uint8_t*> self._views[0].buf
        self.tables.token_ends = <const uint32_t*> self._views[1].buf
        self.tables.n_ids = <uint32_t> n_ids
        self.tables.pieces = <const PieceSlot*> self._views[2].buf
        self.tables.piece_mask = n_pieces - 1
        self.tables.pairs = <const PairSlot*> self._views[3].buf
        self.tables.pair_shift = 64 - (<object> n_pairs).bit_length() + 1
        self.tables.whole_piece_first = whole_piece_first
        self._check()

    def __dealloc__(self):
        cdef int i
        for i in range(self._n_views):
            PyBuffer_Release(&self._views[i])

    cdef int _take(self, int i, object source, size_t item_size, size_t* n_items) except -1:
        PyObject_GetBuffer(source, &self._views[i], PyBUF_SIMPLE)
        self._n_views = i + 1
        if <size_t> self._views[i].len % item_size or <size_t> self._views[i].buf % min(item_size, <size_t> 8):
            raise VocabularyError(
                f"table {SECTIONS[i]!r}: {self._views[i].len} bytes do not hold whole, aligned "
                f"items of {item_size}"
            )
        n_items[0] = <size_t> self._views[i].len // item_size
        return 0

    cdef int _check(self) except -1:
        """Whatever the buffers hold, no look-up may read outside them or run for ever."""
        cdef Tables* t = &self.tables
        cdef uint32_t start = 0, longest = 0, n_tokens = 0
        cdef size_t i, free_pieces = 0, free_pairs = 0, n_bytes = <size_t> self._views[0].len
        cdef bint sound = True
        with nogil:
            for i in range(t.n_ids):
                if t.token_ends[i] < start:
                    sound = False
                    break
                n_tokens += t.token_ends[i] > start
                longest = max(longest, t.token_ends[i] - start)
                start = t.token_ends[i]
            sound = sound and start == n_bytes
            for i in range(t.piece_mask + 1):
                free_pieces += t.pieces[i].id == NONE
                sound = sound and (t.pieces[i].id == NONE or _is_token(t, t.pieces[i].id))
            for i in range(<size_t> 1 << (64 - t.pair_shift)):
                free_pairs += t.pairs[i].priority == NONE
                sound = sound and (t.pairs[i].priority == NONE or _is_token(t, t.pairs[i].id))
        if not sound or not free_pieces or not free_pairs:
            raise VocabularyError("the tables of the vocabulary contradict each other")
        t.n_tokens = n_tokens
        t.max_token_bytes = longest
        cdef uint8_t byte
        for i in range(256):
            byte = <uint8_t> i
            t.byte_ids[i] = find_piece(t.pieces, t.piece_mask, t.token_bytes, t.token_ends, &byte, 1)
            if t.byte_ids[i] == NONE:
                raise VocabularyError(
                    f"no token is the single byte 0x{i:02x}: a byte-level vocabulary must have all 256"
                )
        return 0

    cdef bytes token(self, uint32_t token_id):
        cdef uint32_t start = self.tables.token_ends[token_id - 1] if token_id else 0
        return PyBytes_FromStringAndSize(
            <const char*> self.tables.token_bytes + start, self.tables.token_ends[token_id] - start
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

    def find(self, bytes token not None):
        """The id of the token with these bytes (the lowest, should several have them), or None."""
        cdef uint32_t found = find_piece(
            self.tables.pieces, self.tables.piece_mask, self.tables.token_bytes, self.tables.token_ends,
            <const uint8_t*> PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token),
        )
        return None if found == NONE else found

    def has(self, token_id):
        """Whether the id is a token."""
        return 0 <= token_id < self.tables.n_ids and bool(_is_token(&self.tables, token_id))

    def tokens(self):
        """The bytes of every id in order; `b""` where an id is no token."""
        cdef uint32_t i
        return [self.token(i) for i in range(self.tables.n_ids)]

    def pair(self, uint32_t left, uint32_t right):
        """(priority, merged id) of a pair of ids, or None."""
        cdef const PairSlot* slot = find_pair(self.tables.pairs, self.tables.pair_shift, left, right)
        return None if slot.priority == NONE else (slot.priority, slot.id)

    def sections(self):
        """The four buffers by name, as read-only memory views."""
        return {SECTIONS[i]: memoryview(<object> self._views[i].obj).cast("B") for i in range(4)}


def build_tables(list tokens not None, merges=None):
    """The four buffers of a Vocabulary, from tokens and ranks or from tokens and a merge list.

    tokens: the bytes of each id, None or b"" where an id is no token. merges: None, for ranks (every split of
    a token into two tokens is a pair whose priority is the token's id), or (left id, right id, merged id)
    in order of priority.
    """
    cdef bytes flat = b"".join([token for token in tokens if token])
    if len(tokens) > MAX_IDS or PyBytes_GET_SIZE(flat) >= NONE:
        raise VocabularyError(
            f"{len(tokens)} ids with {len(flat)} bytes: the limits are {MAX_IDS} ids and 4 GiB"
        )
    ends_array = bytearray(4 * len(tokens))
    cdef uint32_t* ends = <uint32_t*> PyByteArray_AS_STRING(ends_array)
    cdef uint32_t end = 0
    cdef Py_ssize_t i = 0
    for token in tokens:
        end += <uint32_t> (len(token) if token else 0)
        ends[i] = end
        i += 1
    pieces = _build_pieces(flat, ends, len(tokens))
    pairs = _build_pairs_from_ranks(flat, ends, len(tokens), pieces) if merges is None else \
        _build_pairs_from_merges(merges, tokens)
    return {"token_bytes": flat, "token_ends": bytes(ends_array), "pieces": bytes(pieces), "pairs": bytes(pairs)}


cdef bytearray _empty_table(size_t n_bytes):
    table = bytearray(n_bytes)
    memset(PyByteArray_AS_STRING(table), 0xFF, n_bytes)  # all ones: every slot NONE
    return table


cdef bytearray _build_pieces(bytes flat, const uint32_t* ends, uint32_t n_ids):
    cdef int bits = table_bits(n_ids)
    cdef bytearray table = _empty_table((<size_t> 1 << bits) * sizeof(PieceSlot))
    cdef PieceSlot* slots = <PieceSlot*> PyByteArray_AS_STRING(table)
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(flat)
    cdef size_t mask = (<size_t> 1 << bits) - 1, at
    cdef uint32_t i, start = 0, length
    cdef uint64_t h
    with nogil:
        for i in range(n_ids):
            length = ends[i] - start
            if length and find_piece(slots, mask, data, ends, data + start, length) == NONE:
                h = hash_bytes(data + start, length, 0)
                at = <size_t> h & mask
                while slots[at].id != NONE:
                    at = (at + 1) & mask
                slots[at].tag = <uint32_t> (h >> 32)
                slots[at].id = i
            start = ends[i]
    return table


cdef bytearray _build_pairs_from_ranks(bytes flat, const uint32_t* ends, uint32_t n_ids, bytearray pieces):
    """Two passes over every split of every token: count the pairs, then store them."""
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(flat)
    cdef const PieceSlot* slots = <const PieceSlot*> PyByteArray_AS_STRING(pieces)
    cdef size_t mask = <size_t> len(pieces) // sizeof(PieceSlot) - 1
    cdef uint32_t i, start = 0, longest = 0
    for i in range(n_ids):
        longest = max(longest, ends[i] - start)
        start = ends[i]
    # A split is worth a look only if tokens of both lengths exist: keeps a hostile vocabulary of a few
    # enormous tokens from costing the square of their length.
    cdef bytearray lengths = bytearray(longest + 1)
    start = 0
    for i in range(n_ids):
        lengths[ends[i] - start] = 1
        start = ends[i]
    cdef const uint8_t* has_length = <const uint8_t*> PyByteArray_AS_STRING(lengths)
    cdef size_t n_pairs
    cdef bytearray table
    with nogil:
        n_pairs = _each_split(data, ends, n_ids, slots, mask, has_length, NULL, 0)
    cdef int bits = table_bits(n_pairs)
    table = _empty_table((<size_t> 1 << bits) * sizeof(PairSlot))
    cdef PairSlot* pairs = <PairSlot*> PyByteArray_AS_STRING(table)
    with nogil:
        _each_split(data, ends, n_ids, slots, mask, has_length, pairs, 64 - bits)
    return table


cdef size_t _each_split(
    const uint8_t* data, const uint32_t* ends, uint32_t n_ids, const PieceSlot* slots, size_t mask,
    const uint8_t* has_length, PairSlot* pairs, uint32_t shift,
) noexcept nogil:
    cdef size_t n_pairs = 0
    cdef uint32_t i, cut, left, right, length, start = 0
    for i in range(n_ids):
        length = ends[i] - start
        # A token that repeats an earlier one's bytes adds nothing: the lowest id stands for them.
        if length > 1 and find_piece(slots, mask, data, ends, data + start, length) == i:
            for cut in range(1, length):
                if not has_length[cut] or not has_length[length - cut]:
                    continue
                left = find_piece(slots, mask, data, ends, data + start, cut)
                if left == NONE:
                    continue
                right = find_piece(slots, mask, data, ends, data + start + cut, length - cut)
                if right == NONE:
                    continue
                n_pairs += 1
                if pairs != NULL:
                    _put_pair(pairs, shift, left, right, i, i)
        start = ends[i]
    return n_pairs


cdef bint _put_pair(
    PairSlot* pairs, uint32_t shift, uint32_t left, uint32_t right, uint32_t priority, uint32_t merged
) noexcept nogil:
    """Store a pair unless it is there: the first, of better priority, stays. Says whether it was new."""
    cdef PairSlot* slot = <PairSlot*> find_pair(pairs, shift, left, right)
    if slot.priority != NONE:
        return False
    slot.left = left
    slot.right = right
    slot.priority = priority
    slot.id = merged
    return True


cdef bytearray _build_pairs_from_merges(merges, list tokens):
    merges = list(merges)
    cdef int bits = table_bits(len(merges))
    cdef bytearray table = _empty_table((<size_t> 1 << bits) * sizeof(PairSlot))
    cdef PairSlot* pairs = <PairSlot*> PyByteArray_AS_STRING(table)
    cdef uint32_t priority = 0
    for left, right, merged in merges:
        for token_id in (left, right, merged):
            if not 0 <= token_id < len(tokens) or not tokens[token_id]:
                raise VocabularyError(
                    f"merge {priority}: ({left}, {right}) -> {merged} names an id that is no token, {token_id}"
                )
        if tokens[left] + tokens[right] != tokens[merged]:
            raise VocabularyError(
                f"merge {priority}: {tokens[left]!r} and {tokens[right]!r} do not make {tokens[merged]!r}"
            )
        if not _put_pair(pairs, 64 - bits, left, right, priority, merged):
            raise VocabularyError(f"merge {priority}: the pair ({left}, {right}) stands twice in the merge list")
        priority += 1
    return table

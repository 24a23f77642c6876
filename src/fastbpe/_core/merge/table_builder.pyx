"""Build the tables of a vocabulary: the piece table (tokens by their bytes), and the pair table.

For ranks, every split of a token into two tokens is a pair: `token_splits` finds them. Filling a table waits on
memory, so each step prefetches its slots some entries ahead.
"""

# Tried and dropped: storing only the one pair that makes each token: half the table, but no gain with a cold cache.
# Tried and dropped: a bit map (a bit per quarter slot) of absent pairs: slower; no code waits for the lines it
#   saves.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memset

from fastbpe._core.common.hash_lookups cimport is_far, pair_home, ranked_slot, wide_home, wide_slot
from fastbpe._core.common.hashing cimport hash_bytes, table_bits
from fastbpe._core.common.memory cimport prefetch, use_huge_pages
from fastbpe._core.common.hash_tables cimport (
    MAX_RANKED_IDS, MAX_RUN, NO_PAIR, NONE, RANKED_BITS, PairSlot, PieceSlot
)
from fastbpe._core.common.python cimport (
    PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyBytes_AS_STRING, PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE
)
from fastbpe._core.merge.token_splits cimport Split, Splits, find_splits
from fastbpe._core.merge.vocabulary cimport Tables, ends_rise, is_token, token_length, token_start

from array import array

from fastbpe._core.merge.vocabulary import MAX_IDS as _MAX_IDS
from fastbpe.errors import VocabularyError

cdef enum:
    CACHE_LINE_BYTES = 64
    AHEAD = 8  # how many entries ahead to prefetch slots while filling a table


def build_tables(list tokens not None, merges=None, *, bint affixed=False):
    """Return the four buffers of a Vocabulary, by the names of its keyword arguments.

    tokens: bytes of each id; None or b"": the id is not a token.
    merges, affixed: as in build_look_ups().
    """
    cdef bytes flat = b"".join([token for token in tokens if token])
    if len(tokens) > _MAX_IDS or PyBytes_GET_SIZE(flat) >= NONE:
        raise VocabularyError(
            f"{len(tokens)} ids with {len(flat)} bytes: the limits are {_MAX_IDS} ids and 2**32 - 2 bytes"
        )
    cdef bytes ends_array = PyBytes_FromStringAndSize(NULL, 4 * <Py_ssize_t> len(tokens))
    cdef uint32_t* ends = <uint32_t*> PyBytes_AS_STRING(ends_array)
    cdef uint32_t end = 0
    cdef Py_ssize_t i = 0
    for token in tokens:
        end += <uint32_t> (len(token) if token else 0)
        ends[i] = end
        i += 1
    return build_look_ups(flat, ends_array, merges, affixed=affixed)


def build_look_ups(token_bytes, token_ends, merges=None, *, bint affixed=False):
    """Make the other two buffers of a Vocabulary from the two that contain its tokens; return all four by name.

    token_bytes: bytes of all tokens, end to end.
    token_ends: uint32 array, the end of each id's token in token_bytes.
    merges: None, for ranks: every split of a token into two tokens is a pair, whose priority is the token's id.
        Otherwise (left id, right id, merged id) in order of priority, as tuples or packed uint32.
    affixed: tokens have a prefix or suffix (see `SpelledSymbols`), so the two tokens of a merge need not spell the
        third.

    Ranks of up to MAX_RANKED_IDS ids make a ranked pair table, "pair_lines"; otherwise the table is wide, "pairs".
    """
    cdef Tables t
    cdef uint32_t n_repeated
    tables = look_up_pieces(token_bytes, token_ends, &t, &n_repeated)
    if merges is not None:
        tables["pairs"] = _build_pairs_from_merges(&t, _triples(merges), affixed)
    else:
        tables["pair_lines" if t.n_ids <= MAX_RANKED_IDS else "pairs"] = _build_pairs_from_ranks(&t, n_repeated > 0)
    return tables


cdef dict look_up_pieces(token_bytes, token_ends, Tables* t, uint32_t* n_repeated):
    """Check the two buffers that contain tokens and build the piece table; return the three by name.

    t: becomes a view of all three.
    n_repeated: receives the number of tokens that have the same bytes as an earlier one.
    """
    cdef const uint8_t[::1] data = token_bytes if len(token_bytes) else b"\0"
    cdef const uint8_t[::1] raw_ends = token_ends if len(token_ends) else b"\0\0\0\0"
    cdef uint32_t n_found = 0
    memset(t, 0, sizeof(Tables))
    t.token_bytes = &data[0]
    t.token_ends = <const uint32_t*> &raw_ends[0]
    t.n_ids = <uint32_t> min(<size_t> len(token_ends) // 4, <size_t> NONE)
    if (
        len(token_ends) % 4 or t.n_ids > _MAX_IDS or <size_t> t.token_ends % 4  # a view may not be aligned
        or not ends_rise(t, <size_t> len(token_bytes), &t.n_tokens, &t.max_token_bytes)
    ):
        raise VocabularyError(
            f"table 'token_ends' does not divide {len(token_bytes)} bytes into at most {_MAX_IDS} tokens"
        )
    pieces = _build_pieces(t, &n_found)
    n_repeated[0] = t.n_tokens - n_found
    return {"token_bytes": token_bytes, "token_ends": token_ends, "pieces": pieces}


cdef const uint32_t[::1] _triples(merges):
    """Return a list of merges as an array of uint32, three per merge."""
    if isinstance(merges, (bytes, bytearray, memoryview)):
        if memoryview(merges).nbytes % 12:
            raise VocabularyError(f"merges: {memoryview(merges).nbytes} bytes, not a multiple of 12")
        return array("I", bytes(merges))  # a copy, because the memory need not be aligned
    listed = list(merges)
    for i, (left, right, merged) in enumerate(listed):
        for token_id in (left, right, merged):
            if not 0 <= token_id < NONE:  # array() would raise OverflowError
                raise VocabularyError(
                    f"merge {i}: ({left}, {right}) -> {merged} names an id that is not a token, {token_id}"
                )
    return array("I", [token_id for merge in listed for token_id in merge])


cdef object empty_table(size_t n_bytes, void** slots):
    """Return a memory view of n_bytes bytes 0xFF, so that every slot is empty; it starts on a cache line.

    slots: receives the address.
    """
    memory = PyByteArray_FromStringAndSize(NULL, <Py_ssize_t> n_bytes + CACHE_LINE_BYTES)
    cdef char* first = PyByteArray_AS_STRING(memory)
    cdef size_t start = -<size_t> first % CACHE_LINE_BYTES  # bytes up to the next cache line
    slots[0] = first + start
    use_huge_pages(slots[0], n_bytes)
    memset(slots[0], 0xFF, n_bytes)
    return memoryview(memory)[start:start + n_bytes]


cdef object _build_pieces(Tables* t, uint32_t* n_found):
    """Build the piece table and store it in t. n_found: receives the number of tokens in it."""
    cdef int bits = table_bits(t.n_ids)
    cdef PieceSlot* slots
    table = empty_table((<size_t> 1 << bits) * sizeof(PieceSlot), <void**> &slots)
    cdef const uint8_t* data = t.token_bytes
    cdef size_t mask = (<size_t> 1 << bits) - 1, at
    # Each step hashes token i and stores token i - AHEAD; these are their starts in data.
    cdef uint32_t i, hashed_start = 0, start = 0, length, other, found = 0
    cdef uint64_t hashes[AHEAD]  # of the tokens between
    cdef uint64_t h
    cdef bint collides = False
    with nogil:
        for i in range(t.n_ids + AHEAD):
            h = hashes[i % AHEAD]
            if i < t.n_ids:
                hashes[i % AHEAD] = hash_bytes(data + hashed_start, t.token_ends[i] - hashed_start, 0)
                prefetch(&slots[<size_t> hashes[i % AHEAD] & mask])
                hashed_start = t.token_ends[i]
            if i < AHEAD:
                continue
            length = t.token_ends[i - AHEAD] - start
            at = <size_t> h & mask
            while length and slots[at].id != NONE:
                other = slots[at].id
                if (
                    slots[at].tag == <uint32_t> (h >> 32) and token_length(t, other) == length
                    and memcmp(data + token_start(t, other), data + start, length) == 0
                ):
                    length = 0  # this token repeats an earlier one and gets no entry
                at = (at + 1) & mask
            if is_far(at, <size_t> h & mask, mask):
                collides = True
                break
            if length:
                slots[at].tag = <uint32_t> (h >> 32)
                slots[at].id = i - AHEAD
                found += 1
            start = t.token_ends[i - AHEAD]
    if collides:
        raise colliding(f"token {i - AHEAD}")
    t.pieces, t.piece_mask = slots, mask
    n_found[0] = found
    return table


cdef object _build_pairs_from_ranks(const Tables* t, bint has_repeated):
    """Find all splits of all tokens into two tokens, and build a pair table of the right size from them.

    has_repeated: some tokens have the same bytes as an earlier one.
    """
    cdef Splits splits = Splits(NULL, 0, 0)
    try:
        find_splits(t, has_repeated, &splits)
        if t.n_ids <= MAX_RANKED_IDS:
            return _ranked_table(&splits)
        return _wide_table(&splits)
    finally:
        free(splits.items)


cdef object colliding(str entry):
    """Create the error for an entry that makes a run of a hash table too long."""
    return VocabularyError(
        f"{entry} shares its place in a hash table with more than {MAX_RUN} others: the vocabulary was built "
        "to cause collisions; do not use it"
    )


cdef object _ranked_table(const Splits* splits):
    """Build a ranked pair table. Of two splits with the same parts, the first stays, which has the lower id."""
    cdef int bits = table_bits(splits.n)
    cdef size_t mask = (<size_t> 1 << bits) - 1
    cdef bint collides = False
    cdef uint64_t* slots
    table = empty_table((<size_t> 1 << bits) * sizeof(uint64_t), <void**> &slots)
    cdef const Split* split
    cdef size_t i, at
    with nogil:
        for i in range(splits.n):
            if i + AHEAD < splits.n:
                split = &splits.items[i + AHEAD]
                prefetch(&slots[pair_home(split.left, split.right, 64 - bits)])
            split = &splits.items[i]
            at = ranked_slot(slots, 64 - bits, split.left, split.right)
            if is_far(at, pair_home(split.left, split.right, 64 - bits), mask):
                collides = True
                break
            if slots[at] == NO_PAIR:
                slots[at] = (
                    <uint64_t> split.left << 2 * RANKED_BITS | <uint64_t> split.right << RANKED_BITS | split.merged
                )
    if collides:
        raise colliding(f"the pair ({split.left}, {split.right}) of token {split.merged}")
    return table


cdef object _wide_table(const Splits* splits):
    """Build a wide pair table whose priorities are ids."""
    cdef int bits = table_bits(splits.n)
    cdef PairSlot* slots
    table = empty_table((<size_t> 1 << bits) * sizeof(PairSlot), <void**> &slots)
    cdef const Split* split
    cdef size_t i
    for i in range(splits.n):
        split = &splits.items[i]
        _put_pair(slots, 64 - bits, split.left, split.right, split.merged, split.merged)
    return table


cdef bint _put_pair(
    PairSlot* slots, uint32_t shift, uint32_t left, uint32_t right, uint32_t priority, uint32_t merged
) except -1:
    """Store a pair unless it is in the table already; return True if it was new.

    Raises VocabularyError if too many pairs share its position.
    """
    cdef size_t at = wide_slot(slots, shift, left, right)
    cdef PairSlot* slot = &slots[at]
    if is_far(at, wide_home(left, right, shift), (<size_t> 1 << (64 - shift)) - 1):
        raise colliding(f"the pair ({left}, {right}) of token {merged}")
    if slot.priority != NONE:
        return False
    slot.left = left
    slot.right = right
    slot.priority = priority
    slot.id = merged
    return True


cdef bytes _token(const Tables* t, uint32_t i):
    """Bytes of token i."""
    return (<const char*> t.token_bytes)[token_start(t, i):t.token_ends[i]]


cdef object _build_pairs_from_merges(const Tables* t, const uint32_t[::1] merges, bint affixed):
    """Build a wide pair table whose priorities are positions in a list of merges (see _triples).

    Raises VocabularyError for a merge of two tokens that do not make the third (affixed: of ids that are not
    tokens), a pair that appears twice, or too many pairs that share a position.
    """
    cdef size_t n = <size_t> merges.shape[0] // 3, i
    cdef int bits = table_bits(n)
    cdef PairSlot* pairs
    cdef const uint32_t* merge
    table = empty_table((<size_t> 1 << bits) * sizeof(PairSlot), <void**> &pairs)
    for i in range(n):
        merge = &merges[3 * i]
        if not (_are_tokens(t, merge) if affixed else is_sound(t, merge)):
            raise _unsound(t, i, merge[0], merge[1], merge[2])
        if not _put_pair(pairs, 64 - bits, merge[0], merge[1], <uint32_t> i, merge[2]):
            raise VocabularyError(
                f"merge {i}: the pair ({merge[0]}, {merge[1]}) appears twice in the list of merges"
            )
    return table


cdef inline bint _are_tokens(const Tables* t, const uint32_t* merge) noexcept nogil:
    """Tell whether (left id, right id, merged id) are tokens."""
    return is_token(t, merge[0]) and is_token(t, merge[1]) and is_token(t, merge[2])


cdef bint is_sound(const Tables* t, const uint32_t* merge) noexcept nogil:
    """Tell whether (left id, right id, merged id) are tokens, and the bytes of the first two form the third."""
    cdef uint32_t left, right, merged
    if not _are_tokens(t, merge):
        return False
    left, right = token_length(t, merge[0]), token_length(t, merge[1])
    merged = token_start(t, merge[2])
    return (
        left + right == token_length(t, merge[2])
        and memcmp(t.token_bytes + merged, t.token_bytes + token_start(t, merge[0]), left) == 0
        and memcmp(t.token_bytes + merged + left, t.token_bytes + token_start(t, merge[1]), right) == 0
    )


cdef object _unsound(const Tables* t, size_t number, uint32_t left, uint32_t right, uint32_t merged):
    """Create the error for a merge that is not sound."""
    for token_id in (left, right, merged):
        if not is_token(t, token_id):
            return VocabularyError(
                f"merge {number}: ({left}, {right}) -> {merged} names an id that is not a token, {token_id}"
            )
    return VocabularyError(
        f"merge {number}: {_token(t, left)!r} and {_token(t, right)!r} do not make {_token(t, merged)!r}"
    )

"""Builds the tables of a vocabulary: the piece table (tokens by their bytes), and the pair table.

For ranks, every split of a token into two tokens is a pair. A token of n bytes has n - 1 split points. A Bloom
filter of all tokens rejects nearly all split points that do not give two tokens, and look-ups confirm the rest.
All of this waits on memory, so each step prefetches its data some tokens ahead.
"""

# Tried and dropped: storing only the one pair that makes each token: half the table, but no gain with a cold cache.
# Tried and dropped: a bit map (a bit per quarter slot) of absent pairs: slower; no code waits for the lines it
#   saves.
# Tried and dropped: tables on huge pages: less processor time, but the same elapsed time.

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memset

from fastbpe._core.common.memory cimport prefetch, use_huge_pages
from fastbpe._core.common.hash_tables cimport (
    GOLDEN_RATIO, MAX_RANKED_IDS, MAX_RUN, NO_PAIR, NONE, RANKED_BITS, PairSlot, PieceSlot, find_tag, hash_bytes,
    is_far, pair_home, ranked_slot, table_bits, wide_home, wide_slot,
)
from fastbpe._core.merge.vocabulary cimport (
    Tables, confirm_token, ends_rise, find_token, is_token, token_length, token_start,
)

from array import array

from fastbpe._core.merge.vocabulary import MAX_IDS as _MAX_IDS
from fastbpe.errors import VocabularyError

cdef enum:
    CACHE_LINE_BYTES = 64
    AHEAD = 8  # how many entries ahead to prefetch slots while filling a table
    MAX_FILTERED_BYTES = 64  # longest token that is split with the filter; few tokens are longer
    STAGES = 3  # stages of the pipeline in _each_split()
    STAGE_TOKENS = 2  # tokens between two stages: time for a prefetch to complete
    BACKWARD_SEED = 64  # start of the filter's backward hashes, so that they differ from the forward ones
    FILTER_BITS = 16  # bits of the filter per token; a token sets two bits


cdef struct Split:
    # A token split into two tokens.
    uint32_t left
    uint32_t right
    uint32_t merged


cdef struct Filter:
    # Bloom filter of all tokens. It contains two hashes of each token: one computed from the first byte on, one
    # from the last byte backwards, because these extend byte by byte to all prefixes and suffixes.
    uint64_t* bits
    uint32_t shift  # 64 - log2 of the number of 64-bit words


cdef struct SplitPoint:
    # A position at which a token may split into two tokens.
    uint64_t left_hash  # hash_bytes() of the part before it
    uint64_t right_hash  # hash_bytes() of the part after it
    uint32_t at  # offset in token_bytes
    uint32_t left  # candidate for the part before it: a token with the tag of its hash
    uint32_t right  # candidate for the part after it


cdef struct SplitPoints:
    # Split points of one token that pass the filter.
    uint32_t n  # more than MAX_FILTERED_BYTES: the token is too long, and `items` is unused
    SplitPoint items[MAX_FILTERED_BYTES]


cdef struct Splits:
    # Growing array.
    Split* items
    size_t n
    size_t capacity


def build_tables(list tokens not None, merges=None, *, bint affixed=False):
    """Return the four buffers of a Vocabulary, by the names of its keyword arguments.

    tokens: bytes of each id; None or b"": the id is not a token.
    merges, affixed: as in build_look_ups().
    """
    cdef bytes flat = b"".join([token for token in tokens if token])
    if len(tokens) > _MAX_IDS or PyBytes_GET_SIZE(flat) >= NONE:
        raise VocabularyError(
            f"{len(tokens)} ids with {len(flat)} bytes: the limits are {_MAX_IDS} ids and 4 GiB"
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
        len(token_ends) % 4 or t.n_ids > _MAX_IDS or <size_t> t.token_ends % 4
        or not ends_rise(t, <size_t> len(token_bytes), &t.n_tokens, &t.max_token_bytes)
    ):
        raise VocabularyError(f"table 'token_ends' does not cut {len(token_bytes)} bytes into tokens")
    pieces = _build_pieces(t, &n_found)
    n_repeated[0] = t.n_tokens - n_found
    return {"token_bytes": token_bytes, "token_ends": token_ends, "pieces": pieces}


cdef const uint32_t[::1] _triples(merges):
    """Return a list of merges as an array of uint32, three per merge. An empty list becomes one unused item."""
    if isinstance(merges, (bytes, bytearray, memoryview)):
        if memoryview(merges).nbytes % 12:
            raise VocabularyError(f"{memoryview(merges).nbytes} bytes are not a whole number of merges")
        if not len(merges):
            return array("I", b"\0\0\0\0")
        return memoryview(merges).cast("B").cast("I")
    listed = list(merges)
    for left, right, merged in listed:
        for token_id in (left, right, merged):
            if not 0 <= token_id < NONE:
                raise VocabularyError(
                    f"merge {listed.index((left, right, merged))}: ({left}, {right}) -> {merged} names an id that "
                    f"is not a token, {token_id}"
                )
    return array("I", [token_id for merge in listed for token_id in merge] or [0])


cdef object empty_table(size_t n_bytes, void** slots):
    """Return a memory view of n_bytes bytes 0xFF, so that every slot is empty; it starts on a cache line.

    slots: receives the address.
    """
    memory = PyByteArray_FromStringAndSize(NULL, <Py_ssize_t> n_bytes + CACHE_LINE_BYTES)
    cdef char* first = PyByteArray_AS_STRING(memory)
    cdef size_t start = -<size_t> first % CACHE_LINE_BYTES
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
    cdef uint32_t i, start = 0, ahead = 0, length, other, found = 0
    cdef uint64_t hashes[AHEAD]
    cdef uint64_t h
    cdef bint collides = False
    with nogil:
        for i in range(t.n_ids + AHEAD):
            h = hashes[i % AHEAD]
            if i < t.n_ids:
                hashes[i % AHEAD] = hash_bytes(data + ahead, t.token_ends[i] - ahead, 0)
                prefetch(&slots[<size_t> hashes[i % AHEAD] & mask])
                ahead = t.token_ends[i]
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
    # For each length in bytes, whether a token of that length exists. A long token is split only where both parts
    # have such a length: otherwise a hostile vocabulary of a few enormous tokens would take quadratic time.
    cdef bytearray lengths = bytearray(<size_t> t.max_token_bytes + 1)
    cdef uint8_t* has_length = <uint8_t*> PyByteArray_AS_STRING(lengths)
    cdef Splits splits = Splits(NULL, 0, 0)
    cdef Filter known = Filter(NULL, 58)  # at least 64 words
    cdef uint32_t i
    cdef bint done
    for i in range(t.n_ids):
        has_length[t.token_ends[i] - token_start(t, i)] = 1
    try:
        with nogil:
            done = _fill(t, &known) and _each_split(t, &known, has_length, has_repeated, &splits)
        if not done:
            raise MemoryError(f"no memory for the pairs of {t.n_ids} tokens")
        if t.n_ids <= MAX_RANKED_IDS:
            return _ranked_table(&splits)
        return _wide_table(&splits)
    finally:
        free(known.bits)
        free(splits.items)


cdef inline uint64_t _longer(uint64_t h, uint8_t byte) noexcept nogil:
    """Extend the filter's hash of a text by one byte: on the right, or on the left if the hash runs backwards."""
    return (h + byte + 1) * GOLDEN_RATIO


cdef inline bint _may_be(const Filter* known, uint64_t h) noexcept nogil:
    """Tell whether a token may have this hash; False is certain."""
    return known.bits[h >> known.shift] >> (h >> (known.shift - 6) & 63) & 1


cdef bint _fill(const Tables* t, Filter* known) noexcept nogil:
    """Allocate the filter and add all tokens of fewer than MAX_FILTERED_BYTES; False if out of memory."""
    cdef const uint8_t* token
    cdef uint64_t forward, backward
    cdef uint32_t i, k, n
    while <uint64_t> 1 << (64 - known.shift) < <uint64_t> t.n_ids * FILTER_BITS // 64:
        known.shift -= 1
    known.bits = <uint64_t*> calloc(<size_t> 1 << (64 - known.shift), 8)
    if known.bits == NULL:
        return False
    for i in range(t.n_ids):
        token, n = t.token_bytes + token_start(t, i), token_length(t, i)
        if n >= MAX_FILTERED_BYTES:
            continue
        forward, backward = 0, BACKWARD_SEED
        for k in range(n):
            forward = _longer(forward, token[k])
            backward = _longer(backward, token[n - 1 - k])
        known.bits[forward >> known.shift] |= <uint64_t> 1 << (forward >> (known.shift - 6) & 63)
        known.bits[backward >> known.shift] |= <uint64_t> 1 << (backward >> (known.shift - 6) & 63)
    return True


cdef bint _each_split(
    const Tables* t, const Filter* known, const uint8_t* has_length, bint has_repeated, Splits* out
) noexcept nogil:
    """Append all splits of all tokens to `out`; False if out of memory.

    A software pipeline of three stages, STAGE_TOKENS tokens apart: find the split points and prefetch the slots of
    both parts; look the parts up by tag and prefetch their ends; compare their bytes.
    """
    cdef SplitPoints[STAGES * STAGE_TOKENS] ring
    cdef SplitPoints* points
    cdef uint32_t i, k
    for i in range(t.n_ids + (STAGES - 1) * STAGE_TOKENS):
        if i < t.n_ids:
            _find_split_points(t, known, i, &ring[i % (STAGES * STAGE_TOKENS)])
        k = i - STAGE_TOKENS
        if i >= STAGE_TOKENS and k < t.n_ids:
            _find_parts(t, &ring[k % (STAGES * STAGE_TOKENS)])
        k = i - 2 * STAGE_TOKENS
        if i < 2 * STAGE_TOKENS:
            continue
        points = &ring[k % (STAGES * STAGE_TOKENS)]
        # Of several tokens with the same bytes only the lowest id, which a look-up finds, is used in pairs.
        if has_repeated and find_token(t, t.token_bytes + token_start(t, k), token_length(t, k)) != k:
            continue
        if points.n > MAX_FILTERED_BYTES:
            if not _split_long(t, has_length, k, out):
                return False
        elif not _split(t, k, points, out):
            return False
    return True


cdef inline void _find_split_points(
    const Tables* t, const Filter* known, uint32_t token, SplitPoints* points
) noexcept nogil:
    """Find the points at which the filter has both parts of a token, hash the parts, and prefetch their slots.

    There is no branch on the filter's answer: about two in five are positive, so it could not be predicted.
    """
    cdef const uint8_t* text = t.token_bytes + token_start(t, token)
    cdef uint32_t n = token_length(t, token), at, i, n_points = 0
    cdef Filter filter = known[0]
    cdef uint64_t[MAX_FILTERED_BYTES + 1] right
    cdef uint64_t h = BACKWARD_SEED
    points.n = MAX_FILTERED_BYTES + 1
    if n > MAX_FILTERED_BYTES:
        return
    for i in range(1, n):
        h = _longer(h, text[n - i])
        right[n - i] = h
    h = 0
    for at in range(1, n):
        h = _longer(h, text[at - 1])
        points.items[n_points].at = at
        n_points += _may_be(&filter, h) & _may_be(&filter, right[at])
    for i in range(n_points):
        at = points.items[i].at
        points.items[i].left_hash = hash_bytes(text, at, 0)
        points.items[i].right_hash = hash_bytes(text + at, n - at, 0)
        prefetch(&t.pieces[<size_t> points.items[i].left_hash & t.piece_mask])
        prefetch(&t.pieces[<size_t> points.items[i].right_hash & t.piece_mask])
        points.items[i].at += token_start(t, token)
    points.n = n_points


cdef inline void _find_parts(const Tables* t, SplitPoints* points) noexcept nogil:
    """Keep the points whose parts have the tags of tokens, record these tokens, and prefetch their ends."""
    cdef uint32_t i, n = 0, left, right
    if points.n > MAX_FILTERED_BYTES:
        return
    for i in range(points.n):
        left = find_tag(t.pieces, t.piece_mask, points.items[i].left_hash)
        right = find_tag(t.pieces, t.piece_mask, points.items[i].right_hash)
        if left != NONE and right != NONE:
            points.items[n].at, points.items[n].left, points.items[n].right = points.items[i].at, left, right
            prefetch(&t.token_ends[left])
            prefetch(&t.token_ends[right])
            n += 1
    points.n = n


cdef inline bint _split(const Tables* t, uint32_t token, const SplitPoints* points, Splits* out) noexcept nogil:
    """Append the splits of a token at those points whose parts really are tokens; False if out of memory."""
    cdef uint32_t i, start = token_start(t, token), end = t.token_ends[token], at, left, right
    for i in range(points.n):
        at = points.items[i].at
        left = confirm_token(t, points.items[i].left, t.token_bytes + start, at - start)
        right = confirm_token(t, points.items[i].right, t.token_bytes + at, end - at)
        if left != NONE and right != NONE and not _append(out, left, right, token):
            return False
    return True


cdef bint _split_long(const Tables* t, const uint8_t* has_length, uint32_t token, Splits* out) noexcept nogil:
    """Append the splits of a token that is too long for the filter; False if out of memory."""
    cdef uint32_t start = token_start(t, token), end = t.token_ends[token], at, left, right
    for at in range(start + 1, end):
        if not has_length[at - start] or not has_length[end - at]:
            continue
        left = find_token(t, t.token_bytes + start, at - start)
        if left == NONE:
            continue
        right = find_token(t, t.token_bytes + at, end - at)
        if right != NONE and not _append(out, left, right, token):
            return False
    return True


cdef inline bint _append(Splits* splits, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil:
    """Append a split; False if out of memory."""
    cdef Split* items
    cdef size_t capacity
    if splits.n == splits.capacity:
        capacity = max(2 * splits.capacity, <size_t> 1024)
        items = <Split*> realloc(splits.items, capacity * sizeof(Split))
        if items == NULL:
            return False
        splits.items = items
        splits.capacity = capacity
    splits.items[splits.n] = Split(left, right, merged)
    splits.n += 1
    return True


cdef object colliding(str entry):
    """Create the error for an entry that makes a run of a hash table too long."""
    return VocabularyError(
        f"{entry} shares its place in a hash table with more than {MAX_RUN} others: the vocabulary is made to "
        "collide; do not use it"
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

    Raises VocabularyError for a merge of two tokens that do not make the third, or for a pair that appears twice.
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
                f"merge {i}: the pair ({merge[0]}, {merge[1]}) appears twice in the merge list"
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

"""Building the tables of a vocabulary: which token a piece is, and which pairs of tokens make one."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memset

from fastbpe._core.common.memory cimport prefetch, use_huge_pages
from fastbpe._core.common.hash_tables cimport (
    FIBONACCI, MAX_RANKED_IDS, NO_PAIR, NONE, RANKED_BITS, PairSlot, PieceSlot, find_piece, find_tag, hash_bytes,
    pair_home, ranked_slot, same_bytes, table_bits, wide_slot,
)
from fastbpe._core.merge.vocabulary cimport Tables, ends_rise, is_token, token_length, token_start

from array import array

from fastbpe._core.merge.vocabulary import MAX_IDS as _MAX_IDS
from fastbpe.errors import VocabularyError

# Building waits for memory: what is looked at a few steps later is asked for. Of cl100k that takes a fifth off.
cdef enum:
    LINE_BYTES = 64
    AHEAD = 8
    MAX_TOKEN_BYTES = 64  # bytes of a token; few are longer
    STAGES = 3
    APART = 2  # tokens
    FILTER_BITS = 16  # for each token, which sets two


cdef struct Split:
    # A token as two tokens.
    uint32_t left
    uint32_t right
    uint32_t merged


cdef struct Filter:
    # Bits that tell of nearly all texts that are no tokens: by a hash from the left to the right, and by one back.
    uint64_t* bits
    uint32_t shift


cdef struct Cut:
    # Where a token may be cut, the hashes of both parts, and the tokens that these may be.
    uint64_t left_hash
    uint64_t right_hash
    uint32_t at
    uint32_t left
    uint32_t right


cdef struct Cuts:
    uint32_t n  # more than MAX_TOKEN_BYTES: the token is too long
    Cut items[MAX_TOKEN_BYTES]


cdef struct Splits:
    Split* items
    size_t n
    size_t capacity


def build_tables(list tokens not None, merges=None):
    """The four buffers of a Vocabulary, from the bytes of each id, None or b"" where an id is no token.

    merges: as in `build_look_ups`.
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
    return build_look_ups(flat, ends_array, merges)


def build_look_ups(token_bytes, token_ends, merges=None):
    """The four buffers of a Vocabulary, from the two that hold its tokens.

    merges: None, for ranks (every split of a token into two tokens is a pair whose priority is the token's
    id), or (left id, right id, merged id) in order of priority, as tuples or as packed uint32. Ranks of up to
    MAX_RANKED_IDS ids make "pair_lines", the rest "pairs" (see tables.pxd).
    """
    cdef Tables t
    cdef uint32_t n_repeated
    tables = look_up_pieces(token_bytes, token_ends, &t, &n_repeated)
    if merges is not None:
        tables["pairs"] = _build_pairs_from_merges(&t, _triples(merges))
    else:
        tables["pair_lines" if t.n_ids <= MAX_RANKED_IDS else "pairs"] = _build_pairs_from_ranks(&t, n_repeated > 0)
    return tables


cdef dict look_up_pieces(token_bytes, token_ends, Tables* t, uint32_t* n_repeated):
    """The buffers that hold tokens, once they are checked, and that which finds them; t becomes a view of all three.

    n_repeated: how many have the bytes of one before.
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
    """A merge list as triples of uint32, end to end."""
    if isinstance(merges, (bytes, bytearray, memoryview)):
        if memoryview(merges).nbytes % 12:
            raise VocabularyError(f"{memoryview(merges).nbytes} bytes do not hold whole merges")
        if not len(merges):
            return array("I", b"\0\0\0\0")
        return memoryview(merges).cast("B").cast("I")
    listed = list(merges)
    for left, right, merged in listed:
        for token_id in (left, right, merged):
            if not 0 <= token_id < NONE:
                raise VocabularyError(
                    f"merge {listed.index((left, right, merged))}: ({left}, {right}) -> {merged} names an id that "
                    f"is no token, {token_id}"
                )
    return array("I", [token_id for merge in listed for token_id in merge] or [0])


cdef object empty_table(size_t n_bytes, void** slots):
    """A memory view of a table without entries, whose lines are those of the processor's cache."""
    memory = PyByteArray_FromStringAndSize(NULL, <Py_ssize_t> n_bytes + LINE_BYTES)
    cdef char* first = PyByteArray_AS_STRING(memory)
    cdef size_t start = -<size_t> first % LINE_BYTES
    slots[0] = first + start
    use_huge_pages(slots[0], n_bytes)
    memset(slots[0], 0xFF, n_bytes)  # all ones: every slot NONE
    return memoryview(memory)[start:start + n_bytes]


cdef inline uint32_t _find(const Tables* t, uint32_t start, uint32_t end) noexcept nogil:
    return find_piece(
        t.pieces, t.piece_mask, t.token_bytes, t.token_ends, t.token_bytes + start, end - start
    )


cdef object _build_pieces(Tables* t, uint32_t* n_found):
    """The table of pieces, which t has from then on; n_found: how many tokens it leads to."""
    cdef int bits = table_bits(t.n_ids)
    cdef PieceSlot* slots
    table = empty_table((<size_t> 1 << bits) * sizeof(PieceSlot), <void**> &slots)
    cdef const uint8_t* data = t.token_bytes
    cdef size_t mask = (<size_t> 1 << bits) - 1, at
    cdef uint32_t i, start = 0, ahead = 0, length, other, found = 0
    cdef uint64_t hashes[AHEAD]
    cdef uint64_t h
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
                    length = 0  # one that repeats a token before it
                at = (at + 1) & mask
            if length:
                slots[at].tag = <uint32_t> (h >> 32)
                slots[at].id = i - AHEAD
                found += 1
            start = t.token_ends[i - AHEAD]
    t.pieces, t.piece_mask = slots, mask
    n_found[0] = found
    return table


cdef object _build_pairs_from_ranks(const Tables* t, bint has_repeated):
    """Every split of every token into two tokens: found in one pass, so that the table has the right size."""
    # A split of a long token is worth a look only if tokens of both lengths exist: keeps a hostile vocabulary of a
    # few enormous tokens from costing the square of their length.
    cdef bytearray lengths = bytearray(<size_t> t.max_token_bytes + 1)
    cdef uint8_t* has_length = <uint8_t*> PyByteArray_AS_STRING(lengths)
    cdef Splits splits = Splits(NULL, 0, 0)
    cdef Filter known = Filter(NULL, 58)
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
    """The hash of a text with one byte more: to its right or, where bytes come from behind, to its left."""
    return (h + byte + 1) * FIBONACCI


cdef inline bint _may_be(const Filter* known, uint64_t h) noexcept nogil:
    return known.bits[h >> known.shift] >> (h >> (known.shift - 6) & 63) & 1


cdef bint _fill(const Tables* t, Filter* known) noexcept nogil:
    """Set the bits of all tokens that are parts of any that is not too long."""
    cdef const uint8_t* token
    cdef uint64_t there, back
    cdef uint32_t i, k, n
    while <uint64_t> 1 << (64 - known.shift) < <uint64_t> t.n_ids * FILTER_BITS // 64:
        known.shift -= 1
    known.bits = <uint64_t*> calloc(<size_t> 1 << (64 - known.shift), 8)
    if known.bits == NULL:
        return False
    for i in range(t.n_ids):
        token, n = t.token_bytes + token_start(t, i), token_length(t, i)
        if n >= MAX_TOKEN_BYTES:
            continue
        there, back = 0, MAX_TOKEN_BYTES
        for k in range(n):
            there = _longer(there, token[k])
            back = _longer(back, token[n - 1 - k])
        known.bits[there >> known.shift] |= <uint64_t> 1 << (there >> (known.shift - 6) & 63)
        known.bits[back >> known.shift] |= <uint64_t> 1 << (back >> (known.shift - 6) & 63)
    return True


cdef bint _each_split(
    const Tables* t, const Filter* known, const uint8_t* has_length, bint has_repeated, Splits* out
) noexcept nogil:
    """What a look-up waits for is asked for some tokens before: first the slots of both parts, then where these
    tokens end."""
    cdef Cuts[STAGES * APART] ring
    cdef Cuts* cuts
    cdef uint32_t i, k
    for i in range(t.n_ids + (STAGES - 1) * APART):
        if i < t.n_ids:
            _cut(t, known, i, &ring[i % (STAGES * APART)])
        k = i - APART
        if i >= APART and k < t.n_ids:
            _find_parts(t, &ring[k % (STAGES * APART)])
        k = i - 2 * APART
        if i < 2 * APART:
            continue
        cuts = &ring[k % (STAGES * APART)]
        # A token that repeats an earlier one's bytes adds nothing: the lowest id stands for them.
        if has_repeated and _find(t, token_start(t, k), t.token_ends[k]) != k:
            continue
        if not (_split_long(t, has_length, k, out) if cuts.n > MAX_TOKEN_BYTES else _split(t, k, cuts, out)):
            return False
    return True


cdef inline void _cut(const Tables* t, const Filter* known, uint32_t token, Cuts* cuts) noexcept nogil:
    """Where both parts may be tokens. No branch asks: two in five are, and nothing would foretell which."""
    cdef const uint8_t* text = t.token_bytes + token_start(t, token)
    cdef uint32_t n = token_length(t, token), at, i, n_cuts = 0
    cdef Filter filter = known[0]
    cdef uint64_t[MAX_TOKEN_BYTES + 1] right
    cdef uint64_t h = MAX_TOKEN_BYTES
    cuts.n = MAX_TOKEN_BYTES + 1
    if n > MAX_TOKEN_BYTES:
        return
    for i in range(1, n):
        h = _longer(h, text[n - i])
        right[n - i] = h
    h = 0
    for at in range(1, n):
        h = _longer(h, text[at - 1])
        cuts.items[n_cuts].at = at
        n_cuts += _may_be(&filter, h) & _may_be(&filter, right[at])
    for i in range(n_cuts):
        at = cuts.items[i].at
        cuts.items[i].left_hash = hash_bytes(text, at, 0)
        cuts.items[i].right_hash = hash_bytes(text + at, n - at, 0)
        prefetch(&t.pieces[<size_t> cuts.items[i].left_hash & t.piece_mask])
        prefetch(&t.pieces[<size_t> cuts.items[i].right_hash & t.piece_mask])
        cuts.items[i].at += token_start(t, token)
    cuts.n = n_cuts


cdef inline void _find_parts(const Tables* t, Cuts* cuts) noexcept nogil:
    cdef uint32_t i, n = 0, left, right
    if cuts.n > MAX_TOKEN_BYTES:
        return
    for i in range(cuts.n):
        left = find_tag(t.pieces, t.piece_mask, cuts.items[i].left_hash)
        right = find_tag(t.pieces, t.piece_mask, cuts.items[i].right_hash)
        if left != NONE and right != NONE:
            cuts.items[n].at, cuts.items[n].left, cuts.items[n].right = cuts.items[i].at, left, right
            prefetch(&t.token_ends[left])
            prefetch(&t.token_ends[right])
            n += 1
    cuts.n = n


cdef inline bint _split(const Tables* t, uint32_t token, const Cuts* cuts, Splits* out) noexcept nogil:
    cdef uint32_t i, start = token_start(t, token), end = t.token_ends[token], at, left, right
    for i in range(cuts.n):
        at, left, right = cuts.items[i].at, cuts.items[i].left, cuts.items[i].right
        if not _is_at(t, left, start, at):  # another with the same tag
            left = _find(t, start, at)
        if not _is_at(t, right, at, end):
            right = _find(t, at, end)
        if left != NONE and right != NONE and not _append(out, left, right, token):
            return False
    return True


cdef bint _split_long(const Tables* t, const uint8_t* has_length, uint32_t token, Splits* out) noexcept nogil:
    cdef uint32_t start = token_start(t, token), end = t.token_ends[token], at, left, right
    for at in range(start + 1, end):
        if not has_length[at - start] or not has_length[end - at]:
            continue
        left = _find(t, start, at)
        if left == NONE:
            continue
        right = _find(t, at, end)
        if right != NONE and not _append(out, left, right, token):
            return False
    return True


cdef inline bint _is_at(const Tables* t, uint32_t token, uint32_t start, uint32_t end) noexcept nogil:
    """Whether a token is these bytes."""
    return token_length(t, token) == end - start and same_bytes(
        t.token_bytes + token_start(t, token), t.token_bytes + start, end - start
    )


cdef inline bint _append(Splits* splits, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil:
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


cdef object _ranked_table(const Splits* splits):
    cdef int bits = table_bits(splits.n)
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
            if slots[at] == NO_PAIR:
                slots[at] = (
                    <uint64_t> split.left << 2 * RANKED_BITS | <uint64_t> split.right << RANKED_BITS | split.merged
                )
    return table


cdef object _wide_table(const Splits* splits):
    cdef int bits = table_bits(splits.n)
    cdef PairSlot* slots
    table = empty_table((<size_t> 1 << bits) * sizeof(PairSlot), <void**> &slots)
    cdef const Split* split
    cdef size_t i
    with nogil:
        for i in range(splits.n):
            split = &splits.items[i]
            _put_pair(slots, 64 - bits, split.left, split.right, split.merged, split.merged)
    return table


cdef bint _put_pair(
    PairSlot* slots, uint32_t shift, uint32_t left, uint32_t right, uint32_t priority, uint32_t merged
) noexcept nogil:
    """Store a pair unless it is there: the first, of better priority, stays. Says whether it was new."""
    cdef PairSlot* slot = &slots[wide_slot(slots, shift, left, right)]
    if slot.priority != NONE:
        return False
    slot.left = left
    slot.right = right
    slot.priority = priority
    slot.id = merged
    return True


cdef bytes _token(const Tables* t, uint32_t i):
    return (<const char*> t.token_bytes)[token_start(t, i):t.token_ends[i]]


cdef object _build_pairs_from_merges(const Tables* t, const uint32_t[::1] merges):
    cdef size_t n = <size_t> merges.shape[0] // 3, i
    cdef int bits = table_bits(n)
    cdef PairSlot* pairs
    cdef const uint32_t* merge
    table = empty_table((<size_t> 1 << bits) * sizeof(PairSlot), <void**> &pairs)
    for i in range(n):
        merge = &merges[3 * i]
        if not is_sound(t, merge):
            raise _unsound(t, i, merge[0], merge[1], merge[2])
        if not _put_pair(pairs, 64 - bits, merge[0], merge[1], <uint32_t> i, merge[2]):
            raise VocabularyError(
                f"merge {i}: the pair ({merge[0]}, {merge[1]}) stands twice in the merge list"
            )
    return table


cdef bint is_sound(const Tables* t, const uint32_t* merge) noexcept nogil:
    """Whether (left id, right id, merged id) are tokens of which two make the third."""
    cdef uint32_t left, right, merged
    if not (is_token(t, merge[0]) and is_token(t, merge[1]) and is_token(t, merge[2])):
        return False
    left, right = token_length(t, merge[0]), token_length(t, merge[1])
    merged = token_start(t, merge[2])
    return (
        left + right == token_length(t, merge[2])
        and memcmp(t.token_bytes + merged, t.token_bytes + token_start(t, merge[0]), left) == 0
        and memcmp(t.token_bytes + merged + left, t.token_bytes + token_start(t, merge[1]), right) == 0
    )


cdef object _unsound(const Tables* t, size_t number, uint32_t left, uint32_t right, uint32_t merged):
    for token_id in (left, right, merged):
        if not is_token(t, token_id):
            return VocabularyError(
                f"merge {number}: ({left}, {right}) -> {merged} names an id that is no token, {token_id}"
            )
    return VocabularyError(
        f"merge {number}: {_token(t, left)!r} and {_token(t, right)!r} do not make {_token(t, merged)!r}"
    )

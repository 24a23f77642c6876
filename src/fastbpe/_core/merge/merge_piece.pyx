"""Merging one piece: the whole piece if it is a token, else the best pair again and again, leftmost on ties.

Three ways with one result. Up to SHORT symbols: arrays on the stack and a linear search for the best pair; for
ranked vocabularies, where rank and place fit one word, with a mask of the symbols that are left in place of
arrays that shrink. Above: a doubly linked list and a queue (merge_long), so that no piece costs the square of its
length, whatever it holds.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memmove

from fastbpe._core.common.bits cimport highest_bit, lowest_bit
from fastbpe._core.merge.merge_long cimport merge_linked
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.merge.symbol_ids cimport begin_characters, is_ascii, leftmost, spell
from fastbpe._core.common.hash_tables cimport NO_KEY, NONE, Merge, find_merge, find_piece, pair_key
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary

from heapq import heappop, heappush

cdef enum:
    SHORT = 64
    LANES = 8


cdef int encode_piece(const Tables* tables, const uint8_t* piece, size_t n_bytes, Ids* out) except -1 nogil:
    """Append the ids of one piece to out."""
    cdef uint32_t token
    if tables.whole_piece_first and n_bytes <= tables.max_token_bytes:
        token = find_piece(
            tables.pieces, tables.piece_mask, tables.token_bytes, tables.token_ends, piece, n_bytes
        )
        if token != NONE:
            ids_reserve(out, 1)
            out.items[out.n] = token
            out.n += 1
            return 0
    return merge_piece(tables, piece, n_bytes, NONE, out)


cdef int merge_piece(
    const Tables* tables, const uint8_t* piece, size_t n_bytes, uint32_t limit, Ids* out
) except -1 nogil:
    """Append what pairs of a priority below the limit make of a piece's bytes."""
    ids_reserve(out, n_bytes)
    if n_bytes <= SHORT and limit == NONE and tables.byte_keys != NULL:
        out.n += _merge_ranked(tables, piece, n_bytes, out.items + out.n)
        return 0
    if n_bytes <= SHORT and tables.characters == NULL:
        out.n += _merge_short(tables, piece, n_bytes, limit, out.items + out.n)
        return 0
    return merge_linked(tables, piece, n_bytes, limit, out)


cdef size_t _merge_ranked(const Tables* tables, const uint8_t* piece, size_t n, uint32_t* out) noexcept nogil:
    """Merge into out, which has room for n; return how many ids there are."""
    cdef uint32_t ids[SHORT]
    cdef int32_t keys[SHORT + LANES]  # rank << 6 | place of the pair that begins there: the least is the best
    cdef int32_t best
    cdef size_t i, at, right, n_keys = n + LANES - n % LANES, n_out = 0
    cdef uint64_t left_of = 0, alive = ~<uint64_t> 0 >> (SHORT - n) if n else 0
    if tables.characters != NULL and not is_ascii(piece, n):
        for i in range(n_keys):
            keys[i] = NO_KEY
        alive = begin_characters(tables, piece, n, ids, keys)
    else:
        for i in range(n):
            ids[i] = tables.byte_ids[piece[i]]
        for i in range(n_keys):
            keys[i] = tables.byte_keys[piece[i] << 8 | piece[i + 1]] | <int32_t> i if i + 1 < n else NO_KEY
    while True:
        best = NO_KEY
        for i in range(n_keys):
            best = min(best, keys[i])
        if best == NO_KEY:
            break
        if best >= tables.tied_key:
            best = leftmost(tables, keys, n, best)
        at = best & (SHORT - 1)
        ids[at] = best >> 6
        right = lowest_bit(alive & (~<uint64_t> 1 << at))
        alive &= ~(<uint64_t> 1 << right)
        keys[at] = keys[right] = NO_KEY
        if alive >> right:
            right = lowest_bit(alive & (~<uint64_t> 0 << right))
            keys[at] = pair_key(&tables.pairs, ids[at], ids[right]) | <int32_t> at
        left_of = alive & ~(~<uint64_t> 0 << at)
        if left_of:
            i = highest_bit(left_of)
            keys[i] = pair_key(&tables.pairs, ids[i], ids[at]) | <int32_t> i
    while alive:
        at = lowest_bit(alive)
        alive &= alive - 1
        if tables.characters != NULL:
            n_out += spell(tables, ids[at], piece + at, (lowest_bit(alive) if alive else n) - at, out + n_out)
        else:
            out[n_out] = ids[at]
            n_out += 1
    return n_out


cdef size_t _merge_short(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t limit, uint32_t* ids
) noexcept nogil:
    """Merge in place in ids, which has room for n; return how many remain."""
    cdef uint32_t priorities[SHORT]
    cdef uint32_t merged[SHORT]
    cdef Merge pair
    cdef size_t i, at
    cdef uint32_t best
    for i in range(n):
        ids[i] = tables.byte_ids[piece[i]]
    for i in range(n - 1 if n else 0):
        pair = find_merge(&tables.pairs, ids[i], ids[i + 1])
        priorities[i] = pair.priority
        merged[i] = pair.id
    while n > 1:
        best = limit
        at = 0
        for i in range(n - 1):
            if priorities[i] < best:
                best = priorities[i]
                at = i
        if best == limit:
            break
        ids[at] = merged[at]
        n -= 1
        memmove(ids + at + 1, ids + at + 2, (n - at - 1) * sizeof(uint32_t))
        if at + 1 < n:
            memmove(priorities + at + 1, priorities + at + 2, (n - at - 2) * sizeof(uint32_t))
            memmove(merged + at + 1, merged + at + 2, (n - at - 2) * sizeof(uint32_t))
            pair = find_merge(&tables.pairs, ids[at], ids[at + 1])
            priorities[at] = pair.priority
            merged[at] = pair.id
        if at:
            pair = find_merge(&tables.pairs, ids[at - 1], ids[at])
            priorities[at - 1] = pair.priority
            merged[at - 1] = pair.id
    return n


def recover_merges(Vocabulary vocabulary not None, const uint32_t[::1] limits=None):
    """(left id, right id) by merged id: the last merge of each token's own bytes, which is the only one to make it.

    `_reference/__init__.py` has the proof. Left out are tokens that merging leaves in parts: they can only be met as
    whole pieces.

    limits: of each id, the priority of the first merge in a list that makes it; NONE where none does. None: ranks,
    where that is the id.
    """
    cdef const Tables* tables = &vocabulary.tables
    cdef uint32_t i, start = 0, length, limit
    cdef Ids ids
    cdef dict out = {}
    if limits is not None and <size_t> limits.shape[0] != tables.n_ids:
        raise ValueError(f"{limits.shape[0]} limits for {tables.n_ids} ids")
    ids.items = NULL
    ids.n = ids.capacity = 0
    try:
        for i in range(tables.n_ids):
            length = tables.token_ends[i] - start
            limit = limits[i] if limits is not None else i if tables.characters == NULL else tables.characters.ties[i]
            if length > 1 and limit != NONE:
                ids.n = 0
                merge_piece(tables, tables.token_bytes + start, length, limit, &ids)
                if ids.n == 2 and (
                    tables.characters != NULL or find_merge(&tables.pairs, ids.items[0], ids.items[1]).id == i
                ):
                    out[i] = (ids.items[0], ids.items[1])
                elif ids.n > 2 and tables.characters == NULL:
                    last = _last_pair(tables, &ids)
                    if last is not None:
                        out[i] = last
            start = tables.token_ends[i]
    finally:
        ids_free(&ids)
    return out


cdef object _last_pair(const Tables* tables, const Ids* ids):
    """(left id, right id) of the merge that makes one token of these; None where merging leaves several."""
    cdef list symbols = [ids.items[k] for k in range(ids.n)]  # None once it was merged into its left neighbour
    cdef list behind = list(range(1, len(symbols) + 1)), before = list(range(-1, len(symbols) - 1)), heap = []
    cdef Py_ssize_t at, right, n_left = len(symbols)
    for at in range(n_left - 1):
        _queue_pair(heap, tables, at, symbols[at], symbols[at + 1])
    last = None
    while heap:
        _, at, pair, merged = heappop(heap)
        right = behind[at]
        if right == len(symbols) or (symbols[at], symbols[right]) != pair:
            continue
        last = pair
        n_left -= 1
        symbols[at] = merged
        symbols[right] = None
        behind[at] = behind[right]
        if behind[at] < len(symbols):
            before[behind[at]] = at
            _queue_pair(heap, tables, at, merged, symbols[behind[at]])
        if before[at] >= 0:
            _queue_pair(heap, tables, before[at], symbols[before[at]], merged)
    return last if n_left == 1 else None


cdef int _queue_pair(list heap, const Tables* tables, Py_ssize_t at, uint32_t left, uint32_t right) except -1:
    cdef Merge pair = find_merge(&tables.pairs, left, right)
    if pair.priority != NONE:
        heappush(heap, (pair.priority, at, (left, right), pair.id))
    return 0

"""Merge one piece: the pair of lowest priority first, leftmost on ties, until no pair is left.

Three methods give the same result:

- _merge_ranked(), up to 64 bytes of a ranked vocabulary: rank and position of a pair fit into one 32-bit key, so
  the best pair is the minimum of an array, which the compiler vectorizes. A bit mask marks the remaining symbols.
- merge_short, up to 64 bytes of other byte-level vocabularies, or with a limit: arrays that shrink, and a linear
  search.
- merge_long, all other pieces: a linked list and a priority queue, because a linear search takes quadratic time.

Vocabularies of characters use merge_spelled() instead, which also merges short pieces by a linear search.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memmove

from fastbpe._core.common.bits cimport highest_bit, lowest_bit
from fastbpe._core.common.hash_lookups cimport find_merge, pair_key
from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.merge.merge_long cimport merge_linked
from fastbpe._core.merge.merge_short cimport merge_in_place
from fastbpe._core.merge.segmented cimport segment_piece
from fastbpe._core.merge.spelling cimport merge_spelled
from fastbpe._core.common.gil_yield cimport yield_gil_at
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.merge.symbol_ids cimport begin_characters, is_ascii, leftmost, spell, symbol_at
from fastbpe._core.common.hash_tables cimport NO_KEY, NONE, Merge, PairSlot
from fastbpe._core.merge.token_lookups cimport find_token
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary

cdef enum:
    MAX_SCAN_BYTES = 64  # longest piece whose best pair is found by scanning all pairs; the bits of a mask
    MAX_SCAN_SYMBOLS = 64  # greatest number of symbols of a token for _merge_whole()
    VECTOR_KEYS = 8  # int32 keys of a 256-bit vector; key arrays are padded to whole vectors


cdef int encode_piece(const Tables* tables, const uint8_t* piece, size_t n_bytes, Ids* out) except -1 nogil:
    """Append the ids of a piece: one id if the piece is a token and the vocabulary looks whole pieces up."""
    cdef uint32_t token
    if tables.segmenting != NULL:
        return segment_piece(tables, piece, n_bytes, out)
    if tables.spelling != NULL:
        return merge_spelled(tables, piece, n_bytes, tables.whole_piece_first, out)
    if tables.whole_piece_first and n_bytes <= tables.max_token_bytes:
        token = find_token(tables, piece, n_bytes)
        if token != NONE:
            ids_reserve(out, 1)
            out.items[out.n] = token
            out.n += 1
            return 0
    return merge_piece(tables, piece, n_bytes, NONE, out)


cdef int merge_piece(
    const Tables* tables, const uint8_t* piece, size_t n_bytes, uint32_t limit, Ids* out
) except -1 nogil:
    """Append the ids that merging yields for a piece. Does not look the whole piece up.

    limit: merge only pairs whose priority is below it. NONE: merge all pairs; required if `tables.spelling` is
        set, because merge_spelled() has no limit.
    """
    cdef uint32_t* ids
    cdef size_t i
    if tables.spelling != NULL:
        return merge_spelled(tables, piece, n_bytes, False, out)
    ids_reserve(out, n_bytes)
    if n_bytes <= MAX_SCAN_BYTES and limit == NONE and tables.byte_keys != NULL:
        out.n += _merge_ranked(tables, piece, n_bytes, out.items + out.n)
        return 0
    if n_bytes <= MAX_SCAN_BYTES and tables.characters == NULL:
        ids = out.items + out.n
        for i in range(n_bytes):
            ids[i] = tables.byte_ids[piece[i]]
        out.n += merge_in_place(tables, n_bytes, limit, ids, NULL)
        return 0
    return merge_linked(tables, piece, n_bytes, limit, out)


cdef size_t _merge_ranked(const Tables* tables, const uint8_t* piece, size_t n, uint32_t* out) noexcept nogil:
    """Merge a piece of n <= MAX_SCAN_BYTES bytes, write its ids to `out`, and return their number.

    Requires: ranked tables, and space for n ids in `out`.
    """
    cdef uint32_t ids[MAX_SCAN_BYTES]  # ids of the symbols, each at the position of its first byte
    cdef int32_t keys[MAX_SCAN_BYTES]  # rank << 6 | position of the pair that begins there
    cdef int32_t best
    cdef size_t i, at, right, n_keys = (n + VECTOR_KEYS - 1) // VECTOR_KEYS * VECTOR_KEYS, n_out = 0
    cdef uint64_t left_of = 0
    cdef uint64_t alive = ~<uint64_t> 0 >> (MAX_SCAN_BYTES - n) if n else 0  # bit i: a symbol begins at position i
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
            best = leftmost(tables, keys, best)
        at = best & (MAX_SCAN_BYTES - 1)
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


def merge_alone(Vocabulary vocabulary not None, const uint8_t[::1] piece not None):
    """Return the ids that merging yields for one piece; NONE for a byte without a token.

    Does not look the whole piece up. A piece of a code-point vocabulary must be valid UTF-8. Raises ValueError if
    the vocabulary does not merge.
    """
    cdef Ids ids = Ids(NULL, 0, 0)
    cdef list out = []
    cdef size_t k
    _check_merges(vocabulary)
    try:
        if piece.shape[0]:
            with nogil:
                merge_piece(&vocabulary.tables, &piece[0], <size_t> piece.shape[0], NONE, &ids)
        for k in range(ids.n):
            yield_gil_at(k)
            out.append(ids.items[k])
        return out
    finally:
        ids_free(&ids)


def recover_merges(Vocabulary vocabulary not None, const uint32_t[::1] limits=None):
    """Return {merged id: (left id, right id)}: for each token, the last merge of its bytes. No other makes it.

    `tests/reference/__init__.py` proves that no other does. A token is missing if it is one byte, or if merging
    its bytes does not yield it: then it occurs only as a whole piece. For a vocabulary that does not merge, the
    dict is empty.
    In a code-point vocabulary the keys are symbols and the two parts are ids, and a symbol is missing if merges of
    lower priority do not leave two parts.

    limits: uint32 array by id: the priority of the first merge in the list that makes the id, or NONE. None: a
        vocabulary of ranks: the id is the priority. A code-point vocabulary uses the priorities of its symbols, or
        of its list.
    """
    cdef const Tables* tables = &vocabulary.tables
    cdef uint32_t i, start = 0, length, limit
    cdef Ids ids = Ids(NULL, 0, 0)
    cdef dict out = {}
    if tables.segmenting != NULL:
        return out
    if limits is None and tables.characters != NULL and tables.pairs.wide != NULL:
        limits = _first_priorities(tables)
    try:
        for i in range(tables.n_ids):
            yield_gil_at(i)
            length = tables.token_ends[i] - start
            limit = limits[i] if limits is not None else i if tables.characters == NULL else tables.characters.ties[i]
            if length > 1 and limit != NONE:
                ids.n = 0
                merge_piece(tables, tables.token_bytes + start, length, limit, &ids)
                if ids.n == 2 and (
                    tables.characters != NULL or find_merge(&tables.pairs, ids.items[0], ids.items[1]).id == i
                ):
                    out[i] = (ids.items[0], ids.items[1])
                # More than two ids are left if a part of the token has a greater rank than the token: go on without a
                # limit. (Not with code points, whose ids are not symbols.)
                elif ids.n > 2 and tables.characters == NULL:
                    last = _last_pair(tables, &ids)
                    if last is not None:
                        out[i] = last
            start = tables.token_ends[i]
    finally:
        ids_free(&ids)
    return out


cdef object _first_priorities(const Tables* tables):
    """Return a uint32 array by id: the priority of the first merge of a wide table that makes the id, or NONE."""
    from array import array  # here: few vocabularies of code points have a list of merges

    cdef uint32_t[::1] first = array("I", [NONE]) * tables.n_ids
    cdef const PairSlot* slot
    cdef size_t i
    for i in range(<size_t> 1 << (64 - tables.pairs.shift)):
        slot = &tables.pairs.wide[i]
        if slot.priority != NONE:
            first[slot.id] = min(first[slot.id], slot.priority)
    return first


cdef object _last_pair(const Tables* tables, const Ids* ids):
    """Merge a sequence of ids; return (left id, right id) of the last merge if one id is left, otherwise None."""
    from heapq import heappop, heappush  # here: few programs ask for merges

    cdef list symbols = [ids.items[k] for k in range(ids.n)]  # None: merged into the symbol before it
    # A linked list of positions. The heap has (priority, position, pair, merged id).
    cdef list behind = list(range(1, len(symbols) + 1)), before = list(range(-1, len(symbols) - 1)), heap = []
    cdef Py_ssize_t at, right, n_left = len(symbols)
    for at in range(n_left - 1):
        _queue_pair(heappush, heap, tables, at, symbols[at], symbols[at + 1])
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
            _queue_pair(heappush, heap, tables, at, merged, symbols[behind[at]])
        if before[at] >= 0:
            _queue_pair(heappush, heap, tables, before[at], symbols[before[at]], merged)
    return last if n_left == 1 else None


cdef int _queue_pair(
    object heappush, list heap, const Tables* tables, Py_ssize_t at, uint32_t left, uint32_t right
) except -1:
    """Push the pair that begins at position `at`, if it is in the pair table."""
    cdef Merge pair = _find_pair(tables, left, right)
    if pair.priority != NONE:
        heappush(heap, (pair.priority, at, (left, right), pair.id))
    return 0


cdef inline Merge _find_pair(const Tables* tables, uint32_t left, uint32_t right) noexcept nogil:
    """Look a pair up; pairs whose results have equal scores get the same priority."""
    cdef Merge pair = find_merge(&tables.pairs, left, right)
    if tables.tied_key != NO_KEY and pair.priority != NONE:
        pair.priority = tables.characters.ties[pair.priority]
    return pair


def symbol_makers(Vocabulary vocabulary not None):
    """Return {symbol: (left symbol, right symbol)}: for each symbol, the only merge that makes it.

    Like recover_merges(), but for a code-point vocabulary and in symbols. It also finds a merge with a part whose
    priority is greater than the symbol's.
    """
    cdef const Tables* tables = &vocabulary.tables
    cdef uint32_t i, start = 0, length
    cdef uint32_t pair[2]
    cdef size_t n_bytes
    cdef const uint8_t* at
    cdef Ids symbols = Ids(NULL, 0, 0)
    cdef dict out = {}
    if tables.characters == NULL:
        raise ValueError("this vocabulary is byte-level, not of code points")
    try:
        for i in range(tables.n_ids):
            yield_gil_at(i)
            at = tables.token_bytes + start
            length = tables.token_ends[i] - start
            start = tables.token_ends[i]
            symbols.n = 0
            ids_reserve(&symbols, length)
            while at < tables.token_bytes + start:
                symbols.items[symbols.n] = symbol_at(tables, at, &n_bytes)
                symbols.n += 1
                at += n_bytes
            if symbols.n > MAX_SCAN_SYMBOLS:
                last = _last_pair(tables, &symbols)
                if last is not None:
                    out[i] = last
            elif symbols.n > 1 and _merge_whole(tables, symbols.items, symbols.n, pair):
                out[i] = (pair[0], pair[1])
    finally:
        ids_free(&symbols)
    return out


cdef bint _merge_whole(const Tables* tables, uint32_t* symbols, size_t n, uint32_t* last) noexcept nogil:
    """Merge at most MAX_SCAN_SYMBOLS symbols in place; store the last pair. Returns False if several are left."""
    cdef Merge pairs[MAX_SCAN_SYMBOLS]
    cdef size_t i, at
    for i in range(n - 1):
        pairs[i] = _find_pair(tables, symbols[i], symbols[i + 1])
    while n > 1:
        at = 0
        for i in range(1, n - 1):
            if pairs[i].priority < pairs[at].priority:
                at = i
        if pairs[at].priority == NONE:
            return False
        last[0], last[1] = symbols[at], symbols[at + 1]
        symbols[at] = pairs[at].id
        n -= 1
        memmove(symbols + at + 1, symbols + at + 2, (n - at - 1) * sizeof(uint32_t))
        if at + 1 < n:
            memmove(pairs + at, pairs + at + 1, (n - at - 1) * sizeof(Merge))
            pairs[at] = _find_pair(tables, symbols[at], symbols[at + 1])
        if at:
            pairs[at - 1] = _find_pair(tables, symbols[at - 1], symbols[at])
    return True


def merge_pieces(Vocabulary vocabulary not None, list pieces not None):
    """Return for each piece (bytes) the tuple of ids that merging yields. Does not look whole pieces up.

    Bytes without a token are left out. Pieces of a code-point vocabulary must be valid UTF-8.
    """
    cdef Ids ids = Ids(NULL, 0, 0)
    cdef bytes piece
    cdef list out = []
    _check_merges(vocabulary)
    try:
        for piece in pieces:
            ids.n = 0
            merge_piece(
                &vocabulary.tables, <const uint8_t*> PyBytes_AS_STRING(piece), <size_t> len(piece), NONE, &ids
            )
            out.append(tuple([ids.items[k] for k in range(ids.n) if ids.items[k] != NONE]))
        return out
    finally:
        ids_free(&ids)


cdef int _check_merges(Vocabulary vocabulary) except -1:
    """Raise ValueError if a vocabulary does not merge."""
    if vocabulary.tables.segmenting != NULL:
        raise ValueError("this vocabulary does not build its tokens by merging")
    return 0

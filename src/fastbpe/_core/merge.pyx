"""Merging one piece: the whole piece if it is a token, else the best pair again and again, leftmost on ties.

Three ways with one result. Up to SHORT symbols: arrays on the stack and a linear search for the best pair; for
ranked vocabularies, where rank and place fit one word, with a mask of the symbols that are left in place of
arrays that shrink. Above: a doubly linked list and a heap, so that a piece of n bytes costs n log n, whatever it
holds.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memmove

from fastbpe._core.bits cimport highest_bit, lowest_bit
from fastbpe._core.memory cimport use_huge_pages
from fastbpe._core.tables cimport NO_KEY, NONE, Pair, find_pair, find_piece, pair_key
from fastbpe._core.vocabulary cimport Tables, Vocabulary

cdef enum:
    SHORT = 64
    SIGNALS_EVERY = 1 << 18  # pairs: a quarter of a second at the worst
    LANES = 8
    EXPECT_BYTES = 1 << 20


cdef struct Node:
    # One symbol of a long piece. Symbols are the byte positions they start at.
    uint32_t id  # NONE once the symbol was merged into its left neighbour
    uint32_t previous
    uint32_t next
    uint32_t priority  # of the pair (this symbol, the next one); NONE: no such pair
    uint32_t merged  # the id that pair makes


cdef struct Heap:
    uint64_t* items  # priority << 32 | position: the least is the best pair, leftmost on ties
    size_t n
    size_t capacity


cdef int ids_reserve(Ids* ids, size_t n_more) except -1 nogil:
    """Make room for n_more ids; the amount doubles, so that appending is linear."""
    cdef size_t wanted = ids.n + n_more, capacity
    cdef uint32_t* items
    if wanted <= ids.capacity:
        return 0
    capacity = max(wanted, 2 * ids.capacity, <size_t> 256)
    items = <uint32_t*> realloc(ids.items, capacity * sizeof(uint32_t))
    if items == NULL:
        with gil:
            raise MemoryError(f"no memory for {capacity} token ids")
    use_huge_pages(items, capacity * sizeof(uint32_t))
    ids.items = items
    ids.capacity = capacity
    return 0


cdef void ids_expect(Ids* ids, size_t n_more) noexcept nogil:
    """Ask for room at once, before anything is written: fresh memory that grows is copied, and on small pages."""
    cdef uint32_t* items
    if ids.n + n_more <= ids.capacity or (ids.n + n_more) * sizeof(uint32_t) < EXPECT_BYTES:
        return
    items = <uint32_t*> realloc(ids.items, (ids.n + n_more) * sizeof(uint32_t))
    if items != NULL:  # without, they grow
        use_huge_pages(items, (ids.n + n_more) * sizeof(uint32_t))
        ids.items = items
        ids.capacity = ids.n + n_more


cdef void ids_free(Ids* ids) noexcept nogil:
    free(ids.items)
    ids.items = NULL
    ids.n = ids.capacity = 0


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
    if n_bytes <= SHORT:
        out.n += _merge_short(tables, piece, n_bytes, limit, out.items + out.n)
        return 0
    return _merge_long(tables, piece, n_bytes, limit, out)


cdef size_t _merge_ranked(const Tables* tables, const uint8_t* piece, size_t n, uint32_t* out) noexcept nogil:
    """Merge into out, which has room for n; return how many ids there are."""
    cdef uint32_t ids[SHORT]
    cdef int32_t keys[SHORT + LANES]  # rank << 6 | place of the pair that begins there: the least is the best
    cdef int32_t best
    cdef size_t i, at, right, n_keys = n + LANES - n % LANES, n_out = 0
    cdef uint64_t left_of = 0, alive = ~<uint64_t> 0 >> (SHORT - n) if n else 0
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
        out[n_out] = ids[lowest_bit(alive)]
        n_out += 1
        alive &= alive - 1
    return n_out


cdef size_t _merge_short(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t limit, uint32_t* ids
) noexcept nogil:
    """Merge in place in ids, which has room for n; return how many remain."""
    cdef uint32_t priorities[SHORT]
    cdef uint32_t merged[SHORT]
    cdef Pair pair
    cdef size_t i, at
    cdef uint32_t best
    for i in range(n):
        ids[i] = tables.byte_ids[piece[i]]
    for i in range(n - 1 if n else 0):
        pair = find_pair(&tables.pairs, ids[i], ids[i + 1])
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
            pair = find_pair(&tables.pairs, ids[at], ids[at + 1])
            priorities[at] = pair.priority
            merged[at] = pair.id
        if at:
            pair = find_pair(&tables.pairs, ids[at - 1], ids[at])
            priorities[at - 1] = pair.priority
            merged[at - 1] = pair.id
    return n


cdef int _merge_long(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t limit, Ids* out
) except -1 nogil:
    cdef Heap heap
    cdef Node* nodes = NULL
    cdef bint done = False
    heap.items = NULL
    heap.n = heap.capacity = 0
    try:
        if n < NONE:
            nodes = <Node*> malloc(n * sizeof(Node))
            if nodes != NULL:
                done = _link(tables, piece, <uint32_t> n, nodes, &heap) and \
                    _merge_linked(tables, nodes, limit, &heap)
        if done:
            _collect(nodes, <uint32_t> n, out)
    finally:
        free(nodes)
        free(heap.items)
    if not done:
        with gil:
            raise MemoryError(f"no memory to merge a piece of {n} bytes (a split pattern makes pieces shorter)")
    return 0


cdef bint _link(const Tables* tables, const uint8_t* piece, uint32_t n, Node* nodes, Heap* heap) noexcept nogil:
    """Make the list and the heap of its first pairs; False without memory."""
    cdef uint32_t i
    for i in range(n):
        nodes[i].id = tables.byte_ids[piece[i]]
        nodes[i].previous = i - 1  # of the first: NONE
        nodes[i].next = i + 1 if i + 1 < n else NONE
    for i in range(n):
        if not _pair_up(tables, nodes, i, NULL):
            return False
        heap.n += nodes[i].priority != NONE
    heap.capacity = heap.n + 64
    heap.items = <uint64_t*> malloc(heap.capacity * sizeof(uint64_t))
    if heap.items == NULL:
        return False
    heap.n = 0
    for i in range(n):
        if nodes[i].priority != NONE:
            heap.items[heap.n] = (<uint64_t> nodes[i].priority << 32) | i
            heap.n += 1
    cdef size_t half = heap.n // 2
    while half:
        half -= 1
        _sift_down(heap.items, heap.n, half)
    return True


cdef bint _merge_linked(const Tables* tables, Node* nodes, uint32_t limit, Heap* heap) except -1 nogil:
    """Merge what pairs the heap has, and those that come of it; False without memory."""
    cdef uint64_t top
    cdef uint32_t at, right, after
    cdef size_t n_taken = 0
    while heap.n:
        n_taken += 1
        if n_taken % SIGNALS_EVERY == 0:
            with gil:
                PyErr_CheckSignals()
        top = heap.items[0]
        if top >> 32 >= limit:
            break
        heap.n -= 1
        if heap.n:
            heap.items[0] = heap.items[heap.n]
            _sift_down(heap.items, heap.n, 0)
        at = <uint32_t> top
        if nodes[at].id == NONE or nodes[at].priority != <uint32_t> (top >> 32):
            continue  # the pair that was pushed is no longer there
        right = nodes[at].next
        after = nodes[right].next
        nodes[at].id = nodes[at].merged
        nodes[right].id = NONE
        nodes[at].next = after
        if after != NONE:
            nodes[after].previous = at
        if not _pair_up(tables, nodes, at, heap):
            return False
        if nodes[at].previous != NONE and not _pair_up(tables, nodes, nodes[at].previous, heap):
            return False
    return True


cdef inline bint _pair_up(const Tables* tables, Node* nodes, uint32_t at, Heap* heap) noexcept nogil:
    """Look up the pair that starts at a symbol and push it; False without memory."""
    cdef Pair pair
    cdef size_t capacity
    cdef uint64_t* items
    nodes[at].priority = NONE
    if nodes[at].next == NONE:
        return True
    pair = find_pair(&tables.pairs, nodes[at].id, nodes[nodes[at].next].id)
    nodes[at].priority = pair.priority
    nodes[at].merged = pair.id
    if pair.priority == NONE or heap == NULL:
        return True
    if heap.n == heap.capacity:
        capacity = 2 * heap.capacity
        items = <uint64_t*> realloc(heap.items, capacity * sizeof(uint64_t))
        if items == NULL:
            return False
        heap.items = items
        heap.capacity = capacity
    _sift_up(heap.items, heap.n, (<uint64_t> pair.priority << 32) | at)
    heap.n += 1
    return True


cdef inline void _sift_up(uint64_t* items, size_t at, uint64_t item) noexcept nogil:
    cdef size_t parent
    while at:
        parent = (at - 1) >> 1
        if items[parent] <= item:
            break
        items[at] = items[parent]
        at = parent
    items[at] = item


cdef inline void _sift_down(uint64_t* items, size_t n, size_t at) noexcept nogil:
    cdef uint64_t item = items[at]
    cdef size_t child = 2 * at + 1
    while child < n:
        child += child + 1 < n and items[child + 1] < items[child]
        if items[child] >= item:
            break
        items[at] = items[child]
        at = child
        child = 2 * at + 1
    items[at] = item


cdef void _collect(const Node* nodes, uint32_t n, Ids* out) noexcept nogil:
    cdef uint32_t at = 0 if n else NONE
    while at != NONE:
        out.items[out.n] = nodes[at].id
        out.n += 1
        at = nodes[at].next


def recover_merges(Vocabulary vocabulary not None):
    """(left id, right id) by merged id: the two tokens that a ranked vocabulary's token was merged from.

    A token is what pairs of lower rank make of its bytes, then one merge; one for which they do not leave
    exactly two tokens (it can only be met as a whole piece) is left out.
    """
    cdef const Tables* tables = &vocabulary.tables
    cdef uint32_t i, start = 0, length
    cdef Ids ids
    cdef dict out = {}
    ids.items = NULL
    ids.n = ids.capacity = 0
    try:
        for i in range(tables.n_ids):
            length = tables.token_ends[i] - start
            if length > 1:
                ids.n = 0
                merge_piece(tables, tables.token_bytes + start, length, i, &ids)
                if ids.n == 2:
                    out[i] = (ids.items[0], ids.items[1])
            start = tables.token_ends[i]
    finally:
        ids_free(&ids)
    return out

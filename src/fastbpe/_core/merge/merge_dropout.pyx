"""BPE dropout (Provilkov et al. 2020): merging that drops pairs at random.

The symbols form a linked list, and the pairs wait in a binary heap. The two original libraries differ in how they
treat the best pair when it is dropped:

- Code points, as in sentencepiece: it is never merged at its position.
- All other vocabularies, as in tokenizers: it waits until some other pair is taken, and is then queued again.
  Merging ends when all remaining pairs are dropped in a row, so a rate near 1 takes 1 / (1 - rate) draws per
  merge.

The queue may have an outdated entry, whose symbols were merged with others. As in the originals, code points
skip it without a draw, and other vocabularies draw for it as for any entry. With a rate of 0 the ids are the same
as from merge_piece.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc

from fastbpe._core.common.atomics cimport is_set
from fastbpe._core.common.hash_lookups cimport find_merge
from fastbpe._core.common.hashing cimport mix
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.common.python cimport PyErr_CheckSignals
from fastbpe._core.merge.spelling cimport most_symbols, spell_piece
from fastbpe._core.merge.symbol_ids cimport spell, symbol_at
from fastbpe._core.common.hash_tables cimport GOLDEN_RATIO, NO_KEY, NONE, Merge
from fastbpe._core.merge.vocabulary cimport Tables, token_of


cdef enum:
    SIGNALS_EVERY = 1 << 16  # pairs taken between two checks for signals


cdef double rate_of(object dropout) except -1:
    """Convert dropout= to a number. Raises ValueError if it is not from 0 to 1, TypeError if not a number."""
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
        from numbers import Real  # here: few numbers are of other types, such as numpy's float32

        if isinstance(dropout, bool) or not isinstance(dropout, Real):
            raise TypeError(f"dropout must be a number, not {type(dropout).__name__}")
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout={dropout!r:.60}: must be a probability from 0 to 1")
    return dropout


cdef int check_abandoned(int* abandoned) except -1:
    """Raise RuntimeError if the flag is set; NULL: no flag."""
    if abandoned != NULL and is_set(abandoned):
        raise RuntimeError("abandoned: the call that started this work has ended")
    return 0


cdef int merge_with_dropout(
    const Tables* tables, const uint8_t* piece, size_t n, Dropout* dropout, Ids* out
) except -1 nogil:
    """Append the ids of a piece of n > 0 bytes, merged with dropout."""
    cdef Link* links
    cdef Waiting best
    cdef size_t at, right, after, n_taken = 0
    cdef bint has_memory, is_byte_level = tables.characters == NULL
    cdef size_t most = n if tables.spelling == NULL else most_symbols(tables, n)
    if most >= NONE or not _reserve_links(dropout, most):  # positions have 32 bits
        _no_memory(n)
    ids_reserve(out, most)
    links = dropout.links
    if tables.spelling == NULL:
        has_memory = _link(tables, piece, n, dropout)
    else:
        has_memory = _link_spelled(tables, piece, &n, dropout)
    while has_memory and dropout.n_heap:
        best = _pop(dropout)
        at = <uint32_t> best.key
        n_taken += 1
        if n_taken % SIGNALS_EVERY == 0:
            with gil:
                PyErr_CheckSignals()
                check_abandoned(dropout.abandoned)
        if is_byte_level:
            if _is_dropped(dropout):
                has_memory = _put_aside(dropout, best)
                continue
            has_memory = _queue_again(dropout)
        if links[at].id == NONE or links[at].merged != best.merged:
            continue  # an outdated entry: one of the pair's symbols has been merged
        if not is_byte_level and _is_dropped(dropout):
            links[at].merged = NONE
            continue
        right = links[at].next
        after = links[right].next
        links[at].id = best.merged
        links[right].id = NONE
        links[at].next = <uint32_t> after
        if after != NONE:
            links[after].previous = <uint32_t> at
        has_memory = has_memory and _pair_up(tables, dropout, <uint32_t> at)
        if has_memory and links[at].previous != NONE:
            has_memory = _pair_up(tables, dropout, links[at].previous)
    if not has_memory:
        _no_memory(n)
    at = 0
    while at != n:
        after = links[at].next if links[at].next != NONE else n
        if is_byte_level:
            out.items[out.n] = token_of(tables, links[at].id)
            out.n += 1
        else:
            out.n += spell(tables, links[at].id, piece + at, after - at, out.items + out.n)
        at = after
    return 0


cdef void dropout_free(Dropout* dropout) noexcept nogil:
    """Free the memory; rate and state stay."""
    free(dropout.heap)
    free(dropout.links)
    free(dropout.dropped)
    dropout.heap = dropout.dropped = NULL
    dropout.links = NULL
    dropout.heap_capacity = dropout.links_capacity = dropout.dropped_capacity = 0


cdef int _no_memory(size_t n) except -1 nogil:
    with gil:
        raise MemoryError(f"no memory to merge a piece of {n} bytes")


cdef bint _reserve_links(Dropout* dropout, size_t n) noexcept nogil:
    """Make space for n symbols; False if out of memory."""
    cdef void* grown
    if n > dropout.links_capacity:
        grown = realloc(dropout.links, n * sizeof(Link))
        if grown == NULL:
            return False
        dropout.links = <Link*> grown
        dropout.links_capacity = n
    return True


cdef bint _link(const Tables* tables, const uint8_t* piece, size_t n, Dropout* dropout) noexcept nogil:
    """Make the list of symbols and queue their pairs; False if out of memory."""
    cdef Link* links = dropout.links
    cdef size_t at = 0, n_bytes
    cdef uint32_t last = NONE
    dropout.n_heap = dropout.n_dropped = 0
    while at < n:
        if tables.characters == NULL:
            links[at].id, n_bytes = tables.byte_ids[piece[at]], 1
        else:
            links[at].id = symbol_at(tables, piece + at, &n_bytes)
        links[at].previous = last
        links[at].next = NONE
        if last != NONE:
            links[last].next = <uint32_t> at
            if not _pair_up(tables, dropout, last):
                return False
        last = <uint32_t> at
        at += n_bytes
    links[last].merged = NONE
    return True


cdef bint _link_spelled(const Tables* tables, const uint8_t* piece, size_t* n, Dropout* dropout) except -1 nogil:
    """Do the work of _link() for a piece of characters; False if out of memory.

    n: length of the piece in bytes; receives the number of its symbols, whose positions are 0 to n - 1.
    """
    cdef Link* links = dropout.links
    cdef Ids ids = Ids(NULL, 0, 0), lengths = Ids(NULL, 0, 0)
    cdef size_t most = most_symbols(tables, n[0]), i
    dropout.n_heap = dropout.n_dropped = 0
    try:
        ids_reserve(&ids, most)
        ids_reserve(&lengths, most)
        n[0] = spell_piece(tables, piece, n[0], ids.items, lengths.items)
        for i in range(n[0]):
            # The position before 0 wraps to NONE.
            links[i] = Link(ids.items[i], <uint32_t> i - 1, <uint32_t> i + 1 if i + 1 < n[0] else NONE, NONE)
    finally:
        ids_free(&ids)
        ids_free(&lengths)
    for i in range(n[0]):
        if not _pair_up(tables, dropout, <uint32_t> i):
            return False
    return True


cdef inline bint _pair_up(const Tables* tables, Dropout* dropout, uint32_t at) noexcept nogil:
    """Look up the pair that begins at position `at` and queue it; False if out of memory."""
    cdef Link* links = dropout.links
    cdef Merge pair
    links[at].merged = NONE
    if links[at].next == NONE:
        return True
    pair = find_merge(&tables.pairs, links[at].id, links[links[at].next].id)
    if pair.priority == NONE:
        return True
    if dropout.makers != NULL and (
        dropout.makers[2 * <size_t> pair.id] != links[at].id
        or dropout.makers[2 * <size_t> pair.id + 1] != links[links[at].next].id
    ):
        return True
    links[at].merged = pair.id
    if tables.tied_key != NO_KEY:
        pair.priority = tables.characters.ties[pair.priority]
    return _push(dropout, Waiting(<uint64_t> pair.priority << 32 | at, pair.id))


cdef inline bint _is_dropped(Dropout* dropout) noexcept nogil:
    """Return True with probability dropout.rate.

    The random numbers come from SplitMix64 (Steele et al. 2014), but `hashing.mix` mixes their bits.
    """
    dropout.state += GOLDEN_RATIO
    return <double> (mix(dropout.state) >> 11) * (1.0 / 9007199254740992.0) < dropout.rate  # 53 bits, times 2**-53


cdef inline bint _put_aside(Dropout* dropout, Waiting item) noexcept nogil:
    """Keep a pair that was dropped, for _queue_again(); False if out of memory."""
    cdef size_t capacity
    cdef void* grown
    if dropout.n_dropped == dropout.dropped_capacity:
        capacity = max(2 * dropout.dropped_capacity, <size_t> 64)
        grown = realloc(dropout.dropped, capacity * sizeof(Waiting))
        if grown == NULL:
            return False
        dropout.dropped = <Waiting*> grown
        dropout.dropped_capacity = capacity
    dropout.dropped[dropout.n_dropped] = item
    dropout.n_dropped += 1
    return True


cdef inline bint _queue_again(Dropout* dropout) noexcept nogil:
    """Queue the pairs that were put aside; False if out of memory."""
    while dropout.n_dropped:
        dropout.n_dropped -= 1
        if not _push(dropout, dropout.dropped[dropout.n_dropped]):
            return False
    return True


cdef inline bint _push(Dropout* dropout, Waiting item) noexcept nogil:
    """Push a pair onto the heap; False if out of memory."""
    cdef Waiting* heap = dropout.heap
    cdef size_t at = dropout.n_heap, parent, capacity
    if at == dropout.heap_capacity:
        capacity = max(2 * at, <size_t> 64)
        heap = <Waiting*> realloc(dropout.heap, capacity * sizeof(Waiting))
        if heap == NULL:
            return False
        dropout.heap = heap
        dropout.heap_capacity = capacity
    dropout.n_heap += 1
    while at:
        parent = (at - 1) >> 1
        if heap[parent].key <= item.key:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = item
    return True


cdef inline Waiting _pop(Dropout* dropout) noexcept nogil:
    """Take the best pair from the heap. Requires: dropout.n_heap > 0."""
    cdef Waiting* heap = dropout.heap
    cdef Waiting best = heap[0], item
    cdef size_t at = 0, child = 1
    dropout.n_heap -= 1
    item = heap[dropout.n_heap]
    while child < dropout.n_heap:
        child += child + 1 < dropout.n_heap and heap[child + 1].key < heap[child].key
        if heap[child].key >= item.key:
            break
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    return best

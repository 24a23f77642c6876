"""Merges long pieces in linear time: a linked list of symbols, and a priority queue of their pairs.

The queue. A binary heap, for short pieces and for vocabularies without ranks. For pieces of BUCKETS_FROM_BYTES and
more of a ranked vocabulary it is a bucket queue: one bucket of positions for each rank. Only pairs of the rank at
hand, or of a better rank that a merge has created meanwhile, are in a heap. So most steps cost O(1) and no cache
miss, where a heap costs O(log n) of them.

Windows. The piece is merged in overlapping windows, so that the list and the queue stay in the second-level cache.
Why the result is exact: merging the best pair, leftmost on ties, turns a text into tokens t1 … tn if and only if
it turns the text of each two neighbours ti, ti+1 alone into ti, ti+1.

- "Only if": no merge crosses the boundary between two tokens of the result, so each side is merged as if the other
  were not there.
- "If": the first merge to cross a boundary would also be done in the text of the two neighbours alone.

So two windows can be joined at a token that both have: take the tokens of the first window up to a boundary near
its end, start the second window at this boundary, and check that its first token is the one that follows in the
first window. It nearly always is. If not, text behind the window reaches further back into it: all starts again
with windows twice as long.

Lost: prefetches of the symbols and slots that come next in a bucket: windows lie in the second-level cache, and the
prefetches cost 6 % (docs/how/optimizations.md).
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from fastbpe._core.common.id_buffer cimport ids_free, ids_reserve
from fastbpe._core.merge.symbol_ids cimport spell, symbol_at
from fastbpe._core.common.hash_tables cimport NO_KEY, NONE, Merge, find_merge
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary

cdef enum:
    BUCKETS_FROM_BYTES = 1 << 13  # shortest piece that gets buckets: below, clearing them costs as much as a heap
    BUCKET_WINDOW_BYTES = 1 << 14  # window of a piece that has buckets
    HEAP_WINDOW_BYTES = 1 << 12  # window of a piece that has a heap alone
    MIN_WINDOW_TOKENS = 32  # a window is at least so many times as long as the longest token
    OVERLAP_PART = 16  # the last 1/16 of a window is merged again in the next one
    CHUNK_POSITIONS = 14  # positions in a chunk, which fill its cache line
    UNSORTED = 1 << 31  # flag in Bucket.tail: the positions do not rise
    IDS_CLEARED_PER_SYMBOL = 16  # buckets to clear for each symbol of a sequence, at most
    SIGNALS_EVERY = 1 << 18  # pairs taken between two checks for signals


cdef struct Node:
    # A symbol in the linked list of a window. Its position is the number of its first byte, or character.
    uint32_t id  # NONE: merged into the symbol before it
    uint32_t previous  # position; NONE: it is the first
    uint32_t next  # position; NONE: it is the last
    uint32_t priority  # of the pair (this symbol, the next one), with ranks also its merged id; NONE: no such pair


cdef struct Heap:
    # Binary heap, the least item first.
    uint64_t* items  # priority << 32 | position, so the least is the best pair, leftmost on ties
    size_t n
    size_t capacity


cdef struct Chunk:
    # Part of a bucket, one cache line.
    uint32_t next  # number of the next chunk in the bucket, or in the free list; NONE: it is the last
    uint32_t n  # positions in use
    uint32_t at[CHUNK_POSITIONS]  # positions of pairs


cdef struct Bucket:
    # Positions of the pairs of one rank, in a list of chunks.
    uint32_t head  # number of the first chunk; NONE: the bucket is empty
    uint32_t tail  # number of the last chunk, and the flag UNSORTED


cdef struct Queue:
    # The priority queue of pairs. Entries are never removed: the reader skips those whose pair is gone.
    uint32_t limit  # pairs of this priority or a greater one are not queued
    Heap heap  # pairs of a rank below `rank`; without buckets all pairs
    Heap ranks  # ranks whose buckets are not empty
    Bucket* buckets  # by rank; NULL: all pairs are in the heap
    Chunk* chunks  # memory of all chunks
    uint32_t n_chunks  # chunks handed out so far
    uint32_t capacity  # of `chunks`
    uint32_t free  # number of the first chunk in the free list; NONE: the list is empty
    uint32_t rank  # rank at hand + 1; 0: none yet; NONE: there are no buckets
    uint32_t sweep  # number of the chunk at hand; NONE: the bucket at hand is done
    uint32_t next  # index of its next position
    size_t n_taken  # pairs taken so far


cdef struct Window:
    # A part of a long piece that is merged by itself; see the module's docstring.
    const uint8_t* piece  # start of the part, if it is text
    const uint32_t* symbols  # start of the part, if it is a sequence of base symbols; NULL: it is text
    size_t n_bytes  # of text; of a sequence, the number of symbols
    Node* nodes  # by position
    uint32_t n  # base symbols: bytes, or characters
    uint32_t capacity  # of `nodes`


cdef int merge_linked(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t limit, Ids* out
) except -1 nogil:
    """Append the ids that merging makes of a piece of any length.

    limit: pairs of this priority or a greater one are not merged; NONE: all pairs are.
    Requires: `out` has space for n more ids.
    """
    cdef bint has_buckets = n >= BUCKETS_FROM_BYTES and tables.pairs.ranked != NULL
    cdef size_t size = BUCKET_WINDOW_BYTES if has_buckets else HEAP_WINDOW_BYTES
    return _merge_windows(
        tables, piece, NULL, n, limit, has_buckets,
        max(size, MIN_WINDOW_TOKENS * <size_t> tables.max_token_bytes), out,
    )


cdef int merge_symbols(const Tables* tables, const uint32_t* symbols, size_t n, Ids* out) except -1 nogil:
    """Append the ids that merging makes of a sequence of n > 0 base symbols, which are ids themselves.

    Requires: ranked tables, whose max_token_bytes counts base symbols; no characters; each symbol is below n_ids.
    """
    # Buckets are cleared once a call, so a large vocabulary needs a longer sequence to make them pay.
    cdef bint has_buckets = n >= max(<size_t> BUCKETS_FROM_BYTES, <size_t> tables.n_ids // IDS_CLEARED_PER_SYMBOL)
    cdef size_t size = BUCKET_WINDOW_BYTES if has_buckets else HEAP_WINDOW_BYTES
    ids_reserve(out, n)
    size = max(size, MIN_WINDOW_TOKENS * <size_t> tables.max_token_bytes)
    return _merge_windows(tables, NULL, symbols, n, NONE, has_buckets, size, out)


cdef int _merge_windows(
    const Tables* tables, const uint8_t* piece, const uint32_t* symbols, size_t n, uint32_t limit, bint has_buckets,
    size_t size, Ids* out,
) except -1 nogil:
    """Append the ids of a piece, merged in windows of `size` bytes, or more where the windows cannot be joined.

    piece, symbols: the piece, as text or as a sequence of base symbols; the other is NULL.
    has_buckets: use the bucket queue, which needs ranked tables.
    """
    cdef Queue queue
    cdef Window window
    cdef size_t at = 0, n_before = out.n
    cdef uint32_t expected = 0  # base symbols of the window's first token, as the window before has it
    cdef bint done
    memset(&queue, 0, sizeof(queue))
    memset(&window, 0, sizeof(window))
    try:
        done = _open(&queue, tables, limit, has_buckets)
        while done and at < n:
            if symbols != NULL:
                window.symbols = symbols + at
            else:
                window.piece = piece + at
            window.n_bytes = _whole_characters(tables, piece, min(size, n - at) + at, n) - at
            done = _begin(tables, &window) and _link(tables, &window, &queue) and _merge(tables, window.nodes, &queue)
            if not done:
                break
            if not expected or expected == _end(&window, 0):
                at += _collect(tables, &window, window.n_bytes == n - at, &expected, out)
            else:
                expected = 0
            if not expected and at < n:
                at = 0
                size *= 2
                out.n = n_before
    finally:
        free(window.nodes)
        free(queue.heap.items)
        free(queue.ranks.items)
        free(queue.buckets)
        free(queue.chunks)
    if not done:
        with gil:
            raise MemoryError(
                f"no memory to merge a sequence of {n} symbols" if symbols != NULL
                else f"no memory to merge a piece of {n} bytes (a split pattern makes pieces shorter)"
            )
    return 0


def merge_in_windows(Vocabulary vocabulary not None, const uint8_t[::1] piece not None, size_t size):
    """Return the ids of one piece that is not empty, merged in windows of `size` bytes or more. For tests."""
    cdef Ids ids = Ids(NULL, 0, 0)
    try:
        ids_reserve(&ids, len(piece))
        _merge_windows(
            &vocabulary.tables, &piece[0], NULL, len(piece), NONE,
            len(piece) >= BUCKETS_FROM_BYTES and vocabulary.tables.pairs.ranked != NULL, size, &ids,
        )
        return [ids.items[i] for i in range(ids.n)]
    finally:
        ids_free(&ids)


cdef size_t _whole_characters(const Tables* tables, const uint8_t* piece, size_t end, size_t n) noexcept nogil:
    """First offset from `end` on, n at most, that does not lie within a base symbol."""
    while tables.characters != NULL and end < n and piece[end] >> 6 == 2:
        end += 1
    return end


cdef bint _begin(const Tables* tables, Window* window) noexcept nogil:
    """Make space for the symbols of a window; False without memory."""
    cdef size_t i, n = window.n_bytes
    if tables.characters != NULL:
        for i in range(window.n_bytes):
            n -= window.piece[i] >> 6 == 2
    if n >= NONE:
        return False
    window.n = <uint32_t> n
    if n > window.capacity:
        free(window.nodes)
        window.nodes = <Node*> malloc(n * sizeof(Node))
        window.capacity = <uint32_t> n
    return window.nodes != NULL


cdef bint _link(const Tables* tables, Window* window, Queue* queue) noexcept nogil:
    """Make the list of a window's base symbols and queue their pairs; False without memory."""
    cdef Node* nodes = window.nodes
    cdef uint32_t i, n = window.n
    cdef size_t at = 0, n_bytes
    for i in range(n):
        if window.symbols != NULL:
            nodes[i].id = window.symbols[i]
        elif tables.characters == NULL:
            nodes[i].id = tables.byte_ids[window.piece[i]]
        else:
            nodes[i].id = symbol_at(tables, window.piece + at, &n_bytes)
            at += n_bytes
        nodes[i].previous = i - 1  # wraps to NONE for the first
        nodes[i].next = i + 1 if i + 1 < n else NONE
    if queue.buckets != NULL:
        queue.rank = 0
    for i in range(n):
        if not _pair_up(tables, nodes, i, queue):
            return False
    return True


cdef bint _merge(const Tables* tables, Node* nodes, Queue* queue) except -1 nogil:
    """Merge until the queue is empty. Returns False without memory; raises what a signal handler raises."""
    cdef uint64_t best
    cdef uint32_t at, right, after
    while _take(queue, &best):
        queue.n_taken += 1
        if queue.n_taken % SIGNALS_EVERY == 0:
            with gil:
                PyErr_CheckSignals()
        at = <uint32_t> best
        if nodes[at].id == NONE or nodes[at].priority != <uint32_t> (best >> 32):
            continue  # an outdated entry: one of the pair's symbols has been merged
        right = nodes[at].next
        after = nodes[right].next
        if tables.pairs.ranked != NULL and tables.tied_key == NO_KEY:
            nodes[at].id = nodes[at].priority
        else:
            nodes[at].id = find_merge(&tables.pairs, nodes[at].id, nodes[right].id).id
        nodes[right].id = NONE
        nodes[at].next = after
        if after != NONE:
            nodes[after].previous = at
        if not _pair_up(tables, nodes, at, queue):
            return False
        if nodes[at].previous != NONE and not _pair_up(tables, nodes, nodes[at].previous, queue):
            return False
    return queue.heap.items != NULL


cdef inline bint _pair_up(const Tables* tables, Node* nodes, uint32_t at, Queue* queue) noexcept nogil:
    """Look up the pair that begins at position `at` and queue it; False without memory."""
    cdef Merge pair
    nodes[at].priority = NONE
    if nodes[at].next == NONE:
        return True
    pair = find_merge(&tables.pairs, nodes[at].id, nodes[nodes[at].next].id)
    if tables.tied_key != NO_KEY and pair.priority != NONE:
        pair.priority = tables.characters.ties[pair.priority]
    nodes[at].priority = pair.priority
    return pair.priority >= queue.limit or _put(queue, pair.priority, at)


cdef inline uint32_t _end(const Window* window, uint32_t at) noexcept nogil:
    """Position behind the symbol at position `at`."""
    return window.n if window.nodes[at].next == NONE else window.nodes[at].next


cdef size_t _collect(
    const Tables* tables, const Window* window, bint is_last, uint32_t* expected, Ids* out
) noexcept nogil:
    """Append the ids of a merged window up to a boundary near its end; return the bytes that they cover.

    is_last: the window ends the piece, so all of its ids are appended.
    expected: receives the number of base symbols of the next id, which the next window must start with; 0: there
        is no next id, or no boundary far enough from the window's end.
    """
    cdef const uint8_t* piece = window.piece
    cdef size_t at = 0, end
    cdef uint32_t i = 0, behind, stop = window.n if is_last else window.n - window.n // OVERLAP_PART
    expected[0] = 0
    while i != window.n:
        behind = _end(window, i)
        if behind > stop:
            expected[0] = behind - i if i else 0
            break
        if tables.characters == NULL:
            out.items[out.n] = window.nodes[i].id
            out.n += 1
            at = behind
        else:
            end = at
            for _ in range(behind - i):
                end = _whole_characters(tables, piece, end + 1, window.n_bytes)
            out.n += spell(tables, window.nodes[i].id, piece + at, end - at, out.items + out.n)
            at = end
        i = behind
    return at


# The queue


cdef bint _open(Queue* queue, const Tables* tables, uint32_t limit, bint has_buckets) noexcept nogil:
    """Start an empty queue, with buckets or without; False without memory."""
    cdef size_t n_ranks = tables.n_ids  # ranks are ids
    queue.limit = limit
    queue.sweep = queue.free = queue.rank = NONE
    if not _reserve(&queue.heap, 64):
        return False
    if not has_buckets:
        return True
    queue.buckets = <Bucket*> malloc(n_ranks * sizeof(Bucket))
    if queue.buckets == NULL or not _more_chunks(queue, BUCKET_WINDOW_BYTES // 8):
        return False
    memset(queue.buckets, 0xFF, n_ranks * sizeof(Bucket))
    return True


cdef bint _more_chunks(Queue* queue, uint32_t capacity) noexcept nogil:
    """Enlarge the memory of the chunks; False without memory."""
    cdef Chunk* chunks
    if capacity >= <uint32_t> UNSORTED:
        return False
    chunks = <Chunk*> realloc(queue.chunks, capacity * sizeof(Chunk))
    if chunks == NULL:
        return False
    queue.chunks = chunks
    queue.capacity = capacity
    return True


cdef inline bint _put(Queue* queue, uint32_t rank, uint32_t at) noexcept nogil:
    """Queue a pair: in the heap if its rank is at hand or better, else in its bucket; False without memory."""
    if rank < queue.rank:
        return _push(&queue.heap, <uint64_t> rank << 32 | at)
    return _put_in_bucket(queue, &queue.buckets[rank], rank, at)


cdef inline bint _put_in_bucket(Queue* queue, Bucket* bucket, uint32_t rank, uint32_t at) noexcept nogil:
    """Append a position to the bucket of its rank; False without memory."""
    cdef uint32_t number, last, unsorted
    cdef Chunk* chunk
    if bucket.head == NONE:
        number = _new_chunk(queue)
        if number == NONE or not _push(&queue.ranks, rank):
            return False
        bucket.head = bucket.tail = number
        chunk = &queue.chunks[number]
    else:
        last = bucket.tail & ~<uint32_t> UNSORTED
        unsorted = bucket.tail & UNSORTED
        chunk = &queue.chunks[last]
        if chunk.at[chunk.n - 1] > at:
            unsorted = UNSORTED
        if chunk.n == CHUNK_POSITIONS:
            number = _new_chunk(queue)
            if number == NONE:
                return False
            queue.chunks[last].next = number
            last = number
            chunk = &queue.chunks[number]
        bucket.tail = last | unsorted
    chunk.at[chunk.n] = at
    chunk.n += 1
    return True


cdef inline uint32_t _new_chunk(Queue* queue) noexcept nogil:
    """Take a chunk from the free list or from unused memory; return its number, NONE without memory."""
    cdef uint32_t number = queue.free
    if number != NONE:
        queue.free = queue.chunks[number].next
    else:
        if queue.n_chunks == queue.capacity and not _more_chunks(queue, 2 * queue.capacity):
            return NONE
        number = queue.n_chunks
        queue.n_chunks += 1
    queue.chunks[number].next = NONE
    queue.chunks[number].n = 0
    return number


cdef inline uint32_t _free_chunk(Queue* queue, uint32_t number) noexcept nogil:
    """Put a chunk on the free list; return the number of the chunk behind it in its bucket."""
    cdef uint32_t next_number = queue.chunks[number].next
    queue.chunks[number].next = queue.free
    queue.free = number
    return next_number


cdef inline bint _take(Queue* queue, uint64_t* best) noexcept nogil:
    """Take the best pair: the next of the bucket at hand, or a better one from the heap.

    Returns False if the queue is empty, and also without memory; then heap.items is NULL.
    """
    cdef const Chunk* chunk
    while True:
        if queue.sweep != NONE:
            chunk = &queue.chunks[queue.sweep]
            best[0] = <uint64_t> (queue.rank - 1) << 32 | chunk.at[queue.next]
            if not queue.heap.n or best[0] < queue.heap.items[0]:
                queue.next += 1
                if queue.next == chunk.n:
                    queue.sweep = _free_chunk(queue, queue.sweep)
                    queue.next = 0
                return True
        if queue.heap.n:
            best[0] = _pop(&queue.heap)
            return True
        if not queue.ranks.n:
            return False
        if not _start_bucket(queue, <uint32_t> _pop(&queue.ranks)):
            free(queue.heap.items)
            queue.heap.items = NULL
            return False


cdef bint _start_bucket(Queue* queue, uint32_t rank) noexcept nogil:
    """Make the bucket of a rank the one at hand. If its positions do not rise, the heap takes and sorts them.

    Returns False without memory.
    """
    cdef Bucket* bucket = &queue.buckets[rank]
    cdef uint32_t number = bucket.head, i
    cdef bint is_sorted = not bucket.tail & UNSORTED
    bucket.head = NONE
    queue.rank = rank + 1
    if is_sorted:
        queue.sweep, queue.next = number, 0
        return True
    while number != NONE:
        for i in range(queue.chunks[number].n):
            if not _push(&queue.heap, <uint64_t> rank << 32 | queue.chunks[number].at[i]):
                return False
        number = _free_chunk(queue, number)
    return True


# Heaps


cdef bint _reserve(Heap* heap, size_t capacity) noexcept nogil:
    """Enlarge a heap; False without memory."""
    cdef uint64_t* items = <uint64_t*> realloc(heap.items, capacity * sizeof(uint64_t))
    if items == NULL:
        return False
    heap.items = items
    heap.capacity = capacity
    return True


cdef inline bint _push(Heap* heap, uint64_t item) noexcept nogil:
    """Push an item; False without memory."""
    cdef size_t at = heap.n, parent
    if heap.n == heap.capacity and not _reserve(heap, max(2 * heap.capacity, <size_t> 64)):
        return False
    heap.n += 1
    while at:
        parent = (at - 1) >> 1
        if heap.items[parent] <= item:
            break
        heap.items[at] = heap.items[parent]
        at = parent
    heap.items[at] = item
    return True


cdef inline uint64_t _pop(Heap* heap) noexcept nogil:
    """Take the least item. Requires: heap.n > 0."""
    cdef uint64_t* items = heap.items
    cdef uint64_t least = items[0], item
    cdef size_t at = 0, child = 1
    heap.n -= 1
    item = items[heap.n]
    while child < heap.n:
        child += child + 1 < heap.n and items[child + 1] < items[child]
        if items[child] >= item:
            break
        items[at] = items[child]
        at = child
        child = 2 * at + 1
    items[at] = item
    return least

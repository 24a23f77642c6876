"""Merging a long piece: a doubly linked list of symbols, and a queue that gives the best pair, leftmost on ties.

The queue is a heap for pieces of up to FEW bytes. For longer ones of ranked vocabularies pairs wait in a bucket for
each rank, and only those of the rank at hand, or of a better one that has come up meanwhile, are in the heap: a text
without pieces costs what it is long, not n log n with a miss of the processor's caches for each step of a heap. And a
bucket tells what comes next, so that its symbols and the slots of their new pairs can be asked for ahead.

Windows. A piece is merged in windows that overlap, so that all that is at work stays in the processor's second-level
cache: a megabyte takes what its first 16 KB do for each byte. Whoever merges the best pair, leftmost on ties,
again and again makes t1 … tn of a text if and only if they make ti, ti+1 of the text of each two neighbours alone: no
merge crosses a place between two tokens of the result, so what is merged on either side of it is merged as if the
other were not there; and the first merge to cross one would be made in the text of the two alone as well. So the
results of two windows are one where they share a token: the tokens of the first window up to some place near its end,
then the second window, which begins there, if its first token is the one that the first window had next. It nearly
always is. If not, what comes behind a window reaches further into it, and all begins anew with windows twice as long.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.id_buffer cimport ids_free, ids_reserve
from fastbpe._core.merge.symbol_ids cimport spell, symbol_at
from fastbpe._core.common.hash_tables cimport NO_KEY, NONE, Merge, find_merge, pair_home
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary

cdef enum:
    FEW = 1 << 13  # bytes; below, clearing the buckets would cost as much as the heap
    SWEPT = 1 << 14  # bytes of a window, with buckets
    HEAPED = 1 << 12  # with a heap alone
    PER_TOKEN = 32  # windows hold so many of the longest token
    OVERLAP = 16  # what part of a window the next one takes again
    PER_CHUNK = 14
    SYMBOLS_AHEAD = 8
    PAIRS_AHEAD = 3
    UNSORTED = 1 << 31  # in a bucket's tail
    SIGNALS_EVERY = 1 << 18  # pairs: a quarter of a second at the worst


cdef struct Node:
    # One symbol of a long piece. Symbols are the numbers of the bytes, or characters, that they begin with.
    uint32_t id  # NONE once the symbol was merged into its left neighbour
    uint32_t previous
    uint32_t next
    uint32_t priority  # of the pair (this symbol, the next one), where ranked its id; NONE: no such pair


cdef struct Heap:
    uint64_t* items  # priority << 32 | position: the least is the best pair, leftmost on ties
    size_t n
    size_t capacity


cdef struct Chunk:
    # Some of the positions in a bucket: a line of the processor's cache.
    uint32_t next  # in its bucket, or among those that are free
    uint32_t n
    uint32_t at[PER_CHUNK]


cdef struct Bucket:
    uint32_t head  # the number of a chunk; NONE: empty
    uint32_t tail


cdef struct Queue:
    uint32_t limit  # pairs of this priority and beyond never come
    Heap heap  # pairs of the priority at hand or a better one
    Heap ranks  # priorities whose buckets hold something
    Bucket* buckets  # by priority; NULL: all is in the heap
    Chunk* chunks
    uint32_t n_chunks
    uint32_t capacity
    uint32_t free
    uint32_t rank  # at hand, plus 1: NONE if all is in the heap
    uint32_t sweep  # the chunk at hand, and the next of its positions
    uint32_t next
    size_t n_taken


cdef struct Window:
    const uint8_t* piece  # its text
    size_t n_bytes
    Node* nodes
    uint32_t n  # symbols before any merge: bytes, or characters
    uint32_t capacity


cdef int merge_linked(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t limit, Ids* out
) except -1 nogil:
    """Append what pairs of a priority below the limit make of a piece; out must have room for n."""
    cdef size_t size = SWEPT if n >= FEW and tables.pairs.ranked != NULL else HEAPED
    return _merge_windows(tables, piece, n, limit, max(size, PER_TOKEN * <size_t> tables.max_token_bytes), out)


cdef int _merge_windows(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t limit, size_t size, Ids* out
) except -1 nogil:
    """The same in windows of so many bytes, or more."""
    cdef Queue queue
    cdef Window window
    cdef size_t at = 0, n_before = out.n
    cdef uint32_t expected = 0  # symbols in the first token of a window, by the one before
    cdef bint done
    memset(&queue, 0, sizeof(queue))
    memset(&window, 0, sizeof(window))
    try:
        done = _open(&queue, tables, n, limit)
        while done and at < n:
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
            raise MemoryError(f"no memory to merge a piece of {n} bytes (a split pattern makes pieces shorter)")
    return 0


def merge_in_windows(Vocabulary vocabulary not None, const uint8_t[::1] piece not None, size_t size):
    """The ids of one piece that is not empty, merged in windows of `size` bytes or more."""
    cdef Ids ids = Ids(NULL, 0, 0)
    try:
        ids_reserve(&ids, len(piece))
        _merge_windows(&vocabulary.tables, &piece[0], len(piece), NONE, size, &ids)
        return [ids.items[i] for i in range(ids.n)]
    finally:
        ids_free(&ids)


cdef size_t _whole_characters(const Tables* tables, const uint8_t* piece, size_t end, size_t n) noexcept nogil:
    """The first place from `end` on that lies within no base symbol."""
    while tables.characters != NULL and end < n and piece[end] >> 6 == 2:
        end += 1
    return end


cdef bint _begin(const Tables* tables, Window* window) noexcept nogil:
    """Make room for a window's symbols; False without memory."""
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
    """Make the list, and queue its pairs; False without memory."""
    cdef Node* nodes = window.nodes
    cdef uint32_t i, n = window.n
    cdef size_t at = 0, n_bytes
    for i in range(n):
        if tables.characters == NULL:
            nodes[i].id = tables.byte_ids[window.piece[i]]
        else:
            nodes[i].id = symbol_at(tables, window.piece + at, &n_bytes)
            at += n_bytes
        nodes[i].previous = i - 1  # of the first: NONE
        nodes[i].next = i + 1 if i + 1 < n else NONE
    if queue.buckets != NULL:
        queue.rank = 0
    for i in range(n):
        if not _pair_up(tables, nodes, i, queue):
            return False
    return True


cdef bint _merge(const Tables* tables, Node* nodes, Queue* queue) except -1 nogil:
    """Merge what pairs the queue has, and those that come of it; False without memory."""
    cdef uint64_t best
    cdef uint32_t at, right, after
    while _take(queue, tables, nodes, &best):
        queue.n_taken += 1
        if queue.n_taken % SIGNALS_EVERY == 0:
            with gil:
                PyErr_CheckSignals()
        at = <uint32_t> best
        if nodes[at].id == NONE or nodes[at].priority != <uint32_t> (best >> 32):
            continue  # the pair that was queued is no longer there
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
    """Look up the pair that starts at a symbol and queue it; False without memory."""
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
    """Where the symbol ends that stands at a node."""
    return window.n if window.nodes[at].next == NONE else window.nodes[at].next


cdef size_t _collect(
    const Tables* tables, const Window* window, bint is_last, uint32_t* expected, Ids* out
) noexcept nogil:
    """Append the ids of a window that stand whatever follows it, and say of how many bytes they are.

    expected: of how many symbols the next one must be for that; 0: there is none, and nothing may have been appended.
    """
    cdef const uint8_t* piece = window.piece
    cdef size_t at = 0, end
    cdef uint32_t i = 0, behind, stop = window.n if is_last else window.n - window.n // OVERLAP
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


cdef bint _open(Queue* queue, const Tables* tables, size_t n, uint32_t limit) noexcept nogil:
    """Begin an empty queue for a piece of n bytes; False without memory."""
    cdef size_t n_ranks = tables.n_ids  # no rank of a ranked vocabulary is above
    queue.limit = limit
    queue.sweep = queue.free = queue.rank = NONE
    if not _reserve(&queue.heap, 64):
        return False
    if n < FEW or tables.pairs.ranked == NULL:
        return True
    queue.buckets = <Bucket*> malloc(n_ranks * sizeof(Bucket))
    if queue.buckets == NULL or not _more_chunks(queue, SWEPT // 8):
        return False
    memset(queue.buckets, 0xFF, n_ranks * sizeof(Bucket))
    return True


cdef bint _more_chunks(Queue* queue, uint32_t capacity) noexcept nogil:
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
    if rank < queue.rank:
        return _push(&queue.heap, <uint64_t> rank << 32 | at)
    return _put_in_bucket(queue, &queue.buckets[rank], rank, at)


cdef inline bint _put_in_bucket(Queue* queue, Bucket* bucket, uint32_t rank, uint32_t at) noexcept nogil:
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
        if chunk.n == PER_CHUNK:
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
    """The number of an empty chunk; NONE without memory."""
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
    """The number of the next chunk of the bucket."""
    cdef uint32_t next_number = queue.chunks[number].next
    queue.chunks[number].next = queue.free
    queue.free = number
    return next_number


cdef inline bint _take(Queue* queue, const Tables* tables, const Node* nodes, uint64_t* best) noexcept nogil:
    """The best pair; False if there is none, or, with heap.items NULL, no memory."""
    cdef const Chunk* chunk
    while True:
        if queue.sweep != NONE:
            chunk = &queue.chunks[queue.sweep]
            best[0] = <uint64_t> (queue.rank - 1) << 32 | chunk.at[queue.next]
            if not queue.heap.n or best[0] < queue.heap.items[0]:
                _ask_ahead(queue, tables, nodes, chunk)
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
        if not _turn_to(queue, <uint32_t> _pop(&queue.ranks)):
            free(queue.heap.items)
            queue.heap.items = NULL
            return False


cdef inline void _ask_ahead(
    const Queue* queue, const Tables* tables, const Node* nodes, const Chunk* chunk
) noexcept nogil:
    """Ask for the symbols that come soon, and for the slots of the pairs that the next ones will make."""
    cdef uint32_t i = queue.next, at, right, behind, rank = queue.rank - 1
    cdef const Chunk* follower
    if i + SYMBOLS_AHEAD < chunk.n:
        prefetch(&nodes[chunk.at[i + SYMBOLS_AHEAD]])
    elif chunk.next != NONE:
        follower = &queue.chunks[chunk.next]
        if i + SYMBOLS_AHEAD == chunk.n:
            prefetch(follower)
        elif i + SYMBOLS_AHEAD - chunk.n < follower.n:
            prefetch(&nodes[follower.at[i + SYMBOLS_AHEAD - chunk.n]])
    if i + PAIRS_AHEAD < chunk.n:
        at = chunk.at[i + PAIRS_AHEAD]
        right = nodes[at].next
        if nodes[at].id == NONE or right == NONE:
            return
        behind = nodes[right].next
        if behind != NONE:
            prefetch(&tables.pairs.ranked[pair_home(rank, nodes[behind].id, tables.pairs.shift)])
        if nodes[at].previous != NONE:
            prefetch(&tables.pairs.ranked[pair_home(nodes[nodes[at].previous].id, rank, tables.pairs.shift)])


cdef bint _turn_to(Queue* queue, uint32_t rank) noexcept nogil:
    """Take a bucket's pairs in hand: as they are, or, if they are not from left to right, in the heap."""
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
    cdef uint64_t* items = <uint64_t*> realloc(heap.items, capacity * sizeof(uint64_t))
    if items == NULL:
        return False
    heap.items = items
    heap.capacity = capacity
    return True


cdef inline bint _push(Heap* heap, uint64_t item) noexcept nogil:
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
    """The least item; there must be one."""
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

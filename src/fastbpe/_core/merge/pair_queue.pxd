"""Priority queue of the pairs of a long piece: the best pair comes first, the leftmost of equals.

For short pieces and for vocabularies without ranks it is a binary heap. Otherwise it is a bucket queue: one bucket
of positions per rank. Only pairs of the current rank, or of a better rank that a merge has created since, are in a
heap. So most steps take O(1) time without a cache miss; a heap takes O(log n) time and cache misses.

Functions return False if out of memory. They are inline because `merge_long` calls them for each pair.

Tried and dropped: prefetching the next symbols and slots of a bucket. Windows fit into the second-level cache, so the
prefetches only took time (docs/how/optimizations.md).
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from fastbpe._core.common.hash_tables cimport NONE

cdef enum:
    CHUNK_POSITIONS = 14  # positions in a chunk; they fill its cache line
    UNSORTED = 1 << 31  # flag in Bucket.tail: the positions are not in ascending order
    MIN_HEAP_ITEMS = 64  # capacity of a new heap


cdef struct Heap:
    # Binary heap, lowest item first.
    uint64_t* items  # priority << 32 | position, so the lowest is the best pair, leftmost on ties
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
    # The priority queue of pairs. Entries are never removed: the reader skips entries whose pair is gone.
    uint32_t limit  # pairs of this or a greater priority are not queued
    Heap heap  # pairs with a rank below `rank`; without buckets all pairs
    Heap ranks  # ranks whose buckets are not empty
    Bucket* buckets  # by rank; NULL: all pairs are in the heap
    Chunk* chunks  # memory of all chunks
    uint32_t n_chunks  # chunks handed out so far
    uint32_t capacity  # capacity of `chunks`
    uint32_t free  # number of the first chunk in the free list; NONE: the list is empty
    uint32_t rank  # pairs below it go to the heap: current rank + 1; 0: none yet; NONE: there are no buckets
    uint32_t sweep  # number of the current chunk; NONE: the current bucket is done
    uint32_t next  # index of the next position in it
    size_t n_taken  # pairs taken so far


# Heaps


cdef inline bint _reserve(Heap* heap, size_t capacity) noexcept nogil:
    """Enlarge a heap; False if out of memory."""
    cdef uint64_t* items = <uint64_t*> realloc(heap.items, capacity * sizeof(uint64_t))
    if items == NULL:
        return False
    heap.items = items
    heap.capacity = capacity
    return True


cdef inline bint _push(Heap* heap, uint64_t item) noexcept nogil:
    """Push an item; False if out of memory."""
    cdef size_t at = heap.n, parent
    if heap.n == heap.capacity and not _reserve(heap, max(2 * heap.capacity, <size_t> MIN_HEAP_ITEMS)):
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
    """Take the lowest item. Requires: heap.n > 0."""
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


# The queue


cdef inline bint _more_chunks(Queue* queue, uint32_t capacity) noexcept nogil:
    """Enlarge the memory of the chunks; False if out of memory."""
    cdef Chunk* chunks
    if capacity >= <uint32_t> UNSORTED:  # Bucket.tail holds a number and the flag
        return False
    chunks = <Chunk*> realloc(queue.chunks, capacity * sizeof(Chunk))
    if chunks == NULL:
        return False
    queue.chunks = chunks
    queue.capacity = capacity
    return True


cdef inline bint queue_open(Queue* queue, uint32_t limit, size_t n_ranks, uint32_t n_chunks) noexcept nogil:
    """Start an empty queue; False if out of memory. The caller frees it with queue_close, even after a failure.

    limit: pairs of this or a greater priority are not queued.
    n_ranks, n_chunks: number of buckets, and initial number of chunks. 0: no buckets.
    """
    memset(queue, 0, sizeof(queue[0]))
    queue.limit = limit
    queue.sweep = queue.free = queue.rank = NONE
    if not _reserve(&queue.heap, MIN_HEAP_ITEMS):
        return False
    if not n_ranks:
        return True
    queue.buckets = <Bucket*> malloc(n_ranks * sizeof(Bucket))
    if queue.buckets == NULL or not _more_chunks(queue, n_chunks):
        return False
    memset(queue.buckets, 0xFF, n_ranks * sizeof(Bucket))
    return True


cdef inline void queue_close(Queue* queue) noexcept nogil:
    """Free the memory of a queue."""
    free(queue.heap.items)
    free(queue.ranks.items)
    free(queue.buckets)
    free(queue.chunks)


cdef inline void queue_restart(Queue* queue) noexcept nogil:
    """Begin a window, without a current rank. Requires: the queue is empty."""
    if queue.buckets != NULL:
        queue.rank = 0


cdef inline uint32_t _new_chunk(Queue* queue) noexcept nogil:
    """Take a chunk from the free list or from unused memory; return its number, NONE if out of memory."""
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
    """Put a chunk on the free list; return the number of the chunk after it in its bucket."""
    cdef uint32_t next_number = queue.chunks[number].next
    queue.chunks[number].next = queue.free
    queue.free = number
    return next_number


cdef inline bint _put_in_bucket(Queue* queue, Bucket* bucket, uint32_t rank, uint32_t at) noexcept nogil:
    """Append a position to the bucket of its rank; False if out of memory."""
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


cdef inline bint queue_put(Queue* queue, uint32_t rank, uint32_t at) noexcept nogil:
    """Queue a pair: in the heap if its rank is current or better, else in its bucket; False if out of memory."""
    if rank < queue.rank:
        return _push(&queue.heap, <uint64_t> rank << 32 | at)
    return _put_in_bucket(queue, &queue.buckets[rank], rank, at)


cdef inline bint _start_bucket(Queue* queue, uint32_t rank) noexcept nogil:
    """Make the bucket of a rank the current one. If its positions are not ascending, the heap sorts them.

    Returns False if out of memory.
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


cdef inline bint queue_take(Queue* queue, uint64_t* best) noexcept nogil:
    """Take the best pair: the next of the current bucket, or a better one from the heap.

    Returns False if the queue is empty, or if out of memory; in that case heap.items is NULL.
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

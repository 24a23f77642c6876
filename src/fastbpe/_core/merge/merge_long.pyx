"""Merge long pieces in linear time: a linked list of symbols, and a priority queue of their pairs.

The queue is `pair_queue`: a heap for short pieces, buckets for pieces of a ranked vocabulary with
BUCKETS_FROM_BYTES or more.

The piece is merged in overlapping windows, so that the list and the queue fit into the second-level cache. The
result is exact for this reason: merging the best pair, leftmost on ties, turns a text into tokens t1 … tn if and
only if it turns the text of any neighbours ti, ti+1 into these two.

- "Only if": no merge crosses the boundary between two tokens of the result, so each side is merged as if the other
  did not exist.
- "If": the first merge to cross a boundary would also happen in the text of the two neighbours alone.

So two windows can be joined at a token that both contain. Take the tokens of the first window up to a boundary
near its end, and start the second window at this boundary. Then check that its first token is the next token of
the first window; it nearly always is. If not, the text after the window affects tokens further back in it, and
merging starts again with windows twice as long. All this also holds for merging in rounds.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from fastbpe._core.common.hash_lookups cimport find_merge
from fastbpe._core.common.id_buffer cimport ids_free, ids_reserve
from fastbpe._core.common.hash_tables cimport NO_KEY, NONE, Merge
from fastbpe._core.common.python cimport PyErr_CheckSignals
from fastbpe._core.merge.pair_queue cimport Queue, queue_close, queue_open, queue_put, queue_restart, queue_take
from fastbpe._core.merge.symbol_ids cimport spell, symbol_at
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary

cdef enum:
    BUCKETS_FROM_BYTES = 1 << 13  # shortest piece with buckets; below, clearing them costs as much as a heap
    BUCKET_WINDOW_BYTES = 1 << 14  # window of a piece that has buckets
    HEAP_WINDOW_BYTES = 1 << 12  # window of a piece that has only a heap
    MIN_WINDOW_TOKENS = 32  # length of the shortest window, in lengths of the longest token
    FIRST_CHUNKS = BUCKET_WINDOW_BYTES // 8  # initial number of chunks, for a window with 8 positions in each
    OVERLAP_PART = 16  # the last 1/16 of a window is merged again in the next one
    IDS_CLEARED_PER_SYMBOL = 16  # limit on the buckets to clear per symbol of a sequence
    SIGNALS_EVERY = 1 << 18  # pairs taken between two checks for signals


cdef struct Node:
    # A symbol in the linked list of a window. Its position is the index of its first byte or character.
    uint32_t id  # NONE: merged into the symbol before it
    uint32_t previous  # position; NONE: it is the first
    uint32_t next  # position; NONE: it is the last
    uint32_t priority  # of the pair (this symbol, the next one), with ranks also its merged id; NONE: no such pair


cdef struct Window:
    # A part of a long piece that is merged separately; see the module's docstring.
    const uint8_t* piece  # start of the part, if it is text
    const uint32_t* symbols  # start of the part, if it is a sequence of base symbols; NULL: it is text
    size_t n_bytes  # bytes of text; for a sequence, the number of symbols
    Node* nodes  # by position
    uint32_t n  # number of base symbols: bytes or characters
    uint32_t capacity  # capacity of `nodes`


cdef int merge_linked(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t limit, Ids* out
) except -1 nogil:
    """Append the ids that merging yields for a piece of any length.

    limit: merge only pairs whose priority (position in the order of merging) is below it; NONE: merge all pairs.
    Requires: `out` has space for n more ids.
    """
    cdef bint has_buckets = n >= BUCKETS_FROM_BYTES and tables.pairs.ranked != NULL
    cdef size_t size = BUCKET_WINDOW_BYTES if has_buckets else HEAP_WINDOW_BYTES
    return _merge_windows(
        tables, piece, NULL, n, limit, has_buckets,
        max(size, MIN_WINDOW_TOKENS * <size_t> tables.max_token_bytes), out, NULL,
    )


cdef int merge_symbols(
    const Tables* tables, const uint32_t* symbols, size_t n, Ids* out, Ids* parts
) except -1 nogil:
    """Append the ids that merging yields for a sequence of n base symbols, which are ids themselves.

    parts: empty; receives the number of base symbols of each id. NULL: not needed.

    Requires: max_token_bytes of the tables is at least the number of base symbols of any id; no characters; each
        symbol is below n_ids.
    """
    # Buckets are cleared once per call, so with a large vocabulary they pay only for a longer sequence. (Vocabularies
    # of text are too small for this: see merge_linked().)
    cdef bint in_rounds = tables.spelling != NULL and tables.spelling.in_rounds
    cdef bint has_buckets = tables.pairs.ranked != NULL and not in_rounds and (
        n >= max(<size_t> BUCKETS_FROM_BYTES, <size_t> tables.n_ids // IDS_CLEARED_PER_SYMBOL)
    )
    cdef size_t size = BUCKET_WINDOW_BYTES if has_buckets else HEAP_WINDOW_BYTES
    ids_reserve(out, n)
    if parts != NULL:
        ids_reserve(parts, n)
    size = max(size, MIN_WINDOW_TOKENS * <size_t> tables.max_token_bytes)
    return _merge_windows(tables, NULL, symbols, n, NONE, has_buckets, size, out, parts)


cdef int _merge_windows(
    const Tables* tables, const uint8_t* piece, const uint32_t* symbols, size_t n, uint32_t limit, bint has_buckets,
    size_t size, Ids* out, Ids* parts,
) except -1 nogil:
    """Append the ids of a piece, merged in windows of `size` bytes, or more if the windows cannot be joined.

    piece, symbols: the piece, as text or as a sequence of base symbols; the other argument is NULL.
    has_buckets: use the bucket queue, which needs ranked tables.
    parts: as in merge_symbols().
    """
    cdef Queue queue
    cdef Window window
    cdef size_t at = 0, n_before = out.n
    cdef uint32_t expected = 0  # base symbols of the window's first token, from the last window; 0: any
    cdef bint has_memory, in_rounds = tables.spelling != NULL and tables.spelling.in_rounds
    memset(&window, 0, sizeof(window))
    try:
        # A bucket per rank; ranks are ids.
        has_memory = queue_open(&queue, limit, tables.n_ids if has_buckets else 0, FIRST_CHUNKS)
        while has_memory and at < n:
            if symbols != NULL:
                window.symbols = symbols + at
            else:
                window.piece = piece + at
            window.n_bytes = _whole_characters(tables, piece, min(size, n - at) + at, n) - at
            has_memory = _begin(tables, &window) and _link(tables, &window, &queue) and (
                _merge_in_rounds(tables, window.nodes, &queue) if in_rounds else
                _merge(tables, window.nodes, &queue)
            )
            if not has_memory:
                break
            if not expected or expected == _end(&window, 0):
                at += _collect(tables, &window, window.n_bytes == n - at, &expected, out, parts)
            else:
                expected = 0
            if not expected and at < n:  # the windows cannot be joined
                at = 0
                size *= 2
                out.n = n_before
                if parts != NULL:
                    parts.n = 0
    finally:
        free(window.nodes)
        queue_close(&queue)
    if not has_memory:
        with gil:
            raise MemoryError(
                f"no memory to merge a sequence of {n} symbols" if symbols != NULL
                else f"no memory to merge a piece of {n} bytes (a split pattern makes pieces shorter)"
            )
    return 0


def merge_in_windows(Vocabulary vocabulary not None, const uint8_t[::1] piece not None, size_t size):
    """Return the ids of one non-empty piece, merged in windows of `size` bytes or more. For tests."""
    cdef Ids ids = Ids(NULL, 0, 0)
    try:
        ids_reserve(&ids, len(piece))
        _merge_windows(
            &vocabulary.tables, &piece[0], NULL, len(piece), NONE,
            len(piece) >= BUCKETS_FROM_BYTES and vocabulary.tables.pairs.ranked != NULL, size, &ids, NULL,
        )
        return [ids.items[i] for i in range(ids.n)]
    finally:
        ids_free(&ids)


cdef size_t _whole_characters(const Tables* tables, const uint8_t* piece, size_t end, size_t n) noexcept nogil:
    """Return the first offset from `end` on, at most n, that is not within a base symbol."""
    while tables.characters != NULL and end < n and piece[end] >> 6 == 2:
        end += 1
    return end


cdef bint _begin(const Tables* tables, Window* window) noexcept nogil:
    """Make space for the symbols of a window; False if out of memory."""
    cdef size_t i, n = window.n_bytes
    if tables.characters != NULL:
        for i in range(window.n_bytes):
            n -= window.piece[i] >> 6 == 2
    if n >= NONE:  # positions have 32 bits
        return False
    window.n = <uint32_t> n
    if n > window.capacity:
        free(window.nodes)
        window.nodes = <Node*> malloc(n * sizeof(Node))
        window.capacity = <uint32_t> n
    return window.nodes != NULL


cdef bint _link(const Tables* tables, Window* window, Queue* queue) noexcept nogil:
    """Make the list of a window's base symbols and queue their pairs; False if out of memory."""
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
    queue_restart(queue)
    for i in range(n):
        if not _pair_up(tables, nodes, i, queue):
            return False
    return True


cdef bint _merge(const Tables* tables, Node* nodes, Queue* queue) except -1 nogil:
    """Merge until the queue is empty. Returns False if out of memory; raises any exception of a signal handler."""
    cdef uint64_t best
    cdef uint32_t at
    while queue_take(queue, &best):
        _count_taken(queue)
        at = <uint32_t> best
        if nodes[at].id == NONE or nodes[at].priority != <uint32_t> (best >> 32):
            continue  # an outdated entry: one of the pair's symbols has been merged
        _join(tables, nodes, at)
        if not _pair_up(tables, nodes, at, queue):
            return False
        if nodes[at].previous != NONE and not _pair_up(tables, nodes, nodes[at].previous, queue):
            return False
    return queue.heap.items != NULL  # NULL: queue_take() ran out of memory


cdef bint _merge_in_rounds(const Tables* tables, Node* nodes, Queue* queue) except -1 nogil:
    """Merge in each round all occurrences of the best pair, but no pair that the round makes; see `_merge`.

    Requires: the queue has no buckets.
    """
    cdef Ids joined = Ids(NULL, 0, 0)  # positions of the symbols that a round makes
    cdef uint64_t best
    cdef uint32_t at, priority
    cdef size_t i
    try:
        while queue_take(queue, &best):
            priority = <uint32_t> (best >> 32)
            joined.n = 0
            while True:
                _count_taken(queue)
                at = <uint32_t> best
                if nodes[at].id != NONE and nodes[at].priority == priority:
                    _join(tables, nodes, at)
                    nodes[at].priority = NONE  # the queue may contain the pair twice
                    ids_reserve(&joined, 1)
                    joined.items[joined.n] = at
                    joined.n += 1
                if not queue.heap.n or <uint32_t> (queue.heap.items[0] >> 32) != priority:
                    break
                queue_take(queue, &best)
            for i in range(joined.n):
                at = joined.items[i]
                if not _pair_up(tables, nodes, at, queue):
                    return False
                if nodes[at].previous != NONE and not _pair_up(tables, nodes, nodes[at].previous, queue):
                    return False
    finally:
        ids_free(&joined)
    return True


cdef inline int _count_taken(Queue* queue) except -1 nogil:
    """Count a pair that is taken from the queue; check for signals from time to time."""
    queue.n_taken += 1
    if queue.n_taken % SIGNALS_EVERY == 0:
        with gil:
            PyErr_CheckSignals()
    return 0


cdef inline void _join(const Tables* tables, Node* nodes, uint32_t at) noexcept nogil:
    """Merge the pair that begins at position `at`."""
    cdef uint32_t right = nodes[at].next, after = nodes[right].next
    if tables.pairs.ranked != NULL and tables.tied_key == NO_KEY:
        nodes[at].id = nodes[at].priority
    else:
        nodes[at].id = find_merge(&tables.pairs, nodes[at].id, nodes[right].id).id
    nodes[right].id = NONE
    nodes[at].next = after
    if after != NONE:
        nodes[after].previous = at


cdef inline bint _pair_up(const Tables* tables, Node* nodes, uint32_t at, Queue* queue) noexcept nogil:
    """Look up the pair that begins at position `at` and queue it; False if out of memory."""
    cdef Merge pair
    nodes[at].priority = NONE
    if nodes[at].next == NONE:
        return True
    pair = find_merge(&tables.pairs, nodes[at].id, nodes[nodes[at].next].id)
    if tables.tied_key != NO_KEY and pair.priority != NONE:
        pair.priority = tables.characters.ties[pair.priority]
    nodes[at].priority = pair.priority
    return pair.priority >= queue.limit or queue_put(queue, pair.priority, at)


cdef inline uint32_t _end(const Window* window, uint32_t at) noexcept nogil:
    """Position after the symbol at position `at`."""
    return window.n if window.nodes[at].next == NONE else window.nodes[at].next


cdef size_t _collect(
    const Tables* tables, const Window* window, bint is_last, uint32_t* expected, Ids* out, Ids* parts
) noexcept nogil:
    """Append the ids of a merged window up to a boundary near its end.

    Returns the number of bytes that they cover; of base symbols, if the piece is a sequence.

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
            if parts != NULL:
                parts.items[parts.n] = behind - i
                parts.n += 1
            at = behind
        else:
            end = at
            for _ in range(behind - i):
                end = _whole_characters(tables, piece, end + 1, window.n_bytes)
            out.n += spell(tables, window.nodes[i].id, piece + at, end - at, out.items + out.n)
            at = end
        i = behind
    return at

"""Segmenter: how a vocabulary cuts pieces into tokens without merging. Immutable.

Its trie stores the tokens in a double array, which finds all tokens that begin at a position, shortest first. A
node is a unit of 16 bytes. All children of a node are in one block of 256 units, so a step reads one unit and
never leaves the array. Units of the first block are never children: a node without children leads there.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcmp, memset

from fastbpe._core.common.growing cimport grow, reserve
from fastbpe._core.common.hash_tables cimport NONE

from array import array

from fastbpe.errors import VocabularyError


_KINDS = {"Unigram": UNIGRAM, "sentence": SENTENCE, "WordPiece": WORD_PIECE, "WordLevel": WORD_LEVEL}


@cython.final
cdef class Segmenter:
    """Rules by which a vocabulary cuts pieces into tokens.

    kind: "Unigram", "sentence" (unigram with the sums of sentencepiece), "WordPiece" or "WordLevel".
    token_bytes, token_ends: the tokens, in the form that a Vocabulary takes.
    ids: uint32 array, the id of each token; NONE: it is not found in text. None: the index of each token.
    scores: array of doubles, the score of each id of "Unigram".
    gains: array of floats, the amount that each id of "sentence" adds to a total: with byte fallback, the id of
        the first byte of a character has the score of an unknown character.
    are_symbols: bytes, 1 for each id of "sentence" that is user-defined.
    unknown_score: score of a character without a token, for "Unigram" and "sentence".
    prefix: text before the tokens of "WordPiece" that do not begin a piece.
    longest: characters of the longest piece of "WordPiece"; a longer one is unknown.
    """

    def __cinit__(
        self, str kind not None, token_bytes, token_ends, *, ids=None, scores=None, gains=None, are_symbols=None,
        double unknown_score=0.0, bytes prefix not None=b"", size_t longest=0,
    ):
        cdef size_t n = len(memoryview(token_ends).cast("B")) // 4, i
        cdef float by_number
        cdef const unsigned char[::1] data = prefix if prefix else b"\0"
        cdef const double[::1] all_scores
        cdef const float[::1] all_gains
        cdef const uint8_t[::1] symbols
        self.kind = kind
        self.segmenting.kind = _KINDS[kind]
        if ids is None:
            ids = array("I", range(n))
        # The trie has the scores of tokens by their index; only SENTENCE reads them there.
        by_token = array("f", bytes(4 * n))
        if gains is not None:
            numbers = memoryview(ids).cast("B").cast("I")
            gains, are_symbols = memoryview(gains).cast("B").cast("f"), memoryview(are_symbols).cast("B")
            all_gains, symbols = gains, are_symbols
            if all_gains.shape[0] != symbols.shape[0]:
                raise VocabularyError("gains and are_symbols must have the same length")
            for i in range(n):
                if numbers[i] != NONE:
                    by_token[i] = all_gains[<Py_ssize_t> numbers[i]]
            self.segmenting.gains = &all_gains[0]
            self.segmenting.are_symbols = &symbols[0]
            self.segmenting.greatest = 1.001 * max(abs(unknown_score), max(map(abs, gains)))
        if scores is not None:
            scores = memoryview(scores).cast("B").cast("d")
            all_scores = scores
            if <size_t> all_scores.shape[0] < n:
                raise VocabularyError(f"{all_scores.shape[0]} scores for {n} tokens")
            self.segmenting.scores = &all_scores[0] if n else NULL
        self._buffers = (gains, are_symbols, scores)
        self.trie = Trie(token_bytes, token_ends, ids, by_token)
        self.segmenting.units = self.trie.units
        self.segmenting.unknown = unknown_score
        self.segmenting.longest = longest
        self.segmenting.inner = walk(self.trie.units, 0, &data[0], <size_t> len(prefix))


cdef enum:
    LEAST_JOBS = 1 << 10  # initial capacity of the stack
    BLOCK = 256  # units of a block; the children of a node are in one
    OPEN_BLOCKS = 16  # number of newest blocks in which free units are searched for
    MAX_UNITS = 1 << 30


cdef struct Job:
    # A node whose children have not been made yet
    uint32_t node
    uint32_t first  # its keys: first to end - 1
    uint32_t end
    uint32_t depth  # number of leading bytes that they share


cdef struct Builder:
    Unit* units
    size_t n_units  # whole blocks
    size_t capacity
    uint8_t* taken  # for each unit: 1 if it is a node, or must not become one
    # Free units of the open blocks form a ring: `base` is the next one, `id` the previous one.
    uint32_t free_unit  # one of the free units; NONE: none is free
    Job* jobs
    size_t n_jobs
    size_t jobs_capacity


@cython.final
cdef class Trie:
    """Trie of tokens by their bytes.

    token_bytes, token_ends: the tokens, in the form that a Vocabulary takes.
    ids: uint32 array, the id of each token; NONE leaves it out. Of equal tokens the last one counts.
    scores: float array, the score of each token.

    >>> from array import array
    >>> ends, ids, scores = array("I", [1, 3]), array("I", [7, 8]), array("f", [0, 0])
    >>> Trie(b"aab", ends, ids, scores).prefixes(b"abc")
    [(1, 7), (2, 8)]
    """

    def __cinit__(
        self, const uint8_t[::1] token_bytes not None, token_ends not None, ids not None, scores not None
    ):
        cdef const uint32_t[::1] ends = memoryview(token_ends).cast("B").cast("I")
        cdef const uint32_t[::1] numbers = memoryview(ids).cast("B").cast("I")
        cdef const float[::1] given = memoryview(scores).cast("B").cast("f")
        cdef size_t n = <size_t> ends.shape[0], n_keys = 0, i, k
        cdef uint32_t start = 0, length
        cdef uint64_t head
        cdef Key* keys
        if <size_t> numbers.shape[0] != n or <size_t> given.shape[0] != n:
            raise VocabularyError(f"{n} tokens do not match {numbers.shape[0]} ids and {given.shape[0]} scores")
        keys = <Key*> malloc((n + 1) * sizeof(Key))
        if keys == NULL:
            raise MemoryError(f"no memory for {n} tokens")
        try:
            for i in range(n):
                if ends[i] < start or ends[i] > <size_t> token_bytes.shape[0]:
                    raise VocabularyError("the ends of tokens are not ascending, or exceed the number of bytes")
                length = ends[i] - start
                if length and numbers[i] != NONE:
                    head = 0
                    for k in range(8):
                        head = head << 8 | (token_bytes[start + k] if k < length else 0)
                    keys[n_keys] = Key(head, &token_bytes[start], length, <uint32_t> i)
                    n_keys += 1
                start = ends[i]
            with nogil:
                qsort(keys, n_keys, sizeof(Key), _compare)
                self._build(keys, n_keys)
            for i in range(self.n_units):
                if self.units[i].id != NONE:
                    k = self.units[i].id
                    self.units[i].id, self.units[i].score = numbers[k], given[k]
        finally:
            free(keys)

    def __dealloc__(self):
        free(self.units)

    cdef int _build(self, const Key* keys, size_t n) except -1 nogil:
        """Make the nodes of sorted keys. A node gets the id of its last key, but not its score."""
        cdef Builder builder
        cdef Job job
        cdef size_t i
        memset(&builder, 0, sizeof(builder))
        builder.free_unit = NONE
        try:
            _add_block(&builder)
            builder.free_unit = NONE  # the first block has only the root
            for i in range(BLOCK):
                builder.taken[i] = 1
                builder.units[i] = Unit(0, NONE, NONE, 0)
            _add_job(&builder, Job(0, 0, <uint32_t> n, 0))
            while builder.n_jobs:
                builder.n_jobs -= 1
                job = builder.jobs[builder.n_jobs]
                while job.first < job.end and keys[job.first].n == job.depth:
                    builder.units[job.node].id = keys[job.first].id
                    job.first += 1
                if job.first < job.end:
                    _add_children(&builder, keys, &job)
            _clear_free(&builder)
            self.units, self.n_units = builder.units, builder.n_units
            builder.units = NULL
        finally:
            free(builder.units)
            free(builder.taken)
            free(builder.jobs)
        return 0

    def prefixes(self, bytes text not None):
        """Return (length, id) of each token that a text begins with, shortest first."""
        cdef uint32_t node = 0
        cdef size_t i
        cdef list out = []
        for i in range(<size_t> PyBytes_GET_SIZE(text)):
            node = child(self.units, node, <uint8_t> PyBytes_AS_STRING(text)[i])
            if node == 0:
                break
            if self.units[node].id != NONE:
                out.append((i + 1, self.units[node].id))
        return out


cdef int _compare(const void* first, const void* second) noexcept nogil:
    """Order keys by their bytes, and equal keys by number."""
    cdef const Key* a = <const Key*> first
    cdef const Key* b = <const Key*> second
    cdef int order
    if a.head != b.head:
        return -1 if a.head < b.head else 1
    order = memcmp(a.data, b.data, min(a.n, b.n))
    if order:
        return order
    if a.n != b.n:
        return -1 if a.n < b.n else 1
    return -1 if a.id < b.id else 1


cdef int _add_children(Builder* builder, const Key* keys, const Job* job) except -1 nogil:
    """Make the children of a node, and a job for each child."""
    cdef uint8_t[BLOCK] bytes_
    cdef uint32_t[BLOCK + 1] starts
    cdef size_t n = 0, k
    cdef uint32_t i, base, unit
    for i in range(job.first, job.end):
        if n == 0 or bytes_[n - 1] != keys[i].data[job.depth]:
            bytes_[n], starts[n] = keys[i].data[job.depth], i
            n += 1
    starts[n] = job.end
    base = _find_base(builder, bytes_, n)
    builder.units[job.node].base = base
    for k in range(n):
        unit = base ^ bytes_[k]
        _take(builder, unit)
        builder.units[unit] = Unit(0, job.node, NONE, 0)
        _add_job(builder, Job(unit, starts[k], starts[k + 1], job.depth + 1))
    return 0


cdef uint32_t _find_base(Builder* builder, const uint8_t* bytes_, size_t n) except? 0 nogil:
    """Find a base for which the units of all these bytes are free."""
    cdef uint32_t unit = builder.free_unit, base
    cdef size_t k
    while unit != NONE:
        base = unit ^ bytes_[0]
        k = 1
        while k < n and not builder.taken[base ^ bytes_[k]]:
            k += 1
        if k == n:
            return base
        unit = builder.units[unit].base
        if unit == builder.free_unit:
            break
    _add_block(builder)
    return <uint32_t> (builder.n_units - BLOCK)


cdef void _take(Builder* builder, uint32_t unit) noexcept nogil:
    """Remove a free unit from the ring."""
    cdef uint32_t behind = builder.units[unit].base, before = builder.units[unit].id
    builder.taken[unit] = 1
    builder.units[before].base, builder.units[behind].id = behind, before
    if builder.free_unit == unit:
        builder.free_unit = behind if behind != unit else NONE


cdef int _add_block(Builder* builder) except -1 nogil:
    """Add a block of free units to the ring, and remove the units of the block that is no longer open."""
    cdef size_t first = builder.n_units, n = first + BLOCK, capacity = builder.capacity, i
    cdef uint32_t before, behind
    if n > MAX_UNITS:
        with gil:
            raise MemoryError("the vocabulary has too many bytes for its trie")
    if n > capacity:
        capacity = max(2 * capacity, <size_t> (16 * BLOCK))
        grow(<void**> &builder.units, capacity, sizeof(Unit))
        grow(<void**> &builder.taken, capacity, 1)
        builder.capacity = capacity
    builder.n_units = n
    if first >= OPEN_BLOCKS * BLOCK:
        for i in range(first - OPEN_BLOCKS * BLOCK, first - (OPEN_BLOCKS - 1) * BLOCK):
            if not builder.taken[i]:
                _take(builder, <uint32_t> i)
                builder.units[i] = Unit(0, NONE, NONE, 0)
    for i in range(first, n):
        builder.taken[i] = 0
        builder.units[i] = Unit(<uint32_t> (i + 1), NONE, <uint32_t> i - 1, 0)
    if builder.free_unit == NONE:
        before, behind = <uint32_t> n - 1, <uint32_t> first
        builder.free_unit = <uint32_t> first
    else:
        behind = builder.free_unit
        before = builder.units[behind].id
    builder.units[first].id, builder.units[before].base = before, <uint32_t> first
    builder.units[n - 1].base, builder.units[behind].id = behind, <uint32_t> n - 1
    return 0


cdef void _clear_free(Builder* builder) noexcept nogil:
    """Clear the ring links in the units that stayed free."""
    cdef size_t i
    for i in range(BLOCK, builder.n_units):
        if not builder.taken[i]:
            builder.units[i] = Unit(0, NONE, NONE, 0)


cdef int _add_job(Builder* builder, Job job) except -1 nogil:
    """Push a job."""
    reserve(<void**> &builder.jobs, &builder.jobs_capacity, builder.n_jobs + 1, sizeof(Job), LEAST_JOBS)
    builder.jobs[builder.n_jobs] = job
    builder.n_jobs += 1
    return 0

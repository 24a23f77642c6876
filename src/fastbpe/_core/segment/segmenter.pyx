"""Segmenter: rules by which a vocabulary cuts pieces into tokens without merging. Immutable.

Its trie stores the tokens in a double array, which finds all tokens that begin at a position, shortest first. A
node is a unit of 16 bytes. All children of a node are in one block of 256 units, so a step reads one unit and
never leaves the array. Units of the first block are never children: a node without children leads there.
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcmp, memset

from fastbpe._core.common.bits cimport head_of, lowest_bit
from fastbpe._core.common.growing cimport reserve
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from array import array

from fastbpe.errors import VocabularyError


_KINDS = {"Unigram": UNIGRAM, "sentence": SENTENCE, "WordPiece": WORD_PIECE, "WordLevel": WORD_LEVEL}


@cython.final
cdef class Segmenter:
    """Rules by which a vocabulary cuts pieces into tokens.

    kind: "Unigram", "sentence" (unigram with the sums of sentencepiece), "WordPiece" or "WordLevel".
    token_bytes, token_ends: the tokens, in the form that a Vocabulary accepts.
    ids: uint32 array, the id of each token, an index of `gains`; NONE: it is not found in text. None: the index of
        each token.
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
        cdef const double[::1] all_scores
        cdef const float[::1] all_gains
        cdef const uint8_t[::1] symbols
        self.kind = kind
        self.segmenting.kind = _KINDS[kind]
        if ids is None:
            ids = array("I", range(n))
        # The trie takes a score for each token, by its index; only SENTENCE reads scores from the trie.
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
                raise VocabularyError(
                    f"each token needs a score, but {n} tokens have {all_scores.shape[0]} scores"
                )
            self.segmenting.scores = &all_scores[0]
        self._buffers = (gains, are_symbols, scores)
        self.trie = Trie(token_bytes, token_ends, ids, by_token)
        self.segmenting.units = self.trie.units
        self.segmenting.unknown = unknown_score
        self.segmenting.longest = longest
        self.segmenting.inner = walk(
            self.trie.units, 0, <const uint8_t*> PyBytes_AS_STRING(prefix), <size_t> PyBytes_GET_SIZE(prefix)
        )


cdef enum:
    LEAST_JOBS = 1 << 10  # initial capacity of the stack
    BLOCK = 256  # units of a block; the children of a node are in one
    MANY_BYTES = 6  # number of children of a node from which 64 units are tried at once
    BLOCK_WORDS = 4  # words of 64 bits, with a bit for each unit of a block
    OPEN_BLOCKS = 16  # number of newest blocks in which free units are searched for
    MAX_UNITS = 1 << 30

#: By k: mask of the lower group in each pair of neighbouring groups of 2^k bits.
cdef uint64_t[6] _SWAPPED = [
    0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF,
    0x00000000FFFFFFFF,
]


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
    uint32_t oldest  # no open block before it has a free unit
    uint64_t[OPEN_BLOCKS][BLOCK_WORDS] free_units  # a bit per unit of the open blocks; block number % OPEN_BLOCKS
    Job* jobs
    size_t n_jobs
    size_t jobs_capacity


@cython.final
cdef class Trie:
    """Trie of tokens by their bytes.

    token_bytes, token_ends: the tokens, in the form that a Vocabulary accepts.
    ids: uint32 array, the id of each token; NONE leaves it out. Empty tokens are left out; of equal tokens the
        last counts.
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
        cdef const uint8_t* data
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
                    data = &token_bytes[start]
                    keys[n_keys] = Key(head_of(data, length), data, length, <uint32_t> i)
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
        """Make the nodes of sorted keys. Instead of its id and score, a node gets the index of its last token."""
        cdef Builder builder
        cdef Job job
        memset(&builder, 0, sizeof(builder))
        try:
            _add_block(&builder)
            memset(builder.free_units, 0, sizeof(builder.free_units))  # the first block has only the root
            _add_job(&builder, Job(0, 0, <uint32_t> n, 0))
            while builder.n_jobs:
                builder.n_jobs -= 1
                job = builder.jobs[builder.n_jobs]
                while job.first < job.end and keys[job.first].n == job.depth:
                    builder.units[job.node].id = keys[job.first].index
                    job.first += 1
                if job.first < job.end:
                    _add_children(&builder, keys, &job)
            self.units, self.n_units = builder.units, builder.n_units
            builder.units = NULL
        finally:
            free(builder.units)
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
    """Order keys by their bytes, and keys with equal bytes by index."""
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
    return -1 if a.index < b.index else 1


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
        builder.free_units[unit // BLOCK % OPEN_BLOCKS][unit % BLOCK // 64] &= ~(<uint64_t> 1 << (unit & 63))
        builder.units[unit] = Unit(0, job.node, NONE, 0)
        _add_job(builder, Job(unit, starts[k], starts[k + 1], job.depth + 1))
    return 0


cdef uint32_t _find_base(Builder* builder, const uint8_t* bytes_, size_t n) except? 0 nogil:
    """Find a base for which the units of all these bytes are free.

    It is in the oldest open block that has one, or else in a new block.
    """
    cdef uint32_t block = <uint32_t> (builder.n_units // BLOCK), i, unit
    cdef const uint64_t* free_units
    if block > OPEN_BLOCKS:
        builder.oldest = max(builder.oldest, block - OPEN_BLOCKS)
    while builder.oldest < block:
        free_units = builder.free_units[builder.oldest % OPEN_BLOCKS]
        if free_units[0] | free_units[1] | free_units[2] | free_units[3]:
            break
        builder.oldest += 1
    for i in range(builder.oldest, block):
        unit = _find_first(builder.free_units[i % OPEN_BLOCKS], bytes_, n)
        if unit != NONE:
            return (i * BLOCK + unit) ^ bytes_[0]
    _add_block(builder)
    return block * BLOCK


cdef inline uint32_t _find_first(const uint64_t* free_units, const uint8_t* bytes_, size_t n) noexcept nogil:
    """Find a unit of a block for the first byte such that the units of all other bytes are free; or return NONE.

    The unit of another byte is this unit xor d, where d is the first byte xor the other one. For few bytes, units
    are tried one after another. For many, the bits of the block are permuted by d, 64 at a time. The two high bits
    of d choose the word, and each lower bit k swaps neighbouring groups of 2^k bits (a delta swap).
    """
    cdef uint64_t word, found, moved
    cdef uint32_t w, k, xor, unit, base
    cdef size_t i
    for w in range(BLOCK_WORDS):
        found = free_units[w]
        while found and n < MANY_BYTES:
            unit = 64 * w + lowest_bit(found)
            base = unit ^ bytes_[0]
            i = 1
            while i < n and free_units[(base ^ bytes_[i]) >> 6] >> ((base ^ bytes_[i]) & 63) & 1:
                i += 1
            if i == n:
                return unit
            found &= found - 1
        i = 1
        while found and i < n:
            xor = bytes_[i] ^ bytes_[0]
            word = free_units[w ^ xor >> 6]
            for k in range(6):
                moved = (word ^ word >> (1 << k)) & _SWAPPED[k] & -<uint64_t> (xor >> k & 1)
                word ^= moved | moved << (1 << k)
            found &= word
            i += 1
        if found:
            return 64 * w + lowest_bit(found)
    return NONE


cdef int _add_block(Builder* builder) except -1 nogil:
    """Add a block of free units; if OPEN_BLOCKS blocks are open, this closes the oldest."""
    cdef size_t first = builder.n_units, n = first + BLOCK, i
    if n > MAX_UNITS:
        with gil:
            raise MemoryError("the vocabulary has too many bytes for its trie")
    reserve(<void**> &builder.units, &builder.capacity, n, sizeof(Unit), 16 * BLOCK)
    builder.n_units = n
    for i in range(first, n):
        builder.units[i] = Unit(0, NONE, NONE, 0)
    memset(builder.free_units[first // BLOCK % OPEN_BLOCKS], 0xFF, BLOCK // 8)
    return 0


cdef int _add_job(Builder* builder, Job job) except -1 nogil:
    """Push a job."""
    reserve(<void**> &builder.jobs, &builder.jobs_capacity, builder.n_jobs + 1, sizeof(Job), LEAST_JOBS)
    builder.jobs[builder.n_jobs] = job
    builder.n_jobs += 1
    return 0

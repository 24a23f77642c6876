"""Vocabulary over sequences of integers: base symbols 0 … base_size - 1, and the merges of a list. Immutable.

The id of merge i is base_size + i, so a pair's priority is its merged id, and the ranked pair table of byte mode
can be used as it is. It contains only the pairs of the list. A token is stored as its two halves and never written
out, so a list of n merges takes O(n) memory, however long the tokens are.
"""

import sys
from array import array

cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from fastbpe._core.common.hash_lookups cimport is_far, pair_home, ranked_slot
from fastbpe._core.common.hash_tables cimport MAX_RANKED_IDS, NO_KEY, NO_PAIR, RANKED_BITS
from fastbpe._core.common.hashing cimport table_bits
from fastbpe._core.common.id_buffer cimport ids_reserve
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.merge.table_builder cimport colliding, empty_table

from fastbpe.errors import VocabularyError

# Limit of the number of ids: the ranked pair table cannot have more.
MAX_SEQUENCE_IDS = MAX_RANKED_IDS

cdef enum:
    AHEAD = 8  # how many merges ahead to prefetch slots


@cython.final
cdef class SequenceVocabulary:
    """Base symbols and merges.

    base_size: number of base symbols, 1 or more.
    merges: bytes – little-endian uint32 pairs (left id, right id), best first.

    Raises VocabularyError if base_size is 0, the bytes are not whole pairs, there are too many ids, a merge uses
    an id that no earlier merge makes, a token has 2**32 symbols or more, a pair appears twice, or too many
    pairs share a position of the pair table.
    """

    def __cinit__(self, uint32_t base_size, bytes merges not None):
        cdef size_t n_merges = <size_t> len(merges) // 8
        if len(merges) % 8 or not base_size:
            raise VocabularyError(
                f"base_size={base_size}, with {len(merges)} bytes of merges: base_size must be at least 1, and "
                "the number of bytes a multiple of 8"
            )
        if n_merges + base_size > <size_t> MAX_RANKED_IDS:
            raise VocabularyError(
                f"{base_size} base symbols and {n_merges} merges: the limit is {MAX_RANKED_IDS} ids in total"
            )
        self.base_size = base_size
        self.packed_merges = self._read_merges = merges
        if sys.byteorder == "big":
            numbers = array("I", merges)
            numbers.byteswap()
            self._read_merges = numbers.tobytes()
        self._merges = <const uint32_t*> PyBytes_AS_STRING(self._read_merges)
        self.tables.n_ids = self.tables.n_tokens = <uint32_t> n_merges + base_size
        self.tables.tied_key = NO_KEY
        self._measure()
        self._build_pairs()

    def __dealloc__(self):
        free(self.lengths)

    cdef int _measure(self) except -1:
        """Check the ids of the merges, and fill lengths, max_token_bytes and _max_depth."""
        cdef uint32_t i, left, right, n_ids = self.tables.n_ids
        cdef uint64_t length
        cdef uint32_t* waiting = <uint32_t*> calloc(n_ids, sizeof(uint32_t))  # right halves while an id is expanded
        self.lengths = <uint32_t*> malloc(n_ids * sizeof(uint32_t))
        try:
            if self.lengths == NULL or waiting == NULL:
                raise MemoryError(f"no memory for {n_ids} ids")
            for i in range(self.base_size):
                self.lengths[i] = 1
            self.tables.max_token_bytes = 1
            for i in range(self.base_size, n_ids):
                left, right = self._merges[2 * (i - self.base_size)], self._merges[2 * (i - self.base_size) + 1]
                if left >= i or right >= i:
                    raise VocabularyError(
                        f"merge {i - self.base_size}: ({left}, {right}) -> {i} names an id that no earlier merge makes"
                    )
                length = <uint64_t> self.lengths[left] + self.lengths[right]
                if length >> 32:
                    raise VocabularyError(
                        f"merge {i - self.base_size}: a token of {length} symbols is too long; the limit is "
                        "2**32 - 1"
                    )
                self.lengths[i] = <uint32_t> length
                self.tables.max_token_bytes = max(self.tables.max_token_bytes, <uint32_t> length)
                # The right half waits while the left one is expanded; nothing else of this id waits.
                waiting[i] = max(waiting[left] + 1, waiting[right])
                self._max_depth = max(self._max_depth, <size_t> waiting[i])
        finally:
            free(waiting)
        return 0

    cdef int _build_pairs(self) except -1:
        """Build the ranked pair table."""
        cdef size_t n = self.tables.n_ids - self.base_size, i, at
        cdef int bits = table_bits(n)
        cdef uint32_t shift = 64 - bits
        cdef uint64_t* slots
        cdef const uint32_t* pair
        self._pairs = empty_table((<size_t> 1 << bits) * sizeof(uint64_t), <void**> &slots)
        for i in range(n):
            if i + AHEAD < n:
                prefetch(&slots[pair_home(self._merges[2 * (i + AHEAD)], self._merges[2 * (i + AHEAD) + 1], shift)])
            pair = self._merges + 2 * i
            at = ranked_slot(slots, shift, pair[0], pair[1])
            if is_far(at, pair_home(pair[0], pair[1], shift), (<size_t> 1 << bits) - 1):
                raise colliding(f"merge {i}: the pair ({pair[0]}, {pair[1]})")
            if slots[at] != NO_PAIR:
                raise VocabularyError(f"merge {i}: the pair ({pair[0]}, {pair[1]}) appears twice in the list of merges")
            slots[at] = (
                <uint64_t> pair[0] << 2 * RANKED_BITS | <uint64_t> pair[1] << RANKED_BITS | (self.base_size + i)
            )
        self.tables.pairs.ranked = slots
        self.tables.pairs.shift = shift
        return 0

    cdef int expand(self, const uint32_t* ids, size_t n, size_t n_symbols, Ids* out) except -1 nogil:
        """Append the symbols of n ids, n_symbols in total.

        Requires: every id is below n_ids.
        """
        cdef uint32_t base = self.base_size, token
        cdef const uint32_t* merges = self._merges
        cdef uint32_t* to
        cdef size_t i, n_waiting
        cdef uint32_t* waiting = <uint32_t*> malloc((self._max_depth + 1) * sizeof(uint32_t))
        if waiting == NULL:
            with gil:
                raise MemoryError(f"no memory to expand tokens {self._max_depth} merges deep")
        try:
            ids_reserve(out, n_symbols)
            to = out.items + out.n
            for i in range(n):
                token, n_waiting = ids[i], 0
                while True:
                    while token >= base:
                        waiting[n_waiting] = merges[2 * (token - base) + 1]
                        n_waiting += 1
                        token = merges[2 * (token - base)]
                    to[0] = token
                    to += 1
                    if not n_waiting:
                        break
                    n_waiting -= 1
                    token = waiting[n_waiting]
            out.n += n_symbols
        finally:
            free(waiting)
        return 0

    @property
    def n_ids(self):
        """Number of ids."""
        return self.tables.n_ids

    def merges(self):
        """List the merges, each as (left id, right id)."""
        cdef uint32_t i
        return [
            (self._merges[2 * i], self._merges[2 * i + 1]) for i in range(self.tables.n_ids - self.base_size)
        ]

    def ids_of_length(self, size_t n_symbols):
        """List the ids of tokens of n symbols, lowest first."""
        cdef uint32_t i
        return [i for i in range(self.tables.n_ids) if self.lengths[i] == n_symbols]

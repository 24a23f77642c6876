from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.cache.cache_state cimport Cache
from fastbpe._core.common.hash_tables cimport GOLDEN_RATIO
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary
from fastbpe._core.split.splitter cimport Ends

cdef extern from *:
    """
    #define FASTBPE_NO_JOIN UINT64_MAX
    """
    const uint64_t NO_JOIN "FASTBPE_NO_JOIN"  # an empty slot of the table of joins


cdef struct WordId:
    # What the second phase asks of the id of a word, or of a part of one.
    uint64_t followers  # bit i: an id whose `bit` is i may follow within a superword
    uint32_t n_bytes
    uint32_t bit


cdef struct Phases:
    # Views of memory that a TwoPhases owns.
    const Tables* words  # tokens of the first phase
    const Tables* superwords  # merges of the second phase; NULL: the merges of the whole vocabulary, within pieces
    const uint8_t* inside  # by first byte << 8 | second byte: a token of the first phase has them side by side
    const WordId* ids
    const uint64_t* joins  # hash table: left id << 32 | right id, of neighbours that a superword has inside
    uint32_t shift  # 64 - log2 of the number of its slots
    bint joins_all  # any two ids with followers may stand side by side
    const uint8_t* borders  # by border_of(): 0: no superword has its border between pieces there


cdef class TwoPhases:
    cdef readonly Vocabulary words
    cdef readonly Vocabulary superwords
    cdef Phases phases
    cdef bytes _inside
    cdef uint8_t* _borders
    cdef WordId* _ids
    cdef uint64_t* _joins
    cdef int _fill_joins(self, const uint64_t* joins, size_t n) except -1
    cdef int _add_members(self, members) except -1
    cdef int _add_border(self, uint32_t left, uint32_t right) except -1


cdef int encode_words(
    const Phases* phases, Cache* cache, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends,
    Ends* words, Ids* out,
) except -1 nogil


cdef inline size_t join_slot(const Phases* phases, uint64_t key) noexcept nogil:
    """Slot of a pair of ids, or the empty slot that ends its probe sequence."""
    cdef size_t mask = (<size_t> 1 << (64 - phases.shift)) - 1
    cdef size_t i = <size_t> (key * GOLDEN_RATIO >> phases.shift)
    while phases.joins[i] != key and phases.joins[i] != NO_JOIN:
        i = (i + 1) & mask
    return i


cdef inline bint may_join(const Phases* phases, uint32_t left, uint32_t right) noexcept nogil:
    """Tell whether a superword may have two ids of the first phase side by side."""
    cdef uint64_t key
    if not phases.ids[left].followers >> phases.ids[right].bit & 1:
        return False
    if phases.joins_all:
        return phases.ids[right].followers != 0
    key = <uint64_t> left << 32 | right
    return phases.joins[join_slot(phases, key)] == key


cdef inline size_t stretch_end(
    const Phases* phases, const Ids* ids, size_t i, size_t end, size_t* at
) noexcept nogil:
    """Find the end of the stretch of ids from i on, between which superwords may lie.

    end: where the piece ends, in bytes.
    at: where id i begins; afterwards, where the stretch ends.

    Returns the index after the stretch's last id. Requires: i < ids.n.
    """
    at[0] += phases.ids[ids.items[i]].n_bytes
    i += 1
    while at[0] < end and i < ids.n and may_join(phases, ids.items[i - 1], ids.items[i]):
        at[0] += phases.ids[ids.items[i]].n_bytes
        i += 1
    return i

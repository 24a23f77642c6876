"""The tokens of a vocabulary in JSON, and finding one by its text: a hash table of places in a list."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from fastbpe.formats._hash cimport hash_bytes


cdef extern from *:
    """
    #define FB_NO_ENTRY UINT32_MAX
    #ifdef __GNUC__
    #define FB_PREFETCH(p) __builtin_prefetch(p)
    #else
    #define FB_PREFETCH(p) ((void)0)
    #endif
    """
    const uint32_t NO_ENTRY "FB_NO_ENTRY"
    void prefetch "FB_PREFETCH"(const void* p) noexcept


cdef struct VocabEntry:
    const uint8_t* token  # its UTF-8, in the file or among the unescaped
    uint32_t n_bytes
    uint32_t id


cdef struct Slot:
    uint32_t tag  # high half of the hash
    uint32_t entry


cdef struct Table:
    VocabEntry* entries
    Slot* slots  # open addressing by token
    size_t mask
    uint64_t seed


cdef struct Wanted:
    # A token that is looked for.
    const uint8_t* token
    uint32_t n_bytes
    uint64_t hash


cdef inline Wanted wanted_of(const Table* table, const uint8_t* token, size_t n) noexcept:
    """What to look for; where it may be is asked for."""
    cdef uint64_t hash_ = hash_bytes(token, n, table.seed)
    prefetch(&table.slots[<size_t> hash_ & table.mask])
    return Wanted(token, <uint32_t> n, hash_)


cdef inline size_t slot_of(const Table* table, Wanted wanted) noexcept:
    """Where a token is found, or the empty slot that says that it is none."""
    cdef const VocabEntry* other
    cdef size_t at = <size_t> wanted.hash & table.mask
    while table.slots[at].entry != NO_ENTRY:
        if table.slots[at].tag == <uint32_t> (wanted.hash >> 32):
            other = &table.entries[table.slots[at].entry]
            if other.n_bytes == wanted.n_bytes and same(other.token, wanted.token, wanted.n_bytes):
                break
        at = (at + 1) & table.mask
    return at


cdef inline uint32_t find(const Table* table, Wanted wanted) noexcept:
    """The place of a token in the list, or NO_ENTRY."""
    return table.slots[slot_of(table, wanted)].entry


cdef inline bint same(const uint8_t* one, const uint8_t* other, size_t n) noexcept:
    """memcmp, without a call for what is short, as nearly all tokens are."""
    cdef size_t i
    if n > 16:
        return memcmp(one, other, n) == 0
    if n >= 8:
        return word_at(one) == word_at(other) and word_at(one + n - 8) == word_at(other + n - 8)
    for i in range(n):
        if one[i] != other[i]:
            return False
    return True


cdef inline uint64_t word_at(const uint8_t* p) noexcept:
    cdef uint64_t word
    memcpy(&word, p, 8)
    return word

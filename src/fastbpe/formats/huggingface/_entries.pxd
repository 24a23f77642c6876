"""Hash table of the tokens of a JSON vocabulary: token → index in a list of entries (open addressing)."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memset

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.hashing cimport hash_bytes, same_bytes
from fastbpe._core.common.memory cimport prefetch


cdef enum:
    BATCH = 32  # look-ups whose cache misses overlap: all are prefetched before the first is compared


cdef struct VocabEntry:
    const uint8_t* token  # UTF-8, in the file or in the buffer of unescaped strings
    uint32_t n_bytes
    uint32_t id


cdef struct Slot:
    uint32_t tag  # high half of the hash: if it differs, so do the tokens, and their bytes are not read
    uint32_t entry  # index of the entry; NONE: the slot is empty


cdef struct Table:
    VocabEntry* entries
    Slot* slots
    size_t mask  # number of slots - 1
    uint64_t seed  # seed of the hash; random, so that nobody can make a file whose tokens collide


cdef struct Wanted:
    # A token to look up.
    const uint8_t* token
    uint32_t n_bytes
    uint64_t hash


cdef inline Wanted wanted_of(const Table* table, const uint8_t* token, size_t n) noexcept:
    """Hash a token and prefetch its home slot."""
    cdef uint64_t hash_ = hash_bytes(token, n, table.seed)
    prefetch(&table.slots[<size_t> hash_ & table.mask])
    return Wanted(token, <uint32_t> n, hash_)


cdef inline size_t slot_of(const Table* table, Wanted wanted) noexcept:
    """Return the slot of a token, or the empty slot that shows that it is absent."""
    cdef const VocabEntry* other
    cdef size_t at = <size_t> wanted.hash & table.mask
    while table.slots[at].entry != NONE:
        if table.slots[at].tag == <uint32_t> (wanted.hash >> 32):
            other = &table.entries[table.slots[at].entry]
            if other.n_bytes == wanted.n_bytes and (
                not wanted.n_bytes or same_bytes(other.token, wanted.token, wanted.n_bytes)
            ):
                break
        at = (at + 1) & table.mask
    return at


cdef inline uint32_t find(const Table* table, Wanted wanted) noexcept:
    """Return the index of a token's entry, or NONE."""
    return table.slots[slot_of(table, wanted)].entry


cdef inline bint index_tokens(Table* table, uint32_t n_entries) noexcept:
    """Create the slots of all entries. Returns False if a token appears twice, or if out of memory."""
    cdef Wanted[BATCH] wanted
    cdef const VocabEntry* entry
    cdef uint32_t i, k, n
    cdef size_t at, n_slots = 4
    while n_slots < 2 * <size_t> n_entries:
        n_slots *= 2
    table.slots = <Slot*> malloc(n_slots * sizeof(Slot))
    if table.slots == NULL:
        return False
    memset(table.slots, 0xFF, n_slots * sizeof(Slot))  # the entry NONE in each slot
    table.mask = n_slots - 1
    for i in range(0, n_entries, BATCH):
        n = min(<uint32_t> BATCH, n_entries - i)
        for k in range(n):
            entry = &table.entries[i + k]
            wanted[k] = wanted_of(table, entry.token, entry.n_bytes)
        for k in range(n):
            at = slot_of(table, wanted[k])
            if table.slots[at].entry != NONE:
                return False
            table.slots[at] = Slot(<uint32_t> (wanted[k].hash >> 32), i + k)
    return True

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from fastbpe._core.merge.merge_piece cimport Ids
from fastbpe._core.merge.merge_batch cimport MOST_PIECES, Merging
from fastbpe._core.merge.vocabulary cimport Tables

cdef enum:
    GROUP = 128  # pieces looked up together: what is prefetched arrives before it is read
    MOST_HOLES = 1024


cdef extern from "simd/entries.h" nogil:
    ctypedef struct Entry "fb_entry":
        # The piece itself, then zeros, the last byte its length: exact, and never 0. Then its ids; if they do not
        # fit, where they lie in the arena.
        uint64_t low
        uint64_t high
        uint8_t ids[15]
        uint8_t n_ids  # 0: an empty entry

    ctypedef struct Probe "fb_probe":
        # A piece on its way: its key, or a long piece's hash and 0; and the table's line that it must be in.
        uint64_t low
        uint64_t high
        Entry* line


cdef enum:  # of n_ids
    IN_ARENA = 0x80
    PENDING = 0x40  # in place of ids: which of the new pieces it is that are not merged yet


cdef struct Hole:
    # Among ids: where those of a new piece are missing; or else, where it is asked how many ids stand before.
    size_t place
    size_t* mark  # where to store how many; NULL: it is a new piece's
    size_t newcomer


cdef struct LongSlot:
    uint64_t hash  # 0: empty
    uint32_t at  # where its bytes lie in the arena, and behind them its ids, in words
    uint16_t n_bytes
    uint16_t n_ids


cdef struct Cache:
    uint64_t seed
    size_t limit  # bytes, all tables together
    bint skips_long  # new long pieces are not kept
    Entry* entries
    void* entries_block
    size_t n_entries
    size_t n_room  # entries that the block has room for
    uint64_t line_mask  # the bits of a hash that say where in the table its line is, in bytes
    size_t n_used
    size_t cost  # of a table of this size so far: of pieces that were found beside their home line, or pushed out
    LongSlot* slots
    void* slots_block
    size_t n_slots
    size_t n_long
    uint32_t* arena
    size_t arena_n
    size_t arena_capacity
    uint8_t tail[32]  # the last 16 bytes of a text, or all of a shorter one, and zeros: nothing is read behind it
    bint turn  # which place in a line gives way next
    bint defers  # holes are left until they are settled; else all that is looked up is whole
    size_t n_newcomers
    size_t n_holes
    Probe probes[GROUP]
    uint16_t long_ones[GROUP]  # the numbers of the group's long pieces
    uint64_t n_settled  # how often newcomers were learned: what is pending from before is not
    Merging newcomers[MOST_PIECES]
    size_t awaited_at[MOST_PIECES]  # where the entries of short ones were last
    Hole holes[MOST_HOLES]
    Ids aside  # what has to move when holes are filled


cdef void cache_start(Cache* cache, uint64_t seed, size_t limit) noexcept nogil
cdef void cache_free(Cache* cache) noexcept nogil
cdef void cache_limit(Cache* cache, size_t limit) noexcept nogil
cdef size_t cache_bytes(const Cache* cache) noexcept nogil
cdef Entry* put_entry(Cache* cache, Entry* home, const Entry* kept) noexcept nogil
cdef void cache_keep(Cache* cache, size_t newcomer) noexcept nogil
cdef int group_aim(
    Cache* cache, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_pieces
) except -1 nogil
cdef int group_look_up(
    Cache* cache, const Tables* tables, const uint8_t* data, size_t start, const size_t* ends,
    size_t n_pieces, Ids* out,
) except -1 nogil
cdef int encode_pieces(
    Cache* cache, const Tables* tables, const uint8_t* data, size_t n, size_t start,
    const size_t* ends, size_t n_ends, Ids* out,
) except -1 nogil

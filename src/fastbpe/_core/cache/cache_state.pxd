"""Structs of the piece cache: its two tables, and the pieces that wait to be merged."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.merge_batch cimport MAX_PIECES, Merging
from fastbpe._core.merge.vocabulary cimport Tables

cdef enum:
    GROUP = 128  # pieces looked up together: what is prefetched arrives before it is read
    MAX_GAPS = 1024


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


cdef struct Gap:
    # Among ids: where those of a new piece are missing; or else, where it is asked how many ids stand before.
    size_t place
    size_t* mark  # where to store how many; NULL: it is a new piece's
    size_t pending_piece


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
    bint defers  # gaps are left until they are settled; else all that is looked up is whole
    size_t n_pending
    size_t n_gaps
    Probe probes[GROUP]
    uint16_t long_ones[GROUP]  # the numbers of the group's long pieces
    uint64_t n_settled  # how often pending were learned: what is pending from before is not
    Merging pending[MAX_PIECES]
    size_t pending_entry[MAX_PIECES]  # where the entries of short ones were last
    Gap gaps[MAX_GAPS]
    Ids aside  # what has to move when gaps are filled

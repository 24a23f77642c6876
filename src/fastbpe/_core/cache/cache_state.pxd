"""State of the piece cache: the entries of its two tables, and the pending pieces with the gaps they leave."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.merge.merge_batch cimport MAX_PIECES, BatchPiece

cdef enum:
    GROUP = 128  # pieces that are probed together: a prefetched line arrives while earlier pieces are looked up
    MAX_GAPS = 1024  # gaps and noted counts that may be open; then all gaps are filled


cdef extern from "simd/entries.h" nogil:
    ctypedef struct Entry "fb_entry":
        # Entry of the first table, for a piece of 1 to 15 bytes. The key is the piece itself, zero-padded, with
        # its length in the last byte: exact, and never all zeros.
        uint64_t low
        uint64_t high
        uint8_t ids[15]  # ids (see simd/entries.h); n_ids may make them an index in the arena or a pending number
        uint8_t n_ids  # 0: the entry is empty; see IN_ARENA and PENDING

    ctypedef struct Probe "fb_probe":
        # A piece that is being looked up.
        uint64_t low  # key; for a piece in long_ones: its hash
        uint64_t high  # key; for a piece without a key: all ones
        Entry* line  # home line of the key


cdef enum:  # values of Entry.n_ids
    IN_ARENA = 0x80  # flag added to the number of ids: `ids` begins with their index in the arena, as uint32
    PENDING = 0x40  # not merged yet: `ids` begins with n_settled * MAX_PIECES + number of the piece, as uint64


cdef struct Gap:
    # A position in the output that depends on pending pieces.
    size_t position  # number of ids before it in the output, without those that gaps will get
    size_t* count_out  # where to store the number of ids up to here; NULL: the ids of a pending piece go here
    size_t pending_piece  # number of that piece


cdef struct LongSlot:
    # Slot of the second table, for a piece of more than 15 bytes.
    uint64_t hash  # 0: the slot is empty
    uint32_t at  # index in the arena of the piece's bytes; its ids come after them
    uint16_t n_bytes
    uint16_t n_ids


cdef struct Cache:
    # Belongs to one thread at a time. Made by cache_start(), freed by cache_free().
    uint64_t seed  # seed of all hashes
    size_t limit  # limit of the total size of the tables and the arena, in bytes
    bint skips_long  # new pieces of more than 15 bytes are not stored

    # First table: lines of two entries, 64 bytes each.
    Entry* entries
    void* entries_block  # address for free()
    size_t n_entries
    size_t n_reserved  # entries that entries_block has space for: the table grows in place up to here
    uint64_t line_mask  # bits of a hash that are the home line's offset in bytes
    size_t n_used
    size_t cost  # since the table last grew: look-ups beyond the home line, plus EVICTION_COST per eviction

    # Second table.
    LongSlot* slots
    void* slots_block  # address for free()
    size_t n_slots
    size_t n_long  # slots in use

    # Arena: ids that do not fit into their entry; bytes and ids of long pieces.
    uint32_t* arena
    size_t arena_n  # words of 4 bytes
    size_t arena_capacity  # words of 4 bytes

    uint8_t tail[32]  # zero-padded copy of a text's last 16 bytes: keys there read nothing past the text
    bint turn  # place in its line, 0 or 1, of the entry that was last chosen to be evicted or swapped
    bint defers  # gaps may stay open when a call returns; otherwise each call fills all of its gaps
    size_t n_pending
    size_t n_gaps
    Probe probes[GROUP]  # of the current group
    uint16_t long_ones[GROUP]  # numbers of the group's pieces that may be in the second table

    # Pending pieces: see pending_pieces.
    uint64_t n_settled  # batches of pending pieces merged so far; a PENDING entry of an earlier batch is void
    BatchPiece pending[MAX_PIECES]
    size_t pending_entry[MAX_PIECES]  # index of the entry that a pending piece was last seen in, if it has a key
    Gap gaps[MAX_GAPS]
    Ids aside  # copy of the ids after the first gap, while gaps are filled

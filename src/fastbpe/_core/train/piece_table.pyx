"""Table of distinct pieces and their counts: exact keys, 64-bit counts.

The bytes of all pieces are in one arena, in the order in which they came. Two hash tables with linear probing find
them:

- Short pieces, of 1 to 15 bytes, are nearly all of any text. An entry has 32 bytes: the piece itself is the key,
  and its count is next to it. Two entries fill a cache line.
- Long pieces, and the empty one, have a slot with an index and a tag of the hash. (Only a file of counts that somebody
  altered has an empty word: a 0xFF alone.)

While pieces are added, the counts of short ones are only in their entries; `settle` copies them to `pieces`.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from fastbpe._core.common.atomics cimport claim, clear_flag, set_flag
from fastbpe._core.cache.piece_keys cimport SHORT_BYTES, key_hash, write_key
from fastbpe._core.common.growing cimport reserve_resized, resize
from fastbpe._core.common.hashing cimport hash_bytes
from fastbpe._core.common.memory cimport prefetch, resized, use_huge_pages
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.interrupts cimport check_signals
from fastbpe._core.train.merge_learner cimport allocated
from fastbpe._core.train.sorting cimport sort_by_first

import os

cdef enum:
    LEAST_ITEMS = 1 << 12  # initial capacity of arena and pieces
    MIN_ENTRIES = 1 << 11  # entries of the first table of short pieces: 64 KB
    FOURFOLD_BELOW_ENTRIES = 1 << 18  # below this size the table grows fourfold, then it doubles
    MIN_SLOTS = 1 << 9  # slots of the first table of long pieces: 4 KB
    LINE_BYTES = 64  # bytes of a cache line


cdef class PieceTable:
    """Distinct pieces and how often each was counted. One thread at a time may add to it.

    Several threads may read finished counts at once: without a GIL, a critical section makes each reader wait for the
    one that settles them.

    spill: callable or None – spill(table) takes all pieces away (`clear`) when the table needs more than `limit`
        bytes.
    limit: int – bytes that tables and pieces may take; 0: no limit.
    """

    def __cinit__(self, *args, spill=None, size_t limit=0, **kwargs):
        # Texts may come from anybody: with a random seed nobody can choose pieces that collide.
        self._seed = int.from_bytes(os.urandom(8), "little")
        self._spill, self._limit = spill, limit
        self._is_settled = self._is_sorted = True
        self._watch.abandoned = &self._abandoned

    def __dealloc__(self):
        self._free_tables()
        resized(self.arena, self._arena_capacity, 0)
        resized(self.pieces, self._pieces_capacity * sizeof(PieceCount), 0)

    # Adding

    def add_piece(self, bytes piece not None, int64_t count):
        """Count one piece `count` times."""
        if count < 0:
            raise ValueError(f"count of {piece!r} is {count}: it must not be negative")
        self._enter()
        try:
            self.reserve_group()
            self.add_counted(piece, <size_t> len(piece), self.position, count)
            self.position += 1
        finally:
            clear_flag(&self._busy)

    def add_table(self, PieceTable other not None, *, bint behind=True):
        """Add the counts of another table.

        behind: bool – the other table's pieces occur after all of these; False: both tables counted batches of one
            source, whose positions can be compared.
        """
        cdef size_t at = 0
        cdef uint64_t shift = self.position if behind else 0
        other.settle()
        self._enter()
        try:
            with nogil:
                while at < other.n_pieces:
                    self.reserve_group()
                    self._add_group(other, at, min(other.n_pieces - at, <size_t> GROUP_PIECES), shift)
                    check_signals(&self._watch)
                    at += GROUP_PIECES
            self.position = max(self.position, other.position + shift)
            self.n_bytes += other.n_bytes
        finally:
            clear_flag(&self._busy)

    cdef int _enter(self) except -1:
        # A second thread could find the table half grown.
        if not claim(&self._busy):
            raise RuntimeError("another thread is using this table of pieces; give each thread its own table")
        return 0

    def abandon(self):
        """Make a thread that is adding pieces stop soon with an error, because nobody needs the counts now."""
        set_flag(&self._abandoned)

    # Results

    @cython.critical_section
    def settle(self):
        """Update the counts in `pieces`."""
        self._enter()
        self.settle_counts()
        clear_flag(&self._busy)

    def finish(self):
        """Put the pieces in order of first appearance and free the hash tables, which are rebuilt when needed."""
        cdef size_t i
        self._enter()
        try:
            with nogil:
                self.settle_counts()
                self._free_tables()
                if not self._is_sorted:
                    sort_by_first(&self.pieces, &self._pieces_capacity, self.n_pieces)
                    self._is_sorted = True
                for i in range(self.n_pieces):  # pieces that are added later get positions from n_pieces on
                    self.pieces[i].first = i
            self.position = self.n_pieces
        finally:
            clear_flag(&self._busy)

    def clear(self):
        """Drop all pieces; n_bytes stays. `spill` calls it while a thread adds, so it does not claim the table."""
        if self._n_entries:  # keep the tables: as many pieces will probably come again
            memset(self._entries, 0, self._n_entries * sizeof(CountedPiece))
            memset(self._slots, 0xFF, self._n_slots * sizeof(LongSlot))
        self.n_pieces = self.n_arena = self._n_short = self._n_long = 0
        self._is_settled = self._is_sorted = True

    @cython.critical_section
    def items(self):
        """Return (piece, count) of each piece, in order of first appearance once `finish` has sorted them."""
        cdef size_t i
        self.settle()
        return [
            ((<const char*> self.arena + self.pieces[i].start)[:self.pieces[i].n_bytes], self.pieces[i].count)
            for i in range(self.n_pieces)
        ]

    @cython.critical_section
    def total(self):
        """Return the number of pieces in the text: the sum of the counts."""
        cdef uint64_t low = 0, high = 0  # sums of the counts' low and high 32 bits: 2**32 numbers below 2**32 fit
        cdef size_t i
        self.settle()
        with nogil:
            for i in range(self.n_pieces):
                low += <uint32_t> self.pieces[i].count
                high += <uint64_t> self.pieces[i].count >> 32
        return (<object> high << 32) + low

    @property
    def used_bytes(self):
        """Bytes that the tables and pieces take."""
        return _used_bytes(self)

    # Adding to the tables

    cdef int add_counted(self, const uint8_t* data, size_t n, uint64_t first, int64_t count) except -1 nogil:
        """Count the piece data[:n] `count` times.

        first: position at which it occurred.

        Requires: reserve_group() was called, and at most GROUP_PIECES - 1 pieces have been added since.
        """
        cdef uint64_t[2] key
        self._is_settled = False
        if not 0 < n <= SHORT_BYTES:
            return self._add_long(data, n, hash_bytes(data, n, self._seed), first, count)
        write_key(key, data, n)
        return self._add_short(data, n, key[0], key[1], first, count)

    cdef int _add_group(self, PieceTable other, size_t start, size_t n, uint64_t shift) except -1 nogil:
        """Add up to GROUP_PIECES pieces of another table, from index `start` on; prefetch all memory first.

        Without groups, adding two tables of 700,000 pieces takes 1.76 times as long (docs/how/optimizations.md).

        shift: added to the positions of the pieces.

        Requires: reserve_group() was called.
        """
        cdef uint64_t[GROUP_PIECES][2] keys  # for a long piece: its hash and 0
        cdef PieceCount* pieces = other.pieces + start
        cdef CountedPiece* entry
        cdef LongSlot* slot
        cdef size_t i
        self._is_settled = False
        for i in range(n):
            if 0 < pieces[i].n_bytes <= SHORT_BYTES:
                write_key(keys[i], other.arena + pieces[i].start, pieces[i].n_bytes)
                prefetch(self._entries + (key_hash(keys[i][0], keys[i][1], self._seed) >> self._shift << 1))
            else:
                keys[i][0] = hash_bytes(other.arena + pieces[i].start, pieces[i].n_bytes, self._seed)
                keys[i][1] = 0
                prefetch(&self._slots[keys[i][0] & (self._n_slots - 1)])
        for i in range(n):
            if keys[i][1]:
                entry = self._find_short(keys[i][0], keys[i][1])
                if entry.high:
                    prefetch(&self.pieces[entry.index])
            else:
                slot = &self._slots[keys[i][0] & (self._n_slots - 1)]
                if slot.index != NONE:
                    prefetch(&self.pieces[slot.index])
        for i in range(n):
            if keys[i][1]:
                self._add_short(
                    other.arena + pieces[i].start, pieces[i].n_bytes, keys[i][0], keys[i][1],
                    pieces[i].first + shift, pieces[i].count,
                )
            else:
                self._add_long(
                    other.arena + pieces[i].start, pieces[i].n_bytes, keys[i][0], pieces[i].first + shift,
                    pieces[i].count,
                )
        return 0

    cdef int _add_short(
        self, const uint8_t* data, size_t n, uint64_t low, uint64_t high, uint64_t first, int64_t count
    ) except -1 nogil:
        """Count the short piece data[:n] with the key (low, high); otherwise like add_counted()."""
        cdef CountedPiece* entry = self._find_short(low, high)
        if not entry.high:
            self._append(data, n, first, 0)
            entry.low, entry.high, entry.count = low, high, 0
            entry.index = <uint32_t> (self.n_pieces - 1)
            self._n_short += 1
        else:
            self._note_first(entry.index, first)
        return _raise_count(&entry.count, count)

    cdef int _add_long(
        self, const uint8_t* data, size_t n, uint64_t hash, uint64_t first, int64_t count
    ) except -1 nogil:
        """Count the long or empty piece data[:n] with the given hash; otherwise like add_counted()."""
        cdef LongSlot* slot = self._find_long(data, n, hash)
        if slot.index == NONE:
            self._append(data, n, first, 0)
            slot.tag, slot.index = <uint32_t> (hash >> 32), <uint32_t> (self.n_pieces - 1)
            self._n_long += 1
        else:
            self._note_first(slot.index, first)
        return _raise_count(&self.pieces[slot.index].count, count)

    cdef inline void _note_first(self, uint32_t index, uint64_t first) noexcept nogil:
        """Lower the position of a piece's first occurrence, if another counter has found an earlier one."""
        if first < self.pieces[index].first:
            self.pieces[index].first = first
            self._is_sorted = False

    cdef inline CountedPiece* _find_short(self, uint64_t low, uint64_t high) noexcept nogil:
        """Return the entry of a short piece, or the empty entry for it.

        Requires: the table exists and has an empty entry.
        """
        cdef size_t at = key_hash(low, high, self._seed) >> self._shift << 1
        while self._entries[at].high and (self._entries[at].low != low or self._entries[at].high != high):
            at = (at + 1) & (self._n_entries - 1)
        return &self._entries[at]

    cdef LongSlot* _find_long(self, const uint8_t* data, size_t n, uint64_t hash) noexcept nogil:
        """Return the slot of a long piece, or the empty slot for it.

        Requires: the table exists and has an empty slot.
        """
        cdef size_t at = hash & (self._n_slots - 1)
        cdef uint32_t tag = <uint32_t> (hash >> 32)
        cdef PieceCount* piece
        while self._slots[at].index != NONE:
            if self._slots[at].tag == tag:
                piece = &self.pieces[self._slots[at].index]
                if piece.n_bytes == n and memcmp(self.arena + piece.start, data, n) == 0:
                    break
            at = (at + 1) & (self._n_slots - 1)
        return &self._slots[at]

    cdef int _append(self, const uint8_t* data, size_t n, uint64_t first, int64_t count) except -1 nogil:
        """Append a piece to the arena and to `pieces`.

        Requires: it is not in the table.
        """
        cdef PieceCount* piece
        if n >= NONE or self.n_pieces >= NONE - 1:
            with gil:
                if n >= NONE:
                    raise MemoryError(f"a piece of {n} bytes cannot be counted: the limit is 2**32 - 2 bytes")
                raise MemoryError("more than 2**32 - 2 distinct pieces cannot be counted")
        reserve_resized(<void**> &self.arena, &self._arena_capacity, self.n_arena + n, 1, LEAST_ITEMS)
        reserve_resized(
            <void**> &self.pieces, &self._pieces_capacity, self.n_pieces + 1, sizeof(PieceCount), LEAST_ITEMS
        )
        if n:  # without bytes, the arena may not exist
            memcpy(self.arena + self.n_arena, data, n)
        piece = &self.pieces[self.n_pieces]
        piece.count, piece.start, piece.first, piece.n_bytes = count, self.n_arena, first, <uint32_t> n
        if self.n_pieces and first < self.pieces[self.n_pieces - 1].first:
            self._is_sorted = False
        self.n_arena += n
        self.n_pieces += 1
        return 0

    cdef inline int reserve_group(self) except -1 nogil:
        """Make space in both hash tables for GROUP_PIECES new pieces; spill first if the limit is reached.

        Ensures: both tables exist and stay at most half full while this number of pieces is added.
        """
        if (
            (self._n_short + GROUP_PIECES) * 2 <= self._n_entries
            and (self._n_long + GROUP_PIECES) * 2 <= self._n_slots
            and (not self._limit or _used_bytes(self) <= self._limit)
        ):
            return 0
        return self._grow_or_spill()

    cdef int _grow_or_spill(self) except -1 nogil:
        """Do the work of reserve_group() if a table is too small or missing, or the limit is reached."""
        cdef size_t n_entries = self._n_entries, n_slots = self._n_slots
        if not n_entries:
            return self._build_tables()
        while (self._n_short + GROUP_PIECES) * 2 > n_entries:
            n_entries *= 4 if n_entries < FOURFOLD_BELOW_ENTRIES else 2
        while (self._n_long + GROUP_PIECES) * 2 > n_slots:
            n_slots *= 2
        if self._limit and _used_bytes(self) + (
            (n_entries - self._n_entries) * sizeof(CountedPiece) + (n_slots - self._n_slots) * sizeof(LongSlot)
        ) > self._limit:
            with gil:
                self._spill(self)
            return 0  # even the smallest tables have space for a group
        if n_entries > self._n_entries:
            self._resize_short_table(n_entries)
        if n_slots > self._n_slots:
            self._rebuild_long_table(n_slots)
        return 0

    cdef int _resize_short_table(self, size_t n) except -1 nogil:
        """Move the short pieces to a new table of n entries.

        Requires: n is a power of two and at least twice the number of short pieces.
        """
        cdef CountedPiece* old = self._entries
        cdef void* old_block = self._entries_block
        cdef size_t n_old = self._n_entries, n_bytes = 0, n_old_bytes = self._entries_bytes, i
        cdef void* block = NULL
        resize(&block, &n_bytes, n * sizeof(CountedPiece) + LINE_BYTES, 1)
        use_huge_pages(block, n_bytes)
        memset(block, 0, n_bytes)
        self._entries = <CountedPiece*> (<char*> block + LINE_BYTES - <size_t> block % LINE_BYTES)
        self._entries_block, self._entries_bytes, self._n_entries = block, n_bytes, n
        self._shift = 65  # 64, plus 1 because a hash selects a cache line, which has two entries
        while n > 1:
            n >>= 1
            self._shift -= 1
        for i in range(n_old):
            if old[i].high:
                self._find_short(old[i].low, old[i].high)[0] = old[i]
        resized(old_block, n_old_bytes, 0)
        return 0

    cdef int _rebuild_long_table(self, size_t n) except -1 nogil:
        """Replace the table of long pieces by one of n slots, built from `pieces`.

        Requires: n is a power of two and at least twice the number of long pieces.
        """
        cdef LongSlot* slots = <LongSlot*> allocated(n, sizeof(LongSlot))
        cdef LongSlot* slot
        cdef PieceCount* piece
        cdef uint64_t hash
        cdef size_t i
        memset(slots, 0xFF, n * sizeof(LongSlot))
        free(self._slots)
        self._slots, self._n_slots, self._n_long = slots, n, 0
        for i in range(self.n_pieces):
            piece = &self.pieces[i]
            if not 0 < piece.n_bytes <= SHORT_BYTES:
                hash = hash_bytes(self.arena + piece.start, piece.n_bytes, self._seed)
                slot = self._find_long(self.arena + piece.start, piece.n_bytes, hash)
                slot.tag, slot.index = <uint32_t> (hash >> 32), <uint32_t> i
                self._n_long += 1
        return 0

    cdef int _build_tables(self) except -1 nogil:
        """Build both hash tables, with space for the current pieces and one group of new ones.

        If the table of short pieces raises MemoryError, the other one stays, and the next call replaces it.

        Requires: nobody has made the table of short pieces yet.
        """
        cdef size_t n_entries = MIN_ENTRIES, n_slots = MIN_SLOTS, n_long = 0, i
        cdef uint64_t[2] key
        cdef CountedPiece* entry
        cdef PieceCount* piece
        for i in range(self.n_pieces):
            n_long += not 0 < self.pieces[i].n_bytes <= SHORT_BYTES
        while (n_long + GROUP_PIECES) * 2 > n_slots:
            n_slots *= 2
        self._rebuild_long_table(n_slots)
        while (self.n_pieces - n_long + GROUP_PIECES) * 2 > n_entries:
            n_entries *= 2
        self._resize_short_table(n_entries)
        for i in range(self.n_pieces):
            piece = &self.pieces[i]
            if 0 < piece.n_bytes <= SHORT_BYTES:
                write_key(key, self.arena + piece.start, piece.n_bytes)
                entry = self._find_short(key[0], key[1])
                entry.low, entry.high, entry.count, entry.index = key[0], key[1], piece.count, <uint32_t> i
                self._n_short += 1
        return 0

    cdef void _free_tables(self) noexcept nogil:
        """Free both hash tables.

        Requires: the counts are settled.
        """
        resized(self._entries_block, self._entries_bytes, 0)
        free(self._slots)
        self._entries_bytes = 0
        self._entries, self._entries_block, self._slots = NULL, NULL, NULL
        self._n_entries = self._n_slots = self._n_short = self._n_long = 0

    cdef void settle_counts(self) noexcept nogil:
        """Copy the counts of short pieces to `pieces`, as `settle` does, without its check for other threads."""
        cdef size_t i
        if not self._is_settled:
            for i in range(self._n_entries):
                if self._entries[i].high:
                    self.pieces[self._entries[i].index].count = self._entries[i].count
        self._is_settled = True

    def append(self, PieceTable other not None):
        """Append the pieces of another table.

        Requires: no piece is in both tables.
        """
        cdef size_t i
        cdef PieceCount* piece
        other.settle_counts()
        self.settle_counts()
        self._free_tables()
        with nogil:
            for i in range(other.n_pieces):
                piece = &other.pieces[i]
                self._append(other.arena + piece.start, piece.n_bytes, piece.first, piece.count)

    @cython.critical_section
    def count_of(self, bytes piece not None):
        """Return how often a piece was counted; 0 if never."""
        return self._count_of(piece, <size_t> len(piece))

    cdef int64_t _count_of(self, const uint8_t* data, size_t n) except -1:
        """Return how often the piece data[:n] was counted; 0 if never."""
        cdef uint64_t[2] key
        cdef LongSlot* slot
        self.reserve_group()
        if not 0 < n <= SHORT_BYTES:
            slot = self._find_long(data, n, hash_bytes(data, n, self._seed))
            return 0 if slot.index == NONE else self.pieces[slot.index].count
        write_key(key, data, n)
        return self._find_short(key[0], key[1]).count

    @cython.critical_section
    def equals(self, PieceTable other not None):
        """Tell whether both tables have the same pieces with the same counts, in any order."""
        cdef size_t i
        cdef PieceCount* piece
        if self.n_pieces != other.n_pieces:
            return False
        other.settle()
        for i in range(other.n_pieces):
            piece = &other.pieces[i]
            if self._count_of(other.arena + piece.start, piece.n_bytes) != piece.count:
                return False
        return True


cdef inline size_t _used_bytes(PieceTable self) noexcept nogil:
    """Return the bytes that the tables and pieces take."""
    return (
        self._n_entries * sizeof(CountedPiece) + self._n_slots * sizeof(LongSlot) + self.n_arena
        + self.n_pieces * sizeof(PieceCount)
    )


cdef inline int _raise_count(int64_t* total, int64_t count) except -1 nogil:
    """Add to a total; raise OverflowError beyond 2**63 - 1."""
    if total[0] > INT64_MAX - count:
        with gil:
            raise OverflowError("a piece occurs more than 2**63 - 1 times")
    total[0] += count
    return 0

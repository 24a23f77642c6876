"""Counting the pieces of a text: exact keys in one arena, 64-bit counts, in order of first appearance."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from fastbpe._core.special cimport Match, SpecialMatcher
from fastbpe._core.splitter cimport GAP, Ends, Splitter, ends_free
from fastbpe._core.tables cimport NONE, hash_bytes
from fastbpe._core.text cimport Utf8, utf8_of, utf8_release

import os


@cython.final
cdef class PieceCounter:
    """Distinct pieces and how often each was met."""

    def __cinit__(self, Splitter splitter not None):
        self.splitter = splitter
        # Text from anywhere is counted: nobody may choose pieces that collide. The order is that of appearance.
        self._seed = int.from_bytes(os.urandom(8), "little")
        self._mask = 1023
        self._slots = <CountSlot*> malloc((self._mask + 1) * sizeof(CountSlot))
        if self._slots == NULL:
            raise MemoryError("no memory for a table of pieces")
        memset(self._slots, 0xFF, (self._mask + 1) * sizeof(CountSlot))

    def __dealloc__(self):
        free(self.arena)
        free(self.pieces)
        free(self._slots)
        ends_free(&self._ends)

    def __len__(self):
        return self.n_pieces

    def add_text(self, text, SpecialMatcher special=None):
        """Count the pieces of one text; special tokens cut it and are not counted. Returns its bytes."""
        cdef Utf8 view
        self._enter()
        try:
            utf8_of(text, &view)
        except BaseException:
            self._busy = False
            raise
        try:
            with nogil:
                self._text(view.data, view.n, special)
        finally:
            self._busy = False
            utf8_release(&view)
        return view.n

    def add_piece(self, bytes piece not None, int64_t count):
        """Count one piece `count` times more."""
        if count < 0:
            raise ValueError(f"count of {piece!r} is {count}: it must not be negative")
        self._enter()
        try:
            self._piece(<const uint8_t*> PyBytes_AS_STRING(piece), PyBytes_GET_SIZE(piece), count)
        finally:
            self._busy = False

    cdef int _enter(self) except -1:
        # The table has one owner at a time: a second thread would find it half grown.
        if self._busy:
            raise RuntimeError("another thread is counting with this PieceCounter; give each thread its own")
        self._busy = True
        return 0

    def items(self):
        """(piece, count) pairs in order of first appearance."""
        cdef size_t i
        return [
            ((<const char*> self.arena + self.pieces[i].start)[:self.pieces[i].n_bytes], self.pieces[i].count)
            for i in range(self.n_pieces)
        ]

    cdef int _text(self, const uint8_t* data, size_t n, SpecialMatcher special) except -1 nogil:
        cdef Match match
        cdef size_t at = 0
        self._ends.text = data
        if special is not None:
            while special.find(data, n, at, &match):
                self._count(data + at, match.start - at)
                at = match.end
        return self._count(data + at, n - at)

    cdef int _count(self, const uint8_t* data, size_t n) except -1 nogil:
        cdef size_t i, start = 0, end, at = 0
        while at < n:
            self._ends.n = 0
            at = self.splitter.split(data, n, at, &self._ends)
            for i in range(self._ends.n):
                end = self._ends.items[i] & ~GAP
                if end == self._ends.items[i]:
                    self._piece(data + start, end - start, 1)
                start = end
        return 0

    cdef int _piece(self, const uint8_t* data, size_t n, int64_t count) except -1 nogil:
        cdef uint64_t h = hash_bytes(data, n, self._seed)
        cdef uint32_t tag = <uint32_t> (h >> 32)
        cdef size_t at = <size_t> h & self._mask
        cdef PieceCount* piece
        while self._slots[at].index != NONE:
            if self._slots[at].tag == tag:
                piece = &self.pieces[self._slots[at].index]
                if piece.n_bytes == n and memcmp(self.arena + piece.start, data, n) == 0:
                    if piece.count > INT64_MAX - count:
                        with gil:
                            raise OverflowError("a piece occurs more than 2**63 - 1 times")
                    piece.count += count
                    return 0
            at = (at + 1) & self._mask
        self._new_piece(data, n, count)
        self._slots[at].tag = tag
        self._slots[at].index = <uint32_t> (self.n_pieces - 1)
        if self.n_pieces * 3 > self._mask * 2:
            self._grow()
        return 0

    cdef int _new_piece(self, const uint8_t* data, size_t n, int64_t count) except -1 nogil:
        cdef size_t capacity
        cdef void* grown
        if n >= NONE or self.n_pieces >= NONE - 1:
            with gil:
                raise MemoryError(f"a piece of {n} bytes, or more than 2**32 distinct pieces: too much to count")
        if self.n_arena + n > self._arena_capacity:
            capacity = max(self.n_arena + n, 2 * self._arena_capacity, <size_t> 65536)
            grown = realloc(self.arena, capacity)
            if grown == NULL:
                with gil:
                    raise MemoryError(f"no memory for {capacity} bytes of pieces")
            self.arena = <uint8_t*> grown
            self._arena_capacity = capacity
        if self.n_pieces == self._pieces_capacity:
            capacity = max(<size_t> 1024, 2 * self._pieces_capacity)
            grown = realloc(self.pieces, capacity * sizeof(PieceCount))
            if grown == NULL:
                with gil:
                    raise MemoryError(f"no memory for {capacity} distinct pieces")
            self.pieces = <PieceCount*> grown
            self._pieces_capacity = capacity
        memcpy(self.arena + self.n_arena, data, n)
        self.pieces[self.n_pieces].start = self.n_arena
        self.pieces[self.n_pieces].n_bytes = <uint32_t> n
        self.pieces[self.n_pieces].count = count
        self.n_arena += n
        self.n_pieces += 1
        return 0

    cdef int _grow(self) except -1 nogil:
        cdef size_t n_slots = 2 * (self._mask + 1), i, at
        cdef CountSlot* slots = <CountSlot*> malloc(n_slots * sizeof(CountSlot))
        cdef uint64_t h
        if slots == NULL:
            with gil:
                raise MemoryError(f"no memory for a table of {n_slots} pieces")
        memset(slots, 0xFF, n_slots * sizeof(CountSlot))
        for i in range(self.n_pieces):
            h = hash_bytes(self.arena + self.pieces[i].start, self.pieces[i].n_bytes, self._seed)
            at = <size_t> h & (n_slots - 1)
            while slots[at].index != NONE:
                at = (at + 1) & (n_slots - 1)
            slots[at].tag = <uint32_t> (h >> 32)
            slots[at].index = <uint32_t> i
        free(self._slots)
        self._slots = slots
        self._mask = n_slots - 1
        return 0

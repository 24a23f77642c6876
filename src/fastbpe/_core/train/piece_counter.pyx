"""Counting the pieces of texts, in groups: first their keys are made and their lines of the table asked for, then all
are counted.
"""

cimport cython
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free

from fastbpe._core.common.byte_buffer cimport buffer_free, buffer_reset
from fastbpe._core.text.safe_cuts cimport text_cut
from fastbpe._core.cache.piece_keys cimport SHORT_BYTES, copy_tail, find_in_line, key_hash, make_key
from fastbpe._core.common.memory cimport likely, prefetch
from fastbpe._core.train.piece_table cimport GROUP, CountedPiece, LongSlot, PieceTable
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.split.splitter cimport UNMATCHED, Splitter, ends_free
from fastbpe._core.common.hash_tables cimport NONE, hash_bytes
from fastbpe._core.text.utf8_text cimport (
    Text, first_invalid, not_utf8, text_release, text_room, text_utf8, text_view,
)
from fastbpe._core.common.interrupts cimport check_signals

cdef enum:
    STRETCH = 1 << 16  # units of a long text taken at once: transcoded, they stay in the second-level cache
    BATCH_BITS = 40  # of a place in the order that tell places within a batch apart


class Invalid(Exception):
    """Which of some texts is not UTF-8, its byte, and where."""


@cython.final
cdef class PieceCounter(PieceTable):
    """The pieces of texts, as a splitter makes them, in order of first appearance. One thread at a time."""

    def __cinit__(self, Splitter splitter not None, *, spill=None, size_t limit=0):
        self.splitter = splitter

    def __dealloc__(self):
        buffer_free(&self._utf8)
        ends_free(&self._ends)

    def add_text(self, text, SpecialMatcher special=None):
        """Count the pieces of one text; special tokens cut it and are not counted. Returns its bytes."""
        cdef size_t before = self.n_bytes
        self.add_batch([text], special)
        return self.n_bytes - before

    def add_batch(self, list texts not None, SpecialMatcher special=None, *, number=None, first=None):
        """Count the pieces of some texts.

        number: of the batch, where several counters share the batches of a source: it says where its pieces stand in
        the order. first: the number of the first text in its source, for errors.
        """
        cdef size_t n = len(texts), n_views = 0, i
        cdef Text* views = <Text*> calloc(n + 1, sizeof(Text))
        if views == NULL:
            raise MemoryError(f"no memory to count {n} texts at once")
        try:
            for i in range(n):
                text_view(texts[i], &views[i])
                n_views += 1
            self._enter()
            try:
                if number is not None:
                    self._position = <uint64_t> number << BATCH_BITS
                with nogil:
                    self._add_views(views, n, special)
            except Invalid as error:
                what = "text is" if first is None else f"document {first + error.args[0]} of the source is"
                raise not_utf8(what, error.args[1], error.args[2]) from None
            finally:
                self._busy = False
        finally:
            for i in range(n_views):
                text_release(&views[i])
            free(views)

    def add_part(self, text, size_t start, size_t end, SpecialMatcher special=None, *, number):
        """Count a part of a text that is UTF-8, as `parts` gives them, as a batch by itself."""
        cdef Text view
        text_view(text, &view)
        self._enter()
        try:
            self._position = <uint64_t> number << BATCH_BITS
            with nogil:
                self._units(&view, start, end, special)
        finally:
            self._busy = False
            text_release(&view)

    # Counting text

    cdef int _add_views(self, Text* views, size_t n, SpecialMatcher special) except -1 nogil:
        cdef size_t i, bad
        cdef const uint8_t* data
        for i in range(n):
            if views[i].is_utf8:
                data = <const uint8_t*> views[i].data
                bad = first_invalid(data, views[i].n)
                if bad < views[i].n:
                    with gil:
                        raise Invalid(i, data[bad], bad)
            self._units(&views[i], 0, views[i].n, special)
        return 0

    cdef int _units(self, const Text* text, size_t start, size_t end, SpecialMatcher special) except -1 nogil:
        """Count units start to end; where they are no UTF-8, stretch by stretch if the text may be cut."""
        cdef size_t cut
        cdef bint may_cut = self.splitter.cuttable and (special is None or special.cuttable)
        if text.is_utf8:
            return self._stretch(<const uint8_t*> text.data + start, end - start, special)
        while start < end:
            cut = end
            if may_cut and end - start > STRETCH:
                cut = min(text_cut(text, start, start + STRETCH), end)
            buffer_reset(&self._utf8, text_room(text, cut - start))
            self._stretch(self._utf8.items, text_utf8(text, start, cut, self._utf8.items), special)
            start = cut
        return 0

    cdef int _stretch(self, const uint8_t* data, size_t n, SpecialMatcher special) except -1 nogil:
        cdef Match match
        cdef size_t at = 0
        self._ends.text = data
        if special is not None:
            while special.find(data, n, at, &match):
                self._count(data + at, match.start - at)
                self._position += match.end - match.start
                at = match.end
        self._count(data + at, n - at)
        self.n_bytes += n
        return 0

    cdef int _count(self, const uint8_t* data, size_t n) except -1 nogil:
        cdef size_t start = 0, at = 0, done, n_ends
        while at < n:
            self._ends.n = done = 0
            at = self.splitter.split(data, n, at, &self._ends)
            while done < self._ends.n:
                n_ends = min(self._ends.n - done, <size_t> GROUP)
                self._make_room()
                self._group(data, n, start, self._ends.items + done, n_ends)
                done += n_ends
                start = self._ends.items[done - 1] & ~UNMATCHED
            check_signals(&self._watch)
        self._position += n
        return 0

    cdef void _aim(self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends) noexcept nogil:
        """Make the pieces' keys and ask for their lines."""
        cdef Probe* probe = self._probes
        cdef size_t i, length, n_long = 0, tail = n
        cdef uint64_t low, high
        cdef const uint8_t* piece
        cdef LongSlot* slot
        if (ends[n_ends - 1] & ~UNMATCHED) + 16 > n:
            tail = copy_tail(self._tail, data, n)
        for i in range(n_ends):
            length = ends[i] - start  # a gap's has its top bit set
            piece = data + start
            if likely(length <= SHORT_BYTES):
                if start >= tail:
                    piece = self._tail + (start - tail)
                low = make_key(piece, length, &probe[i], &high)
                probe[i].line = self._entries + (key_hash(low, high, self._seed) >> self._shift << 1)
                prefetch(probe[i].line)
            else:
                probe[i].line = self._entries  # to be read, and not to match: no key's length is 255
                probe[i].high = ~<uint64_t> 0
                probe[i].low = 0
                if not length & UNMATCHED:
                    probe[i].low = hash_bytes(piece, length, self._seed)
                    prefetch(&self._slots[probe[i].low & (self._n_slots - 1)])
                    self._long_ones[n_long] = <uint8_t> i
                    n_long += 1
            start = ends[i] & ~UNMATCHED
        for i in range(n_long):
            slot = &self._slots[probe[self._long_ones[i]].low & (self._n_slots - 1)]
            if slot.tag == probe[self._long_ones[i]].low >> 32 and slot.index != NONE:
                prefetch(&self.pieces[slot.index])

    cdef int _group(self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends) except -1 nogil:
        """Count up to GROUP pieces."""
        cdef Probe* probe = self._probes
        cdef CountedPiece* entry
        cdef size_t i, length, at
        self._aim(data, n, start, ends, n_ends)
        self._is_settled = False
        for i in range(n_ends):
            if likely(find_in_line(probe[i].line, &probe[i], &at)):
                entry = <CountedPiece*> (<char*> probe[i].line + at)
                entry.count += 1
            elif not ends[i] & UNMATCHED:
                if i:
                    start = ends[i - 1] & ~UNMATCHED
                length = ends[i] - start
                if length <= SHORT_BYTES:
                    self._add_short(data + start, length, probe[i].low, probe[i].high, self._position + start, 1)
                else:
                    self._add_long(data + start, length, probe[i].low, self._position + start, 1)
        return 0


def parts(text, size_t size, str what not None="text"):
    """(start, end) of the parts of a long text, about so many units each, cut where no piece lies across.

    Only for splitters and special tokens that are cuttable. Bytes are checked; what: they are called in the error.
    """
    cdef Text view
    cdef size_t start = 0, end, bad
    cdef list out = []
    text_view(text, &view)
    try:
        if view.is_utf8:
            with nogil:
                bad = first_invalid(<const uint8_t*> view.data, view.n)
            if bad < view.n:
                raise not_utf8(f"{what} is", (<const uint8_t*> view.data)[bad], bad)
        while start < view.n:
            with nogil:
                end = text_cut(&view, start, start + size)
            out.append((start, end))
            start = end
        return out
    finally:
        text_release(&view)

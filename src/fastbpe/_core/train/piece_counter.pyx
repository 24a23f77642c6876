"""Count the pieces of texts.

Pieces are counted in groups of GROUP_PIECES: one pass makes their keys and prefetches their cache lines of the
table, a second pass looks them up. So the lines arrive while other keys are made.
"""

cimport cython
from libc.stdint cimport uint8_t, uint64_t

from fastbpe._core.common.atomics cimport clear_flag
from fastbpe._core.common.byte_buffer cimport buffer_free, buffer_reset
from fastbpe._core.common.hashing cimport hash_bytes
from fastbpe._core.text.json_lines cimport Bytes
from fastbpe._core.text.safe_cuts cimport safe_cut_near
from fastbpe._core.text.separated_texts cimport SeparatedTexts
from fastbpe._core.cache.piece_keys cimport SHORT_BYTES, copy_tail, find_in_line, key_hash, make_key
from fastbpe._core.common.memory cimport likely, prefetch
from fastbpe._core.train.piece_table cimport GROUP_PIECES, CountedPiece, LongSlot, PieceTable
from fastbpe._core.train.text_views cimport TextViews
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.split.splitter cimport UNMATCHED, Splitter, ends_free, ends_start_text
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.text.utf8_text cimport (
    Text, first_invalid, not_utf8, text_release, utf8_capacity, text_utf8, text_view,
)
from fastbpe._core.common.interrupts cimport check_signals

cdef enum:
    STRETCH_UNITS = 1 << 16  # units of a long str to transcode at a time: their UTF-8 fits into the L2 cache
    # Low bits of a position, which order the pieces of one batch; the bits above are its number. From batch 2**24 on,
    # numbers lose their high bits, and only the order of first occurrences is wrong.
    BATCH_BITS = 40


cdef class PieceCounter(PieceTable):
    """Pieces of texts and their counts; `finish` orders them by first appearance. One thread at a time may use it.

    splitter: Splitter – cuts the texts into pieces.
    spill, limit: as for PieceTable.
    """

    def __cinit__(self, Splitter splitter not None, *, spill=None, size_t limit=0, **kwargs):
        self.splitter = splitter

    def __dealloc__(self):
        buffer_free(&self._utf8)
        ends_free(&self._ends)

    def add_text(self, text, SpecialMatcher special=None):
        """Count the pieces of one text and return its length in bytes of UTF-8.

        special: SpecialMatcher or None – its tokens cut the text and are not counted.
        """
        cdef size_t before = self.n_bytes
        self.add_batch([text], special)
        return self.n_bytes - before

    def add_batch(self, list texts not None, SpecialMatcher special=None, *, number=None, first=None):
        """Count the pieces of a batch of texts.

        special: SpecialMatcher or None – its tokens cut the texts and are not counted.
        number: int or None – number of the batch, if several counters share the batches of one source; it orders
            the pieces of all counters.
        first: int or None – number of the first text in its source, for errors.
        """
        cdef TextViews views = TextViews(texts, first=first)
        cdef size_t i
        self._enter()
        try:
            if number is not None:
                self.position = <uint64_t> number << BATCH_BITS
            with nogil:
                for i in range(views.n):
                    if views.items[i].is_utf8:
                        views.check_utf8(i, 0, views.items[i].n)
                    self._count_units(&views.items[i], 0, views.items[i].n, special)
        finally:
            clear_flag(&self._busy)

    def add_separated(self, SeparatedTexts texts not None, SpecialMatcher special=None, *, number):
        """Count the pieces of the texts between separators, as a separate batch.

        Requires: the texts are UTF-8.

        special: SpecialMatcher or None – as for `add_batch`.
        number: int – number of the batch.
        """
        cdef Bytes text
        self._enter()
        try:
            self.position = <uint64_t> number << BATCH_BITS
            with nogil:
                while texts.next(&text):
                    self._count_utf8(text.data, text.n, special)
        finally:
            clear_flag(&self._busy)

    def add_part(self, text, size_t start, size_t end, SpecialMatcher special=None, *, number):
        """Count the pieces of one part of a text, as a separate batch.

        Requires: the part was returned by `parts`, which checks that the text is UTF-8.

        start, end: int – the part, in units of the text (bytes, or characters of a str).
        number: int – number of the batch.
        """
        cdef TextViews views = TextViews([text])
        self._enter()
        try:
            self.position = <uint64_t> number << BATCH_BITS
            with nogil:
                self._count_units(&views.items[0], start, end, special)
        finally:
            clear_flag(&self._busy)

    cdef int count_pieces(
        self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends
    ) except -1 nogil:
        """Count contiguous pieces, once each; gaps, whose ends have UNMATCHED set, are not counted.

        The table may grow or spill. The order of first appearance is `self.position` plus the offset in data.

        data, n: the text, in bytes.
        start: start of the first piece.
        ends, n_ends: end of each piece or gap, ascending.

        Requires: no end is above n.
        """
        cdef size_t done = 0, n_group
        while done < n_ends:
            n_group = min(n_ends - done, <size_t> GROUP_PIECES)
            self.reserve_group()
            self._count_group(data, n, start, ends + done, n_group)
            done += n_group
            start = ends[done - 1] & ~UNMATCHED
        return 0

    cdef int _count_units(
        self, const Text* text, size_t start, size_t end, SpecialMatcher special
    ) except -1 nogil:
        """Count the pieces of units start to end; transcode them first if they are not UTF-8.

        A long text is transcoded one stretch at a time if the splitter and the special tokens have safe cuts.
        """
        cdef size_t cut
        cdef bint may_cut = self.splitter.cuttable and (special is None or special.cuttable)
        if text.is_utf8:
            return self._count_utf8(<const uint8_t*> text.data + start, end - start, special)
        while start < end:
            cut = end
            if may_cut and end - start > STRETCH_UNITS:
                cut = min(safe_cut_near(text, start, start + STRETCH_UNITS), end)
            buffer_reset(&self._utf8, utf8_capacity(text, cut - start))
            self._count_utf8(self._utf8.items, text_utf8(text, start, cut, self._utf8.items), special)
            start = cut
        return 0

    cdef int _count_utf8(self, const uint8_t* data, size_t n, SpecialMatcher special) except -1 nogil:
        """Count the pieces between special tokens.

        Ensures: position has increased by n, including the special tokens.
        """
        cdef Match match
        cdef size_t at = 0
        ends_start_text(&self._ends, data)
        if special is not None:
            while special.find(data, n, at, &match):
                self._count_between_tokens(data + at, match.start - at)
                self.position += match.end - match.start
                at = match.end
        self._count_between_tokens(data + at, n - at)
        self.n_bytes += n
        return 0

    cdef int _count_between_tokens(self, const uint8_t* data, size_t n) except -1 nogil:
        """Count the pieces of a stretch without special tokens. Ensures: position has increased by n."""
        cdef size_t start = 0, at = 0
        while at < n:
            self._ends.n = 0
            at = self.splitter.split(data, n, at, &self._ends)
            self.count_pieces(data, n, start, self._ends.items, self._ends.n)
            if self._ends.n:
                start = self._ends.items[self._ends.n - 1] & ~UNMATCHED
            check_signals(&self._watch)
        self.position += n
        return 0

    cdef void _prepare_probes(
        self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends
    ) noexcept nogil:
        """Make the probes of a group and prefetch the memory that they will read."""
        cdef Probe* probe = self._probes
        cdef size_t i, length, n_long = 0
        cdef size_t tail = n  # offset in data from which on pieces are read in the copy
        cdef uint64_t low, high
        cdef const uint8_t* piece
        cdef LongSlot* slot
        if (ends[n_ends - 1] & ~UNMATCHED) + 16 > n:  # make_key may read 16 bytes
            tail = copy_tail(self._tail, data, n)
        for i in range(n_ends):
            length = ends[i] - start  # the length of a gap has its top bit set
            piece = data + start
            if likely(length <= SHORT_BYTES):
                if start >= tail:
                    piece = self._tail + (start - tail)
                low = make_key(piece, length, &probe[i], &high)
                probe[i].line = self._entries + (key_hash(low, high, self._seed) >> self._shift << 1)
                prefetch(probe[i].line)
            else:
                probe[i].line = self._entries  # any valid line: this key matches no entry, since no length is 255
                probe[i].high = ~<uint64_t> 0
                probe[i].low = 0
                if not length & UNMATCHED:
                    probe[i].low = hash_bytes(piece, length, self._seed)
                    prefetch(&self._slots[probe[i].low & (self._n_slots - 1)])
                    self._long_pieces[n_long] = <uint8_t> i
                    n_long += 1
            start = ends[i] & ~UNMATCHED
        for i in range(n_long):
            slot = &self._slots[probe[self._long_pieces[i]].low & (self._n_slots - 1)]
            if slot.tag == probe[self._long_pieces[i]].low >> 32 and slot.index != NONE:
                prefetch(&self.pieces[slot.index])

    cdef int _count_group(
        self, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends
    ) except -1 nogil:
        """Count the pieces of one group. Accepts the arguments of count_pieces().

        Requires: 1 <= n_ends <= GROUP_PIECES; reserve_group() was called.
        """
        cdef Probe* probe = self._probes
        cdef CountedPiece* entry
        cdef size_t i, length, at
        self._prepare_probes(data, n, start, ends, n_ends)
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
                    self._add_short(data + start, length, probe[i].low, probe[i].high, self.position + start, 1)
                else:
                    self._add_long(data + start, length, probe[i].low, self.position + start, 1)
        return 0


def parts(text, size_t size, str what not None="text"):
    """Divide a long text at safe cuts and return (start, end) of each part, in units of the text.

    text: str or bytes – bytes must be UTF-8, which is checked.
    size: int – approximate size of a part in units.
    what: str – name of the text in errors.

    Requires: the splitter and the special tokens to be used for the parts are cuttable.
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
                end = safe_cut_near(&view, start, start + size)
            out.append((start, end))
            start = end
        return out
    finally:
        text_release(&view)

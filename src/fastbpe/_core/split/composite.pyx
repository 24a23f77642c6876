"""Splitters made of other splitters: in sequence, regrouped, grouped from the right, over GPT-2's characters."""

cimport cython
from libc.stdint cimport uint8_t, uint16_t
from libc.stdlib cimport free, malloc
from libc.string cimport memmove

from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.common.utf8 cimport fb_char_bytes
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_add
from fastbpe._core.text.bytes_to_unicode cimport character_of_byte

cdef enum:
    REMOVED
    MERGED_WITH_PREVIOUS
    MERGED_WITH_NEXT
    CONTIGUOUS

_BEHAVIORS = {
    "removed": REMOVED,
    "merged_with_previous": MERGED_WITH_PREVIOUS,
    "merged_with_next": MERGED_WITH_NEXT,
    "contiguous": CONTIGUOUS,
}


@cython.final
cdef class Sequence(Splitter):
    """Splitter that applies `second` to each piece of `first`, as if the piece were the whole text."""

    cdef readonly Splitter first
    cdef readonly Splitter second
    cdef bytes _owner
    cdef const uint8_t* _quiet  # quiet_bytes() of `second`, or NULL

    def __cinit__(self, Splitter first not None, Splitter second not None):
        self.first = first
        self.second = second
        self.holds_gil = first.holds_gil or second.holds_gil
        self.cuttable = first.cuttable or (second.cuttable and first.by_neighbours())  # proved in safe_cuts.pyx
        self._owner = second.quiet_bytes()
        if self._owner is not None:
            self._quiet = <const uint8_t*> PyBytes_AS_STRING(self._owner)

    def quiet_bytes(self):
        first = self.first.quiet_bytes()
        return None if first is None or self._owner is None else bytes(map(min, first, self._owner))

    def by_neighbours(self):
        return self.first.by_neighbours() and self.second.by_neighbours()

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        # Append the ends of `second` after the ends of `first`, then move them to the front. This needs no other
        # buffer.
        cdef size_t begin = ends.n, start = at, end, i, middle
        at = self.first.split(data, n, at, ends)
        middle = ends.n
        for i in range(begin, middle):
            end = ends.items[i] & ~UNMATCHED
            if end != ends.items[i]:
                ends_add(ends, end | UNMATCHED)
            # Most pieces contain nothing at which `second` splits: the last steps of falcon's pattern split only
            # digits.
            elif self._quiet != NULL and _is_quiet(self._quiet, data + start, end - start):
                ends_add(ends, end)
            else:
                self._split_piece(data + start, end - start, start, ends)
            start = end
        memmove(ends.items + begin, ends.items + middle, (ends.n - middle) * sizeof(size_t))
        ends.n -= middle - begin
        return at

    cdef int _split_piece(self, const uint8_t* piece, size_t n, size_t offset, Ends* ends) except -1 nogil:
        """Append the ends that `second` finds in the piece at `offset`."""
        cdef size_t at = 0, i, begin = ends.n
        while at < n:
            at = self.second.split(piece, n, at, ends)
        for i in range(begin, ends.n):
            ends.items[i] += offset
        return 0

    def __repr__(self):
        return f"{self.first!r}, then {self.second!r}"


cdef inline bint _is_quiet(const uint8_t* quiet, const uint8_t* piece, size_t n) noexcept nogil:
    """Tell whether a piece has only quiet bytes."""
    cdef size_t i
    for i in range(n):
        if not quiet[piece[i]]:
            return False
    return True


@cython.final
cdef class Uncut(Splitter):
    """Splitter that cuts text like another one, for work in which text must not be divided at safe cuts."""

    cdef readonly Splitter splitter

    def __cinit__(self, Splitter splitter not None):
        self.splitter = splitter
        self.holds_gil = splitter.holds_gil

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        return self.splitter.split(data, n, at, ends)

    def __repr__(self):
        return repr(self.splitter)


@cython.final
cdef class Regrouped(Splitter):
    """Splitter that regroups the matches and gaps of another splitter, as tokenizers' `Split` does.

    splitter: Splitter – its pieces are the matches; the text between them is the gaps.
    behavior: str – "removed": the gaps are the pieces, and matches are left out. "merged_with_previous": a match
        joins the gap right before it. "merged_with_next": a match joins the gap right after it. "contiguous":
        adjacent matches become one piece. Except with "removed", gaps are pieces too.
    invert: bool – first swap matches and gaps.
    """

    cdef readonly Splitter splitter
    cdef readonly str behavior
    cdef int _behavior
    cdef bint _invert

    def __cinit__(self, Splitter splitter not None, str behavior not None, *, bint invert=False):
        self._behavior = _BEHAVIORS[behavior]
        self.splitter = splitter
        self.holds_gil = splitter.holds_gil
        self.behavior = behavior
        self._invert = invert

    def by_neighbours(self):
        return self._behavior == CONTIGUOUS and self.splitter.by_neighbours()

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef size_t begin = ends.n
        at = self.splitter.split(data, n, at, ends)
        # One call must return all ends: neighbours from two calls could not be joined.
        while at < n and self._behavior != REMOVED:
            at = self.splitter.split(data, n, at, ends)
        self._regroup(ends, begin)
        return at

    cdef void _regroup(self, Ends* ends, size_t begin) noexcept nogil:
        """Replace the ends from index `begin` on with the ends of the regrouped pieces."""
        cdef size_t i, n_kept = begin, end
        cdef bint is_gap
        for i in range(begin, ends.n):
            end = ends.items[i] & ~UNMATCHED
            is_gap = self._is_gap(ends.items[i])
            if self._behavior == REMOVED:
                end |= 0 if is_gap else UNMATCHED
            elif i + 1 < ends.n and self._joined(is_gap, self._is_gap(ends.items[i + 1])):
                continue
            ends.items[n_kept] = end
            n_kept += 1
        ends.n = n_kept

    cdef inline bint _is_gap(self, size_t end) noexcept nogil:
        """Tell whether a gap ends there, after inversion."""
        return ((end & UNMATCHED) != 0) != self._invert

    cdef inline bint _joined(self, bint is_gap, bint next_is_gap) noexcept nogil:
        """Tell whether two neighbours become one piece."""
        if self._behavior == CONTIGUOUS:
            return is_gap == next_is_gap
        if self._behavior == MERGED_WITH_PREVIOUS:
            return is_gap and not next_is_gap
        return next_is_gap and not is_gap

    def __repr__(self):
        return f"{self.splitter!r} {'inverted and ' if self._invert else ''}{self.behavior.replace('_', ' ')}"


@cython.final
cdef class GroupedFromRight(Splitter):
    """Splitter that cuts before each group of `length` characters, counted from the right end of a run.

    splitter: Splitter – its pieces are the runs; the text between them is left uncut.
    length: int – characters of a group, at least 1. The remainder at the start of a run stays with the text before
        it.
    """

    cdef readonly Splitter splitter
    cdef readonly size_t length

    def __cinit__(self, Splitter splitter not None, size_t length):
        if not length:
            raise ValueError("a group of 0 characters; the length must be at least 1")
        self.splitter, self.length = splitter, length
        self.holds_gil = splitter.holds_gil

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef size_t begin = ends.n, call_start = at, first, i, start = at
        while at < n:
            at = self.splitter.split(data, n, at, ends)
        first = ends.n
        for i in range(begin, first):
            if not ends.items[i] & UNMATCHED:
                self._group(data, start, ends.items[i], call_start, ends)
            start = ends.items[i] & ~UNMATCHED
        ends_add(ends, n)
        memmove(ends.items + begin, ends.items + first, (ends.n - first) * sizeof(size_t))
        ends.n -= first - begin
        return n

    cdef int _group(
        self, const uint8_t* data, size_t start, size_t end, size_t call_start, Ends* ends
    ) except -1 nogil:
        """Append the starts of the groups of a run, from left to right: each ends the piece before it.

        call_start: where the call of split() starts; no piece ends there.
        """
        cdef size_t n_chars = 0, at = start
        while at < end:
            n_chars += 1
            at += fb_char_bytes(data[at])
        at = start
        while at < end:
            if n_chars % self.length == 0 and at > call_start:
                ends_add(ends, at)
            n_chars -= 1
            at += fb_char_bytes(data[at])
        return 0

    def __repr__(self):
        return f"{self.length} characters of {self.splitter!r} from the right"


@cython.final
cdef class StandIns(Splitter):
    """Splitter that applies `splitter` to GPT-2's stand-ins (`bytes_to_unicode`) for the bytes of the text.

    So a piece may end within a character of the text.
    """

    cdef readonly Splitter splitter

    def __cinit__(self, Splitter splitter not None):
        self.splitter = splitter
        self.holds_gil = splitter.holds_gil

    def quiet_bytes(self):
        quiet = self.splitter.quiet_bytes()
        if quiet is None:
            return None
        return bytes([all([quiet[part] for part in chr(character_of_byte[byte]).encode()]) for byte in range(256)])

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef uint8_t* stand_ins = <uint8_t*> malloc(2 * n)
        cdef size_t n_stand_ins = 0, at_stand_in = 0  # bytes of their UTF-8, and how many of these have been split
        cdef size_t begin = ends.n, i
        cdef uint16_t stand_in
        cdef const uint16_t* characters = &character_of_byte[0]
        if stand_ins == NULL:
            with gil:
                raise MemoryError(f"no memory for {n} bytes as characters")
        try:
            for i in range(n):
                stand_in = characters[data[i]]
                if stand_in < 0x80:
                    stand_ins[n_stand_ins] = <uint8_t> stand_in
                    n_stand_ins += 1
                else:
                    stand_ins[n_stand_ins] = <uint8_t> (0xC0 | stand_in >> 6)
                    stand_ins[n_stand_ins + 1] = <uint8_t> (0x80 | stand_in & 0x3F)
                    n_stand_ins += 2
            ends.stand_ins_at = data - ends.text
            ends.stand_ins = stand_ins
            while at_stand_in < n_stand_ins:
                at_stand_in = self.splitter.split(stand_ins, n_stand_ins, at_stand_in, ends)
        finally:
            ends.stand_ins = NULL
            free(stand_ins)
        self._bring_back(data, ends, begin)
        return n

    cdef void _bring_back(self, const uint8_t* data, Ends* ends, size_t begin) noexcept nogil:
        """Convert the ends from index `begin` on, offsets into the stand-ins' UTF-8, to offsets into `data`."""
        cdef size_t i, at = 0, at_stand_in = 0, end
        for i in range(begin, ends.n):
            end = ends.items[i] & ~UNMATCHED
            while at_stand_in < end:
                at_stand_in += 1 if character_of_byte[data[at]] < 0x80 else 2
                at += 1
            ends.items[i] = at | (ends.items[i] & UNMATCHED)

    def __repr__(self):
        return f"{self.splitter!r} over stand-ins of bytes"

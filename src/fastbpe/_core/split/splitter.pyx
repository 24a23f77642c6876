"""Splitters: UTF-8 text to the ends of its pieces. One interface for every way of finding them.

Pieces stand end to end and cover the whole text: what a pattern does not match is a piece of its own, so
that nothing is ever lost. A splitter that is asked to leave such text out marks its end with UNMATCHED, and whoever
works on the pieces passes over it.
"""

cimport cython
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, realloc

from fastbpe._core.text.utf8_text cimport Utf8, utf8_of, utf8_release

from fastbpe.errors import PatternError

# How long a text may take: far beyond what patterns of use do, which take a tenth of a microsecond a byte.
cdef double REGEX_SECONDS = 3
cdef double REGEX_SECONDS_PER_BYTE = 1e-5


cdef int ends_reserve(Ends* ends, size_t n_more) except -1 nogil:
    """Make room for n_more ends; the amount doubles, so that appending is linear."""
    cdef size_t wanted = ends.n + n_more, capacity
    cdef size_t* items
    if wanted <= ends.capacity:
        return 0
    capacity = max(wanted, 2 * ends.capacity, <size_t> 64)
    items = <size_t*> realloc(ends.items, capacity * sizeof(size_t))
    if items == NULL:
        with gil:
            raise MemoryError(f"no memory for the ends of {capacity} pieces")
    ends.items = items
    ends.capacity = capacity
    return 0


cdef int ends_add(Ends* ends, size_t end) except -1 nogil:
    ends_reserve(ends, 1)
    ends.items[ends.n] = end
    ends.n += 1
    return 0


cdef size_t n_pieces(const Ends* ends) noexcept nogil:
    """How many of the ends are not of gaps."""
    cdef size_t n = ends.n, i
    for i in range(ends.n):  # by shifts, which plain SSE2 adds up two at a time
        n -= ends.items[i] >> (8 * sizeof(size_t) - 1)
    return n


cdef size_t place_in_text(const Ends* ends, const uint8_t* at) noexcept nogil:
    """Which byte of the whole text a byte that is split is, or stands for."""
    cdef size_t place = ends.stand_ins_at
    cdef const uint8_t* byte = ends.stand_ins
    if byte == NULL:
        return at - ends.text
    while byte < at:
        place += byte[0] & 0xC0 != 0x80
        byte += 1
    return place


cdef void ends_free(Ends* ends) noexcept nogil:
    free(ends.items)
    ends.items = NULL
    ends.n = ends.capacity = 0


cdef class Splitter:
    """No splitting: the whole text is one piece. Base of the splitters that do."""

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        """Append ends of the pieces of data[at:n], as offsets into data, rising; return where the next begins.

        A splitter may stop after any piece, so that its caller works on ends that are still in the cache: it
        is called again until it returns n. `at` is 0 or what the call before returned, and below n.
        """
        ends_add(ends, n)
        return n

    def quiet_bytes(self):
        """Of each byte, 1 if a text of nothing but such bytes is one piece, else 0; None where that is not known."""
        return b"\1" * 256 if type(self) is Splitter else None

    def by_neighbours(self):
        """Tell whether the two characters beside a place alone decide if a piece ends there."""
        return False

    def ends(self, text):
        """The ends of the pieces of a text and of the gaps between them, as byte offsets into its UTF-8."""
        return [end for _, end, _ in self._spans(text)]

    def pieces(self, text):
        """(start, end) of each piece of a text, as byte offsets into its UTF-8; text in gaps is left out."""
        return [(start, end) for start, end, is_gap in self._spans(text) if not is_gap]

    cdef list _spans(self, text):
        """(start, end, is_gap) of every stretch of a text."""
        cdef Utf8 view
        cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0)
        cdef size_t at = 0, start = 0, end, i
        cdef list out = []
        utf8_of(text, &view)
        ends.text = view.data
        try:
            while at < view.n:
                at = self.split(view.data, view.n, at, &ends)
            for i in range(ends.n):
                end = ends.items[i] & ~UNMATCHED
                out.append((start, end, (ends.items[i] & UNMATCHED) != 0))
                start = end
            return out
        finally:
            utf8_release(&view)
            ends_free(&ends)

    def count(self, text):
        """How many pieces a text has, without a list of them; gaps do not count."""
        cdef Utf8 view
        cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0)
        cdef size_t at = 0, n = 0
        utf8_of(text, &view)
        ends.text = view.data
        try:
            with nogil:
                while at < view.n:
                    ends.n = 0
                    at = self.split(view.data, view.n, at, &ends)
                    n += n_pieces(&ends)
            return n
        finally:
            utf8_release(&view)
            ends_free(&ends)

    def __repr__(self):
        return "none"


@cython.final
cdef class RegexSplitter(Splitter):
    """Pieces are the matches of a compiled `regex` pattern. Exact for any pattern, but holds the GIL.

    `regex` counts no steps, so a text may take so many seconds of the processor: REGEX_SECONDS, and
    REGEX_SECONDS_PER_BYTE for each byte. Then there is a PatternError. `regex` counts those of the whole process, all
    of its threads together. Ctrl-C ends it sooner.

    keep_gaps: what lies between two matches is a piece too; False: it is a gap.
    shown: the pattern for messages, as it was written; None: as `regex` has it.
    """

    def __init__(self, pattern, *, bint keep_gaps=True, str shown=None):
        self.holds_gil = True
        self._pattern = pattern
        self._shown = pattern.pattern if shown is None else shown
        self._mark = 0 if keep_gaps else UNMATCHED

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        with gil:
            self._split(data, n, ends)
        return n

    cdef int _split(self, const uint8_t* data, size_t n, Ends* ends) except -1:
        cdef str text = PyUnicode_DecodeUTF8(<const char*> data, n, NULL)
        cdef Py_ssize_t at = 0, start, end
        cdef size_t at_byte = 0
        cdef double seconds = REGEX_SECONDS + REGEX_SECONDS_PER_BYTE * n
        try:
            # finditer, not findall: a list of all the pieces would cost a dozen times the text's memory.
            for match in self._pattern.finditer(text, timeout=seconds):
                start, end = match.span()
                if start == end:
                    continue
                if start > at:
                    at_byte = _advance(data, at_byte, start - at)
                    ends_add(ends, at_byte | self._mark)
                at_byte = _advance(data, at_byte, end - start)
                ends_add(ends, at_byte)
                at = end
        except TimeoutError:
            shown = self._shown if len(self._shown) <= 60 else self._shown[:57] + "..."
            raise PatternError(
                f"the split pattern {shown!r} backtracks too much on this text: behind byte "
                f"{place_in_text(ends, data + at_byte)} no match ended within {seconds:.1f} seconds of the "
                "processor; make repetitions possessive, as a++, and alternatives exclude one another, or give the "
                "text in shorter parts"
            ) from None
        if at_byte < n:
            ends_add(ends, n | self._mark)
        return 0

    def __repr__(self):
        return "regex"


cdef inline size_t _advance(const uint8_t* data, size_t at, Py_ssize_t n_chars) noexcept nogil:
    """The offset n_chars characters after the character that starts at `at`."""
    cdef uint8_t lead
    while n_chars:
        lead = data[at]
        at += 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        n_chars -= 1
    return at

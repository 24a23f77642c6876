"""Splitters find the ends of the pieces of UTF-8 text. They all have the same interface.

Pieces are contiguous and cover the whole text: text that a pattern does not match is a piece too, so nothing is
lost. A splitter that is told to leave such text out sets UNMATCHED in the end of the gap, and its caller skips the
gap.
"""

from time import thread_time

cimport cython
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from fastbpe._core.common.python cimport PyUnicode_DecodeUTF8
from fastbpe._core.common.utf8 cimport fb_char_bytes
from fastbpe._core.text.utf8_text cimport Utf8, utf8_of, utf8_release

from fastbpe.errors import PatternError

# Time limit for a text. Patterns in use take far less: a tenth of a microsecond per byte.
cdef double REGEX_SECONDS = 3
cdef double REGEX_SECONDS_PER_BYTE = 1e-5


def regex_seconds(size_t n):
    """Return the time limit of `regex` for a text of n bytes, in seconds."""
    return REGEX_SECONDS + REGEX_SECONDS_PER_BYTE * n


def regex_limit_error(str pattern not None, size_t at):
    """Return the PatternError for a pattern that reaches the time limit of `regex`. at: the byte of the text."""
    shown = pattern if len(pattern) <= 60 else pattern[:57] + "..."
    return PatternError(
        f"the split pattern {shown!r} backtracks too much on this text: at byte {at} it reached the limit for a "
        f"text, {REGEX_SECONDS:.0f} seconds of processor time plus {REGEX_SECONDS_PER_BYTE * 1e6:.0f} microseconds "
        "per byte; make repetitions possessive, such as a++, and alternatives exclusive, or pass the text in "
        "shorter parts"
    )


cdef int ends_reserve(Ends* ends, size_t n_more) except -1 nogil:
    """Make space for n_more ends. The capacity doubles, so appending takes linear time."""
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
    """Append an end."""
    ends_reserve(ends, 1)
    ends.items[ends.n] = end
    ends.n += 1
    return 0


cdef size_t n_pieces(const Ends* ends) noexcept nogil:
    """Count the pieces, without gaps."""
    cdef size_t n = ends.n, i
    for i in range(ends.n):  # by shifts, which plain SSE2 adds up two at a time
        n -= ends.items[i] >> (8 * sizeof(size_t) - 1)
    return n


cdef size_t offset_in_text(const Ends* ends, const uint8_t* at) noexcept nogil:
    """Return the offset in the whole text of a byte that a splitter reads, or of the byte that it stands for."""
    cdef size_t offset = ends.stand_ins_at
    cdef const uint8_t* byte = ends.stand_ins
    if byte == NULL:
        return at - ends.text
    while byte < at:
        offset += byte[0] & 0xC0 != 0x80
        byte += 1
    return offset


cdef void ends_free(Ends* ends) noexcept nogil:
    free(ends.items)
    ends.items = NULL
    ends.n = ends.capacity = 0


cdef class Splitter:
    """Splitter that does not split: the whole text is one piece. Base of all splitters."""

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        """Append the ends of the pieces of data[at:n], as ascending offsets into data; return where the next piece
        begins. No piece is empty.

        A splitter may stop after any piece, so that its caller reads the ends while they are still in the cache.
        The caller calls it again until it returns n.

        Requires: at < n, and `at` is 0 or the result of the previous call.
        Ensures: the result is above `at`.
        """
        ends_add(ends, n)
        return n

    def quiet_bytes(self):
        """Return a bool per byte, as bytes: a text of only such bytes is one piece. None if this is not known."""
        return b"\1" * 256 if type(self) is Splitter else None

    def by_neighbours(self):
        """Tell whether the two characters around a position are known to decide alone if a piece ends there."""
        return False

    def ends(self, text):
        """Return the ends of the pieces of a text and of the gaps between them, as byte offsets into its UTF-8."""
        return [end for _, end, _ in self._spans(text)]

    def pieces(self, text):
        """Return (start, end) of each piece of a text, as byte offsets into its UTF-8; gaps are left out."""
        return [(start, end) for start, end, is_gap in self._spans(text) if not is_gap]

    def ends_in(self, bytes data not None):
        """Return the ends that split() finds in any bytes, even if they are not UTF-8. For tests.

        The bytes are copied to memory of exactly their size, so that AddressSanitizer detects a read past them.
        """
        cdef size_t n = <size_t> len(data), at = 0, before
        cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0, 0, 0)
        cdef uint8_t* copy = <uint8_t*> malloc(n if n else 1)
        if copy == NULL:
            raise MemoryError(f"no memory for {n} bytes")
        memcpy(copy, <const char*> data, n)
        ends.text = copy
        try:
            while at < n:
                before = at
                at = self.split(copy, n, at, &ends)
                if not before < at <= n:
                    raise AssertionError(f"{self!r}: {data!r} is split from {before} to {at}")
            return [ends.items[i] & ~UNMATCHED for i in range(ends.n)]
        finally:
            free(copy)
            ends_free(&ends)

    cdef list _spans(self, text):
        """Return (start, end, is_gap) of each piece and gap of a text."""
        cdef Utf8 view
        cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0, 0, 0)
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
        """Count the pieces of a text, without gaps."""
        cdef Utf8 view
        cdef Ends ends = Ends(NULL, 0, 0, NULL, NULL, 0, 0, 0)
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
    """Splitter whose pieces are the matches of a compiled pattern of the `regex` package, and the text between
    them.

    It accepts any pattern, but holds the GIL. `regex` does not count steps, so a time limit bounds backtracking: a
    text, with all its pieces of an earlier splitter, may take REGEX_SECONDS plus REGEX_SECONDS_PER_BYTE per byte, in
    processor seconds. The time of this thread counts; within one call of split(), `regex` measures the time of all
    threads of the process. Beyond the limit, PatternError is raised. Ctrl-C interrupts a match.

    pattern: compiled pattern of `regex`.
    keep_gaps: bool – True: text between matches is a piece too; False: it is a gap.
    shown: str or None – the pattern for errors, as the user wrote it; None: as `regex` prints it.
    """

    def __init__(self, pattern, *, bint keep_gaps=True, str shown=None):
        self.holds_gil = True
        self._pattern = pattern
        self._shown = pattern.pattern if shown is None else shown
        self._gap_flag = 0 if keep_gaps else UNMATCHED

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        with gil:
            self._split(data, n, ends)
        return n

    cdef int _split(self, const uint8_t* data, size_t n, Ends* ends) except -1:
        cdef str text = PyUnicode_DecodeUTF8(<const char*> data, n, NULL)
        cdef Py_ssize_t at = 0, start, end
        cdef size_t at_byte = 0
        cdef double now = thread_time()
        ends.deadline = (ends.deadline or now + REGEX_SECONDS) + REGEX_SECONDS_PER_BYTE * n
        try:
            # Not findall(): its list of all pieces takes twelve times the memory of the text.
            for match in self._pattern.finditer(text, timeout=max(ends.deadline - now, 0)):  # below 0: none
                start, end = match.span()
                if start == end:
                    continue
                if start > at:
                    at_byte = _advance(data, at_byte, start - at)
                    ends_add(ends, at_byte | self._gap_flag)
                at_byte = _advance(data, at_byte, end - start)
                ends_add(ends, at_byte)
                at = end
        except TimeoutError:
            raise regex_limit_error(self._shown, offset_in_text(ends, data + at_byte)) from None
        if at_byte < n:
            ends_add(ends, n | self._gap_flag)
        return 0

    def __repr__(self):
        return "regex"


cdef inline size_t _advance(const uint8_t* data, size_t at, Py_ssize_t n_chars) noexcept nogil:
    """Return the offset n_chars characters after `at`. Requires: valid UTF-8, as decoding it has shown."""
    while n_chars:
        at += fb_char_bytes(data[at])
        n_chars -= 1
    return at

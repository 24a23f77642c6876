"""Splitters without a pattern: by the number of characters, by script, or by a text that is searched for."""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memchr, memcmp

from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.common.utf8 cimport fb_char_bytes, fb_char_within
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_add

cdef enum:
    N_BLOCKS = 0x1100  # blocks of 256 code points
    ANY = 0  # script number of characters that may follow any script


@cython.final
cdef class FixedLength(Splitter):
    """Splitter whose pieces have `length` characters, except that the last one has the rest.

    length: int – at least 1.
    """

    cdef readonly size_t length

    def __cinit__(self, size_t length):
        if not length:
            raise ValueError("a piece of 0 characters; the length must be at least 1")
        self.length = length

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef size_t n_chars = 0
        while True:
            at += fb_char_bytes(data[at])
            if at >= n:  # above n only after a truncated character, in bytes that are not UTF-8
                ends_add(ends, n)
                return n
            n_chars += 1
            if n_chars == self.length:
                ends_add(ends, at)
                n_chars = 0

    def __repr__(self):
        return f"every {self.length} characters"


@cython.final
cdef class ByScript(Splitter):
    """Splitter that begins a piece where the script changes. Text before the first script is a gap.

    index: bytes – for each block of 256 code points, the number of its row.
    rows: bytes – rows of 256 numbers, the script of each code point; 0: the character is in the piece of the
        text before it.
    """

    cdef tuple _owners
    cdef const uint8_t* _index
    cdef const uint8_t* _rows

    def __cinit__(self, bytes index not None, bytes rows not None):
        if len(index) != N_BLOCKS or len(rows) < 256 * (max(index) + 1):
            raise ValueError(f"index has {len(index)} blocks, not {N_BLOCKS}, or names a row beyond {len(rows)} bytes of rows")
        self._owners = index, rows
        self._index = <const uint8_t*> PyBytes_AS_STRING(index)
        self._rows = <const uint8_t*> PyBytes_AS_STRING(rows)

    def quiet_bytes(self):
        """Return a bool per byte: whether it is an ASCII letter, as all of these have the same script."""
        return bytes([byte < 128 and chr(byte).isalpha() for byte in range(256)])

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef size_t n_bytes
        cdef uint32_t c
        cdef uint8_t script, last = ANY
        while at < n:
            c = fb_char_within(data + at, n - at, &n_bytes)
            script = self._rows[<size_t> self._index[c >> 8] << 8 | (c & 0xFF)]
            if script != last and script != ANY:
                if at:
                    ends_add(ends, at | (UNMATCHED if last == ANY else 0))
                last = script
            at += n_bytes
        ends_add(ends, n | (UNMATCHED if last == ANY else 0))
        return n

    def __repr__(self):
        return "by script"


@cython.final
cdef class ByText(Splitter):
    """Splitter that finds a text, from left to right, without overlaps.

    text: bytes – UTF-8, not empty.
    how: "matches": each match is a piece, and all other text is a gap; "begins": a piece begins at each match;
        "runs": a piece begins at each match that is not directly after another.
    """

    cdef bytes _owner
    cdef const uint8_t* _text
    cdef size_t _n
    cdef bint _matches, _runs

    def __cinit__(self, bytes text not None, str how not None):
        if not text or how not in ("matches", "begins", "runs"):
            raise ValueError(
                f"text={text!r}, how={how!r}: text must not be empty, and how must be matches, begins or runs"
            )
        self._owner = text
        self._text, self._n = <const uint8_t*> PyBytes_AS_STRING(text), <size_t> len(text)
        self._matches, self._runs = how == "matches", how == "runs"

    def quiet_bytes(self):
        """Return a bool per byte: whether `text` begins with another byte. None if other text is a gap."""
        return None if self._matches else bytes([byte != self._text[0] for byte in range(256)])

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef size_t start = at, last = at  # start of the piece, and end of the last match
        cdef uint8_t first = self._text[0]
        cdef const uint8_t* found
        while at + self._n <= n:
            found = <const uint8_t*> memchr(data + at, first, n - self._n + 1 - at)
            if found == NULL:
                break
            at = <size_t> (found - data)
            if memcmp(found, self._text, self._n) != 0:
                at += 1
                continue
            if at > start and not (self._runs and at == last):
                ends_add(ends, at | (UNMATCHED if self._matches else 0))
            if self._matches:
                ends_add(ends, at + self._n)
                start = at + self._n
            else:
                start = at
            at += self._n
            last = at
        if start < n:
            ends_add(ends, n | (UNMATCHED if self._matches else 0))
        return n

    def __repr__(self):
        return f"by {self._owner.decode()!r}"

"""Rules about what sequences of characters become, read from a precompiled charsmap and checked.

It is a double-array trie of byte strings with, of each, the place of what it becomes. `charsmap` builds one.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from fastbpe.errors import FormatError

cdef enum:
    ABOVE = 1
    DONE = 2


@cython.final
cdef class Rules:
    """The rules of a charsmap, which is not empty; one that contradicts itself is a FormatError."""

    def __dealloc__(self):
        free(self.units)
        free(self.replacements)

    cdef int _load(self, bytes charsmap) except -1:
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(charsmap)
        cdef size_t n = <size_t> PyBytes_GET_SIZE(charsmap), n_trie, i
        n_trie = data[0] | data[1] << 8 | data[2] << 16 | <size_t> data[3] << 24 if n > 4 else 0
        if n_trie == 0 or n_trie % 1024 or n_trie + 4 >= n:
            raise FormatError(
                f"precompiled_charsmap: {n} bytes cannot hold a trie of {n_trie} bytes, which is to be a multiple of "
                "1024, and replacements after it"
            )
        if data[n - 1]:
            raise FormatError("precompiled_charsmap: the last replacement does not end with a NUL")
        self.n_units = n_trie // 4
        self.n_replacements = n - n_trie - 4
        self.units = <uint32_t*> malloc(n_trie)
        self.replacements = <uint8_t*> malloc(self.n_replacements)
        if self.units == NULL or self.replacements == NULL:
            raise MemoryError(f"no memory for a charsmap of {n} bytes")
        for i in range(self.n_units):
            self.units[i] = (
                data[4 + 4 * i] | data[5 + 4 * i] << 8 | data[6 + 4 * i] << 16 | <uint32_t> data[7 + 4 * i] << 24
            )
        memcpy(self.replacements, data + 4 + n_trie, self.n_replacements)
        return 0

    cdef int _index(self, uint8_t* starts) except -1:
        """Check that the trie is one, and mark the characters that rules begin with."""
        # The children of a unit are those whose place and label give the place that it points to. They are linked,
        # each by one more than its place; 0: no more.
        cdef size_t n_bytes = self.n_units * sizeof(uint32_t), bad
        cdef uint32_t* first = <uint32_t*> calloc(n_bytes, 1)
        cdef uint32_t* following = <uint32_t*> calloc(n_bytes, 1)
        cdef uint32_t* seen = <uint32_t*> calloc(n_bytes, 1)  # of a place: whether it is above us or done with
        cdef uint32_t* places = <uint32_t*> malloc(n_bytes)  # on the way down to where we are
        cdef uint32_t* todo = <uint32_t*> malloc(n_bytes)  # the children there that are still to be looked at
        try:
            if first == NULL or following == NULL or seen == NULL or places == NULL or todo == NULL:
                raise MemoryError("no memory to check the precompiled_charsmap")
            with nogil:
                self._link(first, following)
                bad = self._check(first, following, seen, places, todo)
            if bad:
                raise FormatError(f"precompiled_charsmap: unit {bad - 1} of the trie points outside or back to itself")
            with nogil:
                self._mark(first, following, starts)
        finally:
            free(first)
            free(following)
            free(seen)
            free(places)
            free(todo)
        return 0

    cdef void _link(self, uint32_t* first, uint32_t* following) noexcept nogil:
        cdef uint32_t label
        cdef size_t at, place
        for at in range(self.n_units):
            label = self.units[at] & LABEL
            if 1 <= label <= 255:
                place = at ^ label
                following[at] = first[place]
                first[place] = <uint32_t> at + 1

    cdef size_t _check(
        self, const uint32_t* first, const uint32_t* following, uint32_t* seen, uint32_t* places, uint32_t* todo
    ) noexcept nogil:
        """One more than a unit that points where it must not; 0 if none that can be reached does."""
        cdef size_t depth = 0, at = 0, place = below(self.units, 0)
        if place >= self.n_units:
            return 1
        places[0] = <uint32_t> place
        todo[0] = first[place]
        seen[place] = ABOVE
        while True:
            if todo[depth] == 0:
                seen[places[depth]] = DONE
                if depth == 0:
                    return 0
                depth -= 1
                continue
            at = todo[depth] - 1
            todo[depth] = following[at]
            place = below(self.units, at)
            if place >= self.n_units or seen[place] == ABOVE:
                return at + 1
            if self.units[at] & HAS_VALUE and (self.units[place] & VALUE) >= self.n_replacements:
                return at + 1
            if seen[place] != DONE:
                seen[place] = ABOVE
                depth += 1
                places[depth] = <uint32_t> place
                todo[depth] = first[place]

    cdef void _mark(self, const uint32_t* first, const uint32_t* following, uint8_t* starts) noexcept nogil:
        cdef uint32_t at = first[below(self.units, 0)], lead
        while at:
            lead = self.units[at - 1] & LABEL
            if 0xC2 <= lead < 0xE0:
                self._mark_below(first, following, at - 1, 1, lead & 0x1F, starts)
            elif 0xE0 <= lead < 0xF0:
                self._mark_below(first, following, at - 1, 2, lead & 0x0F, starts)
            elif 0xF0 <= lead < 0xF5:
                self._mark_below(first, following, at - 1, 3, lead & 0x07, starts)
            at = following[at - 1]

    cdef void _mark_below(
        self, const uint32_t* first, const uint32_t* following, size_t at, int n_left, uint32_t c, uint8_t* starts
    ) noexcept nogil:
        """Mark the characters that a rule begins with, from the unit of their first bytes, which make c."""
        cdef uint32_t child, byte
        if n_left == 0 or self.units[at] & HAS_VALUE:
            mark_characters(starts, c, n_left)
            return
        child = first[below(self.units, at)]
        while child:
            byte = self.units[child - 1] & LABEL
            if byte >> 6 == 2:
                self._mark_below(first, following, child - 1, n_left - 1, c << 6 | (byte & 0x3F), starts)
            child = following[child - 1]

    cdef uint8_t of_ascii(self, uint8_t c) noexcept nogil:
        """The ASCII that a character becomes where ASCII or nothing follows; LOOK: it takes more to say that."""
        cdef size_t at, place, i
        cdef const uint8_t* to
        if c == 0:
            return c
        at = below(self.units, 0) ^ c
        if at >= self.n_units or self.units[at] & LABEL != c:
            return c
        place = below(self.units, at)
        for i in range(1, 128):
            if place ^ i < self.n_units and self.units[place ^ i] & LABEL == i:
                return LOOK  # a rule for two ASCII characters and more
        if not self.units[at] & HAS_VALUE:
            return c
        to = self.replacements + (self.units[place] & VALUE)
        return to[0] if 0 < to[0] < 0x80 and to[1] == 0 else LOOK


cdef Rules read_rules(bytes charsmap, uint8_t* starts):
    """The rules of a charsmap; starts: gets a bit for each character that one of them begins with."""
    cdef Rules rules = Rules()
    rules._load(charsmap)
    rules._index(starts)
    return rules


cdef void mark_characters(uint8_t* starts, uint32_t c, int n_left) noexcept nogil:
    cdef uint32_t i
    c <<= 6 * n_left
    for i in range(c, c + (<uint32_t> 1 << 6 * n_left)):
        starts[i >> 3] |= <uint8_t> (1 << (i & 7))

"""Rules about what sequences of characters become, read from a precompiled charsmap and checked.

It is a double-array trie of byte strings with, of each, the place of what it becomes. `charsmap` builds one.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strlen

from fastbpe._core.text.utf8_text cimport first_invalid

from fastbpe.errors import FormatError

cdef enum:
    ABOVE = 1
    DONE = 2
    MAX_STEPS = 1 << 20  # along the keys of a charsmap

cdef struct Level:
    # On a walk down a trie.
    size_t place
    uint32_t todo  # one more than the place of the child that is next
    bint has_blanks


cdef extern from "simd/classes.h" nogil:
    unsigned FB_LETTERS
    unsigned FB_BLANKS
    unsigned fb_class_at(const uint8_t* p, size_t* n_bytes)
    bint FB_IS(unsigned cls, unsigned set)


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


def letters_stay(Rules rules not None):
    """Tell whether every letter before a space ends a word, and the space begins the next.

    Then no rule has a space, and what becomes of a sequence that ends in a letter ends in a
    character other than white space.
    """
    cdef size_t n = rules.n_units + 1
    cdef uint32_t* first = <uint32_t*> calloc(n, sizeof(uint32_t))
    cdef uint32_t* following = <uint32_t*> calloc(n, sizeof(uint32_t))
    cdef Level* levels = <Level*> malloc(n * sizeof(Level))
    cdef uint8_t* key = <uint8_t*> malloc(n)
    cdef uint8_t* is_done = <uint8_t*> calloc(n, 1)
    cdef bint stay
    try:
        if first == NULL or following == NULL or levels == NULL or key == NULL or is_done == NULL:
            raise MemoryError("no memory to look through the precompiled_charsmap")
        with nogil:
            rules._link(first, following)
            stay = _letters_stay(rules, first, following, levels, key, is_done)
    finally:
        free(first)
        free(following)
        free(levels)
        free(key)
        free(is_done)
    return stay


cdef bint _letters_stay(
    Rules rules, const uint32_t* first, const uint32_t* following, Level* levels, uint8_t* key, uint8_t* is_done
) noexcept nogil:
    """The same, by a walk along the keys; False if that takes too long.

    Keys share their ends: a place below which nothing becomes white space or nothing is not entered again.
    """
    cdef size_t depth = 0, at, place, n_steps = 0
    cdef Level* level = levels
    place = below(rules.units, 0)
    level[0] = Level(place, first[place], False)
    while n_steps < MAX_STEPS:
        n_steps += 1
        if level.todo == 0:
            is_done[level.place] = not level.has_blanks
            if depth == 0:
                return True
            depth -= 1
            levels[depth].has_blanks |= level.has_blanks
            level = &levels[depth]
            continue
        at = level.todo - 1
        level.todo = following[at]
        key[depth] = <uint8_t> (rules.units[at] & LABEL)
        if key[depth] == 0x20:
            return False
        place = below(rules.units, at)
        if rules.units[at] & HAS_VALUE and _ends_in_blank(rules.replacements + (rules.units[place] & VALUE)):
            if _last_class(key, depth + 1, FB_LETTERS):
                return False
            level.has_blanks = True
        if not is_done[place]:
            depth += 1
            level = &levels[depth]
            level[0] = Level(place, first[place], False)
    return False


cdef inline bint _last_class(const uint8_t* text, size_t n, unsigned classes) noexcept nogil:
    """Tell whether the last character of a text, not empty, is of these classes; True of what is no UTF-8."""
    cdef size_t at = n - 1, n_bytes
    while at and text[at] & 0xC0 == 0x80:
        at -= 1
    return first_invalid(text + at, n - at) < n - at or FB_IS(fb_class_at(text + at, &n_bytes), classes)


cdef inline bint _ends_in_blank(const uint8_t* text) noexcept nogil:
    """Tell whether a text is empty or ends in white space or U+2581, which stands for it."""
    cdef size_t n = strlen(<const char*> text)
    if n == 0 or n >= 3 and text[n - 3] == 0xE2 and text[n - 2] == 0x96 and text[n - 1] == 0x81:
        return True
    return _last_class(text, n, FB_BLANKS)


cdef void mark_characters(uint8_t* starts, uint32_t c, int n_left) noexcept nogil:
    cdef uint32_t i
    c <<= 6 * n_left
    for i in range(c, c + (<uint32_t> 1 << 6 * n_left)):
        starts[i >> 3] |= <uint8_t> (1 << (i & 7))

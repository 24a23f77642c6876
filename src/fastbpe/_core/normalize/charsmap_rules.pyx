"""Read and check the rules of a precompiled charsmap: each replaces a sequence of characters by another one.

A charsmap contains a double-array trie of the sequences (see charsmap_builder.pyx, which builds one) and the
replacements, each followed by a NUL. A sequence's value is the offset of its replacement.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strlen

from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.common.utf8 cimport is_metaspace
from fastbpe._core.text.utf8_text cimport first_invalid

from fastbpe.errors import FormatError

cdef enum:
    ABOVE = 1  # state of a base in _check: on the path from the root
    DONE = 2  # state of a base in _check: everything below it is checked
    MAX_STEPS = 1 << 20  # steps of the walk, down or up, after which _words_stay gives up


cdef struct Level:
    # One unit of the path of a depth-first walk.
    size_t base
    uint32_t todo  # 1 + the next child; 0: no more
    bint has_blanks  # a replacement below ends in white space or is empty


cdef extern from "simd/classes.h" nogil:
    unsigned FB_LETTERS_AND_NUMBERS
    unsigned FB_BLANKS
    unsigned fb_class_at(const uint8_t* p, size_t* n_bytes)
    bint FB_IS(unsigned cls, unsigned set)


@cython.final
cdef class Rules:
    """The rules of a charsmap, which is not empty. An inconsistent charsmap raises FormatError."""

    def __dealloc__(self):
        free(self.units)
        free(self.replacements)

    cdef int _load(self, bytes charsmap) except -1:
        """Copy units and replacements from a charsmap."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(charsmap)
        cdef size_t n = <size_t> PyBytes_GET_SIZE(charsmap), n_trie, i
        n_trie = data[0] | data[1] << 8 | data[2] << 16 | <size_t> data[3] << 24 if n > 4 else 0
        if n_trie == 0 or n_trie % 1024 or n_trie + 4 >= n:  # 1024: 256 units, one per value of a byte
            raise FormatError(
                f"precompiled_charsmap: {n} bytes do not contain a trie of {n_trie} bytes, which must be a "
                "positive multiple of 1024, and replacements after it"
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
        """Check the trie, and mark the characters outside ASCII that rules begin with.

        starts: bits by character number, initially all 0.

        Ensures: no reachable unit points outside the trie or back to a unit above it; no value is out of range;
        are_utf8 is set.
        """
        # Children are found by their base: unit `at` with label L is a child of the base at ^ L. first[base] and
        # following[child] link the children of a base, each stored as its index plus 1; 0 ends the list.
        cdef size_t n_bytes = self.n_units * sizeof(uint32_t), bad
        cdef uint32_t* first = <uint32_t*> calloc(n_bytes, 1)
        cdef uint32_t* following = <uint32_t*> calloc(n_bytes, 1)
        cdef uint32_t* seen = <uint32_t*> calloc(n_bytes, 1)  # state of each base: 0, ABOVE or DONE
        cdef uint32_t* bases = <uint32_t*> malloc(n_bytes)  # bases on the path from the root
        cdef uint32_t* todo = <uint32_t*> malloc(n_bytes)  # for each of these bases, 1 + the next child
        try:
            self.are_utf8 = first_invalid(self.replacements, self.n_replacements) == self.n_replacements
            if first == NULL or following == NULL or seen == NULL or bases == NULL or todo == NULL:
                raise MemoryError("no memory to check the precompiled_charsmap")
            with nogil:
                self._link(first, following)
                bad = self._check(first, following, seen, bases, todo)
            if bad:
                raise FormatError(
                    f"precompiled_charsmap: unit {bad - 1} of the trie points outside the trie or the replacements, "
                    "or closes a loop"
                )
            with nogil:
                self._mark(first, following, starts)
        finally:
            free(first)
            free(following)
            free(seen)
            free(bases)
            free(todo)
        return 0

    cdef void _link(self, uint32_t* first, uint32_t* following) noexcept nogil:
        """Link the children of each base: see _index."""
        cdef uint32_t label
        cdef size_t at, base
        for at in range(self.n_units):
            label = self.units[at] & LABEL
            if 1 <= label <= 255:
                base = at ^ label
                following[at] = first[base]
                first[base] = <uint32_t> at + 1

    cdef size_t _check(
        self, const uint32_t* first, const uint32_t* following, uint32_t* seen, uint32_t* bases, uint32_t* todo
    ) noexcept nogil:
        """Return 1 + a reachable unit that points to an invalid place; 0 if all places are valid.

        Clears are_utf8 if a replacement begins inside a character.
        """
        cdef size_t depth = 0, at = 0, base = below(self.units, 0)
        if base >= self.n_units:
            return 1
        bases[0] = <uint32_t> base
        todo[0] = first[base]
        seen[base] = ABOVE
        while True:
            if todo[depth] == 0:
                seen[bases[depth]] = DONE
                if depth == 0:
                    return 0
                depth -= 1
                continue
            at = todo[depth] - 1
            todo[depth] = following[at]
            base = below(self.units, at)
            if base >= self.n_units or seen[base] == ABOVE:
                return at + 1
            if self.units[at] & HAS_VALUE:
                if (self.units[base] & VALUE) >= self.n_replacements:
                    return at + 1
                if self.replacements[self.units[base] & VALUE] >> 6 == 2:
                    self.are_utf8 = False
            if seen[base] != DONE:
                seen[base] = ABOVE
                depth += 1
                bases[depth] = <uint32_t> base
                todo[depth] = first[base]

    cdef void _mark(self, const uint32_t* first, const uint32_t* following, uint8_t* starts) noexcept nogil:
        """Mark the characters outside ASCII that rules begin with."""
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
        """Mark the characters that rules below a unit begin with. c: the bits of the bytes read so far."""
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
        """Return the ASCII character that replaces an ASCII character if ASCII or nothing follows.

        LOOK: the character alone does not decide, or the replacement is not a single ASCII character.
        """
        cdef size_t at, base, i
        cdef const uint8_t* to
        at = below(self.units, 0) ^ c
        if c == 0 or self.units[at] & LABEL != c:  # keys have no NUL; a unit that no node uses may have the label 0
            return c
        base = below(self.units, at)
        for i in range(1, 128):
            if self.units[base ^ i] & LABEL == i:
                return LOOK  # a rule for two or more ASCII characters
        if not self.units[at] & HAS_VALUE:
            return c
        to = self.replacements + (self.units[base] & VALUE)
        return to[0] if 0 < to[0] < 0x80 and to[1] == 0 else LOOK


cdef Rules read_rules(bytes charsmap, uint8_t* starts):
    """Read the rules of a charsmap, and set a bit in `starts` for each character that a rule begins with.

    Sets no bits for ASCII characters.
    """
    cdef Rules rules = Rules()
    rules._load(charsmap)
    rules._index(starts)
    return rules


def words_stay(Rules rules not None):
    """Tell whether every letter or number before a space ends a word, and the space begins the next.

    This holds if no rule is for a sequence with a space, and if the sequences that end in a letter or number have
    replacements that end in a character other than white space.
    """
    cdef size_t n = rules.n_units  # as in _index, no path is longer: its bases are different units
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
            stay = _words_stay(rules, first, following, levels, key, is_done)
    finally:
        free(first)
        free(following)
        free(levels)
        free(key)
        free(is_done)
    return stay


cdef bint _words_stay(
    Rules rules, const uint32_t* first, const uint32_t* following, Level* levels, uint8_t* key, uint8_t* is_done
) noexcept nogil:
    """Do the work of words_stay by a depth-first walk along the keys; return False after MAX_STEPS.

    Keys share their ends: a base is not entered again if no replacement below it is empty or ends in white space.
    """
    cdef size_t depth = 0, at, base, n_steps = 0
    cdef Level* level = levels
    base = below(rules.units, 0)
    level[0] = Level(base, first[base], False)
    while n_steps < MAX_STEPS:
        n_steps += 1
        if level.todo == 0:
            is_done[level.base] = not level.has_blanks
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
        base = below(rules.units, at)
        if rules.units[at] & HAS_VALUE and _ends_in_blank(rules.replacements + (rules.units[base] & VALUE)):
            if _last_class(key, depth + 1, FB_LETTERS_AND_NUMBERS):
                return False
            level.has_blanks = True
        if not is_done[base]:
            depth += 1
            level = &levels[depth]
            level[0] = Level(base, first[base], False)
    return False


cdef inline bint _last_class(const uint8_t* text, size_t n, unsigned classes) noexcept nogil:
    """Tell whether the last character of a non-empty text has one of these classes; True if it is not UTF-8."""
    cdef size_t at = n - 1, n_bytes
    while at and text[at] & 0xC0 == 0x80:
        at -= 1
    return first_invalid(text + at, n - at) < n - at or FB_IS(fb_class_at(text + at, &n_bytes), classes)


cdef inline bint _ends_in_blank(const uint8_t* text) noexcept nogil:
    """Tell whether a text is empty or ends in white space, or in U+2581, which stands for white space."""
    cdef size_t n = strlen(<const char*> text)
    if n == 0 or n >= 3 and is_metaspace(text + n - 3, 3):
        return True
    return _last_class(text, n, FB_BLANKS)


cdef void mark_characters(uint8_t* starts, uint32_t c, int n_left) noexcept nogil:
    cdef uint32_t i
    c <<= 6 * n_left
    for i in range(c, c + (<uint32_t> 1 << 6 * n_left)):
        starts[i >> 3] |= <uint8_t> (1 << (i & 7))

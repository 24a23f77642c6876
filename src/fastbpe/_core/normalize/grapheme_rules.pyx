"""tokenizers' Precompiled in Cython: the rules of a charsmap, applied grapheme by grapheme.

A grapheme of two or more characters and fewer than six bytes may be replaced as a whole; other characters are
replaced one by one. Such a grapheme contains two neighbours that together have fewer than six bytes, and the second
of them joins the first, or the first belongs to what follows it; or it is "\\r\\n". So text is cut where a grapheme
ends for certain, and only parts with such neighbours, as in "e\\u0301", are cut into graphemes by Python. Characters
that no rule and no neighbour can change, which are most of a text, are skipped by their class.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport strlen

from fastbpe._core.common.byte_buffer cimport Buffer, buffer_add
from fastbpe._core.common.places cimport Places, places_reserve
from fastbpe._core.common.utf8 cimport fb_char_bytes, fb_char_within
from fastbpe._core.normalize.charsmap_rules cimport (
    HAS_VALUE, LABEL, LOOK, N_CHARACTERS, VALUE, Rules, below, read_rules,
)
from fastbpe._core.normalize.class_pages cimport ClassPages, class_of, fill_pages
from fastbpe._core.normalize.text_steps cimport TextStep, keep_text, put_changed

cdef enum:
    # Classes of characters, by how they continue a grapheme.
    JOINING = 1  # belongs to the grapheme before
    PREPENDED = 2  # belongs to the grapheme after
    JOINED = 4  # a consonant or pictograph: a joining character may tie it to the grapheme before
    HANGUL = 8  # two neighbours may be one grapheme
    FLAG = 16  # two neighbours may be one grapheme
    RULED = 32  # a rule begins with it
    MAX_BYTES = 5  # of a grapheme that is replaced as a whole
    N_CODE_POINTS = 0x110000


cdef struct Written:
    # Output of the step so far.
    Buffer* out
    Places* places  # NULL: not requested
    size_t kept  # text from here on is not written yet; 0: nothing has been replaced
    size_t n_last  # bytes of the last character of `out`, if it ends a replacement longer than its source; else 0
    bint is_shifted  # the first characters are removed: tokenizers does not count them, which shifts the places


@cython.final
cdef class GraphemeRules(TextStep):
    """Step that applies the rules of a charsmap.

    charsmap: bytes – precompiled charsmap. An inconsistent one raises FormatError.
    classes: list of (first, last, class) – code points of a range, and a class of its characters: JOINING to FLAG.
    parts: callable – parts(str) yields (source, replacement) of each grapheme or character.
    sources: callable – sources(str) returns for each character of the changed str the index of its source.

    Attributes:
        are_utf8: bool – each replacement is UTF-8; otherwise the step must not be used.
    """

    cdef readonly object parts, sources
    cdef readonly bint are_utf8
    cdef Rules _rules
    cdef ClassPages _pages
    cdef uint8_t[0x80] _ascii  # the ASCII character itself if it stays; otherwise LOOK

    def __cinit__(self, bytes charsmap not None, classes, parts not None, sources not None):
        cdef uint32_t c
        cdef uint8_t what
        cdef uint8_t* starts = <uint8_t*> calloc(N_CHARACTERS // 8, 1)
        if starts == NULL:
            raise MemoryError("no memory to check the precompiled_charsmap")
        try:
            self._rules = read_rules(charsmap, starts)
            fill_pages(&self._pages, [*classes, *_ruled(starts)])
        finally:
            free(starts)
        self.are_utf8 = self._rules.are_utf8
        self.parts, self.sources = parts, sources
        for c in range(0x80):
            what = <uint8_t> c
            self._ascii[c] = what if _rule_of(self._rules, &what, 1) == NULL else LOOK
        self._ascii[0x0D] = LOOK  # "\r\n" is one grapheme

    def __dealloc__(self):
        free(self._pages.classes)

    cdef inline uint8_t _class(self, uint32_t character) noexcept nogil:
        """Return a character's class."""
        return <uint8_t> class_of(&self._pages, character)

    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1 nogil:
        cdef Written to
        cdef size_t at = self._kept_end(data, n, 0), end
        cdef bint is_short = False
        if at == n:
            return False
        out.n = 0
        if places != NULL:
            places.n = 0
        to.out, to.places, to.kept, to.n_last, to.is_shifted = out, places, 0, 0, False
        while at < n:
            end = self._break_after(data, n, at, &is_short)
            if is_short:
                with gil:
                    self._add_parts(data, at, end, &to)
            else:
                self._add_characters(data, at, end, &to)
            if places != NULL and to.is_shifted:
                with gil:
                    return _change(self, data, n, out, places)
            at = self._kept_end(data, n, end)
        if to.kept:
            keep_text(data, to.kept, n, out, places)
        return to.kept > 0

    cdef size_t _kept_end(self, const uint8_t* data, size_t n, size_t at) noexcept nogil:
        """Return the end of the characters from `at` on that stay, before one that others may join.

        Requires: a grapheme begins at `at`. Ensures: so does one at the result.
        """
        cdef size_t last = at, n_bytes
        cdef uint8_t what
        while at < n:
            if data[at] < 0x80:
                if self._ascii[data[at]] != data[at]:
                    return at
                last = at
                at += 1
                continue
            what = self._class(fb_char_within(data + at, n - at, &n_bytes))
            if what:
                return last if what & JOINING else at
            last = at
            at += n_bytes
        return n

    cdef size_t _break_after(self, const uint8_t* data, size_t n, size_t at, bint* is_short) noexcept nogil:
        """Return the next offset after `at` where a grapheme ends for certain.

        is_short: receives whether a grapheme before that offset may consist of several characters and have fewer
            than six bytes.

        Requires: a grapheme begins at `at`.
        """
        cdef size_t n_before, n_bytes
        cdef uint32_t c = fb_char_within(data + at, n - at, &n_before)
        cdef uint8_t before = self._class(c), what
        cdef bint is_return = c == 0x0D
        is_short[0] = False
        at += n_before
        while at < n:
            c = fb_char_within(data + at, n - at, &n_bytes)
            what = self._class(c)
            if what & JOINING or before & PREPENDED or (is_return and c == 0x0A):
                is_short[0] |= n_before + n_bytes <= MAX_BYTES
            elif not (before & JOINING and what & JOINED or before & what & (HANGUL | FLAG)):
                break
            at += n_bytes
            before, n_before, is_return = what, n_bytes, c == 0x0D
        return at

    cdef int _add_characters(self, const uint8_t* data, size_t at, size_t end, Written* to) except -1 nogil:
        """Replace each character of data[at:end] that has a rule."""
        cdef const uint8_t* becomes
        cdef size_t n_bytes
        while at < end:
            n_bytes = min(fb_char_bytes(data[at]), end - at)
            becomes = _rule_of(self._rules, data + at, n_bytes)
            if becomes != NULL:
                self._add(data, at, at + n_bytes, becomes, strlen(<const char*> becomes), to)
            at += n_bytes
        return 0

    cdef int _add_parts(self, const uint8_t* data, size_t at, size_t end, Written* to) except -1:
        """Replace the graphemes of data[at:end], or their characters, as `parts` says."""
        cdef str source, target
        cdef bytes made
        cdef size_t n_bytes
        for source, target in self.parts((<const char*> data)[at:end].decode("utf-8")):
            n_bytes = <size_t> len(source.encode())
            made = target.encode()
            self._add(data, at, at + n_bytes, made, <size_t> len(made), to)
            at += n_bytes
        return 0

    cdef int _add(
        self, const uint8_t* data, size_t at, size_t end, const uint8_t* becomes, size_t n, Written* to
    ) except -1 nogil:
        """Append `becomes`, the replacement of data[at:end].

        Each character of `becomes` comes from the character at its index in data[at:end], or from the last one
        there. One exception, as in tokenizers: if `becomes` has more characters than data[at:end], and a rule
        removes the next character of the text, the last character of `becomes` comes from that one.
        """
        cdef Places* places = to.places
        cdef size_t i, place = at, following
        keep_text(data, to.kept, at, to.out, places)
        if to.kept < at:
            to.n_last = 0
        to.kept = end
        if n == 0 and to.out.n == 0:
            to.is_shifted = True
        buffer_add(to.out, becomes, n)
        if places == NULL:
            return 0
        if n == 0:
            for i in range(places.n - to.n_last, places.n):
                places.items[i] = at
            to.n_last = 0
            return 0
        places_reserve(places, n)
        to.n_last = 0
        for i in range(n):
            if i and becomes[i] & 0xC0 != 0x80:
                following = place + fb_char_bytes(data[place])
                if following < end:
                    place = following
                else:
                    to.n_last = n - i
            places.items[places.n] = place
            places.n += 1
        return 0


cdef list _ruled(const uint8_t* starts):
    """Return (first, last, RULED) of the characters whose bits are set.

    A rule for the byte F4 alone also sets bits from U+110000 on. These are no characters.
    """
    cdef list found = []
    cdef uint32_t c = 0, first
    while c < N_CODE_POINTS:
        if starts[c // 8] == 0:
            c += 8
        elif starts[c // 8] >> c % 8 & 1:
            first = c
            while c < N_CODE_POINTS and starts[c // 8] >> c % 8 & 1:
                c += 1
            found.append((first, c - 1, RULED))
        else:
            c += 1
    return found


cdef const uint8_t* _rule_of(Rules rules, const uint8_t* character, size_t n) noexcept nogil:
    """Return the replacement of the rule with the shortest source that a character of n bytes begins with, or NULL.

    Requires: as for longest_rule().
    """
    cdef size_t unit = 0, i, child
    for i in range(n):
        child = below(rules.units, unit) ^ character[i]
        if character[i] == 0 or rules.units[child] & LABEL != character[i]:
            return NULL
        unit = child
        if rules.units[unit] & HAS_VALUE:
            return rules.replacements + (rules.units[below(rules.units, unit)] & VALUE)
    return NULL


cdef bint _change(GraphemeRules step, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1:
    """Change a text, with the places that Python computes."""
    cdef str text = (<const char*> data)[:n].decode("utf-8")
    cdef str changed = "".join([target for _, target in step.parts(text)])
    out.n = places.n = 0
    put_changed(changed.encode(), step.sources(text), data, 0, out, places)
    return True

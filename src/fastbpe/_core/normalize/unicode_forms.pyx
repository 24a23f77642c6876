"""Unicode's normalization forms, with the place of origin of each character."""

cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free

from fastbpe._core.common.atomics cimport is_set, set_flag
from fastbpe._core.common.byte_buffer cimport Buffer, buffer_free
from fastbpe._core.common.hashing cimport load64
from fastbpe._core.common.places cimport Places, places_free
from fastbpe._core.normalize.class_pages cimport class_of, fill_pages
from fastbpe._core.normalize.text_steps cimport Mapped, TextStep, keep_text, put_changed
from fastbpe._core.text.utf8_text cimport Text, Utf8, text_unit, utf8_of, utf8_release
from fastbpe._core.common.utf8 cimport fb_char_within

import unicodedata

# A character's class: its canonical combining class in the low bits, and these flags.
cdef enum:
    ORDER = 0xFF  # mask of the combining class
    FORWARD = 0x100  # may compose with a character after it
    MAYBE = 0x200  # may compose with a character before it: the quick check answers Maybe
    NO = 0x400  # always changes: the quick check answers No


cdef inline bint _begins_with_mark(uint32_t c) noexcept nogil:
    """Tell whether a character of combining class 0 decomposes to text that begins with another class.

    These are three Tibetan vowel signs and the two half-width voicing marks.
    """
    return c == 0xF73 or c == 0xF75 or c == 0xF81 or c == 0xFF9E or c == 0xFF9F


@cython.final
cdef class Form(TextStep):
    """One of Unicode's normalization forms (UAX #15), restricted to given characters: all others do not change.

    A quick check finds the stretches that may not be in the form yet; Python's `unicodedata` is called only for
    these, a few characters each. `unicodedata` knows all characters that tokenizers knows, and Unicode never
    changes a character's normalization.

    name: "NFC", "NFD", "NFKC" or "NFKD".
    characters: list of (first, last, class) – code points of a range, and bits of the class of its characters.
    """

    def __cinit__(self, str name not None, characters):
        self.name = name
        self._decomposes = name in ("NFD", "NFKD")
        fill_pages(&self._pages, list(characters))

    def __dealloc__(self):
        free(self._pages.classes)

    cdef inline uint16_t _class(self, uint32_t character) noexcept nogil:
        """Return a character's class."""
        return class_of(&self._pages, character)

    cdef bint _next(self, const uint8_t* data, size_t n, size_t at, size_t* start, size_t* end) noexcept nogil:
        """Find the next stretch that may have to change, from data[at] on; return False at the end.

        start, end: receive the stretch. Characters outside do not interact with those inside.

        Requires: no character before `at` interacts with those after it.
        """
        cdef size_t begin = at, n_bytes  # begin: last starter, or the first mark after it if it composes with none
        cdef uint16_t what, starter = 0, order = 0
        cdef uint32_t c
        while at < n:
            if data[at] < 0x80:
                # Skip ASCII up to the last one before other characters, which may compose with it.
                while n - at >= 9 and not load64(data + at + 1) & 0x8080808080808080ULL:
                    at += 8
                begin = at
                starter = self._class(data[at])
                order = 0
                at += 1
                continue
            c = fb_char_within(data + at, n - at, &n_bytes)
            what = self._class(c)
            if what & NO or (what & ORDER and what & ORDER < order) or (what & MAYBE and starter & FORWARD):
                # The previous character may be newer than these tables: begin there only if it can interact.
                start[0] = begin if starter & FORWARD or order else at
                end[0] = self._segment_end(data, n, at + n_bytes)
                return True
            if what & ORDER:
                if not order and not starter & FORWARD:
                    begin = at
                order = what & ORDER
            else:
                begin = at
                starter = what
                order = 0
            at += n_bytes
        return False

    cdef size_t _segment_end(self, const uint8_t* data, size_t n, size_t at) noexcept nogil:
        """Return the end of the stretch: the next character that cannot interact with any before it."""
        cdef size_t n_bytes
        while at < n and self._class(fb_char_within(data + at, n - at, &n_bytes)) & ~FORWARD:
            at += n_bytes
        return at

    cdef bint map_ascii(self, uint8_t* table) noexcept nogil:
        return self._decomposes  # ASCII does not change; no mark moves before it or composes with it

    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1 nogil:
        """Normalize a text; return False, without output, if the quick check finds it in the form already.

        out: receives the text in the form, if the result is True.
        places: NULL, or receives the offset that each byte of `out` comes from.
        """
        cdef size_t at = 0, start, end
        out.n = 0
        if not self._next(data, n, 0, &start, &end):
            return False
        if places != NULL:
            places.n = 0
        with gil:
            while True:
                keep_text(data, at, start, out, places)
                self._add_normal(data, start, end, out, places)
                at = end
                if not self._next(data, n, at, &start, &end):
                    break
            keep_text(data, at, n, out, places)
        return True

    cdef int _add_normal(
        self, const uint8_t* data, size_t start, size_t end, Buffer* out, Places* places
    ) except -1:
        cdef str text, made
        if self._decomposes and self._has_no_mark(data, start, end):
            return self._decompositions().add(data, start, end, out, places)
        text = (<const char*> data)[start:end].decode("utf-8")
        if places == NULL and (len(text) <= LONG_RUN or not _has_long_run(self.name, text)):
            made, sources = unicodedata.normalize(self.name, text), None
        else:
            _make_caches()
            made, sources = (_known if len(text) <= MAX_KNOWN_CHARACTERS else _with_sources)(self.name, text)
        return put_changed(made.encode(), sources, data, start, out, places)

    cdef bint _has_no_mark(self, const uint8_t* data, size_t start, size_t end) noexcept nogil:
        """Tell whether no character of a stretch is a mark or begins with one when decomposed.

        If so, no character moves, and each is decomposed separately.
        """
        cdef size_t n_bytes
        cdef uint32_t c
        while start < end:
            c = fb_char_within(data + start, end - start, &n_bytes)
            if self._class(c) & ORDER or _begins_with_mark(c):
                return False
            start += n_bytes
        return True

    cdef Mapped _decompositions(self):
        """Return the step that decomposes single characters; the first call makes it, of all code points."""
        cdef uint32_t c
        cdef Mapped made
        if not is_set(&self._has_mapped):
            made = Mapped({
                c: unicodedata.normalize(self.name, chr(c)) for c in range(0x110000) if self._class(c) & NO
            }, (), ())
            with cython.critical_section(self):
                if not is_set(&self._has_mapped):
                    self._mapped = made
                    set_flag(&self._has_mapped)
        return self._mapped

    cdef bint keeps_before(self, const Text* text, size_t at) noexcept nogil:
        """Tell whether the character before unit `at` is neither a combining mark nor one that always changes."""
        cdef size_t i = at - 1, n_bytes
        cdef uint32_t c
        if text.is_utf8:
            while (<const uint8_t*> text.data)[i] & 0xC0 == 0x80:
                i -= 1
            c = fb_char_within(<const uint8_t*> text.data + i, at - i, &n_bytes)
        else:
            c = text_unit(text, i)
        return not self._class(c) & (NO | ORDER)

    def normalize(self, text):
        """Return the UTF-8 of a text in the form."""
        cdef Utf8 view
        cdef Buffer out = Buffer(NULL, 0, 0)
        utf8_of(text, &view)
        try:
            if self.apply(view.data, view.n, &out, NULL):
                return (<const char*> out.items)[:out.n]
            return (<const char*> view.data)[:view.n]
        finally:
            buffer_free(&out)
            utf8_release(&view)

    def sources(self, text):
        """Return, for each character of `normalize(text)`, the index of the character of the text that it comes
        from.

        None: the quick check finds that the text does not change.
        """
        cdef Utf8 view
        cdef Buffer out = Buffer(NULL, 0, 0)
        cdef Places places = Places(NULL, 0, 0)
        cdef list sources = []
        cdef size_t i, at = 0, character = 0
        utf8_of(text, &view)
        try:
            if not self.apply(view.data, view.n, &out, &places):
                return None
            for i in range(out.n):
                if out.items[i] & 0xC0 != 0x80:
                    while at < places.items[i]:
                        at += 1
                        character += view.data[at] & 0xC0 != 0x80
                    sources.append(character)
            return sources
        finally:
            buffer_free(&out)
            places_free(&places)
            utf8_release(&view)


# Sources of normalized text

cdef enum:
    MAX_KNOWN_CHARACTERS = 16  # longest text, in characters, whose normalization is kept in an LRU cache
    LONG_RUN = 256  # consecutive combining marks: unicodedata uses insertion sort, so a million would take hours


def _with_sources(str name, str text):
    """Return a text in a form, and for each character the index of the character it comes from.

    The indices are the same as in tokenizers. The result of one character has the index of that character; if
    several compose, the result has the index of the first. Characters that are reordered leave the indices where
    they are.
    """
    cdef list made = [], used = []  # characters, and how many characters of the text each replaces
    cdef str compatible = "NFKD" if "K" in name else "NFD"
    for character in text:
        parts = _decomposed(compatible, character)
        made += parts
        used.append(1)
        used += [0] * (len(parts) - 1)
    _sort(made, used)
    if name in ("NFC", "NFKC"):
        _compose(made, used)
    sources = []
    at = 0
    for n_used in used:
        sources.append(at if n_used else max(at - 1, 0))
        at += n_used
    return "".join(made), sources


_known = _decomposed = None  # caches of the two functions; the first call makes them


cdef int _make_caches() except -1:
    """Make the caches unless there are some."""
    global _decomposed, _known
    if _known is None:
        from functools import lru_cache  # here: importing it takes time, and few models need it

        _decomposed = lru_cache(1 << 12)(_decompose)
        _known = lru_cache(1 << 12)(_with_sources)  # set last, because other threads check it first
    return 0


cdef bint _has_long_run(str name, str text) except -1:
    """Tell whether LONG_RUN consecutive characters of a text are marks or begin with one when decomposed."""
    cdef str compatible = "NFKD" if "K" in name else "NFD"
    _make_caches()
    marks = [c for c in set(text) if unicodedata.combining(_decomposed(compatible, c)[0])]
    if not marks:
        return False
    import re  # here: few texts have such marks

    return re.search("[%s]{%d}" % ("".join(map(re.escape, marks)), LONG_RUN), text) is not None


def _decompose(name, character):
    """Return the characters that a character decomposes to."""
    return [*unicodedata.normalize(name, character)]


cdef int _sort(list made, list used) except -1:
    """Sort the characters after each starter by combining class (the canonical ordering algorithm)."""
    cdef Py_ssize_t start = 0, end, n = len(made)
    combining = unicodedata.combining
    while start < n:
        end = start
        while end < n and combining(made[end]):
            end += 1
        if end - start > 1:
            both = sorted(zip(made[start:end], used[start:end]), key=lambda item: combining(item[0]))
            made[start:end] = [character for character, _ in both]
            used[start:end] = [n_used for _, n_used in both]
        start = end + 1
    return 0


cdef int _compose(list made, list used) except -1:
    """Compose each starter with characters after it (the canonical composition algorithm)."""
    cdef Py_ssize_t n = 0, starter = -1, i
    cdef int order, last = 0
    for i in range(len(made)):
        character = made[i]
        order = unicodedata.combining(character)
        if starter >= 0 and (last < order or n - 1 == starter):
            one = unicodedata.normalize("NFC", made[starter] + character)
            if len(one) == 1:
                made[starter] = one
                used[starter] += used[i]
                continue
        made[n] = character
        used[n] = used[i]
        if order == 0:
            starter = n
        last = order
        n += 1
    del made[n:], used[n:]
    return 0

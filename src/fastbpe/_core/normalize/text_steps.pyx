"""Steps that change text before it is split, like the normalizers of a tokenizer.json; and their sequence, Front.

On request, each step returns for each byte that it writes its place: the offset of a byte of the character that it
comes from. The Front tracks these places through all of its steps.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from fastbpe._core.common.byte_buffer cimport Buffer, buffer_add, buffer_free, buffer_reserve
from fastbpe._core.common.hashing cimport load64
from fastbpe._core.common.places cimport FB_NOWHERE, Places, place_in, places_free, places_reserve
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.common.utf8 cimport fb_char_within


cdef const uint8_t* SPACE = <const uint8_t*> b" "

cdef extern from *:
    """
    #define FASTBPE_SPACED UINT32_MAX
    #define FASTBPE_GONE (UINT32_MAX - 1)
    """
    # Used instead of the index of a replacement. SPACED: the character between two spaces. GONE: nothing.
    const uint32_t SPACED "FASTBPE_SPACED"
    const uint32_t GONE "FASTBPE_GONE"

cdef enum:
    LOOK = 0xFF  # the ASCII character becomes nothing, several characters, or one outside ASCII
    LONG_ASCII = 16  # ASCII characters that end a stretch of others; fewer, as in Cyrillic, belong to it


cdef class TextStep:
    """Base class of the steps. This one changes nothing."""

    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1 nogil:
        """Change a text. Returns False if the text does not change; `out` may then have any content.

        out: receives the changed text, if the result is True.
        places: NULL, or receives the offset that each byte of `out` comes from.
        """
        return False

    cdef bint map_ascii(self, uint8_t* table) noexcept nogil:
        """Replace each ASCII character in a table by the step's result for it: one ASCII character, or LOOK.

        Returns False if the result for an ASCII character may depend on the characters around it, or if their
        results may depend on this character.
        """
        return False


@cython.final
cdef class Mapped(TextStep):
    """Step that replaces single characters, each by a text.

    table: dict of code point → str. It takes precedence over `gone`, and `gone` over `spaced`.
    gone: tuple of (first, last) – ranges of code points to remove.
    spaced: tuple of (first, last) – ranges of code points; put a space before and after each such character.
    """

    def __cinit__(self, dict table not None, tuple gone not None, tuple spaced not None):
        cdef uint32_t code, first, last, number = 0, end = 0
        for code in range(0x80):
            self._ascii[code] = <uint8_t> code
        self._keeps_ascii = True
        cdef int n_pages = 1
        cdef list texts = []
        cdef set blocks = {code >> 8 for code in table}
        for first, last in gone + spaced:
            blocks.update(range(first >> 8, (last >> 8) + 1))
        for code in blocks:
            self._page_of[code] = n_pages
            n_pages += 1
        self._numbers = <uint32_t*> calloc(<size_t> n_pages << 8, sizeof(uint32_t))
        self._ends = <uint32_t*> malloc((<size_t> len(table) + 1) * sizeof(uint32_t))
        if self._numbers == NULL or self._ends == NULL:
            raise MemoryError(f"no memory for {len(table)} characters")
        for ranges, number in ((spaced, SPACED), (gone, GONE)):
            for first, last in ranges:
                for code in range(first, last + 1):
                    self._numbers[<size_t> self._page_of[code >> 8] << 8 | (code & 0xFF)] = number
                    if code < 0x80:
                        self._ascii[code] = LOOK
                        self._keeps_ascii = False
        number = 0
        for code, text in table.items():
            texts.append(text.encode())
            end += <uint32_t> len(texts[number])
            self._ends[number] = end
            number += 1
            self._numbers[<size_t> self._page_of[code >> 8] << 8 | (code & 0xFF)] = number
            if code < 0x80:
                self._ascii[code] = ord(text) if text.isascii() and len(text) == 1 else LOOK
                self._keeps_ascii = False
        self._texts_owner = b"".join(texts)
        self._texts = <const uint8_t*> PyBytes_AS_STRING(self._texts_owner)

    def __dealloc__(self):
        free(self._numbers)
        free(self._ends)

    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1 nogil:
        if self._first_change(data, n) == n:
            return False
        out.n = 0
        if places != NULL:
            places.n = 0
        self.add(data, 0, n, out, places)
        return True

    cdef int add(self, const uint8_t* data, size_t start, size_t end, Buffer* out, Places* places) except -1 nogil:
        """Append the changed text of data[start:end]."""
        cdef size_t at = start, kept = start, n_bytes
        cdef uint32_t number, first
        while at < end:
            if data[at] < 0x80 and self._ascii[data[at]] == data[at]:
                at += 1
                continue
            if data[at] < 0x80 and self._ascii[data[at]] != LOOK:
                keep_text(data, kept, at, out, places)
                kept = at = add_ascii(self._ascii, data, end, at, out, places)
                continue
            number = self._number_at(data + at, end - at, &n_bytes)
            if number == GONE:
                keep_text(data, kept, at, out, places)
                kept = at + n_bytes
            elif number == SPACED:
                keep_text(data, kept, at, out, places)
                put_text(SPACE, 1, at, out, places)
                put_text(data + at, n_bytes, at, out, places)
                put_text(SPACE, 1, at, out, places)
                kept = at + n_bytes
            elif number:
                keep_text(data, kept, at, out, places)
                first = self._ends[number - 2] if number > 1 else 0
                put_text(self._texts + first, self._ends[number - 1] - first, at, out, places)
                kept = at + n_bytes
            at += n_bytes
        return keep_text(data, kept, end, out, places)

    cdef bint map_ascii(self, uint8_t* table) noexcept nogil:
        cdef int c
        for c in range(0x80):
            if table[c] != LOOK:
                table[c] = self._ascii[table[c]]
        return True

    cdef size_t _first_change(self, const uint8_t* data, size_t n) noexcept nogil:
        """Return the offset of the first character that is replaced; n if no character is."""
        cdef size_t at = 0, n_bytes
        while at < n:
            if data[at] < 0x80:
                if self._ascii[data[at]] != data[at]:
                    return at
                at += 1
                while self._keeps_ascii and n - at >= 8 and not load64(data + at) & 0x8080808080808080ULL:
                    at += 8
            elif self._number_at(data + at, n - at, &n_bytes):
                return at
            else:
                at += n_bytes
        return n

    cdef inline uint32_t _number_at(self, const uint8_t* p, size_t n, size_t* n_bytes) noexcept nogil:
        """Return 1 + the index of a character's replacement, GONE or SPACED; 0: it stays.

        n_bytes: receives the length of the character.
        """
        cdef uint32_t c = fb_char_within(p, n, n_bytes)
        return self._numbers[<size_t> self._page_of[c >> 8] << 8 | (c & 0xFF)]


@cython.final
cdef class Changed(TextStep):
    """Step that is implemented in Python.

    change: callable – change(str) returns the changed str.
    sources: callable – sources(str) returns for each character of change(str) the index of the character it comes
        from, or -1 for a character inserted before all others; the indices never decrease. It returns None if each
        character comes from the one at its own index.
    """

    def __cinit__(self, change not None, sources not None):
        self.change = change
        self.sources = sources

    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1 nogil:
        with gil:
            return _change(self, data, n, out, places)


cdef bint _change(Changed step, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1:
    cdef str text = (<const char*> data)[:n].decode("utf-8"), changed = step.change(text)
    cdef object sources = None if places == NULL else step.sources(text)
    if sources is None and changed == text:
        return False
    out.n = 0
    if places != NULL:
        places.n = 0
    put_changed(changed.encode(), sources, data, 0, out, places)
    return True


@cython.final
cdef class Link:
    """Step of a Front, and the step after it."""

    def __cinit__(self, TextStep step not None, Link then):
        self.step, self.then = step, then


@cython.final
cdef class Front:
    """Normalizer of the text between special tokens.

    steps: list of TextStep – the changes, one after another.
    form: Form or None – the only step, if it is a Unicode form.
    prefix_space: bool – the caller puts a space before text that does not begin with one.
    first: Front or None – the caller uses it instead at the beginning of a whole text.
    """

    def __cinit__(self, list steps not None, *, form=None, bint prefix_space=False, Front first=None):
        cdef int c
        self.steps, self.form, self.prefix_space, self.first = steps, form, prefix_space, first
        for step in reversed(steps):
            self._first = Link(step, self._first)
        for c in range(0x80):
            self._ascii[c] = <uint8_t> c
        self._by_stretch = all([(<TextStep> step).map_ascii(self._ascii) for step in steps])

    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1 nogil:
        """Normalize a text without putting a space before it. Returns False if nothing changes.

        out: receives the normalized text, if the result is True.
        places: NULL, or receives the offset that each byte of `out` comes from.
        """
        cdef Buffer spare
        cdef Places spare_places
        if self._first is None:
            return False
        if self._first.then is None:
            return self._first.step.apply(data, n, out, places)
        memset(&spare, 0, sizeof(spare))
        memset(&spare_places, 0, sizeof(spare_places))
        try:
            if self._by_stretch:
                return self._apply_to_stretches(data, n, out, places, &spare, &spare_places)
            return _apply(self._first, data, n, out, places, &spare, &spare_places, False)
        finally:
            buffer_free(&spare)
            places_free(&spare_places)

    cdef bint _apply_to_stretches(
        self, const uint8_t* data, size_t n, Buffer* out, Places* places, Buffer* spare, Places* spare_places
    ) except -1 nogil:
        """Apply all steps to ASCII at once, using a table; pass other stretches through the steps one by one."""
        cdef size_t at = 0, end, i
        cdef Buffer made
        cdef Places made_places
        while at < n and data[at] < 0x80 and self._ascii[data[at]] == data[at]:
            at += 1
        if at == n:
            return False
        memset(&made, 0, sizeof(made))
        memset(&made_places, 0, sizeof(made_places))
        out.n = 0
        if places != NULL:
            places.n = 0
        try:
            keep_text(data, 0, at, out, places)
            while at < n:
                if data[at] < 0x80 and self._ascii[data[at]] != LOOK:
                    at = add_ascii(self._ascii, data, n, at, out, places)
                    continue
                end = self._stretch_end(data, n, at)
                if _apply(self._first, data + at, end - at, &made, NULL if places == NULL else &made_places, spare,
                          spare_places, False):
                    buffer_add(out, made.items, made.n)
                    if places != NULL:
                        places_reserve(places, made_places.n)
                        for i in range(made_places.n):  # none is FB_NOWHERE: only Changed inserts text
                            places.items[places.n] = at + made_places.items[i]
                            places.n += 1
                else:
                    keep_text(data, at, end, out, places)
                at = end
            return True
        finally:
            buffer_free(&made)
            places_free(&made_places)

    cdef size_t _stretch_end(self, const uint8_t* data, size_t n, size_t at) noexcept nogil:
        """Return the end of the stretch at `at`: the table can map the next LONG_ASCII characters, or the rest."""
        cdef size_t n_known = 0
        while at < n and n_known < LONG_ASCII:
            n_known = n_known + 1 if data[at] < 0x80 and self._ascii[data[at]] != LOOK else 0
            at += 1
        return at - n_known


cdef bint _apply(
    Link link, const uint8_t* data, size_t n, Buffer* out, Places* places, Buffer* spare, Places* spare_places,
    bint is_changed,
) except -1 nogil:
    """Apply the steps starting at a link; tell whether they or earlier steps have changed the text.

    is_changed: an earlier step has changed the text; then data and places are its output.

    Requires: data does not point into `spare`.
    """
    cdef size_t i
    if link.step.apply(data, n, spare, NULL if places == NULL else spare_places):
        if places != NULL and is_changed:
            for i in range(spare_places.n):
                spare_places.items[i] = place_in(places, spare_places.items[i])
        out[0], spare[0] = spare[0], out[0]
        if places != NULL:
            places[0], spare_places[0] = spare_places[0], places[0]
        data, n, is_changed = out.items, out.n, True
    if link.then is not None:
        return _apply(link.then, data, n, out, places, spare, spare_places, is_changed)
    return is_changed


cdef size_t add_ascii(
    const uint8_t* table, const uint8_t* data, size_t n, size_t at, Buffer* out, Places* places
) except? 0 nogil:
    """Append the ASCII characters from `at` on, up to one whose replacement is not ASCII; return the end."""
    cdef size_t start = at
    cdef uint8_t* made
    buffer_reserve(out, n - at)
    made = out.items + out.n
    while at < n and data[at] < 0x80 and table[data[at]] != LOOK:
        made[at - start] = table[data[at]]
        at += 1
    out.n += at - start
    if places != NULL:
        note_places(start, at, places)
    return at


cdef int keep_text(const uint8_t* data, size_t start, size_t end, Buffer* out, Places* places) except -1 nogil:
    """Append data[start:end] unchanged."""
    buffer_add(out, data + start, end - start)
    if places != NULL:
        note_places(start, end, places)
    return 0


cdef int note_places(size_t start, size_t end, Places* places) except -1 nogil:
    """Append the offsets from start to end, each as the place of a byte."""
    cdef size_t i
    places_reserve(places, end - start)
    for i in range(start, end):
        places.items[places.n] = i
        places.n += 1
    return 0


cdef int put_text(const uint8_t* made, size_t n, size_t place, Buffer* out, Places* places) except -1 nogil:
    """Append a text that comes from the character at `place`."""
    cdef size_t i
    buffer_add(out, made, n)
    if places != NULL:
        places_reserve(places, n)
        for i in range(n):
            places.items[places.n] = place
            places.n += 1
    return 0


cdef int put_changed(
    bytes made, object sources, const uint8_t* data, size_t start, Buffer* out, Places* places
) except -1:
    """Append `made`, the changed text of some characters from data[start] on.

    sources: for each character of `made`, the index of the one of these that it comes from, or -1 for one inserted
        before all others; None: each comes from the one at its own index. They never decrease.
    """
    cdef size_t n = <size_t> PyBytes_GET_SIZE(made), i, character = 0, number = 0
    cdef Py_ssize_t source = 0
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(made)
    buffer_add(out, p, n)
    if places == NULL:
        return 0
    places_reserve(places, n)
    for i in range(n):
        if p[i] & 0xC0 != 0x80:
            source = <Py_ssize_t> number if sources is None else sources[number]
            number += 1
            while source >= 0 and character < <size_t> source:
                start += 1
                character += data[start] & 0xC0 != 0x80
        places.items[places.n] = FB_NOWHERE if source < 0 else start
        places.n += 1
    return 0

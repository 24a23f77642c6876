"""What becomes of text before it is split, where a tokenizer.json says so: a Unicode form, other changes, a space."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from fastbpe._core.buffer cimport Buffer, buffer_add, buffer_free
from fastbpe._core.tables cimport load64
from fastbpe._core.text cimport Text, Utf8, utf8_of, utf8_release

import unicodedata

# What a character is to a form: its combining class, and
cdef enum:
    ORDER = 0xFF
    FORWARD = 0x100  # it may become one with what follows
    MAYBE = 0x200  # it may become one with what stands before
    NO = 0x400  # it never stays


@cython.final
cdef class Form:
    """One of Unicode's normalization forms over the characters that are given; any other stays as it is.

    Only where text may not be in the form already is Python's unicodedata asked, about a few characters at once; it
    knows no less of them than tokenizers, and Unicode never changes what it has said of a character.

    name: "NFC", "NFD", "NFKC" or "NFKD". characters: (first, last, what they are) of each range.
    """

    def __cinit__(self, str name not None, characters):
        cdef uint32_t first, last, c
        cdef int n_pages = 1
        cdef uint16_t what
        self.name = name
        memset(self._page_of, 0, sizeof(self._page_of))
        for first, last, _ in characters:
            for c in range(first >> 8, (last >> 8) + 1):
                if not self._page_of[c]:
                    self._page_of[c] = n_pages
                    n_pages += 1
        if n_pages > 256:
            raise ValueError(f"{n_pages} pages of characters: the limit is 256")
        self._pages = <uint16_t*> calloc(n_pages << 8, sizeof(uint16_t))
        if self._pages == NULL:
            raise MemoryError("no memory for the characters of a normalization form")
        for first, last, what in characters:
            for c in range(first, last + 1):
                self._pages[self._page_of[c >> 8] << 8 | (c & 0xFF)] = what

    def __dealloc__(self):
        free(self._pages)

    cdef inline uint16_t _class(self, uint32_t character) noexcept nogil:
        return self._pages[self._page_of[character >> 8] << 8 | (character & 0xFF)]

    cdef bint _next(self, const uint8_t* data, size_t n, size_t at, size_t* start, size_t* end) noexcept nogil:
        """The next characters that may have to change, from data[at] on; nothing before `at` has to do with them.

        A character that has to do with nothing begins after them, and nothing before them has to do with them.
        """
        cdef size_t begin = at, n_bytes  # begin: of the last starter and what follows it
        cdef uint16_t what, starter = 0, order = 0
        cdef uint32_t c
        while at < n:
            if data[at] < 0x80:
                while n - at >= 9 and not load64(data + at + 1) & 0x8080808080808080ULL:
                    at += 8
                begin = at
                starter = self._class(data[at])
                order = 0
                at += 1
                continue
            c = _character(data + at, &n_bytes)
            what = self._class(c)
            if what & NO or (what & ORDER and what & ORDER < order) or (what & MAYBE and starter & FORWARD):
                # Who stands before may be a character that Unicode knew later: only who may become one with it counts.
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
        cdef size_t n_bytes
        while at < n and self._class(_character(data + at, &n_bytes)) & ~FORWARD:
            at += n_bytes
        return at

    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out) except -1 nogil:
        """Whether anything may have to change; if so, out gets the text in the form."""
        cdef size_t at = 0, start, end
        out.n = 0
        if not self._next(data, n, 0, &start, &end):
            return False
        with gil:
            while True:
                buffer_add(out, data + at, start - at)
                self._add_normal(data + start, end - start, out)
                at = end
                if not self._next(data, n, at, &start, &end):
                    break
            buffer_add(out, data + at, n - at)
        return True

    cdef int _add_normal(self, const uint8_t* data, size_t n, Buffer* out) except -1:
        cdef bytes made = unicodedata.normalize(self.name, data[:n].decode("utf-8")).encode()
        return buffer_add(out, <const uint8_t*> PyBytes_AS_STRING(made), PyBytes_GET_SIZE(made))

    cdef bint keeps_before(self, const Text* text, size_t at) noexcept nogil:
        """Whether what stands before unit `at` stays as it is, or becomes one letter with what is before it."""
        cdef size_t i = at - 1, n_bytes
        cdef uint32_t c
        if text.is_utf8:
            while (<const uint8_t*> text.data)[i] & 0xC0 == 0x80:
                i -= 1
            c = _character(<const uint8_t*> text.data + i, &n_bytes)
        elif text.unit == 1:
            c = (<const uint8_t*> text.data)[i]
        elif text.unit == 2:
            c = (<const uint16_t*> text.data)[i]
        else:
            c = (<const uint32_t*> text.data)[i]
        return c > 0x10FFFF or not self._class(c) & (NO | ORDER)

    def normalize(self, text):
        """The UTF-8 of a text in the form."""
        cdef Utf8 view
        cdef Buffer out = Buffer(NULL, 0, 0)
        utf8_of(text, &view)
        try:
            if self.apply(view.data, view.n, &out):
                return (<const char*> out.items)[:out.n]
            return (<const char*> view.data)[:view.n]
        finally:
            buffer_free(&out)
            utf8_release(&view)


@cython.final
cdef class Front:
    """What becomes of text between tokens that are found in it as it is.

    form: a normalization form, or None. change: any other change, from bytes of UTF-8 to such bytes, in its place; or
    None. prefix_space: what is split has a space put before it, unless it begins with one.
    """

    def __cinit__(self, *, Form form=None, change=None, bint prefix_space=False):
        self.form = form
        self.change = change
        self.prefix_space = prefix_space

    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out) except -1 nogil:
        """Whether anything is changed, but for the space; if so, out gets what becomes of the text."""
        if self.form is not None:
            return self.form.apply(data, n, out)
        if self.change is None:
            return False
        with gil:
            self._change(data, n, out)
        return True

    cdef int _change(self, const uint8_t* data, size_t n, Buffer* out) except -1:
        cdef bytes made = self.change((<const char*> data)[:n])
        out.n = 0
        return buffer_add(out, <const uint8_t*> PyBytes_AS_STRING(made), PyBytes_GET_SIZE(made))


cdef inline uint32_t _character(const uint8_t* p, size_t* n_bytes) noexcept nogil:
    if p[0] < 0x80:
        n_bytes[0] = 1
        return p[0]
    if p[0] < 0xE0:
        n_bytes[0] = 2
        return (p[0] & 0x1F) << 6 | (p[1] & 0x3F)
    if p[0] < 0xF0:
        n_bytes[0] = 3
        return (p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F)
    n_bytes[0] = 4
    return (p[0] & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F)

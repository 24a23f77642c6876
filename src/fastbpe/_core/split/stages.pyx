"""Steps with a splitter that change text: replaced matches, and stages of pre-tokenizers (ByteLevel, Metaspace).

A splitter alone cannot do this, because its pieces are parts of the text. So the pieces of the first splitter go
through stages. Each stage changes a piece, and may split the result with its own splitter. The pieces after the
last stage are stored end to end in a buffer, and go to the piece cache from there.
"""

cimport cython
from libc.stdint cimport uint16_t, uint8_t
from libc.string cimport memchr, memcmp, memmove

from fastbpe._core.common.byte_buffer cimport Buffer, buffer_add, buffer_free
from fastbpe._core.common.places cimport Places, place_in, places_free, places_reserve
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.normalize.text_steps cimport TextStep, keep_text, put_text
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_add, ends_free
from fastbpe._core.text.bytes_to_unicode cimport character_of_byte


cdef void staged_free(Staged* staged) noexcept nogil:
    buffer_free(&staged.text)
    buffer_free(&staged.spare)
    places_free(&staged.places)
    places_free(&staged.spare_places)


@cython.final
cdef class Stage:
    """Change of each piece, a splitter for the result, and the stages after it.

    prefix: bytes – UTF-8 to put before a piece that does not begin with it; b"": nothing.
    only_first: bool – add the prefix only to the piece at the start of the whole text.
    space: bytes – UTF-8 that replaces each space; b"": spaces stay. If a prefix is also given, the two must be
        equal.
    to_bytes: bool – replace each byte by GPT-2's character for it. Only without prefix and space.
    splitter: Splitter or None – splits the changed piece; None: it is not split.
    then: Stage or None – the stage after this one.
    """

    def __cinit__(
        self, *, bytes prefix not None=b"", bint only_first=False, bytes space not None=b"", bint to_bytes=False,
        Splitter splitter=None, Stage then=None,
    ):
        if (to_bytes and (prefix or space)) or (prefix and space and prefix != space):
            raise ValueError(f"prefix={prefix!r}, space={space!r}, to_bytes={bool(to_bytes)} cannot be combined")
        self._prefix_owner, self._space_owner = prefix, space
        self._prefix, self._n_prefix = <const uint8_t*> PyBytes_AS_STRING(prefix), <size_t> PyBytes_GET_SIZE(prefix)
        self._space, self._n_space = <const uint8_t*> PyBytes_AS_STRING(space), <size_t> PyBytes_GET_SIZE(space)
        self._only_first, self._to_bytes = only_first, to_bytes
        self.splitter, self.then = splitter, then
        self.needs_first = (only_first and prefix) or (then is not None and then.needs_first)
        self.holds_gil = (splitter is not None and splitter.holds_gil) or (then is not None and then.holds_gil)

    cdef int run(
        self, const uint8_t* data, const Places* sources, size_t start, Ends* ends, Staged* staged
    ) except -1 nogil:
        """Change and split pieces, by this stage and the stages after it.

        data: the text.
        start: offset of the first piece.
        ends: ends of the pieces in data; they become ends of the pieces in staged.text.
        sources: place of each byte of data; NULL: each place is the offset.
        staged: receives the pieces. Set traces and n_first before the call. It may hold data and sources, as the
            output of the stage before: this stage writes to the spare buffers, and then swaps the two.
        """
        cdef size_t i, begin, end, n_before = ends.n, n_first = 0
        staged.spare.n = staged.spare_places.n = 0
        for i in range(n_before):
            end = ends.items[i] & ~UNMATCHED
            if not ends.items[i] & UNMATCHED:
                begin = staged.spare.n
                self._change(data, sources, start, end, staged, &n_first)
                self._split(begin, ends, staged)
            start = end
        if ends.n > n_before:
            memmove(ends.items, ends.items + n_before, (ends.n - n_before) * sizeof(size_t))
        ends.n -= n_before
        staged.text, staged.spare = staged.spare, staged.text
        staged.places, staged.spare_places = staged.spare_places, staged.places
        staged.n_first = n_first
        ends.text = staged.text.items
        if self.then is not None:
            self.then.run(staged.text.items, &staged.places if staged.traces else NULL, 0, ends, staged)
        return 0

    cdef int _change(
        self, const uint8_t* data, const Places* sources, size_t start, size_t end, Staged* staged, size_t* n_first
    ) except -1 nogil:
        """Append the changed text of data[start:end] to staged.spare.

        n_first: receives the end of the text that comes from the first character of the whole text, if the piece
            has that character.
        """
        cdef bint is_first = start < staged.n_first
        cdef size_t n_prefix = self._n_prefix, i
        if n_prefix and (is_first or not self._only_first) and not self._begins_with_prefix(data + start, end - start):
            buffer_add(&staged.spare, self._prefix, n_prefix)
            if staged.traces:
                places_reserve(&staged.spare_places, n_prefix)
                for i in range(n_prefix):
                    staged.spare_places.items[staged.spare_places.n] = place_in(sources, start)
                    staged.spare_places.n += 1
        if is_first:
            i = min(end, staged.n_first)
            self._add(data, sources, start, i, staged)
            n_first[0] = staged.spare.n
            start = i
        return self._add(data, sources, start, end, staged)

    cdef int _add(
        self, const uint8_t* data, const Places* sources, size_t start, size_t end, Staged* staged
    ) except -1 nogil:
        """Append data[start:end] with its spaces or bytes replaced."""
        cdef size_t i, n, place  # i: end of the bytes that a round reads; n: bytes that it writes
        cdef const uint8_t* found
        cdef uint8_t stand_in[2]
        cdef uint16_t character
        cdef const uint16_t* characters = &character_of_byte[0]
        while start < end:
            if self._to_bytes:
                i = start
                while i < end and data[i] < 0x80 and characters[data[i]] == data[i]:
                    i += 1
                n = i - start
            if self._to_bytes and n:
                buffer_add(&staged.spare, data + start, n)
            elif self._to_bytes:
                character = characters[data[start]]
                n = 1 if character < 0x80 else 2
                stand_in[0] = <uint8_t> (character if n == 1 else 0xC0 | character >> 6)
                stand_in[1] = <uint8_t> (0x80 | (character & 0x3F))
                buffer_add(&staged.spare, stand_in, n)
                i = start + 1
            elif self._n_space and data[start] == 0x20:
                n = self._n_space
                buffer_add(&staged.spare, self._space, n)
                i = start + 1
            else:
                found = NULL
                if self._n_space:
                    found = <const uint8_t*> memchr(data + start, 0x20, end - start)
                i = end if found == NULL else <size_t> (found - data)
                n = i - start
                buffer_add(&staged.spare, data + start, n)
            if staged.traces:
                places_reserve(&staged.spare_places, n)
                place = start
                for _ in range(n):
                    staged.spare_places.items[staged.spare_places.n] = place_in(sources, place)
                    staged.spare_places.n += 1
                    place += i - start > 1  # bytes that are copied have their own places, a replacement has one
            start = i
        return 0

    cdef int _split(self, size_t begin, Ends* ends, Staged* staged) except -1 nogil:
        """Append the ends of the pieces of staged.spare, starting at `begin`."""
        cdef size_t at = 0, n = staged.spare.n - begin, first = ends.n
        if self.splitter is None:
            return ends_add(ends, staged.spare.n)
        ends.text = staged.spare.items
        while at < n:
            at = self.splitter.split(staged.spare.items + begin, n, at, ends)
        for at in range(first, ends.n):
            ends.items[at] += begin
        return 0

    cdef bint _begins_with_prefix(self, const uint8_t* data, size_t n) noexcept nogil:
        """Tell whether a piece begins with the prefix, or with a space that becomes one."""
        if self._n_space and data[0] == 0x20:
            return True
        return n >= self._n_prefix and memcmp(data, self._prefix, self._n_prefix) == 0

    def __repr__(self):
        parts = [
            f"{self._prefix_owner.decode()!r} before {'the text' if self._only_first else 'each'}" if self._n_prefix else "",
            f"spaces as {self._space_owner.decode()!r}" if self._n_space else "",
            "bytes as characters" if self._to_bytes else "",
            repr(self.splitter) if self.splitter is not None else "",
            repr(self.then) if self.then is not None else "",
        ]
        return ", then ".join(filter(None, parts))


@cython.final
cdef class Replaced(TextStep):
    """Step that replaces each match by the same text.

    splitter: Splitter – its pieces are the matches; the text between them is unmatched.
    content: bytes – UTF-8 of the new text; its place is the last byte of the match.
    """

    def __cinit__(self, Splitter splitter not None, bytes content not None):
        self.splitter, self._owner = splitter, content
        self._content, self._n_content = <const uint8_t*> PyBytes_AS_STRING(content), <size_t> PyBytes_GET_SIZE(content)

    cdef bint apply(self, const uint8_t* data, size_t n, Buffer* out, Places* places) except -1 nogil:
        # The limits on backtracking start anew in each text between special tokens: a step sees no more.
        cdef Ends ends = Ends(NULL, 0, 0, data, NULL, 0, 0, 0)
        cdef size_t at = 0, kept = 0, start = 0, i, end
        cdef bint changes = False
        out.n = 0
        if places != NULL:
            places.n = 0
        try:
            while at < n:
                at = self.splitter.split(data, n, at, &ends)
            for i in range(ends.n):
                end = ends.items[i] & ~UNMATCHED
                if not ends.items[i] & UNMATCHED and not self._is_same(data + start, end - start):
                    changes = True
                    keep_text(data, kept, start, out, places)
                    put_text(self._content, self._n_content, end - 1, out, places)
                    kept = end
                start = end
            if changes:
                keep_text(data, kept, n, out, places)
            return changes
        finally:
            ends_free(&ends)

    cdef inline bint _is_same(self, const uint8_t* match, size_t n) noexcept nogil:
        """Tell whether a match is the new text, in one byte. Then nothing changes: a space, for `\\s+` as " ".

        In a longer one, all bytes get the place of the last.
        """
        return n == 1 and self._n_content == 1 and match[0] == self._content[0]

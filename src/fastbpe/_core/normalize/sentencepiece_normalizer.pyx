"""Normalising text for code-point vocabularies, as sentencepiece does: rules, white space, user-defined symbols.

Most characters begin no rule; a bit for each of them says so, and ASCII that ASCII follows is looked up by the byte.
`_reference/normalization.py` is the slow twin.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset, strlen

from fastbpe._core.common.bits cimport lowest_bit
from fastbpe._core.common.memory cimport grown
from fastbpe._core.normalize.charsmap_rules cimport LOOK, N_CHARACTERS, longest_rule, mark_characters, read_rules
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.common.hash_tables cimport load64
from fastbpe._core.common.utf8 cimport char_bytes

from fastbpe._core.normalize.charsmap_rules import letters_stay

cdef enum:
    BLOCK = 4096  # bytes of text for which room is made at once
    ROOM = 3 * BLOCK + 64  # each becomes at most three without a rule; words are written eight bytes at a time

cdef const uint8_t* METASPACE_UTF8 = b"\xe2\x96\x81"
cdef const uint8_t* NO_CHARACTER = b"\xef\xbf\xbd"

cdef extern from *:
    """
    #define FASTBPE_ONES 0x0101010101010101ull
    #define FASTBPE_HIGH 0x8080808080808080ull
    """
    const uint64_t ONES "FASTBPE_ONES"
    const uint64_t HIGH "FASTBPE_HIGH"


cdef void normalized_free(Normalized* out) noexcept nogil:
    free(out.data)
    free(out.offsets)


cdef int normalized_room(Normalized* out, size_t n_more) noexcept nogil:
    """Make room for so many more bytes; -1: no memory."""
    cdef void* items
    cdef size_t room, size = sizeof(uint32_t)
    if out.n + n_more <= out.room:
        return 0
    room = out.n + n_more + (out.n >> 1)
    items = grown(out.data, out.n, out.room, room)
    if items == NULL:
        return -1
    out.data = <uint8_t*> items
    if out.with_offsets:
        items = grown(out.offsets, out.n * size, out.room * size, (room + 1) * size)
        if items == NULL:
            return -1
        out.offsets = <uint32_t*> items
    out.room = room
    return 0


cdef inline void _write(Normalized* out, const uint8_t* data, size_t n, size_t at) noexcept nogil:
    """Write bytes that come from one place; there is room."""
    cdef size_t i
    memcpy(out.data + out.n, data, n)
    if out.with_offsets:
        for i in range(out.n, out.n + n):
            out.offsets[i] = <uint32_t> at
    out.n += n


@cython.final
cdef class Normalizer:
    """The rules of a charsmap (b"": none) and what is done about white space.

    symbols: user-defined symbols, which are left as they are: their bytes, none empty, no two equal.
    marks_to_spaces: what escape_whitespaces would give, but with a space for each U+2581.
    A charsmap that contradicts itself is a FormatError.
    """

    def __cinit__(
        self, bytes charsmap not None, *, bint add_dummy_prefix, bint remove_extra_whitespaces,
        bint escape_whitespaces, bint treat_whitespace_as_suffix=False, list symbols not None=[],
        bint marks_to_spaces=False,
    ):
        self._dummy_prefix = add_dummy_prefix
        self._trim = remove_extra_whitespaces
        self._escape = escape_whitespaces and not marks_to_spaces
        self._unmark = marks_to_spaces
        self._suffix = treat_whitespace_as_suffix
        if symbols:
            self._symbols = SpecialMatcher(symbols, list(range(len(symbols))))
            for symbol in symbols:
                self._symbol_starts[<uint8_t> symbol[0]] = True
        if charsmap or symbols:
            self._starts = <uint8_t*> calloc(N_CHARACTERS // 8, 1)
            if self._starts == NULL:
                raise MemoryError("no memory for the characters that rules begin with")
        if charsmap:
            self._rules = read_rules(charsmap, self._starts)
        for symbol in symbols:
            self._note_symbol(<const uint8_t*> PyBytes_AS_STRING(symbol), len(symbol))
        self._set_ascii()

    def __dealloc__(self):
        free(self._starts)

    cdef void _note_symbol(self, const uint8_t* symbol, size_t n) noexcept nogil:
        cdef uint32_t lead = symbol[0], c
        cdef int n_left = 3 if lead >= 0xF0 else 2 if lead >= 0xE0 else 1
        if not 0xC2 <= lead < 0xF5:
            return
        c = lead & (0x3F >> n_left)
        while n_left and n > 1:
            symbol += 1
            n -= 1
            n_left -= 1
            if symbol[0] >> 6 != 2:
                return  # what begins like this is no character
            c = c << 6 | (symbol[0] & 0x3F)
        mark_characters(self._starts, c, n_left)

    cdef void _set_ascii(self) noexcept nogil:
        cdef int c
        self._plain_words = True
        for c in range(128):
            self._ascii[c] = <uint8_t> c
            if self._symbol_starts[c]:
                self._ascii[c] = LOOK
            elif self._rules is not None:
                self._ascii[c] = self._rules.of_ascii(<uint8_t> c)
            if 0x21 <= c <= 0x7E and self._ascii[c] != c:
                self._plain_words = False

    cdef void _step(self, const uint8_t* text, size_t n, size_t at, Step* step) noexcept nogil:
        """What becomes of the text at a place: of a symbol, else of the longest rule, else of a character."""
        cdef Match match
        cdef uint32_t c
        step.n_bytes = 0
        if self._symbol_starts[text[at]] and self._symbols.find_here(text, n, at, &match):
            step.n_bytes = match.end - at
        elif self._rules is not None:
            step.n_bytes = longest_rule(self._rules, text, n, at, &step.data)
            if step.n_bytes:
                step.n = strlen(<const char*> step.data)
                return
        if step.n_bytes == 0:
            step.n_bytes = 1 if text[at] < 0x80 else char_bytes(text, n, at, &c)
        step.data = text + at
        step.n = step.n_bytes
        if step.n_bytes == 0:
            step.n_bytes = 1
            step.data = NO_CHARACTER
            step.n = 3

    cdef void _write_space(self, Normalized* out, size_t at) noexcept nogil:
        if self._escape:
            _write(out, METASPACE_UTF8, 3, at)
        else:
            _write(out, b" ", 1, at)

    cdef int _put(self, Normalized* out, const Step* step) noexcept nogil:
        cdef const uint8_t* data = step.data
        cdef size_t n = step.n, i
        while n and out.after_space and data[0] == 32:
            data += 1
            n -= 1
        if normalized_room(out, 3 * n + ROOM) != 0:
            return -1
        if n:
            out.after_space = self._trim and data[n - 1] == 32
        while n:
            i = 1
            if data[0] == 32:
                self._write_space(out, out.at)
            elif self._unmark and n > 2 and memcmp(data, METASPACE_UTF8, 3) == 0:
                _write(out, b" ", 1, out.at)
                i = 3
            else:
                _write(out, data, 1, out.at)
            data += i
            n -= i
        out.at += step.n_bytes
        return 0

    cdef int begin(self, const uint8_t* text, size_t n, Normalized* out) noexcept nogil:
        """Set out, which may have been used, to the beginning of a text: past spaces that are left out."""
        cdef Step step
        out.n = out.at = 0
        out.after_space = self._trim
        while self._trim and out.at < n:
            self._step(text, n, out.at, &step)
            if step.n != 1 or step.data[0] != 32:
                break
            out.at += step.n_bytes
        if normalized_room(out, ROOM) != 0:
            return -1
        if out.at < n and self._dummy_prefix and not self._suffix:
            self._write_space(out, out.at)
        return 0

    cdef int go_on(self, Normalized* out) noexcept nogil:
        """Set out, which may have been used, to a place within a text, behind what is no space and no part of a rule."""
        out.n = out.at = 0
        out.after_space = out.is_empty = False
        return normalized_room(out, ROOM)

    cdef int advance(self, const uint8_t* text, size_t n, size_t stop, Normalized* out) noexcept nogil:
        """Go on to text[stop] or some bytes beyond; -1: no memory."""
        if out.with_offsets:
            return _advance(self, text, n, stop, out, True)
        return _advance(self, text, n, stop, out, False)

    cdef int finish(self, Normalized* out) noexcept nogil:
        """The end of the text has been reached: leave out spaces there, or add one."""
        cdef size_t end = out.at, n_space = 3 if self._escape else 1
        cdef const uint8_t* space = METASPACE_UTF8 if self._escape else <const uint8_t*> b" "
        while self._trim and out.n >= n_space and memcmp(out.data + out.n - n_space, space, n_space) == 0:
            out.n -= n_space
            if out.with_offsets:
                end = out.offsets[out.n]
        if normalized_room(out, ROOM) != 0:
            return -1
        if self._dummy_prefix and self._suffix:
            self._write_space(out, end)
        if out.with_offsets:
            out.offsets[out.n] = <uint32_t> end
        return 0

    cdef int run(self, const uint8_t* text, size_t n, Normalized* out) noexcept nogil:
        """Normalise a text; -1: no memory. Where nothing but spaces were left out, nothing is written at all."""
        if self.begin(text, n, out) != 0:
            return -1
        out.is_empty = out.at == n
        if out.is_empty:
            return 0
        return -1 if self.advance(text, n, n, out) != 0 else self.finish(out)

    def letters_stay(self):
        """Tell whether a text may be cut behind a letter and before a space."""
        if self._symbols is not None and any([b" " in symbol for symbol in self._symbols.tokens]):
            return False
        return self._rules is None or letters_stay(self._rules)

    def normalize(self, bytes text not None):
        """The normalised text.

        >>> Normalizer(b"", add_dummy_prefix=True, remove_extra_whitespaces=True, escape_whitespaces=True).normalize(
        ...     b" a  b ").decode()
        '▁a▁b'
        """
        return self._normalized(text, False)

    def normalize_with_offsets(self, bytes text not None):
        """The normalised text and, for each of its bytes and for its end, the place in the text that it comes from."""
        return self._normalized(text, True)

    cdef object _normalized(self, bytes text, bint with_offsets):
        cdef Normalized out
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        cdef size_t n = <size_t> PyBytes_GET_SIZE(text), i
        cdef int failed
        cdef list offsets
        if with_offsets and n > 0xFFFFFFFF:
            raise OverflowError(f"offsets of {n} bytes of text: up to 2**32 - 1 can be counted; cut the text")
        memset(&out, 0, sizeof(out))
        out.with_offsets = with_offsets
        try:
            with nogil:
                failed = self.run(data, n, &out)
            if failed:
                raise MemoryError(f"no memory to normalise {n} bytes of text")
            normalized = PyBytes_FromStringAndSize(<const char*> out.data, <Py_ssize_t> out.n)
            if not with_offsets:
                return normalized
            offsets = [] if out.is_empty else [out.offsets[i] for i in range(out.n + 1)]
            return normalized, offsets
        finally:
            normalized_free(&out)


cdef inline int _advance(
    Normalizer self, const uint8_t* text, size_t n, size_t stop, Normalized* out, const bint with_offsets
) noexcept nogil:
    # Longer than a screen: with its three kinds of characters in inline functions, whether these were handed what it
    # has come to by pointer or by value, it was 4 to 10 % slower.
    cdef Step step
    cdef size_t end, k, i, at = out.at
    cdef uint64_t word, other
    cdef uint32_t c = 0
    cdef uint8_t to
    cdef bint after_space = out.after_space
    cdef uint8_t* p
    while at < stop:
        if normalized_room(out, ROOM) != 0:
            return -1
        end = min(stop, at + BLOCK)
        p = out.data + out.n
        while at < end:
            if self._plain_words and n - at > 8:
                # Up to eight bytes from ! to ~, and ASCII after them. The lowest mark is right: what borrows from or
                # carries into the next byte is marked itself.
                word = load64(text + at)
                other = (word | (word - ONES * 0x21) | (word + ONES)) & HIGH
                k = lowest_bit(other) >> 3 if other else 8
                if k and text[at + k] > 0x7F:
                    k -= 1
                if k:
                    memcpy(p, &word, 8)
                    if with_offsets:
                        for i in range(8):
                            out.offsets[<size_t> (p - out.data) + i] = <uint32_t> (at + i)
                    p += k
                    at += k
                    after_space = False
                    continue
            c = text[at]
            if c < 0x80:
                to = self._ascii[c]
                if to != LOOK and (at + 1 == n or text[at + 1] < 0x80):
                    k = 1
                    if to != 32:
                        p[0] = to
                        after_space = False
                    elif after_space:
                        k = 0
                    else:
                        if self._escape:
                            memcpy(p, METASPACE_UTF8, 3)
                            k = 3
                        else:
                            p[0] = 32
                        after_space = self._trim
                    if with_offsets:
                        for i in range(k):
                            out.offsets[<size_t> (p - out.data) + i] = <uint32_t> at
                    p += k
                    at += 1
                    continue
            else:
                k = char_bytes(text, n, at, &c)
                if k and (self._starts == NULL or not self._starts[c >> 3] >> (c & 7) & 1) \
                        and not (c == 0x2581 and self._unmark):
                    for i in range(k):
                        p[i] = text[at + i]
                    if with_offsets:
                        for i in range(k):
                            out.offsets[<size_t> (p - out.data) + i] = <uint32_t> at
                    p += k
                    at += k
                    after_space = False
                    continue
            out.n = <size_t> (p - out.data)
            out.at = at
            out.after_space = after_space
            self._step(text, n, at, &step)
            if self._put(out, &step) != 0:
                return -1
            p = out.data + out.n
            at = out.at
            after_space = out.after_space
        out.n = <size_t> (p - out.data)
    out.at = at
    out.after_space = after_space
    return 0

"""Normalize text for code-point vocabularies as sentencepiece does: rules, white space, user-defined symbols.

Few characters begin a rule; a bit map with one bit per character tells which. A table replaces ASCII characters
that are followed by ASCII. `Normalizing` has the settings of code-point mode: the steps before a text is split,
and one step after its ids are made. `tests/reference/normalization.py` does the same in plain Python.
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset, strlen

from fastbpe._core.common.bits cimport HIGH, ONES, eight_bytes, lowest_bit
from fastbpe._core.common.gil_yield cimport yield_gil_at
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.memory cimport grown
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from fastbpe._core.common.utf8 cimport char_bytes, is_metaspace
from fastbpe._core.normalize.charsmap_rules cimport LOOK, N_CHARACTERS, longest_rule, mark_characters, read_rules
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.text.utf8_text cimport first_invalid

from fastbpe._core.normalize.charsmap_rules import words_stay

cdef enum:
    BLOCK_BYTES = 4096  # bytes of text to read between two checks of the space in the output
    # Bytes of output that a block needs. Without a rule, a byte becomes at most three bytes; output is written
    # eight bytes at a time.
    BLOCK_CAPACITY = 3 * BLOCK_BYTES + 64

cdef const uint8_t* METASPACE_UTF8 = b"\xe2\x96\x81"
cdef const uint8_t* REPLACEMENT_UTF8 = b"\xef\xbf\xbd"  # U+FFFD, for a byte that is not UTF-8


cdef void normalized_free(Normalized* out) noexcept nogil:
    free(out.data)
    free(out.offsets)


cdef int no_memory(size_t n) except -1 nogil:
    """Raise MemoryError for a text of n bytes, after normalized_reserve() or a method has returned -1."""
    with gil:
        raise MemoryError(f"no memory to normalize {n} bytes of text")


cdef int check_n_bytes(size_t n) except -1 nogil:
    """Raise OverflowError if a text of n bytes is too long for offsets.

    These have 32 bits, NONE is not an offset, and a dummy prefix may add a byte to the text.
    """
    if n >= NONE - 1:
        with gil:
            raise OverflowError(
                f"{n} bytes of text: the limit for calls that return pieces or offsets is 2**32 - 3 bytes; cut the "
                "text"
            )
    return 0


cdef int normalized_reserve(Normalized* out, size_t n_more) noexcept nogil:
    """Make space for n_more bytes and their offsets. Returns -1 if there is no memory."""
    cdef void* items
    cdef size_t capacity, size = sizeof(uint32_t)
    if out.n + n_more <= out.capacity:
        return 0
    capacity = out.n + n_more + (out.n >> 1)
    items = grown(out.data, out.n, out.capacity, capacity)
    if items == NULL:
        return -1
    out.data = <uint8_t*> items
    if out.with_offsets:
        items = grown(out.offsets, out.n * size, out.capacity * size, (capacity + 1) * size)
        if items == NULL:
            return -1
        out.offsets = <uint32_t*> items
    out.capacity = capacity
    return 0


cdef inline void _write(Normalized* out, const uint8_t* data, size_t n, size_t at) noexcept nogil:
    """Append bytes that all come from offset `at` of the text.

    Requires: there is space.
    """
    cdef size_t i
    memcpy(out.data + out.n, data, n)
    if out.with_offsets:
        for i in range(out.n, out.n + n):
            out.offsets[i] = <uint32_t> at
    out.n += n


@cython.final
cdef class Normalizer:
    """sentencepiece's normalizer.

    charsmap: bytes – precompiled charsmap; b"": no rules. An inconsistent charsmap raises FormatError.
    add_dummy_prefix: bool – put a space before each text; with treat_whitespace_as_suffix after it.
    remove_extra_whitespaces: bool – remove spaces at both ends, and keep one of several consecutive spaces.
    escape_whitespaces: bool – write U+2581 for each space.
    treat_whitespace_as_suffix: bool – see add_dummy_prefix.
    symbols: list of bytes – user-defined symbols, which are not normalized; distinct, not empty.
    marks_to_spaces: bool – the same output as with escape_whitespaces, but with a space for each U+2581.
    """

    def __cinit__(
        self, bytes charsmap not None, *, bint add_dummy_prefix, bint remove_extra_whitespaces,
        bint escape_whitespaces, bint treat_whitespace_as_suffix=False, list symbols not None=[],
        bint marks_to_spaces=False,
    ):
        self._dummy_prefix = add_dummy_prefix
        self._trim = remove_extra_whitespaces
        self._escape = escape_whitespaces and not marks_to_spaces
        self._metaspace_to_space = marks_to_spaces
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
        self.gives_utf8 = self._rules is None or self._rules.are_utf8
        for symbol in symbols:
            self._note_symbol(<const uint8_t*> PyBytes_AS_STRING(symbol), len(symbol))
            if first_invalid(<const uint8_t*> PyBytes_AS_STRING(symbol), len(symbol)) < <size_t> len(symbol):
                self.gives_utf8 = False
        self._set_ascii()

    def __dealloc__(self):
        free(self._starts)

    cdef void _note_symbol(self, const uint8_t* symbol, size_t n) noexcept nogil:
        """Mark the first character of a symbol; if the symbol ends inside it, all characters that begin so.

        Marks no ASCII characters: _symbol_starts has them.
        """
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
                return  # no character begins with these bytes
            c = c << 6 | (symbol[0] & 0x3F)
        mark_characters(self._starts, c, n_left)

    cdef void _set_ascii(self) noexcept nogil:
        """Fill the table of ASCII replacements."""
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
        """Find the step for the text at `at`: a symbol, or else the longest rule, or else one character.

        A byte that is not UTF-8 becomes U+FFFD.
        """
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
            step.data = REPLACEMENT_UTF8
            step.n = 3

    cdef void _write_space(self, Normalized* out, size_t at) noexcept nogil:
        """Append a space, or U+2581 if spaces are escaped."""
        if self._escape:
            _write(out, METASPACE_UTF8, 3, at)
        else:
            _write(out, b" ", 1, at)

    cdef int _put(self, Normalized* out, const Step* step) noexcept nogil:
        """Append the bytes data[:n] of a Step. Returns -1 if there is no memory."""
        cdef const uint8_t* data = step.data
        cdef size_t n = step.n, i
        while n and out.after_space and data[0] == 32:
            data += 1
            n -= 1
        if normalized_reserve(out, 3 * n + BLOCK_CAPACITY) != 0:  # also for the rest of the block of _advance
            return -1
        if n:
            out.after_space = self._trim and data[n - 1] == 32
        while n:
            i = 1
            if data[0] == 32:
                self._write_space(out, out.at)
            elif self._metaspace_to_space and is_metaspace(data, n):
                _write(out, b" ", 1, out.at)
                i = 3
            else:
                _write(out, data, 1, out.at)
            data += i
            n -= i
        out.at += step.n_bytes
        return 0

    cdef int begin(self, const uint8_t* text, size_t n, Normalized* out) noexcept nogil:
        """Begin a text: skip leading spaces if the options remove them, and write the dummy prefix.

        out: may have been used before. Returns -1 if there is no memory.
        """
        cdef Step step
        out.n = out.at = 0
        out.after_space = self._trim
        while self._trim and out.at < n:
            self._step(text, n, out.at, &step)
            if step.n != 1 or step.data[0] != 32:
                break
            out.at += step.n_bytes
        if normalized_reserve(out, BLOCK_CAPACITY) != 0:
            return -1
        if out.at < n and self._dummy_prefix and not self._suffix:
            self._write_space(out, out.at)
        return 0

    cdef int go_on(self, Normalized* out) noexcept nogil:
        """Begin in the middle of a text.

        Requires: the text before this point does not end with a space or inside a rule.

        out: may have been used before. Returns -1 if there is no memory.
        """
        out.n = out.at = 0
        out.after_space = False
        return normalized_reserve(out, BLOCK_CAPACITY)

    cdef int advance(self, const uint8_t* text, size_t n, size_t stop, Normalized* out) noexcept nogil:
        """Normalize up to text[stop] or a few bytes further. Returns -1 if there is no memory."""
        if out.with_offsets:
            return _advance(self, text, n, stop, out, True)
        return _advance(self, text, n, stop, out, False)

    cdef int finish(self, Normalized* out) noexcept nogil:
        """End a text: drop trailing spaces if the options remove them, and write the dummy prefix if it goes last.

        Returns -1 if there is no memory.
        """
        cdef size_t end = out.at, n_space = 3 if self._escape else 1
        cdef const uint8_t* space = METASPACE_UTF8 if self._escape else <const uint8_t*> b" "
        while self._trim and out.n >= n_space and memcmp(out.data + out.n - n_space, space, n_space) == 0:
            out.n -= n_space
            if out.with_offsets:
                end = out.offsets[out.n]
        if normalized_reserve(out, BLOCK_CAPACITY) != 0:
            return -1
        if self._dummy_prefix and self._suffix:
            self._write_space(out, end)
        if out.with_offsets:
            out.offsets[out.n] = <uint32_t> end
        return 0

    cdef int run(self, const uint8_t* text, size_t n, Normalized* out) noexcept nogil:
        """Normalize a text. Returns -1 if there is no memory.

        Ensures: if the text is empty or has only spaces that are removed, out.is_empty is set, and nothing is
        written.
        """
        if self.begin(text, n, out) != 0:
            return -1
        out.is_empty = out.at == n
        if out.is_empty:
            return 0
        return -1 if self.advance(text, n, n, out) != 0 else self.finish(out)

    cdef int run_with_offsets(self, const uint8_t* text, size_t n, Normalized* out) except -1 nogil:
        """Do the work of run(), and record offsets. Requires: all of `out` is 0."""
        check_n_bytes(n)
        out.with_offsets = True
        if self.run(text, n, out) != 0 or out.n >= NONE:
            no_memory(n)
        return 0

    def words_stay(self):
        """Tell whether a text may be cut safely between a letter or number and the space after it."""
        if not self.gives_utf8:
            return False
        if self._symbols is not None and any([b" " in symbol for symbol in self._symbols.tokens]):
            return False
        return self._rules is None or words_stay(self._rules)

    def normalize(self, bytes text not None):
        """Return the normalized text, as UTF-8.

        >>> normalizer = Normalizer(
        ...     b"", add_dummy_prefix=True, remove_extra_whitespaces=True, escape_whitespaces=True
        ... )
        >>> normalizer.normalize(b" a  b ").decode()
        '▁a▁b'
        """
        return self._normalized(text, False)

    def normalize_with_offsets(self, bytes text not None):
        """Return the normalized text, and for each of its bytes and its end the offset of its source in `text`.

        There are no offsets if the text is empty or has only spaces that are removed.
        """
        return self._normalized(text, True)

    cdef object _normalized(self, bytes text, bint with_offsets):
        cdef Normalized out
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        cdef size_t n = <size_t> PyBytes_GET_SIZE(text), i
        cdef int failed
        cdef list offsets
        if with_offsets:
            check_n_bytes(n)
        memset(&out, 0, sizeof(out))
        out.with_offsets = with_offsets
        try:
            with nogil:
                failed = self.run(data, n, &out)
            if failed:
                no_memory(n)
            normalized = PyBytes_FromStringAndSize(<const char*> out.data, <Py_ssize_t> out.n)
            if not with_offsets:
                return normalized
            offsets = []
            for i in range(0 if out.is_empty else out.n + 1):
                yield_gil_at(i)
                offsets.append(out.offsets[i])
            return normalized, offsets
        finally:
            normalized_free(&out)


cdef inline int _advance(
    Normalizer self, const uint8_t* text, size_t n, size_t stop, Normalized* out, const bint with_offsets
) noexcept nogil:
    # This loop is longer than a screen. It was slower when its three kinds of characters had their own inline
    # functions, with the state passed by pointer or by value.
    cdef Step step
    cdef size_t end, k, i, at = out.at
    cdef uint64_t word, other
    cdef uint32_t c = 0
    cdef uint8_t to
    cdef bint after_space = out.after_space
    cdef uint8_t* p
    while at < stop:
        if normalized_reserve(out, BLOCK_CAPACITY) != 0:
            return -1
        end = min(stop, at + BLOCK_BYTES)
        p = out.data + out.n
        while at < end:
            if self._plain_words and n - at > 8:
                # Up to eight bytes from ! to ~ that are followed by ASCII, at once (SWAR). The lowest bit of
                # `other` is exact: borrows and carries start only at bytes that are marked themselves.
                word = eight_bytes(text + at)
                other = (word | (word - ONES * 0x21) | (word + ONES)) & HIGH
                k = lowest_bit(other) >> 3 if other else 8
                if k and text[at + k] > 0x7F:
                    k -= 1
                if k:
                    memcpy(p, text + at, 8)
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
                        and not (c == 0x2581 and self._metaspace_to_space):
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


@cython.final
cdef class Normalizing:
    """Steps of code-point mode.

    normalizer: Normalizer or None – normalizes texts; if the vocabulary has spaces in place of U+2581, it writes
        no U+2581. None: the text itself, with a space before it if dummy_prefix, equals the normalized one.
    dummy_prefix: bool – if there is no normalizer, put a space before each text.
    prefix: "always", "first" or "" – put a space before normalized text that does not begin with one: before each
        text between tokens, only at the beginning of a text, or never.
    symbols: SpecialMatcher or None – user-defined symbols, in their normalized form.
    cuttable: bool – a letter or number before a space always ends a word, and the space begins the next: a safe
        cut is between them.
    fused: int or None – several of this id in a row become a single one.
    to_spaces: Normalizer – without a normalizer, when spans are requested, writes texts with U+2581 as the
        vocabulary spells them.
    as_tokenizers: bool – return the spans of tokenizers; False: sentencepiece's.
    removes_spaces: bool – the normalizer makes one space of several.
    table: PieceIdTable or None – a table of the ids of pieces.

    dropped: int – number of ids to drop at the beginning of each text between tokens; a text with fewer ids keeps
        them. Set this attribute before the first text.
    """
    def __cinit__(
        self, Normalizer normalizer, *, bint dummy_prefix, str prefix not None="", SpecialMatcher symbols,
        bint cuttable, fused, Normalizer to_spaces not None, bint as_tokenizers, bint removes_spaces,
        PieceIdTable table=None,
    ):
        self.table = table
        self.normalizer = normalizer
        self.to_spaces = to_spaces
        self.as_tokenizers = as_tokenizers
        self.removes_spaces = removes_spaces
        self.prefix_always = prefix == "always"
        self.prefix_first = prefix == "first"
        self.dummy_prefix = dummy_prefix
        self.symbols = symbols
        self.cuttable = cuttable
        self.fused = NONE if fused is None else fused
        self.only_prefixes = (
            normalizer is None and not prefix and symbols is None and fused is None and table is None
        )

"""Counting the words of sentences, for code-point mode: normalised, and cut wherever no merge can cross.

A word of sentencepiece is what lies between spaces. Here it is cut further, between characters that stand side by side
in no piece: letters and punctuation, say. Fewer distinct words remain, and the same merges are learned from them, since
words never say anything to each other but how often a pair occurs.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memchr, memcmp, memcpy

from fastbpe._core.common.bits cimport lowest_bit
from fastbpe._core.common.byte_buffer cimport buffer_free, buffer_reset
from fastbpe._core.train.scripts cimport ALONE, FIRST_SCRIPT, METASPACE_CLASS, N_CODE_POINTS, next_code_point
from fastbpe._core.train.piece_counter cimport PieceCounter
from fastbpe._core.common.atomics cimport set_flag
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalizer, normalized_free
from fastbpe._core.train.piece_table cimport GROUP, PieceCount, PieceTable
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.split.splitter cimport Splitter
from fastbpe._core.common.hash_tables cimport load64
from fastbpe._core.text.utf8_text cimport (
    Text, first_invalid, not_utf8, text_release, text_room, text_utf8, text_view,
)
from fastbpe._core.common.interrupts cimport check_signals

from fastbpe._core.train.piece_counter import Invalid
from fastbpe.errors import SpecError

cdef extern from *:
    """
    #define FASTBPE_ONES 0x0101010101010101ull
    #define FASTBPE_HIGH 0x8080808080808080ull
    """
    const uint64_t ONES "FASTBPE_ONES"
    const uint64_t HIGH "FASTBPE_HIGH"

cdef enum:
    BLOCK = 1 << 15  # bytes of words that are counted at once: they stay in the first-level cache
    BOUNDARY = 0x1F


@cython.final
cdef class WordCounter:
    """The words of sentences. One thread at a time.

    classes: of each code point a byte, as character_classes.pxd has them. symbols, delimiter: where one stands in a normalised
    sentence, there is a boundary that no piece crosses. max_bytes: longer sentences are left out. splits, suffix, runs:
    whether words end at spaces, whether these belong to the word before, whether several stay together. has_counts:
    each line says after a tab how often it occurs. is_checked: text must be UTF-8.
    """

    def __cinit__(
        self, Normalizer normalizer not None, bytes classes not None, *, SpecialMatcher symbols=None,
        bytes delimiter not None=b"", size_t max_bytes=4192, bint splits=True, bint suffix=False, bint runs=False,
        bint has_counts=False, bint is_checked=False, spill=None, size_t limit=0,
    ):
        if PyBytes_GET_SIZE(classes) != N_CODE_POINTS:
            raise ValueError(f"{len(classes)} classes of characters, not {N_CODE_POINTS}")
        self._normalizer, self._symbols = normalizer, symbols
        self._owners = delimiter, classes
        self._delimiter = <const uint8_t*> PyBytes_AS_STRING(delimiter)
        self._n_delimiter = <size_t> PyBytes_GET_SIZE(delimiter)
        self._classes = <const uint8_t*> PyBytes_AS_STRING(classes)
        self._letters = self._classes[97]
        for letter in b"ABCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz":
            if self._classes[<uint8_t> letter] != self._letters or self._letters == ALONE:
                self._letters = 0
        self._max_bytes = max_bytes
        self._splits, self._suffix, self._runs = splits, suffix, runs
        self._has_counts, self._is_checked = has_counts, is_checked
        self.words = PieceCounter(Splitter(), spill=spill, limit=limit)
        self._watch.abandoned = &self._abandoned

    def __dealloc__(self):
        normalized_free(&self._line)
        free(self._block)
        free(self._ends)
        buffer_free(&self._utf8)

    def abandon(self):
        """Make a thread that is counting stop soon, with an error: nobody wants the counts."""
        set_flag(&self._abandoned)

    def add_lines(self, list texts not None, *, size_t first=0):
        """Count the words of documents, whose lines are sentences. first: the number of the first, for errors."""
        self._add_texts(texts, first, True)

    def add_sentences(self, list texts not None, *, size_t first=0):
        """Count the words of sentences."""
        self._add_texts(texts, first, False)

    def add_part(self, text, size_t start, size_t end, *, size_t first=0):
        """Count the words of the lines in a part of a document."""
        cdef Text view
        text_view(text, &view)
        self._enter()
        try:
            with nogil:
                self._read(&view, start, end, True)
                self._flush(1)
        except Invalid as error:
            raise not_utf8(f"document {first} of the source is", error.args[1], start + error.args[2]) from None
        finally:
            self._busy = False
            text_release(&view)

    def prepare(self, bytes sentence not None):
        """A sentence normalised, with boundaries, and how often it occurs; None if it is left out."""
        cdef size_t n
        cdef int64_t count
        cdef const char* text
        self._enter()
        try:
            count = self._normalised(<const uint8_t*> PyBytes_AS_STRING(sentence), PyBytes_GET_SIZE(sentence))
            if not count:
                return None
            self.n_bytes += PyBytes_GET_SIZE(sentence)
            self._make_room(self._line.n)
            n = self._replaced(self._line.data, self._line.n, self._block + self._n_block)
            text = <const char*> self._block + self._n_block
            return text[:n], count
        finally:
            self._busy = False

    def add_prepared(self, bytes text not None, int64_t count):
        """Count the words of a sentence that is normalised and has its boundaries."""
        cdef size_t n = <size_t> PyBytes_GET_SIZE(text), start
        self._enter()
        try:
            self._make_room(n)
            start = self._n_block
            memcpy(self._block + start, PyBytes_AS_STRING(text), n)
            self._n_block += n
            self._cut(start)
            self._flush(count)
        finally:
            self._busy = False

    def _add_texts(self, list texts, size_t first, bint has_lines):
        cdef size_t n = len(texts), n_views = 0, i = 0
        cdef Text* views = <Text*> calloc(n + 1, sizeof(Text))
        if views == NULL:
            raise MemoryError(f"no memory to count {n} texts at once")
        try:
            for n_views in range(n):
                text_view(texts[n_views], &views[n_views])
            n_views = n
            self._enter()
            try:
                with nogil:
                    for i in range(n):
                        self._read(&views[i], 0, views[i].n, has_lines)
                    self._flush(1)
            except Invalid as error:
                raise not_utf8(f"document {first + i} of the source is", error.args[1], error.args[2]) from None
            finally:
                self._busy = False
        finally:
            for i in range(n_views):
                text_release(&views[i])
            free(views)

    cdef int _enter(self) except -1:
        if self._busy:
            raise RuntimeError("another thread is counting with this; give each thread its own")
        self._busy = True
        return 0

    # Reading

    cdef int _read(self, const Text* text, size_t start, size_t end, bint has_lines) except -1 nogil:
        cdef const uint8_t* data = <const uint8_t*> text.data + start
        cdef size_t n = end - start, bad
        if not text.is_utf8:
            buffer_reset(&self._utf8, text_room(text, end - start))
            n = text_utf8(text, start, end, self._utf8.items)
            data = self._utf8.items
        elif self._is_checked:
            bad = first_invalid(data, n)
            if bad < n:
                with gil:
                    raise Invalid(0, data[bad], bad)
        if has_lines:
            self._lines(data, n)
        else:
            self._sentence(data, n)
        self.n_bytes += n
        return 0

    cdef int _lines(self, const uint8_t* data, size_t n) except -1 nogil:
        cdef size_t at = 0, length, n_left_out
        cdef const uint8_t* end
        while at < n:
            end = <const uint8_t*> memchr(data + at, b"\n", n - at)
            length = n - at if end == NULL else <size_t> (end - data) - at
            n_left_out = self.n_bytes_left_out
            self._sentence(data + at, length)
            self.n_ends_left_out += end != NULL and self.n_bytes_left_out != n_left_out
            at += length + 1
        return 0

    cdef int _sentence(self, const uint8_t* data, size_t n) except -1 nogil:
        cdef int64_t count = self._normalised(data, n)
        if count and not self._line.is_empty:
            self._add(count)
        return 0

    cdef int64_t _normalised(self, const uint8_t* data, size_t n) except -1 nogil:
        """Normalise a sentence; how often it occurs, 0 if it is left out."""
        cdef int64_t count = 1
        if self._has_counts:
            count = self._count_of_line(data, &n)
        if n == 0:
            self.n_empty += 1
        elif n > self._max_bytes:
            self.n_too_long += 1
            self.n_bytes_left_out += n
        elif holds(data, n, b"\xe2\x96\x85", 3):
            self.n_reserved += 1
            self.n_bytes_left_out += n
        else:
            self.n_sentences += 1
            if self._normalizer.run(data, n, &self._line) != 0:
                with gil:
                    raise MemoryError(f"no memory to normalise a sentence of {n} bytes")
            return count
        return 0

    cdef int64_t _count_of_line(self, const uint8_t* data, size_t* n) except -1 nogil:
        """How often a sentence occurs, and its bytes: "sentence TAB count"."""
        cdef const uint8_t* tab = <const uint8_t*> memchr(data, b"\t", n[0])
        cdef size_t at
        cdef int64_t count = 0, digit
        cdef size_t end = n[0]
        if tab == NULL or memchr(tab + 1, b"\t", end - <size_t> (tab + 1 - data)) != NULL:
            with gil:
                line = (<const char*> data)[:end].decode("utf-8", "replace")
                raise SpecError(
                    f"{line[:200]!r} is no line of tsv: expected a sentence, a tab, and how often it occurs",
                    f"Input format must be: word <tab> freq. {line}",
                )
        at = <size_t> (tab + 1 - data)
        n[0] = <size_t> (tab - data)
        while at < end and is_blank(data[at]):
            at += 1
        while at < end and is_blank(data[end - 1]):
            end -= 1
        if at + 1 < end and data[at] == b"+":
            at += 1
        if at == end:
            count = -1
        while at < end and count >= 0:
            digit = <int64_t> data[at] - 48
            count = count * 10 + digit if 0 <= digit <= 9 and count <= (INT64_MAX - digit) // 10 else -1
            at += 1
        if count < 1:
            with gil:
                line = (<const char*> tab + 1)[:end - n[0] - 1].decode("utf-8", "replace")
                is_number = line.strip().lstrip("+-").isdecimal()
                raise SpecError(
                    f"a sentence of tsv occurs {line[:200]!r} times: give 1 to 2**63 - 1",
                    "[(freq) >= (1)] " if is_number else "Could not parse the frequency",
                )
        return count

    # Cutting

    cdef int _add(self, int64_t count) except -1 nogil:
        """Cut the sentence that was normalised into words, and count them when there are enough."""
        cdef size_t start
        if count != 1:
            self._flush(1)
        self._make_room(self._line.n)
        start = self._n_block
        self._n_block += self._replaced(self._line.data, self._line.n, self._block + start)
        self._cut(start)
        if self._n_block >= BLOCK or count != 1:
            self._flush(count)
        return 0

    cdef size_t _replaced(self, const uint8_t* data, size_t n, uint8_t* out) noexcept nogil:
        """Write a sentence with boundaries in place of symbols, then of the delimiter; its bytes."""
        cdef Match match
        cdef size_t at = 0, written = 0, n_delimiter = self._n_delimiter
        if self._symbols is not None:
            while self._symbols.find(data, n, at, &match):
                memcpy(out + written, data + at, match.start - at)
                written += match.start - at
                out[written] = BOUNDARY
                written += 1
                at = match.end
        memcpy(out + written, data + at, n - at)
        n = written + n - at
        if not n_delimiter:
            return n
        at = written = 0
        while at < n:
            if n - at >= n_delimiter and memcmp(out + at, self._delimiter, n_delimiter) == 0:
                out[written] = BOUNDARY
                at += n_delimiter
            else:
                out[written] = out[at]
                at += 1
            written += 1
        return written

    cdef int _make_room(self, size_t n) except -1 nogil:
        cdef size_t wanted = self._n_block + n + 16  # what is read eight bytes at a time
        cdef void* grown
        if wanted > self._block_capacity:
            wanted += BLOCK
            grown = realloc(self._block, wanted)
            if grown == NULL:
                with gil:
                    raise MemoryError(f"no memory for {wanted} bytes of sentences")
            self._block = <uint8_t*> grown
            self._block_capacity = wanted
        wanted = self._n_ends + n + 1
        if wanted > self._ends_capacity:
            wanted += BLOCK
            grown = realloc(self._ends, wanted * sizeof(size_t))
            if grown == NULL:
                with gil:
                    raise MemoryError(f"no memory for {wanted} words")
            self._ends = <size_t*> grown
            self._ends_capacity = wanted
        return 0

    cdef void _cut(self, size_t start) noexcept nogil:
        """Note where the words of the sentence end that begins in the block at start."""
        cdef const uint8_t* text = self._block
        cdef size_t* ends = self._ends + self._n_ends
        cdef size_t at = start, here, n = self._n_block
        cdef uint8_t before = ALONE, class_
        if start == n:
            return
        while at < n:
            here = at
            if is_letter(text[at]) and self._letters:
                class_ = self._letters
                at = min(at + n_letters(text + at), n)
            elif text[at] == 0xE2 and n - at >= 3 and text[at + 1] == 0x96 and text[at + 2] == 0x81:
                class_ = METASPACE_CLASS
                at += 3
            else:
                class_ = self._classes[next_code_point(text, n, &at)]
            if (class_ != before or class_ == METASPACE_CLASS or class_ == ALONE) and here > start and self._begins(before, class_):
                ends[0] = here
                ends += 1
            before = class_
        ends[0] = n
        self._n_ends = <size_t> (ends + 1 - self._ends)

    cdef inline bint _begins(self, uint8_t before, uint8_t here) noexcept nogil:
        """Whether a word begins between two characters of these classes."""
        if before >= FIRST_SCRIPT and here >= FIRST_SCRIPT:
            return before != here
        if before == ALONE or here == ALONE:
            return True
        if not self._splits or (self._runs and before == METASPACE_CLASS and here == METASPACE_CLASS):
            return False
        return (before if self._suffix else here) == METASPACE_CLASS

    cdef int _flush(self, int64_t count) except -1 nogil:
        """Count the words of the block, each so often, and empty it."""
        cdef size_t done = 0, start = 0, n
        while done < self._n_ends:
            self.words._make_room()
            n = min(self._n_ends - done, <size_t> GROUP)
            if count == 1:
                self.words._group(self._block, self._n_block, start, self._ends + done, n)
                done += n
                start = self._ends[done - 1]
                continue
            for done in range(done, done + n):
                self.words._add(self._block + start, self._ends[done] - start, 0, count)
                start = self._ends[done]
            done += 1
        self._n_block = self._n_ends = 0
        return check_signals(&self._watch)


cdef bint holds(const uint8_t* data, size_t n, const uint8_t* what, size_t n_what) noexcept nogil:
    cdef const uint8_t* at = data
    cdef const uint8_t* end = data + n
    while True:
        at = <const uint8_t*> memchr(at, what[0], <size_t> (end - at))
        if at == NULL or <size_t> (end - at) < n_what:
            return False
        if memcmp(at, what, n_what) == 0:
            return True
        at += 1


cdef inline bint is_letter(uint8_t c) noexcept nogil:
    return <uint8_t> ((c | 0x20) - 97) < 26


cdef inline size_t n_letters(const uint8_t* text) noexcept nogil:
    """How many ASCII letters follow, eight at a time; there must be room for eight bytes more than there is text."""
    cdef uint64_t word, low, other
    cdef size_t n = 0
    while True:
        word = load64(text + n)
        low = (word | ONES * 0x20) & ~HIGH
        # The top bit of each byte: whether it is below "a", above "z", or not ASCII.
        other = (~(low + ONES * (0x80 - 97)) | (low + ONES * (0x7F - 122)) | word) & HIGH
        if other:
            return n + (lowest_bit(other) >> 3)
        n += 8


cdef inline bint is_blank(uint8_t c) noexcept nogil:
    return c == 32 or 9 <= c <= 13


def characters(PieceTable words not None):
    """How often each character occurs in counted words, by code point, without NUL; OverflowError beyond 2**63 - 1."""
    cdef int64_t* counts = <int64_t*> calloc(N_CODE_POINTS, sizeof(int64_t))
    cdef int64_t left = INT64_MAX
    cdef PieceCount* word
    cdef size_t w, at
    cdef uint32_t c
    if counts == NULL:
        raise MemoryError("no memory to count characters")
    try:
        words.settle()
        with nogil:
            for w in range(words.n_pieces):
                word = &words.pieces[w]
                at = 0
                while at < word.n_bytes:
                    c = next_code_point(words.arena + word.start, word.n_bytes, &at)
                    if c:
                        if left < word.count:
                            with gil:
                                raise OverflowError("the characters of the text are more than 2**63 - 1")
                        left -= word.count
                        counts[c] += word.count
        return {c: counts[c] for c in range(<uint32_t> N_CODE_POINTS) if counts[c]}
    finally:
        free(counts)

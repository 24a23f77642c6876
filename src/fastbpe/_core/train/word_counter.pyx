"""Count the words of sentences, for training in code-point or unigram mode.

sentencepiece's words end at white space. Here a word also ends between two characters that are never adjacent in a
piece, such as a letter and a punctuation mark. This leaves fewer distinct words, and training learns the same
merges from them, because it only uses how often each pair occurs.

The life of a sentence: normalize; replace symbols and delimiters by a boundary byte; append to a block; find the
ends of its words. The words of a full block are counted. For unigram models, whose words end only at white space,
a mark distinguishes the last word of a sentence from the others, and the sentences themselves may be kept, too.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from fastbpe._core.common.bits cimport HIGH, ONES, eight_bytes, lowest_bit
from fastbpe._core.common.byte_buffer cimport buffer_free, buffer_reset
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.common.utf8 cimport is_metaspace
from fastbpe._core.train.scripts cimport ALONE, FIRST_SCRIPT, METASPACE_CLASS, N_CODE_POINTS, next_code_point
from fastbpe._core.train.piece_counter cimport PieceCounter
from fastbpe._core.train.text_views cimport TextViews
from fastbpe._core.common.atomics cimport claim, clear_flag, set_flag
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalizer, normalized_free
from fastbpe._core.train.piece_table cimport GROUP_PIECES, PieceTable
from fastbpe._core.train.sentence_store cimport SENTENCE_END, SentenceStore
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.split.splitter cimport Splitter
from fastbpe._core.text.utf8_text cimport Text, utf8_capacity, text_utf8
from fastbpe._core.common.interrupts cimport check_signals

from fastbpe.errors import SpecError

cdef enum:
    FLUSH_BYTES = 1 << 15  # size of the block, in bytes, at which its words are counted: it fits into the L1 cache
    READ_AHEAD_BYTES = 8  # zeros at the end of the block: n_letters stops in the 8 bytes that have the first zero
    BOUNDARY = 0x1F  # sentencepiece's boundary character: no piece contains it

# U+2585 LOWER FIVE EIGHTHS BLOCK. sentencepiece writes it for characters outside the alphabet, so sentences that
# already contain it are skipped.
cdef const uint8_t* RESERVED_UTF8 = b"\xe2\x96\x85"


@cython.final
cdef class WordCounter:
    """Counter of the words of sentences. One thread at a time may use it.

    normalizer: Normalizer – normalizes each sentence.
    classes: bytes, one per code point – classes of characters, as in scripts.pxd.
    symbols: SpecialMatcher or None – names of unknown, control, user-defined and byte pieces; as in sentencepiece,
        no piece crosses one in normalized text.
    delimiter: bytes – no piece crosses this text either; b"": no delimiter.
    max_bytes: int – leave out longer sentences.
    split_by_whitespace: bool – end a word at each space.
    treat_whitespace_as_suffix: bool – a space belongs to the word before it, not to the one after it.
    allow_whitespace_only_pieces: bool – keep several spaces together.
    has_counts: bool – each line is "sentence TAB count".
    is_checked: bool – raise ValueError for bytes that are not UTF-8.
    spill, limit: as for PieceTable.
    marks_ends: bool – count the last word of a sentence with a byte SENTENCE_END after it.
    keeps: str – content for `take_store`: "sentences", normalized; "last words", of each sentence; "": nothing.
    counts_words: bool – False: keep sentences only.
    """

    def __cinit__(
        self, Normalizer normalizer not None, bytes classes not None, *, SpecialMatcher symbols,
        bytes delimiter not None, size_t max_bytes, bint split_by_whitespace, bint treat_whitespace_as_suffix,
        bint allow_whitespace_only_pieces, bint has_counts, bint is_checked, spill, size_t limit, bint marks_ends,
        str keeps not None, bint counts_words,
    ):
        if PyBytes_GET_SIZE(classes) != N_CODE_POINTS:
            raise ValueError(f"{len(classes)} classes of characters, not {N_CODE_POINTS}")
        self._normalizer, self._symbols = normalizer, symbols
        self._marks_ends, self._counts_words = marks_ends, counts_words
        self._keeps_sentences, self._keeps_last_words = keeps == "sentences", keeps == "last words"
        self._store = SentenceStore()
        self._owners = delimiter, classes
        self._delimiter = <const uint8_t*> PyBytes_AS_STRING(delimiter)
        self._n_delimiter = <size_t> PyBytes_GET_SIZE(delimiter)
        self._classes = <const uint8_t*> PyBytes_AS_STRING(classes)
        self._letters = self._classes[97]
        for letter in b"ABCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz":
            if self._classes[<uint8_t> letter] != self._letters or self._letters == ALONE:
                self._letters = 0
        self._max_bytes = max_bytes
        self._split_by_whitespace = split_by_whitespace
        self._treat_whitespace_as_suffix = treat_whitespace_as_suffix
        self._allow_whitespace_only_pieces = allow_whitespace_only_pieces
        self._has_counts, self._is_checked = has_counts, is_checked
        self.words = PieceCounter(Splitter(), spill=spill, limit=limit)
        self._watch.abandoned = &self._abandoned

    def __dealloc__(self):
        normalized_free(&self._line)
        free(self._block)
        free(self._ends)
        buffer_free(&self._utf8)

    def abandon(self):
        """Make a thread that is counting stop soon with an error, because nobody needs the counts now."""
        set_flag(&self._abandoned)

    def take_store(self):
        """Return (SentenceStore of the data kept since the last call, number of bytes of normalized sentences)."""
        cdef SentenceStore store = self._store
        cdef size_t n_bytes = self._n_normalized
        self._store, self._n_normalized = SentenceStore(), 0
        return store, n_bytes

    def add_lines(self, list texts not None, *, size_t first=0):
        """Count the words of documents whose lines are sentences.

        first: int – index of the first document in its source, for errors.
        """
        self._add_texts(TextViews(texts, first=first), True)

    def add_sentences(self, list texts not None, *, size_t first=0):
        """Count the words of sentences.

        first: int – index of the first sentence in its source, for errors.
        """
        self._add_texts(TextViews(texts, first=first), False)

    def add_part(self, text, size_t start, size_t end, *, size_t first=0):
        """Count the words of the lines in one part of a document.

        start, end: int – the part, in units of the text (bytes, or characters of a str).
        first: int – index of the document in its source, for errors.
        """
        cdef TextViews views = TextViews([text], first=first)
        self._enter()
        try:
            with nogil:
                self._read(views, 0, start, end, True)
                self._flush(1)
        finally:
            clear_flag(&self._busy)

    def prepare(self, bytes sentence not None):
        """Return (the normalized sentence with boundaries, how often it occurs); None if it is left out."""
        cdef size_t n
        cdef int64_t count
        cdef const char* text
        self._enter()
        try:
            count = self._normalize(<const uint8_t*> PyBytes_AS_STRING(sentence), PyBytes_GET_SIZE(sentence))
            self.n_bytes += PyBytes_GET_SIZE(sentence)
            if not count:
                return None
            self._reserve(self._line.n)
            n = self._write_boundaries(self._line.data, self._line.n, self._block + self._n_block)
            text = <const char*> self._block + self._n_block
            return text[:n], count
        finally:
            clear_flag(&self._busy)

    def add_prepared(self, bytes text not None, int64_t count):
        """Count the words of a sentence that `prepare` returned, `count` times each."""
        cdef size_t n = <size_t> PyBytes_GET_SIZE(text)
        self._enter()
        try:
            self._reserve(n)
            memcpy(self._block + self._n_block, PyBytes_AS_STRING(text), n)
            self._add_written(n, count)
            self._flush(count)
        finally:
            clear_flag(&self._busy)

    cdef int _add_texts(self, TextViews views, bint has_lines) except -1:
        """Count the words of texts. has_lines: the lines of a text are sentences; False: a text is one sentence."""
        cdef size_t i
        self._enter()
        try:
            with nogil:
                for i in range(views.n):
                    self._read(views, i, 0, views.items[i].n, has_lines)
                self._flush(1)
        finally:
            clear_flag(&self._busy)
        return 0

    cdef int _enter(self) except -1:
        if not claim(&self._busy):
            raise RuntimeError("another thread is using this WordCounter; give each thread its own")
        return 0

    # Reading

    cdef int _read(self, TextViews views, size_t i, size_t start, size_t end, bint has_lines) except -1 nogil:
        """Read units start to end of text i, as lines or as one sentence."""
        cdef const Text* text = &views.items[i]
        cdef const uint8_t* data = <const uint8_t*> text.data + start
        cdef size_t n = end - start
        if not text.is_utf8:
            buffer_reset(&self._utf8, utf8_capacity(text, end - start))
            n = text_utf8(text, start, end, self._utf8.items)
            data = self._utf8.items
        elif self._is_checked:
            views.check_utf8(i, start, end)
        if has_lines:
            self._add_lines(data, n)
        else:
            self._add_sentence(data, n)
        self.n_bytes += n
        return 0

    cdef int _add_lines(self, const uint8_t* data, size_t n) except -1 nogil:
        cdef size_t at = 0, length, n_left_out
        cdef const uint8_t* end
        while at < n:
            end = <const uint8_t*> memchr(data + at, b"\n", n - at)
            length = n - at if end == NULL else <size_t> (end - data) - at
            n_left_out = self.n_bytes_left_out
            self._add_sentence(data + at, length)
            self.n_ends_left_out += end != NULL and self.n_bytes_left_out != n_left_out
            at += length + 1
        return 0

    cdef int _add_sentence(self, const uint8_t* data, size_t n) except -1 nogil:
        cdef int64_t count = self._normalize(data, n)
        if count:
            self._add_line(count)
        return 0

    cdef int64_t _normalize(self, const uint8_t* data, size_t n) except -1 nogil:
        """Normalize a sentence into self._line.

        Ensures: returns how often the sentence occurs, or 0 if it is left out; one of n_sentences, n_empty,
        n_too_long and n_reserved is incremented.
        """
        cdef int64_t count = 1
        if self._has_counts:
            count = self._split_off_count(data, &n)
        if n == 0:
            self.n_empty += 1
        elif n > self._max_bytes:
            self.n_too_long += 1
            self.n_bytes_left_out += n
        elif contains(data, n, RESERVED_UTF8, 3):
            self.n_reserved += 1
            self.n_bytes_left_out += n
        else:
            self.n_sentences += 1
            if self._normalizer.run(data, n, &self._line) != 0:
                with gil:
                    raise MemoryError(f"no memory to normalize a sentence of {n} bytes")
            return count
        return 0

    cdef int64_t _split_off_count(self, const uint8_t* data, size_t* n) except -1 nogil:
        """Read the count of a line "sentence TAB count".

        n: bytes of the line; receives the bytes of the sentence.
        """
        cdef const uint8_t* tab = <const uint8_t*> memchr(data, b"\t", n[0])
        cdef size_t at
        cdef int64_t count = 0, digit
        cdef size_t end = n[0]
        if tab == NULL or memchr(tab + 1, b"\t", end - <size_t> (tab + 1 - data)) != NULL:
            with gil:
                line = (<const char*> data)[:end].decode("utf-8", "replace")
                raise SpecError(
                    f"{line[:200]!r} is not a line of tsv: expected a sentence, a tab, and how often it occurs",
                    f"Input format must be: word <tab> freq. {line}",
                )
        at = <size_t> (tab + 1 - data)
        n[0] = <size_t> (tab - data)
        while at < end and is_blank(data[at]):
            at += 1
        while at < end and is_blank(data[end - 1]):
            end -= 1
        if at < end and data[at] == b"+":
            at += 1
        while at < end and count >= 0:
            digit = <int64_t> data[at] - 48
            count = count * 10 + digit if 0 <= digit <= 9 and count <= (INT64_MAX - digit) // 10 else -1
            at += 1
        if count < 1:
            with gil:
                line = (<const char*> tab + 1)[:end - n[0] - 1].decode("utf-8", "replace")
                is_number = line.strip().lstrip("+-").isdecimal()
                raise SpecError(
                    f"a tsv sentence has the count {line[:200]!r}: it must be 1 to 2**63 - 1",
                    "[(freq) >= (1)] " if is_number else "Could not parse the frequency",
                )
        return count

    # Finding words

    cdef int _add_line(self, int64_t count) except -1 nogil:
        """Append the words of self._line to the block; flush the block if it is full or if count is not 1.

        All sentences in a block have the same count.
        """
        if count != 1:
            self._flush(1)
        self._reserve(self._line.n)
        return self._add_written(
            self._write_boundaries(self._line.data, self._line.n, self._block + self._n_block), count
        )

    cdef int _add_written(self, size_t n, int64_t count) except -1 nogil:
        """Add the sentence of n bytes that was written after the block, and keep the data requested by `keeps`."""
        cdef size_t start = self._n_block, n_ends = self._n_ends, last
        self._n_normalized += n
        if self._keeps_sentences:
            self._store.add(self._block + start, n, count)
        elif n == 0 and self._keeps_last_words:  # the last word of an empty sentence is empty
            self._store.add(self._block, 0, count)
        if n == 0 or not self._counts_words:
            return 0
        self._n_block += n
        self._find_ends(start)
        if self._keeps_last_words:
            last = self._ends[self._n_ends - 2] if self._n_ends - n_ends > 1 else start
            self._store.add(self._block + last, self._n_block - last, count)
        if self._marks_ends:
            self._block[self._n_block] = SENTENCE_END
            self._n_block += 1
            self._ends[self._n_ends - 1] += 1
        if self._n_block >= FLUSH_BYTES or count != 1:
            self._flush(count)
        return 0

    cdef size_t _write_boundaries(self, const uint8_t* data, size_t n, uint8_t* out) noexcept nogil:
        """Copy a sentence with BOUNDARY instead of each symbol, then of each delimiter; return the new length.

        Requires: out has space for n bytes.
        """
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

    cdef int _reserve(self, size_t n) except -1 nogil:
        """Make space in the block for n more bytes and SENTENCE_END, and for as many ends."""
        cdef size_t wanted = self._n_block + n + 1 + READ_AHEAD_BYTES
        cdef void* grown
        if wanted > self._block_capacity:
            wanted += FLUSH_BYTES
            grown = realloc(self._block, wanted)
            if grown == NULL:
                with gil:
                    raise MemoryError(f"no memory for {wanted} bytes of sentences")
            self._block = <uint8_t*> grown
            self._block_capacity = wanted
            memset(self._block + wanted - READ_AHEAD_BYTES, 0, READ_AHEAD_BYTES)
        wanted = self._n_ends + n + 1
        if wanted > self._ends_capacity:
            wanted += FLUSH_BYTES
            grown = realloc(self._ends, wanted * sizeof(size_t))
            if grown == NULL:
                with gil:
                    raise MemoryError(f"no memory for {wanted} words")
            self._ends = <size_t*> grown
            self._ends_capacity = wanted
        return 0

    cdef void _find_ends(self, size_t start) noexcept nogil:
        """Append the ends of the words of the sentence from `start` to the end of the block.

        Requires: the sentence is not empty; _reserve() has reserved space for them.
        """
        cdef const uint8_t* text = self._block
        cdef size_t* ends = self._ends + self._n_ends
        cdef size_t at = start, here, n = self._n_block
        cdef uint8_t before = ALONE, class_  # before: any class, since no end is at `start`
        while at < n:
            here = at
            if is_letter(text[at]) and self._letters:
                class_ = self._letters
                at = min(at + n_letters(text + at), n)
            elif is_metaspace(text + at, n - at):
                class_ = METASPACE_CLASS
                at += 3
            else:
                class_ = self._classes[next_code_point(text, n, &at)]
            if (class_ != before or class_ == METASPACE_CLASS or class_ == ALONE) and here > start:
                if self._is_word_start(before, class_):
                    ends[0] = here
                    ends += 1
            before = class_
        ends[0] = n
        self._n_ends = <size_t> (ends + 1 - self._ends)

    cdef inline bint _is_word_start(self, uint8_t before, uint8_t here) noexcept nogil:
        """Tell whether a word begins between two neighbours of these classes."""
        if before >= FIRST_SCRIPT and here >= FIRST_SCRIPT:
            return before != here
        if before == ALONE or here == ALONE:
            return True
        if not self._split_by_whitespace:
            return False
        if self._allow_whitespace_only_pieces and before == METASPACE_CLASS and here == METASPACE_CLASS:
            return False
        return (before if self._treat_whitespace_as_suffix else here) == METASPACE_CLASS

    cdef int _flush(self, int64_t count) except -1 nogil:
        """Count the words of the block, `count` times each, and empty it."""
        if count == 1:
            self.words.count_pieces(self._block, self._n_block, 0, self._ends, self._n_ends)
        else:
            _add_pieces(self.words, self._block, self._ends, self._n_ends, count)
        self._n_block = self._n_ends = 0
        return check_signals(&self._watch)


cdef bint contains(const uint8_t* data, size_t n, const uint8_t* wanted, size_t n_wanted) noexcept nogil:
    """Tell whether `wanted` occurs in data."""
    cdef const uint8_t* at = data
    cdef const uint8_t* end = data + n
    while True:
        at = <const uint8_t*> memchr(at, wanted[0], <size_t> (end - at))
        if at == NULL or <size_t> (end - at) < n_wanted:
            return False
        if memcmp(at, wanted, n_wanted) == 0:
            return True
        at += 1


cdef inline bint is_letter(uint8_t c) noexcept nogil:
    """Tell whether a byte is an ASCII letter."""
    return <uint8_t> ((c | 0x20) - 97) < 26


cdef inline size_t n_letters(const uint8_t* text) noexcept nogil:
    """Count the ASCII letters that `text` begins with, eight at a time (SWAR); the count may exceed the text.

    Requires: after the text there are READ_AHEAD_BYTES bytes without a letter, and all bytes before them are
    readable. Bytes between the text and these may be letters: the caller limits the count to the text.
    """
    cdef uint64_t eight, low, other
    cdef size_t n = 0
    while True:
        eight = eight_bytes(text + n)
        low = (eight | ONES * 0x20) & ~HIGH
        # The top bit of each byte is set if it is below "a", above "z", or not ASCII.
        other = (~(low + ONES * (0x80 - 97)) | (low + ONES * (0x7F - 122)) | eight) & HIGH
        if other:
            return n + (lowest_bit(other) >> 3)
        n += 8


cdef inline bint is_blank(uint8_t c) noexcept nogil:
    """Tell whether a byte is ASCII white space."""
    return c == 32 or 9 <= c <= 13


cdef int _add_pieces(
    PieceTable table, const uint8_t* data, const size_t* ends, size_t n_ends, int64_t count
) except -1 nogil:
    """Count the pieces at the beginning of data, which are contiguous, `count` times each.

    All get the position 0, because training does not use the order of words. The table may grow or spill.
    """
    cdef size_t i, start = 0
    for i in range(n_ends):
        if i % GROUP_PIECES == 0:
            table.reserve_group()
        table.add_counted(data + start, ends[i] - start, 0, count)
        start = ends[i]
    return 0

"""Initial pieces of the training of a unigram model: strings that occur in different contexts.

sentencepiece joins all sentences, each ended by a NUL, builds the suffix array of the bytes, and takes the inner
nodes of the suffix tree: strings that are followed by at least two different bytes. Here suffixes of the distinct
units (see sentence_store) are sorted, each with the count of its unit: a unit contains everything that decides
about a string that can be a piece. A string that is a whole unit also has a node with a NUL at its end, if
different sentences follow. sentencepiece adds the count of that node to the string's, so that it counts twice.
This module does the same.

For tokenizers (by_characters), the suffix tree has characters instead of bytes, each distinct word occurs once, and
a string whose occurrences all end words is not a node: each continues with the NUL.

Suffixes are divided among threads: those that begin with the same two bytes go to the same thread. A string that
can be a piece has at least two characters, so one thread finds all its occurrences.
"""

cimport cython
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove, memset

from fastbpe._core.common.atomics cimport set_flag
from fastbpe._core.common.growing cimport reserve
from fastbpe._core.common.interrupts cimport Watch, check_signals
from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.common.utf8 cimport fb_char_bytes
from fastbpe._core.train.merge_learner cimport allocated
from fastbpe._core.train.piece_table cimport GROUP_PIECES, PieceCount, PieceTable
from fastbpe._core.train.scripts cimport (
    ANY, N_CODE_POINTS, PieceCheck, PieceRules, is_valid_end, may_follow, next_code_point,
)
from fastbpe._core.train.sentence_store cimport NO_SENTENCE
from fastbpe._core.train.sorting cimport Keyed, sort_keyed, sort_pieces

cdef enum:
    UNIT_END = 0xFF  # after each unit; UTF-8 never has this byte
    READ_AHEAD = 8  # bytes after the text that _key() may read
    CHARACTER_BYTES = 4  # length of the longest character in UTF-8
    N_BEGINNINGS = 1 << 16  # number of values of the first two bytes of a suffix
    LEAST_SUFFIXES = 1 << 14  # smallest part that pays for a call of a thread, unless there are fewer in total
    # As in sentencepiece 0.2.3:
    MAX_KEPT = 16  # times n_kept: if there are more strings after a chunk, the worst are dropped
    KEPT_AFTER = 8  # times n_kept: number of strings that remain


cdef struct Interval:
    # Suffixes that begin with the same bytes
    size_t first
    size_t depth  # number of these bytes


@cython.final
cdef class SeedFinder:
    """Finder of strings that occur in different contexts.

    classes: class of each code point, as in scripts.pxd.
    max_length: maximum length of a piece in characters.
    n_kept: number of best strings that are wanted.
    split_by_whitespace, treat_whitespace_as_suffix, allow_whitespace_only_pieces: see PieceRules.
    by_characters: find the strings that tokenizers does, not sentencepiece's; each unit is a word and NO_SENTENCE.
    """

    cdef bytes _owner  # owner of the next attribute
    cdef const uint8_t* _classes
    cdef PieceRules _rules
    cdef uint32_t _max_length
    cdef size_t _most_shared  # bytes: a string of so many has more than max_length characters, so it is no piece
    cdef size_t _n_kept
    cdef bint _by_characters
    cdef PieceTable _found  # strings, with their counts
    # For the current chunk:
    cdef PieceTable _units
    cdef uint8_t* _text  # its units, each followed by UNIT_END
    cdef Keyed* _suffixes  # at: start of each; other: index of its unit. Sorted by their first two bytes
    cdef size_t _n_suffixes
    cdef size_t* _starts  # start of the suffixes that begin with each pair of bytes; at the end, their number
    cdef int _abandoned

    def __cinit__(
        self, bytes classes not None, *, uint32_t max_length, size_t n_kept, bint split_by_whitespace=True,
        bint treat_whitespace_as_suffix=False, bint allow_whitespace_only_pieces=False, bint by_characters=False,
    ):
        if len(classes) != N_CODE_POINTS:
            raise ValueError(f"{len(classes)} classes of characters, not {N_CODE_POINTS}")
        self._owner = classes
        self._classes = <const uint8_t*> PyBytes_AS_STRING(classes)
        self._rules = PieceRules(split_by_whitespace, treat_whitespace_as_suffix, allow_whitespace_only_pieces)
        self._max_length = max_length
        self._most_shared = CHARACTER_BYTES * (<size_t> max_length + 1)
        self._n_kept = n_kept
        self._by_characters = by_characters
        self._found = PieceTable()

    def __dealloc__(self):
        self._free()

    cdef void _free(self) noexcept:
        """Free the memory of the current chunk."""
        free(self._text)
        free(self._suffixes)
        free(self._starts)
        self._text, self._suffixes, self._starts, self._n_suffixes = NULL, NULL, NULL, 0

    def abandon(self):
        """Make searching threads stop soon, with an error."""
        set_flag(&self._abandoned)

    def begin(self, PieceTable units not None, size_t n_parts):
        """Begin a chunk of text.

        Returns at most about n_parts parts to call `search` for, each as (first, end): the suffixes whose first
        two bytes, read as a number, are from first to end - 1.
        """
        cdef size_t i, n, first = 0, least
        cdef list parts = []
        units.settle()
        self._free()
        self._units = units
        with nogil:
            self._lay_out(units)
        least = max(self._n_suffixes // n_parts, <size_t> LEAST_SUFFIXES)
        for i in range(1, <size_t> N_BEGINNINGS + 1):
            n = self._starts[i] - self._starts[first]
            if n >= least or (n and i == N_BEGINNINGS):
                parts.append((n, first, i))
                first = i
        parts.sort(reverse=True)  # longest first, so that all threads finish at about the same time
        return [(first, i) for _, first, i in parts]

    def search(self, size_t first, size_t end):
        """Count the strings of one part. Several threads may call it concurrently. Returns a PieceTable."""
        cdef PieceTable found = PieceTable()
        cdef size_t i
        if self._starts == NULL or not first <= end <= N_BEGINNINGS:
            raise ValueError(f"there is no part from {first} to {end}")
        with nogil:
            for i in range(first, end):  # each separately: they are unordered, and this is faster than all at once
                self._sort(self._starts[i], self._starts[i + 1], 2)
            self._find_nodes(self._suffixes + self._starts[first], self._starts[end] - self._starts[first], found)
        found.settle()
        return found

    def end(self, list found not None):
        """End a chunk with the tables of its parts."""
        cdef PieceTable of_chunk = PieceTable()
        self._free()
        self._units = None
        for table in found:
            of_chunk.append(table)  # strings of different parts begin with different bytes: all differ
        if self._found.n_pieces:
            self._found.add_table(of_chunk)
            self._found.settle()
        else:
            self._found = of_chunk
        if self._found.n_pieces > MAX_KEPT * self._n_kept:
            self._drop_worst()

    cdef int _lay_out(self, PieceTable units) except -1 nogil:
        """Write the units one after another, and list the suffixes that begin with a character of a word."""
        cdef size_t n_bytes = units.n_arena + units.n_pieces + READ_AHEAD, i, at = 0, k
        cdef size_t* first
        cdef const PieceCount* unit
        if n_bytes > UINT32_MAX:
            with gil:
                raise MemoryError(
                    f"{units.n_arena} bytes of distinct words: the limit is about 4 GiB; train on less text"
                )
        self._text = <uint8_t*> allocated(n_bytes, 1)
        self._suffixes = <Keyed*> allocated(units.n_arena, sizeof(Keyed))
        self._starts = <size_t*> allocated(N_BEGINNINGS + 1, sizeof(size_t))
        memset(self._starts, 0, (N_BEGINNINGS + 1) * sizeof(size_t))
        for i in range(units.n_pieces):
            unit = &units.pieces[i]
            memcpy(self._text + at, units.arena + unit.start, unit.n_bytes)
            k = 0
            while k < _word_bytes(self._text + at, unit.n_bytes):
                self._starts[_beginning(self._text + at + k)] += 1
                k += fb_char_bytes(self._text[at + k])
            at += unit.n_bytes
            self._text[at] = UNIT_END
            at += 1
        for k in range(READ_AHEAD):
            self._text[at + k] = UNIT_END
        for i in range(<size_t> N_BEGINNINGS):
            self._n_suffixes += self._starts[i]
            self._starts[i] = self._n_suffixes - self._starts[i]
        self._starts[N_BEGINNINGS] = self._n_suffixes
        at = 0
        for i in range(units.n_pieces):
            unit = &units.pieces[i]
            k = 0
            while k < _word_bytes(self._text + at, unit.n_bytes):
                first = &self._starts[_beginning(self._text + at + k)]
                self._suffixes[first[0]] = Keyed(0, <uint32_t> (at + k), <uint32_t> i)
                first[0] += 1
                k += fb_char_bytes(self._text[at + k])
            at += unit.n_bytes + 1
        # Each start has moved to where the next one was.
        memmove(self._starts + 1, self._starts, N_BEGINNINGS * sizeof(size_t))
        self._starts[0] = 0
        return 0

    cdef int _sort(self, size_t first, size_t end, size_t depth) except -1 nogil:
        """Sort suffixes that share their first `depth` bytes, only as far as pieces can reach."""
        cdef size_t i, run
        cdef uint64_t key
        for i in range(first, end):
            self._suffixes[i].key = _key(self._text + self._suffixes[i].at + depth)
        sort_keyed(self._suffixes + first, end - first)
        if depth + 8 >= self._most_shared:  # _shared() compares no more bytes
            return 0
        i = first
        while i < end:
            key = self._suffixes[i].key
            run = i + 1
            while run < end and self._suffixes[run].key == key:
                run += 1
            if run > i + 1 and not _has_end(key):
                self._sort(i, run, depth + 8)
            i = run
        return 0

    cdef size_t _shared(self, const Keyed* first, const Keyed* second) noexcept nogil:
        """Return how many bytes two suffixes share, at most _most_shared."""
        cdef const uint8_t* a = self._text + first.at
        cdef const uint8_t* b = self._text + second.at
        cdef size_t n = 0
        while n < self._most_shared and a[n] == b[n] and a[n] != UNIT_END:
            n += 1
        return n

    cdef int _find_nodes(self, const Keyed* suffixes, size_t n, PieceTable found) except -1 nogil:
        """Go through the inner nodes of the suffix tree, each after the nodes below it, and count their strings.

        The intervals around the current suffix are on a stack (Abouelhoda, Kurtz and Ohlebusch 2004).
        """
        cdef size_t i, shared, first, outer, n_open = 1, capacity = 1024
        cdef Interval* open_ = <Interval*> allocated(capacity, sizeof(Interval))
        cdef int64_t* before = NULL  # occurrences of all earlier suffixes
        cdef Watch watch = Watch(0, &self._abandoned)
        try:
            before = <int64_t*> allocated(n + 1, sizeof(int64_t))
            before[0] = 0
            for i in range(n):
                before[i + 1] = before[i] + self._units.pieces[suffixes[i].other].count
            open_[0] = Interval(0, 0)
            for i in range(1, n + 1):
                if i % 4096 == 0:
                    check_signals(&watch)
                shared = self._shared(suffixes + i - 1, suffixes + i) if i < n else 0
                first = i - 1
                while shared < open_[n_open - 1].depth:
                    n_open -= 1
                    first = open_[n_open].first
                    outer = max(shared, open_[n_open - 1].depth)
                    self._count(found, suffixes + first, open_[n_open].depth, outer, before[i] - before[first])
                if shared > open_[n_open - 1].depth:
                    reserve(<void**> &open_, &capacity, n_open + 1, sizeof(Interval), 0)
                    open_[n_open] = Interval(first, shared)
                    n_open += 1
        finally:
            free(open_)
            free(before)
        return 0

    cdef int _count(
        self, PieceTable found, const Keyed* suffix, size_t n, size_t outer, int64_t count
    ) except -1 nogil:
        """Add `count` occurrences of a suffix's first n bytes to `found`, if they may be a piece of their own.

        outer: bytes of the node above. With _by_characters, that node already stands for the n bytes if they have
            no more whole characters.
        """
        cdef const uint8_t* text = self._text + suffix.at
        cdef size_t whole = 0
        if self._by_characters:
            # A node inside a character stands for the characters before it, unless a node above it already does.
            while whole + fb_char_bytes(text[whole]) <= n:
                whole += fb_char_bytes(text[whole])
            if whole <= outer or (whole < n and text[whole] == NO_SENTENCE):
                return 0
            n = whole
        elif text[n - 1] == 0:  # the second node of a whole unit: its count is added to the string's
            n -= 1
        if not self._may_be(text, n, 2):
            return 0
        found.reserve_group()
        return found.add_counted(text, n, 0, count)

    cdef bint _may_be(self, const uint8_t* text, size_t n, uint32_t n_least) noexcept nogil:
        """Tell whether these bytes, which may end inside a character, may become a piece in training."""
        cdef PieceCheck check = PieceCheck(ANY, 0, True)
        cdef uint32_t n_characters = 0, i
        cdef size_t at = 0
        while at < n:
            if text[at] == 0:
                return False
            at += fb_char_bytes(text[at])
            n_characters += 1
        if at > n or n_characters < n_least or n_characters > self._max_length:
            return False
        at = 0
        for i in range(n_characters):
            if not may_follow(&self._rules, &check, self._classes[next_code_point(text, n, &at)], i, n_characters):
                return False
        return is_valid_end(&self._rules, &check, n_characters)

    def is_valid(self, str piece not None):
        """Tell whether training may make this piece."""
        cdef bytes data = piece.encode()
        return self._may_be(<const uint8_t*> PyBytes_AS_STRING(data), <size_t> len(data), 1)

    def strings(self):
        """List the strings with their counts, in no particular order."""
        return self._found.items()

    # The best

    cdef Keyed* _ordered(self, size_t* n_best) except NULL:
        """Order the strings: best score first, of equal scores the one with more bytes first, then by these bytes.

        n_best: how many to order, at most; receives the number of ordered strings.

        Returns an array whose `at` is the index of each string, which the caller frees.
        """
        cdef const PieceCount* piece
        cdef size_t i, n = self._found.n_pieces
        cdef Keyed* order = <Keyed*> allocated(n, sizeof(Keyed))
        n_best[0] = min(n_best[0], n)
        with nogil:
            for i in range(n):
                piece = &self._found.pieces[i]
                order[i] = Keyed(
                    <uint64_t> ~_bits(self._score(i)) << 32 | <uint32_t> ~piece.n_bytes, <uint32_t> i, 0
                )
            sort_pieces(self._found.arena, self._found.pieces, order, n, n_best[0])
        return order

    cdef float _score(self, size_t i) noexcept nogil:
        """Return the score of a string: its count times its characters."""
        cdef const PieceCount* piece = &self._found.pieces[i]
        cdef const uint8_t* text = self._found.arena + piece.start
        cdef uint32_t k, n_characters = 0
        for k in range(piece.n_bytes):
            n_characters += text[k] & 0xC0 != 0x80
        return <float> piece.count * <float> n_characters

    cdef int _drop_worst(self) except -1:
        """Keep the KEPT_AFTER * n_kept best strings."""
        cdef PieceTable kept = PieceTable()
        cdef const PieceCount* piece
        cdef size_t n = KEPT_AFTER * self._n_kept, i
        cdef Keyed* order = self._ordered(&n)
        try:
            with nogil:
                for i in range(n):
                    if i % GROUP_PIECES == 0:
                        kept.reserve_group()
                    piece = &self._found.pieces[order[i].at]
                    kept.add_counted(self._found.arena + piece.start, piece.n_bytes, 0, piece.count)
        finally:
            free(order)
        kept.settle()
        self._found = kept
        return 0

    def best(self):
        """Return (pieces, their scores) of the n_kept best, best first."""
        cdef const PieceCount* piece
        cdef size_t n = self._n_kept, i
        cdef list pieces = [], scores = []
        cdef Keyed* order = self._ordered(&n)
        try:
            for i in range(n):
                piece = &self._found.pieces[order[i].at]
                pieces.append((<const char*> self._found.arena + piece.start)[:piece.n_bytes])
                scores.append(self._score(order[i].at))
        finally:
            free(order)
        return pieces, scores


cdef inline size_t _word_bytes(const uint8_t* unit, size_t n) noexcept nogil:
    """Return the length in bytes of the word at the start of a unit of n bytes."""
    n -= 1
    return n - 1 if unit[n - 1] == 0 else n  # at the end of a sentence a NUL and the byte after it follow


cdef inline size_t _beginning(const uint8_t* text) noexcept nogil:
    """Return the first two bytes of a suffix as a number below N_BEGINNINGS."""
    return <size_t> text[0] << 8 | text[1]


cdef inline uint64_t _key(const uint8_t* text) noexcept nogil:
    """Return the next eight bytes of a suffix as a number that sorts like them; after UNIT_END zeros."""
    cdef uint64_t key = 0
    cdef size_t i
    cdef bint ended = False
    for i in range(8):
        key = key << 8 | (0 if ended else text[i])
        ended |= text[i] == UNIT_END
    return key


cdef inline bint _has_end(uint64_t key) noexcept nogil:
    """Tell whether a key has a byte UNIT_END."""
    key = ~key
    return ((key - 0x0101010101010101u) & ~key & 0x8080808080808080u) != 0  # a bint has 32 bits


cdef inline uint32_t _bits(float score) noexcept nogil:
    """Return the bits of a positive float, which sort like the float."""
    cdef uint32_t bits
    memcpy(&bits, &score, sizeof(bits))
    return bits

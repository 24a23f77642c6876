"""Symbols of a code-point vocabulary (sentencepiece BPE), and facts about its pieces for finding safe cuts.

sentencepiece has no list of merges: two neighbours may be merged if their joined text is a piece, the best score
first. So each piece becomes a symbol, numbered by its score, and the priority of a pair is the number of the
resulting symbol, as with ranks. Characters that are not a piece but occur in pieces are symbols too, numbered
after all others.

If the model escapes spaces, and U+2581 (METASPACE) alone is a piece, symbols have a space instead of U+2581. A
space has one byte instead of three, so more words are short enough for the keys of the piece cache.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from fastbpe._core.common.bits cimport lowest_bit
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from fastbpe._core.common.utf8 cimport char_bytes, is_metaspace

from fastbpe.errors import VocabularyError

cdef enum:
    N_CODE_POINTS = 0x110000
    MAX_SYMBOLS = (1 << 21) - 1  # numbers of 21 bits (RANKED_BITS), minus one for characters without a token
    SPACE = 0x20
    METASPACE = 0x2581

cdef enum:  # types of pieces, as sentencepiece's model files number them
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


cdef struct Scored:
    # A piece to sort.
    uint32_t score  # sort key, lowest first
    uint32_t id


cdef inline uint32_t _sortable(uint32_t bits) noexcept nogil:
    """Convert the bits of a float to an integer that sorts as it does; -0.0 is before 0.0, as in sentencepiece."""
    return ~bits if bits >> 31 else bits | 0x80000000u


cdef void _sort_by(const Scored* items, Scored* out, size_t n, int shift) noexcept nogil:
    """Sort stably by eleven bits of the scores, starting at bit `shift`: one pass of a radix sort (LSD)."""
    cdef size_t[2049] starts
    cdef size_t i
    memset(starts, 0, sizeof(starts))
    for i in range(n):
        starts[(items[i].score >> shift & 2047) + 1] += 1
    for i in range(2048):
        starts[i + 1] += starts[i]
    for i in range(n):
        out[starts[items[i].score >> shift & 2047]] = items[i]
        starts[items[i].score >> shift & 2047] += 1


cdef inline void _set(uint8_t* bits, uint32_t c) noexcept nogil:
    """Add a code point to a bit set."""
    bits[c >> 3] |= <uint8_t> (1 << (c & 7))


cdef inline bint _has(const uint8_t* bits, uint32_t c) noexcept nogil:
    """Tell whether a bit set contains a code point."""
    return bits[c >> 3] >> (c & 7) & 1


@cython.final
cdef class CodePoints:
    """The pieces of a code-point model as symbols.

    piece_bytes, piece_ends, scores, types: as in a CodePointModel.
    escapes: U+2581 stands for spaces.
    unknown_id: id of characters that are not a piece.
    byte_ids: 256 ids; characters that are not a piece become the ids of their bytes. None: they become unknown_id.
    splits: leave out pieces with a U+2581 after their first character.
    """

    def __cinit__(
        self, bytes piece_bytes not None, bytes piece_ends not None, bytes scores not None, bytes types not None, *,
        bint escapes, uint32_t unknown_id, list byte_ids, bint splits=False,
    ):
        cdef Pieces pieces
        cdef uint64_t* found
        cdef size_t i, n = len(types)
        if len(piece_ends) != 4 * n or len(scores) != 4 * n:
            raise VocabularyError(
                f"{n} pieces need {4 * n} bytes of piece ends and as many of scores, not "
                f"{len(piece_ends)} and {len(scores)}"
            )
        self.characters.unknown_id = unknown_id
        self.characters.has_bytes = byte_ids is not None
        if byte_ids is not None:
            for i in range(256):
                self.characters.byte_ids[i] = byte_ids[i]
        memset(&pieces, 0, sizeof(pieces))
        pieces.data = <const uint8_t*> PyBytes_AS_STRING(piece_bytes)
        pieces.ends = <const uint32_t*> PyBytes_AS_STRING(piece_ends)
        pieces.order = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        found = <uint64_t*> malloc((<size_t> len(piece_bytes) + 1) * sizeof(uint64_t))
        self._is_piece = <uint8_t*> calloc(N_CODE_POINTS // 8, 1)
        self._has_behind = <uint8_t*> calloc(N_CODE_POINTS // 8, 1)
        self._has_before = <uint8_t*> calloc(N_CODE_POINTS // 8, 1)
        try:
            if not (pieces.order != NULL and found != NULL and self._is_piece != NULL and self._has_behind != NULL
                    and self._has_before != NULL):
                raise MemoryError(f"no memory for {n} pieces")
            self._sort(
                &pieces, <const uint32_t*> PyBytes_AS_STRING(scores), <const uint8_t*> PyBytes_AS_STRING(types), n
            )
            pieces.marks_spaces = self.marks_spaces = self.characters.marks_spaces = escapes and _has_metaspace(
                &pieces, <const uint8_t*> PyBytes_AS_STRING(types)
            )
            pieces.splits = splits
            self._gather_pairs(&pieces, found)
            self._write_tokens(&pieces)
            self._set_ids(
                &pieces, <const uint32_t*> PyBytes_AS_STRING(scores), <const uint8_t*> PyBytes_AS_STRING(types)
            )
            self._set_words()
        finally:
            free(pieces.order)
            free(found)

    def __dealloc__(self):
        free(self._is_piece)
        free(self._has_behind)
        free(self._has_before)
        free(self._pairs)

    cdef int _sort(self, Pieces* pieces, const uint32_t* scores, const uint8_t* types, size_t n) except -1:
        """Put the pieces that can result from merging into pieces.order, best score first, ties by id."""
        cdef Scored* items
        cdef Scored* sorted_
        cdef uint32_t last = NONE, score
        cdef bint in_order = True
        cdef size_t i
        for i in range(n):
            if types[i] == NORMAL or types[i] == USER_DEFINED or types[i] == UNUSED:
                score = _sortable(scores[i])
                in_order &= score <= last
                last = score
                pieces.order[pieces.n] = <uint32_t> i
                pieces.n += 1
        if in_order:
            return 0
        items = <Scored*> malloc((pieces.n + 1) * sizeof(Scored))
        sorted_ = <Scored*> malloc((pieces.n + 1) * sizeof(Scored))
        if items == NULL or sorted_ == NULL:
            free(items)
            free(sorted_)
            raise MemoryError(f"no memory to sort {pieces.n} pieces")
        for i in range(pieces.n):
            items[i] = Scored(~_sortable(scores[pieces.order[i]]), pieces.order[i])
        _sort_by(items, sorted_, pieces.n, 0)
        _sort_by(sorted_, items, pieces.n, 11)
        _sort_by(items, sorted_, pieces.n, 22)
        for i in range(pieces.n):
            pieces.order[i] = sorted_[i].id
        free(items)
        free(sorted_)
        return 0

    cdef int _gather_pairs(self, Pieces* pieces, uint64_t* found) except -1:
        """Leave out pieces that cannot occur in a text; gather some pairs of adjacent characters in the others.

        These are the pairs of two ASCII characters, and the pairs with a character from U+0800 on. fb_apart() in
        simd/words.h assumes that all other pairs are adjacent if the bit sets of characters allow it. Also fill these
        bit sets, and set by_words: no piece has a space after another character.

        found: working space for as many pairs as there are bytes in the pieces.
        """
        cdef size_t i, at, end, n = 0, n_pairs = 0, n_bits = 1 << 10
        cdef uint32_t c = 0, last
        cdef uint64_t bit
        self.by_words = True
        for i in range(pieces.n):
            at = _begin(pieces, i)
            end = pieces.ends[pieces.order[i]]
            if not _is_possible(pieces, at, end):
                continue
            pieces.order[n] = pieces.order[i]
            n += 1
            at += _next(pieces, at, end, &last)
            if at == end:
                _set(self._is_piece, last)
            while at < end:
                at += _next(pieces, at, end, &c)
                _set(self._has_behind, last)
                _set(self._has_before, c)
                if last | c < 0x80:
                    self._ascii_pairs[last][c >> 6] |= <uint64_t> 1 << (c & 63)
                elif last | c >= 0x800:
                    found[n_pairs] = <uint64_t> last << 21 | c
                    n_pairs += 1
                self.by_words = self.by_words and (c != SPACE or last == SPACE)
                last = c
        pieces.n = n
        while n_bits < 16 * n_pairs:  # 16 bits per pair, so few pairs share a bit
            n_bits *= 2
        self._pairs = <uint64_t*> calloc(n_bits // 64, 8)
        if self._pairs == NULL:
            raise MemoryError(f"no memory for {n_bits // 8} bytes of pairs")
        self.words.pair_shift = 64 - lowest_bit(n_bits)  # n_bits is a power of two: its lowest bit is its log2
        for i in range(n_pairs):
            bit = fb_pair_bit(<uint32_t> (found[i] >> 21), <uint32_t> found[i] & 0x1FFFFF, self.words.pair_shift)
            self._pairs[bit >> 6] |= <uint64_t> 1 << (bit & 63)
        return 0

    cdef int _write_tokens(self, const Pieces* pieces) except -1:
        """Write the tokens of the Vocabulary: the pieces in order, then the characters that are not pieces."""
        cdef size_t n_bytes = 0, n_symbols = pieces.n, i, at, end
        cdef uint32_t c = 0
        cdef list others = self._lone_characters()
        self.n_pieces = pieces.n
        cdef bytes added = "".join(map(chr, others)).encode()
        if pieces.n + len(others) > MAX_SYMBOLS:
            raise VocabularyError(
                f"{pieces.n} pieces and {len(others)} other characters: the limit is {MAX_SYMBOLS} in total"
            )
        for i in range(pieces.n):
            n_bytes += pieces.ends[pieces.order[i]] - _begin(pieces, i)
        buffer = bytearray(n_bytes)
        cdef bytes ends = PyBytes_FromStringAndSize(NULL, 4 * <Py_ssize_t> (pieces.n + len(others)))
        cdef uint32_t* to_ends = <uint32_t*> PyBytes_AS_STRING(ends)
        cdef uint8_t[::1] to = buffer
        n_bytes = 0
        for i in range(pieces.n):
            at = _begin(pieces, i)
            end = pieces.ends[pieces.order[i]]
            while at < end:
                # The first byte of U+2581 is E2.
                if pieces.marks_spaces and pieces.data[at] == 0xE2 and _next(pieces, at, end, &c) and c == SPACE:
                    to[n_bytes] = SPACE
                    at += 3
                else:
                    to[n_bytes] = pieces.data[at]
                    at += 1
                n_bytes += 1
            to_ends[i] = <uint32_t> n_bytes
        self.token_bytes = bytes(buffer[:n_bytes]) + added
        for c in others:
            n_bytes += 1 if c < 0x80 else 2 if c < 0x800 else 3 if c < 0x10000 else 4
            to_ends[n_symbols] = <uint32_t> n_bytes
            n_symbols += 1
        self.token_ends = ends
        return 0

    cdef list _lone_characters(self):
        """List the characters that occur in pieces and are not pieces."""
        cdef list out = []
        cdef size_t i
        cdef uint8_t others
        for i in range(N_CODE_POINTS // 8):
            others = (self._has_behind[i] | self._has_before[i]) & ~self._is_piece[i]
            while others:
                out.append(8 * i + lowest_bit(others))
                others &= others - 1
        return out

    cdef int _set_ids(self, const Pieces* pieces, const uint32_t* scores, const uint8_t* types) except -1:
        """Fill characters.ids and characters.ties, and list the symbols whose ids expand() must set.

        These are unused pieces, and with byte fallback also characters that are not pieces.
        """
        cdef size_t n = len(self.token_ends) // 4, i
        cdef uint32_t first = 0
        self._ids = PyBytes_FromStringAndSize(NULL, 4 * <Py_ssize_t> n)
        self._ties = PyBytes_FromStringAndSize(NULL, 4 * <Py_ssize_t> n)
        cdef uint32_t* ids = <uint32_t*> PyBytes_AS_STRING(self._ids)
        cdef uint32_t* ties = <uint32_t*> PyBytes_AS_STRING(self._ties)
        self.characters.tied_from = NONE
        self.expanded = []
        for i in range(n):
            ids[i] = self.characters.unknown_id
            if i < pieces.n and types[pieces.order[i]] != UNUSED:
                ids[i] = pieces.order[i]
            elif i < pieces.n or self.characters.has_bytes:
                self.expanded.append(i)
            if not 0 < i < pieces.n or _sortable(scores[pieces.order[i]]) != _sortable(scores[pieces.order[i - 1]]):
                first = <uint32_t> i
            elif self.characters.tied_from == NONE:
                self.characters.tied_from = first
            ties[i] = first
        self.characters.ids = ids
        self.characters.ties = ties
        return 0

    def expand(self, list expansions not None):
        """Set the ids of each symbol in `expanded`: a list of ids, at most as many as the symbol has bytes."""
        cdef uint32_t* ids = <uint32_t*> PyBytes_AS_STRING(self._ids)
        cdef list flat = []
        cdef size_t i = 0
        for symbol, expansion in zip(self.expanded, expansions, strict=True):
            ids[<size_t> symbol] = EXPANDED | <uint32_t> len(flat)
            flat.append(len(expansion))
            flat += expansion
        self._expansions = PyBytes_FromStringAndSize(NULL, 4 * <Py_ssize_t> len(flat))
        cdef uint32_t* to = <uint32_t*> PyBytes_AS_STRING(self._expansions)
        for item in flat:
            to[i] = item
            i += 1
        self.characters.expansions = to

    def ids(self):
        """List the id of each symbol; for an unused piece or a lone character the unknown id.

        After expand(), the symbols in `expanded` have numbers with the bit EXPANDED instead.
        """
        return [self.characters.ids[i] for i in range(<size_t> len(self._ids) // 4)]

    cdef void _set_words(self) noexcept:
        """Fill the facts that the kernels of simd/words.h use to find safe cuts."""
        cdef uint32_t c, after
        self.words.has_behind = self._has_behind
        self.words.has_before = self._has_before
        self.words.pairs = self._pairs
        self.words.space_too = METASPACE if self.marks_spaces else SPACE
        self.words.by_words = self.by_words
        memcpy(self.words.within, self._ascii_pairs, sizeof(self._ascii_pairs))
        if not self.by_words:
            return
        for c in range(128):
            if not _has(self._has_before, c):  # word_facts.h explains the layout of `before` and `behind`
                self.words.before[c & 15] |= <uint8_t> (1 << (c >> 4))
            if not _has(self._has_behind, c):
                self.words.behind[c & 15] |= <uint8_t> (1 << (c >> 4))
            self.words.within[c][0] = self.words.within[c][1] = 0
            for after in range(128):
                if _has(self._has_behind, c) and _has(self._has_before, after) and (after != SPACE or c == SPACE):
                    self.words.within[c][after >> 6] |= <uint64_t> 1 << (after & 63)


def surfaces(bytes piece_bytes not None, bytes piece_ends not None, bytes types not None, bytes unknown not None):
    """Return (bytes, ends): the bytes that each id adds to a decoded text, and their ends as uint32.

    A piece adds its text with spaces instead of U+2581, a byte piece its byte, a control symbol nothing, and the
    unknown piece `unknown`.
    """
    cdef size_t n = len(types), i, at = 0, end, n_bytes = 0
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(piece_bytes)
    cdef const uint32_t* ends = <const uint32_t*> PyBytes_AS_STRING(piece_ends)
    cdef const uint8_t* kinds = <const uint8_t*> PyBytes_AS_STRING(types)
    cdef bytes out_ends = PyBytes_FromStringAndSize(NULL, 4 * <Py_ssize_t> n)
    cdef uint32_t* to_ends = <uint32_t*> PyBytes_AS_STRING(out_ends)
    buffer = bytearray(len(piece_bytes) + n * len(unknown))
    cdef uint8_t[::1] to = buffer
    for i in range(n):
        end = ends[i]
        if kinds[i] == BYTE:
            to[n_bytes] = int(piece_bytes[at + 3:at + 5], 16)  # the piece is b"<0xAB>" for the byte AB
            n_bytes += 1
        elif kinds[i] == UNKNOWN:
            for byte in unknown:
                to[n_bytes] = byte
                n_bytes += 1
        elif kinds[i] != CONTROL:
            while at < end:
                if is_metaspace(data + at, end - at):
                    to[n_bytes] = SPACE
                    at += 3
                else:
                    to[n_bytes] = data[at]
                    at += 1
                n_bytes += 1
        at = end
        to_ends[i] = <uint32_t> n_bytes
    return bytes(buffer[:n_bytes]), out_ends


cdef inline size_t _begin(const Pieces* pieces, size_t i) noexcept nogil:
    """Offset in data of the piece at index i of the order."""
    return pieces.ends[pieces.order[i] - 1] if pieces.order[i] else 0


cdef inline size_t _character(const Pieces* pieces, size_t at, size_t end, uint32_t* c) noexcept nogil:
    """Decode the character at data[at]; return its length in bytes, 0 if no valid one begins there."""
    if pieces.data[at] > 0x7F:
        return char_bytes(pieces.data, end, at, c)
    c[0] = pieces.data[at]
    return 1


cdef inline size_t _next(const Pieces* pieces, size_t at, size_t end, uint32_t* c) noexcept nogil:
    """Decode the character at data[at], an escaped U+2581 as a space; return its length in bytes.

    Requires: valid UTF-8.
    """
    cdef size_t n_bytes = _character(pieces, at, end, c)
    if c[0] == METASPACE and pieces.marks_spaces:
        c[0] = SPACE
    return n_bytes


cdef bint _is_possible(const Pieces* pieces, size_t at, size_t end) noexcept nogil:
    """Tell whether a piece can occur in text: it is valid UTF-8, and has no space if U+2581 stands for spaces.

    With `splits`, it also must not have a U+2581 after its first character.
    """
    cdef uint8_t high = 0
    cdef bint has_space = False
    cdef size_t i, n_bytes, start = at
    cdef uint32_t c
    for i in range(at, end):
        high |= pieces.data[i]
        has_space |= pieces.data[i] == SPACE
    if has_space and pieces.marks_spaces:
        return False
    while high > 0x7F and at < end:
        n_bytes = _character(pieces, at, end, &c)
        if n_bytes == 0 or (c == METASPACE and at > start and pieces.splits):
            return False
        at += n_bytes
    return True


cdef bint _has_metaspace(const Pieces* pieces, const uint8_t* types) noexcept nogil:
    """Tell whether U+2581 alone is a piece that is not UNUSED."""
    cdef size_t i, at, piece
    for i in range(pieces.n):
        at, piece = _begin(pieces, i), pieces.order[i]
        if pieces.ends[piece] - at == 3 and types[piece] != UNUSED and is_metaspace(pieces.data + at, 3):
            return True
    return False

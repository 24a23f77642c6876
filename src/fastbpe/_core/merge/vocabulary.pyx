"""Vocabulary: the tokens by id, the tokens by their bytes, and the pair table. Immutable.

A Vocabulary builds no tables. It uses four buffers, from table_builder.build_tables() or from a memory-mapped
file, checks that no look-up can read outside of them or loop forever, and keeps them alive. `SpelledSymbols` says
how to spell base symbols that are characters.
"""

cimport cython
from libc.stdint cimport int32_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc

from fastbpe._core.common.bits cimport lowest_bit
from fastbpe._core.common.hash_lookups cimport find_merge, find_piece, pair_key
from fastbpe._core.common.hash_tables cimport (
    LINE, MAX_RANKED_IDS, MAX_RUN, NO_KEY, NO_PAIR, NONE, RANKED_MASK, Merge, PairSlot, PieceSlot
)
from fastbpe._core.common.python cimport (
    PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyBytes_AS_STRING, PyBytes_FromStringAndSize,
    PyBytes_GET_SIZE, PyObject_GetBuffer, PyUnicode_DATA, PyUnicode_GET_LENGTH
)
from fastbpe._core.merge.codepoint_symbols cimport CodePoints
from fastbpe._core.segment.segmenter cimport Segmenter
from fastbpe._core.text.utf8_text cimport first_invalid

from fastbpe._core.text.utf8_text import plain, to_utf8
from fastbpe._utils.arguments import integer
from fastbpe.errors import VocabularyError

cdef extern from *:
    bint PyUnicode_IS_ASCII(str text)

# Limit of ids of a vocabulary. Ids index flat arrays, so even ids without a token cost memory: 2**24 ends take 64
# MB.
MAX_IDS = 1 << 24

# An empty hash table of pieces or of pairs, ranked or wide: at least LINE free slots.
NO_SLOTS = b"\xff" * 128

# Names of the buffers, as in .fbpe files: "pairs" for a wide pair table, "pair_lines" for a ranked one.
SECTIONS = ("token_bytes", "token_ends", "pieces", "pairs", "pair_lines")

cdef enum:  # indices into Vocabulary._views, and into SECTIONS
    TOKEN_BYTES, TOKEN_ENDS, PIECES, PAIRS, PAIR_LINES

cdef enum:
    N_VIEWS = PAIRS + 1  # PAIRS is the view of either pair table


@cython.final
cdef class Vocabulary:
    """Tokens and pairs of a vocabulary, over four buffers (see table_builder.build_tables).

    token_bytes: bytes of all tokens, end to end.
    token_ends: uint32 array, the end of each id's token in token_bytes.
    pieces: hash table of tokens by their bytes.
    pairs, pair_lines: hash table of pairs, wide or ranked; pass one of the two.
    whole_piece_first: a piece that is a token becomes that token without merging.
    code_points: symbols of a code-point vocabulary; None: base symbols are bytes.
    spelled: options of a vocabulary whose base symbols are characters and whose tokens are UTF-8; None: any other.
    segmenter: segments pieces without merging, into tokens of this vocabulary; None: pieces are merged.
    drops_bytes: bytes may lack a token; the caller must then remove such bytes from a piece before merging it.

    Raises VocabularyError if the buffers contradict each other, exceed a limit, or do not suit the options.
    """

    def __cinit__(
        self, *, token_bytes, token_ends, pieces, pairs=None, pair_lines=None, bint whole_piece_first=True,
        CodePoints code_points=None, SpelledSymbols spelled=None, Segmenter segmenter=None, bint drops_bytes=False,
    ):
        cdef size_t n_bytes, n_ids, n_pieces, n_pairs
        self._ranked = pair_lines is not None
        if self._ranked == (pairs is not None):
            raise VocabularyError("a vocabulary has one table of pairs: 'pairs' or 'pair_lines'")
        self._open_view(TOKEN_BYTES, token_bytes, 1, &n_bytes)
        self._open_view(TOKEN_ENDS, token_ends, sizeof(uint32_t), &n_ids)
        self._open_view(PIECES, pieces, sizeof(PieceSlot), &n_pieces)
        if self._ranked:
            self._open_view(PAIRS, pair_lines, sizeof(uint64_t), &n_pairs)
        else:
            self._open_view(PAIRS, pairs, sizeof(PairSlot), &n_pairs)
        if n_ids > <size_t> (MAX_RANKED_IDS if self._ranked else MAX_IDS):
            raise VocabularyError(f"{n_ids} ids: the limit is {MAX_RANKED_IDS if self._ranked else MAX_IDS}")
        for name, size in ((self._section(PIECES), n_pieces), (self._section(PAIRS), n_pairs)):
            if size < LINE or size & (size - 1):
                raise VocabularyError(f"table {name!r} has {size} slots: not a power of two of at least {LINE}")
        self.tables.token_bytes = <const uint8_t*> self._views[TOKEN_BYTES].buf
        self.tables.token_ends = <const uint32_t*> self._views[TOKEN_ENDS].buf
        self.tables.n_ids = <uint32_t> n_ids
        self.tables.pieces = <const PieceSlot*> self._views[PIECES].buf
        self.tables.piece_mask = n_pieces - 1
        if self._ranked:
            self.tables.pairs.ranked = <const uint64_t*> self._views[PAIRS].buf
        else:
            self.tables.pairs.wide = <const PairSlot*> self._views[PAIRS].buf
        self.tables.pairs.shift = 64 - lowest_bit(n_pairs)  # a power of two: its lowest bit is its log2
        self.tables.whole_piece_first = whole_piece_first
        self.tables.tied_key = NO_KEY
        if code_points is not None:
            self._code_points = code_points
            self.tables.characters = &code_points.characters
            if self._ranked and code_points.characters.tied_from != NONE:  # a list of merges has no ties
                self.tables.tied_key = <int32_t> (code_points.characters.tied_from << 6)
        if spelled is not None:
            self.spelled = spelled
            self.tables.spelling = &spelled.spelling
        if segmenter is not None:
            self.segmenter = segmenter
            self.tables.segmenting = &segmenter.segmenting
        self._check(drops_bytes)
        if self._ranked:
            self._fill_byte_keys()

    cdef str _section(self, int view):
        """Name of the buffer behind a view."""
        return SECTIONS[PAIR_LINES if view == PAIRS and self._ranked else view]

    def __dealloc__(self):
        cdef int i
        for i in range(self._n_views):
            PyBuffer_Release(&self._views[i])
        free(<void*> self.tables.byte_keys)

    cdef int _open_view(self, int view, object source, size_t item_size, size_t* n_items) except -1:
        """Open the next view on a buffer, and store its number of items of item_size bytes."""
        cdef Py_buffer* opened = &self._views[view]
        PyObject_GetBuffer(source, opened, PyBUF_SIMPLE)
        self._n_views = view + 1
        if <size_t> opened.len % item_size or <size_t> opened.buf % min(item_size, <size_t> 8):
            raise VocabularyError(
                f"table {self._section(view)!r}: {opened.len} bytes are not whole, aligned "
                f"items of {item_size} bytes"
            )
        n_items[0] = <size_t> opened.len // item_size
        return 0

    cdef int _check(self, bint drops_bytes) except -1:
        """Check that no look-up can read outside the buffers or loop forever.

        Also fills the fields that result from these checks.
        """
        cdef Tables* t = &self.tables
        cdef uint32_t n_tokens = 0, longest = 0
        cdef size_t i, n_pairs = <size_t> 1 << (64 - t.pairs.shift)
        cdef size_t run = 0
        cdef bint sound
        with nogil:
            sound = ends_rise(t, <size_t> self._views[TOKEN_BYTES].len, &n_tokens, &longest) \
                and _pieces_lead_to_tokens(t, n_tokens == t.n_ids, &run) \
                and _pairs_lead_to_tokens(t, n_pairs, n_tokens == t.n_ids, &run)
        if not sound:
            raise VocabularyError("the tables of the vocabulary contradict each other")
        if run > MAX_RUN:
            raise VocabularyError(
                f"a hash table has more than {MAX_RUN} full slots in a row: the vocabulary was built to "
                "cause collisions; do not use it"
            )
        t.n_tokens = n_tokens
        t.max_token_bytes = longest
        cdef uint8_t byte
        if t.spelling != NULL:
            return self._check_spelling()
        for i in range(256):
            byte = <uint8_t> i
            t.byte_ids[i] = find_piece(t.pieces, t.piece_mask, t.token_bytes, t.token_ends, &byte, 1)
            if t.byte_ids[i] == NONE and t.characters != NULL:
                t.byte_ids[i] = t.n_ids  # the symbol of characters without a token: see symbol_ids
            self.drops_bytes = self.drops_bytes or t.byte_ids[i] == NONE
            if t.byte_ids[i] == NONE and not drops_bytes:
                raise VocabularyError(
                    f"no token is the single byte 0x{i:02x}: a byte-level vocabulary must have all 256"
                )
        return 0

    cdef int _check_spelling(self) except -1:
        """Check that tokens are UTF-8, the pair table is wide, and characters get only ids of the vocabulary."""
        cdef const Tables* t = &self.tables
        cdef const Spelling* spelling = t.spelling
        cdef size_t i, n = <size_t> self._views[TOKEN_BYTES].len
        cdef bint is_utf8 = first_invalid(t.token_bytes, n) == n
        for i in range(t.n_ids):
            is_utf8 = is_utf8 and (t.token_ends[i] >= n or t.token_bytes[t.token_ends[i]] & 0xC0 != 0x80)
        if not is_utf8:
            raise VocabularyError("a token is not UTF-8: every token of a vocabulary of characters must be")
        if self._ranked:
            raise VocabularyError("a vocabulary of characters needs its pairs in the table 'pairs', not 'pair_lines'")
        if spelling.unknown_id < NO_SUCH_TOKEN and spelling.unknown_id >= self.tables.n_ids:
            raise VocabularyError(
                f"the unknown token has the id {spelling.unknown_id}, but there are only {self.tables.n_ids} ids"
            )
        if spelling.tokens != NULL and len(self.spelled._tokens) != 4 * self.tables.n_ids:
            raise VocabularyError(
                f"the vocabulary has {self.tables.n_ids} symbols, but {len(self.spelled._tokens)} bytes with the "
                "uint32 id of each"
            )
        for i in range(256 if spelling.has_bytes else 0):
            if spelling.byte_ids[i] != NONE and spelling.byte_ids[i] >= self.tables.n_ids:
                raise VocabularyError(
                    f"the byte 0x{i:02x} has the id {spelling.byte_ids[i]}, but there are only {self.tables.n_ids} ids"
                )
        return 0

    cdef int _fill_byte_keys(self) except -1:
        """Fill t.byte_keys, so that the keys of a piece's first pairs, of two bytes each, need no hash look-up.

        Goes through the tokens of two bytes, the only ones that can result from two bytes.
        """
        cdef Tables* t = &self.tables
        cdef int32_t* keys = <int32_t*> malloc((1 << 16) * sizeof(int32_t))
        cdef uint32_t i, start = 0
        cdef const uint8_t* token
        if keys == NULL:
            raise MemoryError("no memory for the pairs of bytes")
        for i in range(1 << 16):
            keys[i] = NO_KEY
        for i in range(t.n_ids):
            if t.token_ends[i] - start == 2:
                token = t.token_bytes + start
                if t.byte_ids[token[0]] != NONE and t.byte_ids[token[1]] != NONE:
                    keys[token[0] << 8 | token[1]] = pair_key(
                        &t.pairs, t.byte_ids[token[0]], t.byte_ids[token[1]]
                    )
            start = t.token_ends[i]
        t.byte_keys = keys
        return 0

    cdef bytes token(self, uint32_t token_id):
        """Bytes of an id below n_ids; b"" if it is not a token."""
        return PyBytes_FromStringAndSize(
            <const char*> self.tables.token_bytes + token_start(&self.tables, token_id),
            token_length(&self.tables, token_id),
        )

    @property
    def n_ids(self):
        """One more than the greatest id."""
        return self.tables.n_ids

    @property
    def n_tokens(self):
        """Number of ids that are tokens."""
        return self.tables.n_tokens

    @property
    def whole_piece_first(self):
        """True if a piece that is a token becomes that token, even if merging would yield other ids."""
        return bool(self.tables.whole_piece_first)

    def find(self, token):
        """Return the id of the token with these bytes, the lowest if there are several, or None.

        token: bytes, or a str, which is converted to UTF-8.
        """
        cdef const uint8_t* data
        cdef size_t n
        cdef bytes utf8
        if type(token) is str and PyUnicode_IS_ASCII(token):
            data, n = <const uint8_t*> PyUnicode_DATA(token), <size_t> PyUnicode_GET_LENGTH(token)
        elif type(token) is bytes:
            data, n = <const uint8_t*> PyBytes_AS_STRING(token), <size_t> PyBytes_GET_SIZE(token)
        elif isinstance(token, (str, bytes)):
            utf8 = to_utf8(token) if isinstance(token, str) else plain(token)
            data, n = <const uint8_t*> PyBytes_AS_STRING(utf8), <size_t> PyBytes_GET_SIZE(utf8)
        else:
            raise TypeError(f"token must be bytes or str, not {type(token).__name__}")
        cdef const Tables* t = &self.tables
        cdef uint32_t found = find_piece(t.pieces, t.piece_mask, t.token_bytes, t.token_ends, data, n)
        return None if found == NONE else found

    def has(self, token_id):
        """Return True if the integer is the id of a token."""
        return 0 <= integer("token_id", token_id) < self.tables.n_ids and bool(is_token(&self.tables, token_id))

    def tokens(self):
        """List the bytes of every id in order; `b""` where an id is not a token."""
        cdef uint32_t i
        return [self.token(i) for i in range(self.tables.n_ids)]

    def pair(self, left, right):
        """Return (priority, merged id) of a pair of integers, or None if it is not in the table.

        In code-point mode, pairs with the same score have the same priority.
        """
        cdef Merge found
        if not (0 <= integer("left", left) < self.tables.n_ids and 0 <= integer("right", right) < self.tables.n_ids):
            return None
        found = find_merge(&self.tables.pairs, left, right)
        if found.priority == NONE:
            return None
        if self.tables.tied_key != NO_KEY:
            found.priority = self.tables.characters.ties[found.priority]
        return found.priority, found.id

    def sections(self):
        """Return the four buffers by name, as read-only memory views."""
        cdef int i
        cdef _Table table
        cdef dict views = {}
        for i in range(N_VIEWS):
            table = _Table.__new__(_Table)
            table.vocabulary, table.view = self, i
            views[self._section(i)] = memoryview(table)
        return views


@cython.final
cdef class _Table:
    """Read-only buffer of one table. Keeps the vocabulary alive.

    Without it, the memory views of all threads would share one count of views. CPython 3.13 and 3.14 change that
    count without a lock even if there is no GIL, and release the memory when it reaches 0.
    """

    cdef Vocabulary vocabulary
    cdef int view

    def __getbuffer__(self, Py_buffer* view, int flags):
        cdef Py_buffer* table = &self.vocabulary._views[self.view]
        PyBuffer_FillInfo(view, self, table.buf, table.len, True, flags)


cdef bint ends_rise(const Tables* t, size_t n_bytes, uint32_t* n_tokens, uint32_t* longest) noexcept nogil:
    """Tell whether `token_ends` cuts n_bytes into tokens: it never decreases, and ends at n_bytes.

    n_tokens, longest: receive the number of tokens, and the length of the longest in bytes.
    """
    cdef uint32_t i, length, start = 0, n = 0, most = 0
    cdef bint falls = False
    for i in range(t.n_ids):
        length = t.token_ends[i] - start
        falls |= t.token_ends[i] < start
        n += length > 0
        most = max(most, length)
        start = t.token_ends[i]
    n_tokens[0] = n
    longest[0] = most
    return not falls and start == n_bytes


# Few vocabularies have ids without a token. If all_are_tokens is set, an id is a token if it is below n_ids: then
# the loops need no look-up and no branch, and run at memory speed.

cdef bint _pieces_lead_to_tokens(const Tables* t, bint all_are_tokens, size_t* longest) noexcept nogil:
    """Tell whether each slot of the piece table is empty or contains a token's id, and at least one slot is empty.

    longest: raised to the number of slots in the longest run of full lines, if that is greater.
    """
    # An empty slot has NONE, which is also a strange id: if only empty slots are strange, the two numbers are equal.
    cdef size_t i, k, n_free = 0, n_strange = 0, run = 0
    cdef uint32_t token_id, n_free_here
    for i in range((t.piece_mask + 1) // LINE):
        n_free_here = 0
        for k in range(i * LINE, (i + 1) * LINE):
            token_id = t.pieces[k].id
            n_free_here += token_id == NONE
            n_strange += token_id >= t.n_ids
        n_free += n_free_here
        run = 0 if n_free_here else run + LINE
        longest[0] = max(longest[0], run)
    if n_strange != n_free or not n_free:
        return False
    if all_are_tokens:
        return True
    for i in range(t.piece_mask + 1):
        if t.pieces[i].id != NONE and not is_token(t, t.pieces[i].id):
            return False
    return True


cdef bint _pairs_lead_to_tokens(
    const Tables* t, size_t n_slots, bint all_are_tokens, size_t* longest
) noexcept nogil:
    """Tell whether each slot of the pair table is empty or leads to a token, and at least one slot is empty.

    longest: as for _pieces_lead_to_tokens(); in a wide table, full slots count one by one.
    """
    cdef size_t i, k, n_free = 0, n_strange = 0, run = 0, n_free_here
    cdef const uint64_t* ranked = t.pairs.ranked
    cdef const PairSlot* wide = t.pairs.wide
    if ranked == NULL:
        for i in range(n_slots):
            run = 0 if wide[i].priority == NONE else run + 1
            n_free += wide[i].priority == NONE
            longest[0] = max(longest[0], run)
            if run and not is_token(t, wide[i].id):
                return False
        return n_free > 0
    for i in range(n_slots // LINE):
        n_free_here = 0
        for k in range(i * LINE, (i + 1) * LINE):
            n_free_here += ranked[k] == NO_PAIR
            # find_merge() treats a slot with the top bit set as empty.
            n_strange += <size_t> ((ranked[k] & RANKED_MASK) >= t.n_ids) | <size_t> (ranked[k] >> 63)
        n_free += n_free_here
        run = 0 if n_free_here else run + LINE
        longest[0] = max(longest[0], run)
    if n_strange != n_free or not n_free:
        return False
    if all_are_tokens:
        return True
    for i in range(n_slots):
        if ranked[i] != NO_PAIR and not is_token(t, <uint32_t> (ranked[i] & RANKED_MASK)):
            return False
    return True


@cython.final
cdef class SpelledSymbols:
    """Options of a vocabulary of characters.

    Its base symbols are characters, as in a tokenizer.json without bytes: BPE of characters, WordPiece, WordLevel,
    and Unigram with tokenizers' rules. A vocabulary of code-point mode is not one of these: see CodePoints.

    prefix: bytes – UTF-8 before every character except the first of a piece: continuing_subword_prefix.
    suffix: bytes – UTF-8 after the last character of a piece: end_of_word_suffix.
    unknown_id: id of characters without a token. None: they are left out. -1: the unknown token is not in the
        vocabulary, and a text that needs it raises NoUnknownTokenError.
    fuses: consecutive unknown characters are one token.
    byte_ids: 256 ids of the tokens of bytes, -1 for a byte without one; None: no byte fallback.
    tokens: uint32 array, the token of each symbol, checked by the caller; None: symbols are tokens.
    in_rounds: the best pair merges everywhere before another is chosen; requires the argument `tokens`.
    """

    def __cinit__(
        self, *, bytes prefix not None=b"", bytes suffix not None=b"", unknown_id=None, bint fuses=False,
        list byte_ids=None, bytes tokens=None, bint in_rounds=False,
    ):
        cdef size_t i
        if max(len(prefix), len(suffix)) > MAX_AFFIX_BYTES:
            raise VocabularyError(
                f"a prefix of {len(prefix)} bytes and a suffix of {len(suffix)} bytes: the limit of each is "
                f"{MAX_AFFIX_BYTES} bytes"
            )
        self._prefix, self._suffix = prefix, suffix
        self.spelling.prefix = <const uint8_t*> PyBytes_AS_STRING(prefix)
        self.spelling.n_prefix = <size_t> PyBytes_GET_SIZE(prefix)
        self.spelling.suffix = <const uint8_t*> PyBytes_AS_STRING(suffix)
        self.spelling.n_suffix = <size_t> PyBytes_GET_SIZE(suffix)
        self.spelling.unknown_id = NONE
        if unknown_id is not None:
            self.spelling.unknown_id = NO_SUCH_TOKEN if unknown_id < 0 else <uint32_t> unknown_id
        self.spelling.fuses = fuses
        self.spelling.has_bytes = byte_ids is not None
        if byte_ids is not None:
            if len(byte_ids) != 256:
                raise VocabularyError(f"byte_ids has {len(byte_ids)} ids, not 256")
            for i in range(256):
                self.spelling.byte_ids[i] = NONE if byte_ids[i] < 0 else <uint32_t> byte_ids[i]
        self._tokens = tokens
        if tokens is not None:
            self.spelling.tokens = <const uint32_t*> PyBytes_AS_STRING(tokens)
        self.spelling.in_rounds = in_rounds
        self.tracing = self.spelling
        self.tracing.traces = True

"""Learn merges of characters, as sentencepiece does. merge_learner.pyx explains the method.

Symbols are the characters of the alphabet, numbered in ascending order, so that symbols compare like their texts.
A character outside the alphabet ends a word.

Ties: of pairs with equal counts, the one with the shorter text is merged, then the one whose text is smaller. A
key contains the length and as many leading symbols as fit; only if two keys are equal are the texts compared.

Pairs that no longer occur: sentencepiece keeps a pair as a candidate after its last occurrence is gone. Such pairs
are taken at the end, when no other pair is left. Their merges change nothing, so they are only listed
(`last_pairs`).

Of two pairs that form the same text, only the first becomes a piece.

Base pieces: learning may start from the pieces of another model. Words then begin as these pieces, cut as the
caller says, and no pair forms the text of one of them again.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memset

from fastbpe._core.common.growing cimport reserve
from fastbpe._core.common.hashing cimport mix
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.train.scripts cimport (
    ANY, FIRST_SCRIPT, METASPACE_CLASS, N_CODE_POINTS, PieceCheck, PieceRules, is_valid_end,
    may_follow, next_code_point,
)
from fastbpe._core.train.merge_learner cimport MergeLearner, allocated
from fastbpe._core.train.piece_table cimport PieceCount, PieceTable
from fastbpe._core.train.pair_table cimport DEAD, TAIL, Cell, QueuedPair, Pair
from fastbpe._core.common.hash_tables cimport NONE

cdef enum:
    KEY_BITS = 54  # low bits of a key: the leading symbols of a text; the ten bits above are its length
    MIXED = 0xFF  # script of a text with INHERITED, ALONE or ANY, or with two scripts: check the text


cdef uint64_t HASH_FACTOR = 0x9FB21C651E98DF25ULL  # odd, with irregular bits; any such number would do


cdef struct Shape:
    # Summary of an id's text, which is nearly always enough to decide whether a pair may be merged.
    # script: the script of all characters except U+2581; METASPACE_CLASS: the text has only U+2581; MIXED:
    # check the text itself.
    uint8_t script
    bint has_metaspace


@cython.final
cdef class CodePointLearner(MergeLearner):
    """Learner of pieces over counted words. The table must not change while the learner exists.

    words: PieceTable – the words.
    alphabet: list of int – code points, ascending.
    classes: bytes, one per code point – classes of characters, as in scripts.pxd.
    n_merges: int – number of pieces to learn.
    max_length: int – maximum length of a piece in characters, below 1024 (see KEY_BITS).
    split_by_whitespace, treat_whitespace_as_suffix, allow_whitespace_only_pieces: as for WordCounter.
    base: list of list of int – the symbols of each base piece, two or more; a symbol is an index in the alphabet.
    cuts: bytes – uint32 for each part of each word, in the order of the table. It is the part's length in
        characters if the part is a symbol or a base piece, and 0 for a character that ends the word. b"": words
        begin as characters.
    """

    cdef uint8_t* _class  # class of each symbol
    cdef uint32_t* _text  # symbols of all ids' texts, end to end
    cdef size_t _n_text, _text_capacity
    cdef size_t* _start  # start of each id's text in _text
    cdef uint64_t* _prefix  # low bits of each id's key
    cdef Shape* _shape
    cdef uint32_t _n_alphabet
    cdef uint32_t _bits  # bits of a symbol in a key
    cdef uint32_t _max_length
    cdef PieceRules _rules
    cdef uint32_t* _slots  # hash table of ids by their texts, with linear probing; NONE: an empty slot
    cdef size_t _mask
    cdef size_t _n_wanted
    cdef uint32_t* _last  # pairs that no longer occur, in the order in which they are taken
    cdef size_t _n_last

    def __init__(
        self, PieceTable words not None, list alphabet not None, bytes classes not None, *, size_t n_merges,
        uint32_t max_length, bint split_by_whitespace, bint treat_whitespace_as_suffix,
        bint allow_whitespace_only_pieces, list base not None, bytes cuts not None,
    ):
        cdef size_t n_ids, n_slots = 4
        cdef uint32_t i
        cdef list piece
        cdef const uint32_t* cut_lengths = <const uint32_t*> PyBytes_AS_STRING(cuts)
        cdef size_t n_cuts = <size_t> PyBytes_GET_SIZE(cuts) // 4
        cdef uint32_t* symbols
        if self._state.cells != NULL:
            raise RuntimeError("a CodePointLearner cannot be initialized twice")
        if PyBytes_GET_SIZE(classes) != N_CODE_POINTS:
            raise ValueError(f"{len(classes)} classes of characters, not {N_CODE_POINTS}")
        words.settle()
        self._n_alphabet = <uint32_t> len(alphabet)
        self._n_base = self._n_ids = self._n_alphabet + <uint32_t> len(base)
        self._n_wanted = n_merges
        self._min_count = 1
        self._max_length = max_length
        self._rules.split_by_whitespace = split_by_whitespace
        self._rules.treat_whitespace_as_suffix = treat_whitespace_as_suffix
        self._rules.allow_whitespace_only_pieces = allow_whitespace_only_pieces
        while (<uint64_t> 1 << self._bits) < self._n_alphabet:
            self._bits += 1
        # Each merge removes at least one symbol, so no array is longer than the text, even if n_merges is greater.
        n_ids = self._n_base + min(n_merges, words.n_arena)
        # A word with k stretches between characters outside the alphabet has k - 1 such characters or more, so with a
        # NONE per stretch it needs at most one cell more than it has bytes. A stretch needs a weight; one with fewer
        # than two symbols is left out.
        self._allocate(words.n_arena + words.n_pieces + 1, (words.n_arena + words.n_pieces) // 2, n_ids)
        self._start = <size_t*> allocated(n_ids + 1, sizeof(size_t))
        self._prefix = <uint64_t*> allocated(n_ids, sizeof(uint64_t))
        self._shape = <Shape*> allocated(n_ids, sizeof(Shape))
        self._class = <uint8_t*> allocated(self._n_alphabet, 1)
        while n_slots < 2 * n_ids:
            n_slots *= 2
        self._slots = <uint32_t*> allocated(n_slots, sizeof(uint32_t))
        self._mask = n_slots - 1
        memset(self._slots, 0xFF, n_slots * sizeof(uint32_t))
        self._start[0] = 0
        symbols = <uint32_t*> allocated(N_CODE_POINTS, sizeof(uint32_t))
        try:
            memset(symbols, 0xFF, N_CODE_POINTS * sizeof(uint32_t))
            for i in range(self._n_alphabet):
                symbols[<uint32_t> alphabet[i]] = i
                self._class[i] = (<const uint8_t*> PyBytes_AS_STRING(classes))[<uint32_t> alphabet[i]]
                self._add_character(i)
            for i, piece in enumerate(base):
                self._add_base_piece(self._n_alphabet + i, piece)
            with nogil:
                self._lay_out(words, symbols, cut_lengths, n_cuts)
                self._first_pairs()
        finally:
            free(symbols)

    def __dealloc__(self):
        free(self._class)
        free(self._text)
        free(self._start)
        free(self._prefix)
        free(self._shape)
        free(self._slots)
        free(self._last)

    # Writing words as symbols

    cdef int _add_character(self, uint32_t i) except -1:
        """Fill the tables' row of symbol i."""
        cdef uint8_t class_ = self._class[i]
        self._state.length[i] = 1
        self._prefix[i] = <uint64_t> i << (KEY_BITS - self._bits)
        self._shape[i].has_metaspace = class_ == METASPACE_CLASS
        self._shape[i].script = class_ if class_ >= FIRST_SCRIPT or class_ == METASPACE_CLASS else MIXED
        self._reserve_text(1)
        self._text[self._n_text] = i
        self._n_text += 1
        self._start[i + 1] = self._n_text
        return 0

    cdef int _add_base_piece(self, uint32_t i, list piece) except -1:
        """Fill the tables' row of a base piece.

        piece: its symbols.
        """
        cdef uint32_t n = <uint32_t> len(piece), k, symbol
        cdef uint8_t script = METASPACE_CLASS, other
        cdef bint has_metaspace = False
        self._reserve_text(n)
        self._state.length[i] = n
        self._prefix[i] = 0
        for k in range(n):
            symbol = piece[k]
            if symbol >= self._n_alphabet:
                raise ValueError(f"base piece {i - self._n_alphabet} has symbol {symbol}, not in the alphabet")
            self._text[self._n_text + k] = symbol
            if k * self._bits < 64:
                self._prefix[i] |= self._prefix[symbol] >> (k * self._bits)
            has_metaspace = has_metaspace or self._shape[symbol].has_metaspace
            other = self._shape[symbol].script
            if script == METASPACE_CLASS:
                script = other
            elif other != METASPACE_CLASS and other != script:
                script = MIXED
        self._shape[i].script = script
        self._shape[i].has_metaspace = has_metaspace
        self._n_text += n
        self._start[i + 1] = self._n_text
        self._slots[self._slot_of_text(self._text + self._start[i], n)] = i
        return 0

    cdef size_t _slot_of_text(self, const uint32_t* text, uint32_t n) noexcept nogil:
        """Return the slot of the id with a text of n symbols, or the empty slot for it."""
        cdef uint64_t hash = n
        cdef uint32_t i
        cdef size_t at
        for i in range(n):
            hash = (hash ^ text[i]) * HASH_FACTOR
        at = <size_t> mix(hash) & self._mask
        while self._slots[at] != NONE and not (
            self._state.length[self._slots[at]] == n
            and memcmp(self._text + self._start[self._slots[at]], text, n * sizeof(uint32_t)) == 0
        ):
            at = (at + 1) & self._mask
        return at

    cdef int _lay_out(
        self, PieceTable words, const uint32_t* symbols, const uint32_t* cuts, size_t n_cuts
    ) except -1 nogil:
        """Write every word as symbols and base pieces: id in the first cell, id | TAIL in the last, DEAD between.

        symbols: array of N_CODE_POINTS – symbol of each code point; NONE: outside the alphabet.
        cuts, n_cuts: the lengths of the parts, and their number; ValueError if they do not fit the words. No cuts:
            every part is a character, and at one outside the alphabet another word begins.
        """
        cdef Cell* cell = self._state.cells
        cdef PieceCount* word
        cdef size_t w, at, k, n_weights = 0, next_cut = 0, n_parts
        cdef uint32_t id, n = 1
        cdef uint32_t* text
        cdef Cell* begin
        cell.symbol = NONE
        cell += 1
        for w in range(words.n_pieces):
            word = &words.pieces[w]
            at = 0
            while at < word.n_bytes:
                begin = cell
                n_parts = 0
                while at < word.n_bytes:
                    if n_cuts:
                        if next_cut == n_cuts:
                            with gil:
                                raise ValueError("cuts end before the words do")
                        n = cuts[next_cut]
                        next_cut += 1
                    if n == 0:
                        next_code_point(words.arena + word.start, word.n_bytes, &at)
                        break
                    self._reserve_text(n)
                    text = self._text + self._n_text  # space after the last text
                    for k in range(n):
                        if at == word.n_bytes:
                            with gil:
                                raise ValueError("cuts reach beyond a word")
                        text[k] = symbols[next_code_point(words.arena + word.start, word.n_bytes, &at)]
                    id = text[0] if n == 1 else self._slots[self._slot_of_text(text, n)]
                    if id == NONE and not n_cuts:
                        break
                    if id == NONE:
                        with gil:
                            raise ValueError("cuts contain a part that is not a base piece")
                    for k in range(n):
                        cell[k].symbol = DEAD
                    cell[n - 1].symbol = id | TAIL
                    cell[0].symbol = id
                    cell += n
                    n_parts += 1
                if n_parts < 2:  # no pair
                    cell = begin
                    continue
                self._state.weights[n_weights] = word.count
                n_weights += 1
                cell.symbol = NONE
                cell += 1
            self._note_work(word.n_bytes)
        self._n_cells = cell - self._state.cells
        return 0

    cdef int _reserve_text(self, size_t n) except -1 nogil:
        """Make space for n more symbols of text."""
        return reserve(<void**> &self._text, &self._text_capacity, self._n_text + n, sizeof(uint32_t), 4096)

    # Choosing

    cdef uint64_t _prefix_of(self, const Pair* pair) noexcept nogil:
        """Return the low bits of a pair's key."""
        cdef uint64_t shift = <uint64_t> self._bits * self._state.length[pair.left]
        return self._prefix[pair.left] | (self._prefix[pair.right] >> shift if shift < 64 else 0)

    cdef uint64_t _key(self, uint32_t index) noexcept nogil:
        cdef const Pair* pair = &self._state.pairs[index]
        cdef uint64_t length = self._state.length[pair.left] + self._state.length[pair.right]
        return length << KEY_BITS | self._prefix_of(pair)

    cdef bint _precedes(self, uint32_t index, uint32_t other_index) noexcept nogil:
        """Tell whether the text of the first pair is smaller.

        Requires: both texts have the same length.
        """
        cdef const Pair* pair = &self._state.pairs[index]
        cdef const Pair* other = &self._state.pairs[other_index]
        cdef uint32_t i, a, b
        for i in range(self._state.length[pair.left] + self._state.length[pair.right]):
            a = self._symbol(pair, i)
            b = self._symbol(other, i)
            if a != b:
                return a < b
        return False

    cdef inline uint32_t _symbol(self, const Pair* pair, uint32_t i) noexcept nogil:
        """Return symbol i of the text that a pair forms."""
        cdef uint32_t n_left = self._state.length[pair.left]
        if i < n_left:
            return self._text[self._start[pair.left] + i]
        return self._text[self._start[pair.right] + i - n_left]

    cdef bint _is_valid(self, const Pair* pair) noexcept nogil:
        cdef const Shape* left = &self._shape[pair.left]
        cdef const Shape* right = &self._shape[pair.right]
        if <uint64_t> self._state.length[pair.left] + self._state.length[pair.right] > self._max_length:
            return False
        if left.script == MIXED or right.script == MIXED or right.has_metaspace or (
            left.has_metaspace and (
                self._rules.treat_whitespace_as_suffix
                or (self._rules.split_by_whitespace and self._may_have_later_metaspace(pair.left))
            )
        ):
            return self._is_valid_text(pair)
        # The U+2581 of a valid `left` stay at the same distance from the beginning, and none is at the end.
        return left.script == right.script or left.script == METASPACE_CLASS

    cdef inline bint _may_have_later_metaspace(self, uint32_t token) noexcept nogil:
        """Tell whether a token may have a U+2581 after its first character, although split_by_whitespace forbids it.

        It may consist of several U+2581, or be a base piece that was learned with other options.
        """
        if self._n_alphabet <= token < self._n_base:
            return True
        return self._shape[token].script == METASPACE_CLASS and self._state.length[token] > 1

    cdef bint _is_valid_text(self, const Pair* pair) noexcept nogil:
        """Decide from its text whether a pair may be merged."""
        cdef uint32_t n = self._state.length[pair.left] + self._state.length[pair.right], i
        cdef PieceCheck check = PieceCheck(ANY, 0, True)
        for i in range(n):
            if not may_follow(&self._rules, &check, self._class[self._symbol(pair, i)], i, n):
                return False
        return is_valid_end(&self._rules, &check, n)

    cdef bint _is_new(self, uint32_t index) except -1 nogil:
        """Tell whether no id has the text of a pair; if so, fill the tables' row of the next id."""
        cdef const Pair* pair = &self._state.pairs[index]
        cdef size_t slot = self._slot(pair)
        cdef uint32_t token = self._n_ids
        cdef uint8_t script = self._shape[pair.left].script
        if self._slots[slot] != NONE:
            return False
        self._slots[slot] = token
        self._prefix[token] = self._prefix_of(pair)
        if script == METASPACE_CLASS:
            script = self._shape[pair.right].script
        elif self._shape[pair.right].script != METASPACE_CLASS and self._shape[pair.right].script != script:
            script = MIXED
        self._shape[token].script = script
        self._shape[token].has_metaspace = (
            self._shape[pair.left].has_metaspace or self._shape[pair.right].has_metaspace
        )
        self._n_text += self._state.length[pair.left] + self._state.length[pair.right]
        self._start[token + 1] = self._n_text
        return True

    cdef size_t _slot(self, const Pair* pair) except? <size_t> -1 nogil:
        """Return the slot of the id with the text of a pair, or the empty slot for it.

        Ensures: the text is after the last one, where it is not counted in _n_text.
        """
        cdef uint32_t n = self._state.length[pair.left] + self._state.length[pair.right], i
        self._reserve_text(n)
        for i in range(n):
            self._text[self._n_text + i] = self._symbol(pair, i)
        return self._slot_of_text(self._text + self._n_text, n)

    # Learning

    cdef int _learn(self) except -1 nogil:
        """Learn merges; if pieces are missing then, list pairs that no longer occur."""
        MergeLearner._learn(self)
        if self._n_ids - self._n_base < self._n_wanted:
            self._take_rest()
        return 0

    cdef int _take_rest(self) except -1 nogil:
        """List the pairs that no longer occur, best first, until enough pieces are learned."""
        cdef size_t n_more = self._n_wanted - (self._n_ids - self._n_base)
        cdef QueuedPair entry
        cdef uint32_t i, last = NONE
        cdef uint64_t key = 0
        for i in range(self._state.n_pairs):
            self._note_work(1)
            if self._is_valid(&self._state.pairs[i]) and self._slots[self._slot(&self._state.pairs[i])] == NONE:
                self._push(i)
        self._last = <uint32_t*> allocated(min(n_more, self._n_heap), sizeof(uint32_t))
        while self._n_heap and self._n_last < n_more:
            self._note_work(1)
            entry = self._pop()
            # Pairs that form the same text come one after another: list only the first of them.
            if last == NONE or entry.key != key or self._precedes(last, entry.pair):
                last, key = entry.pair, entry.key
                self._last[self._n_last] = last
                self._n_last += 1
        return 0

    def last_pairs(self):
        """Return (left id, right id) of the pieces without occurrences, which come after the merges and have no
        ids.
        """
        cdef size_t i
        return [
            (self._state.pairs[self._last[i]].left, self._state.pairs[self._last[i]].right)
            for i in range(self._n_last)
        ]

"""Merging in two phases, for vocabularies with superwords: tokens that span several words, such as "of the".

The pieces of such a vocabulary (except one of BoundlessBPE, see below) may span many words, often whole lines. Long
pieces hardly ever repeat, so the piece cache cannot help. But each merge joins tokens of earlier merges, so merges
happen in the order of their priorities, and it is exact to do all merges below any given priority first and the
others afterwards.

The first phase does the merges before the first superword. No token that they make has, say, a letter before a
space, so a piece may be cut between any two bytes that are not adjacent in such a token: no merge crosses that
position. The parts between cuts are words, which the piece cache can look up.

The second phase merges the ids of the first. Each superword consists of ids of the first phase in exactly one way.
Two neighbouring ids that are not adjacent in any superword are never joined, so the ids are cut between them, into
stretches of a few ids. Omitting a cut is exact too, so one bit, found by a hash, says whether two ids may join.
The merges of the second phase have a small pair table of their own. No merge of the first phase is left to do:
no pair of it remains, and later merges do not create any.

In a vocabulary of BoundlessBPE the second phase joins whole pieces: runs of pieces that are one id each after the
first phase. The piece cache contains the pieces, which are words. A run, too, is cut between two ids that are not
adjacent in any superword. A text may be cut between two pieces unless the characters beside the cut also meet
between two pieces of some superword.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.common.hashing cimport table_bits
from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.merge.vocabulary cimport token_length, token_start
from fastbpe._core.split.splitter cimport UNMATCHED, ends_reserve
from fastbpe._core.text.safe_cuts cimport border_of

from fastbpe._core.text.safe_cuts import byte_neighbours

cdef enum:
    BITS_PER_JOIN = 32  # bits of the table per join: about one pair in 32 is falsely taken to be in a superword


@cython.final
cdef class TwoPhases:
    """The two phases of a vocabulary.

    words: Vocabulary – the tokens of the first phase, with their ids in the whole vocabulary.
    joins: uint64 array – left id << 32 | right id of every pair of ids that are adjacent in a superword.
    superwords: Vocabulary – the merges of the second phase. None: not learned yet.
    joins_pieces: bool – these merges join whole pieces; otherwise ids within a piece.
    members: sequence of int – ids; any two of them may be adjacent in a superword. If there are
        any, all pairs of ids may join, and `joins` only adds borders.
    """

    def __cinit__(
        self, Vocabulary words not None, const uint64_t[::1] joins not None, *, Vocabulary superwords=None,
        bint joins_pieces=False, members=(),
    ):
        cdef Tables* tables = &words.tables
        cdef size_t i, n_ids = tables.n_ids
        self.words, self.superwords, self.joins_pieces = words, superwords, joins_pieces
        self._inside = byte_neighbours(words.tokens())
        self._borders = <uint8_t*> calloc(1 << 16, 1)
        self._n_bytes = <uint32_t*> calloc(max(n_ids, <size_t> 1), sizeof(uint32_t))
        if self._borders == NULL or self._n_bytes == NULL:
            raise MemoryError(f"no memory for the lengths of {n_ids} tokens")
        for i in range(n_ids):
            self._n_bytes[i] = token_length(tables, <uint32_t> i)
        self._fill_joins(&joins[0] if joins.shape[0] else NULL, <size_t> joins.shape[0])
        self._add_members(members)
        self.phases = Phases(
            tables, NULL, joins_pieces, <const uint8_t*> PyBytes_AS_STRING(self._inside), self._n_bytes, self._joins,
            self.phases.shift, self._borders,
        )
        if superwords is not None:
            self.phases.superwords = &superwords.tables

    def __dealloc__(self):
        free(self._borders)
        free(self._n_bytes)
        free(self._joins)

    @property
    def borders(self):
        """A byte for each value of border_of(): 0 if no superword has such a border between two pieces."""
        return (<const char*> self._borders)[:1 << 16]

    cdef int _fill_joins(self, const uint64_t* pairs, size_t n) except -1:
        """Set the bit of each pair of ids in _joins, and record its border. pairs, n: the argument `joins`."""
        cdef size_t i, bit
        cdef int bits = table_bits(BITS_PER_JOIN * n)
        cdef uint32_t left, right
        self._joins = <uint64_t*> calloc(max(<size_t> 1 << bits >> 6, <size_t> 1), sizeof(uint64_t))
        if self._joins == NULL:
            raise MemoryError(f"no memory for {n} pairs of neighbouring ids")
        self.phases.shift = <uint32_t> (64 - bits)
        for i in range(n):
            left, right = <uint32_t> (pairs[i] >> 32), <uint32_t> (pairs[i] & 0xFFFFFFFF)
            if left >= self.words.tables.n_ids or right >= self.words.tables.n_ids:
                raise ValueError(f"neighbours {left} and {right} of a superword: there are only {self.words.n_ids} ids")
            bit = join_bit(&self.phases, left, right)
            self._joins[bit >> 6] |= <uint64_t> 1 << (bit & 63)
            self._add_border(left, right)
        return 0

    cdef int _add_members(self, members) except -1:
        """Let any two ids join, and record the borders between any two members.

        Stretches then become longer, but the ids do not change. Does nothing without members.
        """
        cdef const Tables* tables = &self.words.tables
        cdef uint32_t i
        cdef const uint8_t* token
        cdef set first_bytes = set(), last_bytes = set()
        for i in members:
            if i >= tables.n_ids:
                raise ValueError(f"id {i} in a superword: there are only {tables.n_ids} ids")
            if token_length(tables, i):
                token = tables.token_bytes + token_start(tables, i)
                first_bytes.add(token[0])
                last_bytes.add(token[token_length(tables, i) - 1])
        for before in last_bytes:
            for behind in first_bytes:
                self._borders[border_of(before, behind)] = 1
        if members:
            memset(self._joins, 0xFF, max(<size_t> 1 << (64 - self.phases.shift) >> 3, sizeof(uint64_t)))
        return 0

    cdef int _add_border(self, uint32_t left, uint32_t right) except -1:
        """Record the bytes on both sides of the border between two ids."""
        cdef const Tables* tables = &self.words.tables
        cdef size_t n = token_length(tables, left)
        if n and token_length(tables, right):
            self._borders[border_of(
                tables.token_bytes[token_start(tables, left) + n - 1], tables.token_bytes[token_start(tables, right)]
            )] = 1
        return 0


def superword_ids(Vocabulary vocabulary not None):
    """List the ids of tokens that have an ASCII letter right before a space: such tokens span words."""
    cdef const Tables* tables = &vocabulary.tables
    cdef const uint8_t* data = tables.token_bytes
    cdef size_t k, n_inside = 0  # positions within tokens where a word ends
    cdef uint32_t i, start
    cdef list out = []
    # Most vocabularies have no such token. Two counts without branches show it: in the bytes of all tokens together,
    # and where one token follows another. An id without a token must not count the start of the next token, too.
    for k in range(1, tables.token_ends[tables.n_ids - 1] if tables.n_ids else 0):
        n_inside += _ends_word(data + k)
    for i in range(1, tables.n_ids):
        start = token_start(tables, i)
        if start and token_length(tables, i):
            n_inside -= _ends_word(data + start)
    if n_inside == 0:
        return out
    for i in range(tables.n_ids):
        for k in range(token_start(tables, i) + 1, tables.token_ends[i]):
            if _ends_word(data + k):
                out.append(i)
                break
    return out


cdef inline bint _ends_word(const uint8_t* at) noexcept nogil:
    """Tell whether `at` points to a space, and the byte before it is an ASCII letter."""
    return (at[0] == 0x20) & (<uint8_t> ((at[-1] | 0x20) - 97) < 26)


cdef int encode_words(
    const Phases* phases, Cache* cache, const uint8_t* data, size_t n, size_t start, const size_t* ends, size_t n_ends,
    Ends* words, Ids* out,
) except -1 nogil:
    """Replace the contents of `out` by the ids that the first phase makes of the pieces of a text.

    data, n, start, ends, n_ends: as for encode_pieces().
    words: space for the ends of the words; overwritten.

    Requires: cache is used for no other vocabulary.
    """
    cdef const uint8_t* inside = phases.inside
    cdef size_t* to
    cdef size_t k, at = start, end, n_words = 0
    words.n = out.n = 0
    for k in range(n_ends):
        end = ends[k] & ~UNMATCHED
        if ends[k] & UNMATCHED:
            ends_reserve(words, 1)
            words.items[words.n] = ends[k]
            words.n += 1
        else:
            ends_reserve(words, end - at)
            to, n_words = words.items, words.n
            at += 1
            while at < end:
                to[n_words] = at
                n_words += not inside[data[at - 1] << 8 | data[at]]
                at += 1
            to[n_words] = end
            words.n = n_words + 1
        at = end
    return encode_pieces(cache, phases.words, data, n, start, words.items, words.n, out)

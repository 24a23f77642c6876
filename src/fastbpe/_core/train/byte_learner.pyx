"""Learning merges of bytes. learning.pyx explains how.

No two pairs of bytes ever make the same bytes (`fastbpe._reference.training` says why), so every merge has an id of
its own; where a base vocabulary comes first, which may be of any making, a pair whose bytes are a token is passed over.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from fastbpe._core.train.piece_counter cimport PieceCounter
from fastbpe._core.train.merge_learner cimport MergeLearner, allocated
from fastbpe._core.common.id_buffer cimport Ids, ids_free
from fastbpe._core.merge.merge_piece cimport encode_piece
from fastbpe._core.train.piece_table cimport PieceCount, PieceTable
from fastbpe._core.train.pair_table cimport DEAD, TAIL, Cell, Pair, stands
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary

cdef enum:
    N_BYTES = 256


@cython.final
cdef class Learner(MergeLearner):
    """Learns merges over the pieces of a PieceCounter, which must not change meanwhile.

    max_ids: the ids to end with; less than there are before any merge means none. Of two pairs that occur equally
    often, the one met first in the pieces is merged with ties_first, else the one whose left id, then right id,
    ranks lower; base_ranks (256 numbers) says how bytes rank among themselves, None: by value.

    base: pieces are made of the tokens of this vocabulary, as it encodes them, and not of bytes; n_base: the first
    id that a merge may have, above all of the base's.
    """

    cdef int64_t _n_pieces
    cdef uint32_t* _rank  # of each id, for ties
    cdef uint32_t _max_token_bytes
    cdef bint _ties_first
    cdef list _tokens  # with a base: the bytes of every id
    cdef set _known  # the same

    def __init__(
        self, PieceCounter counter not None, *, uint32_t max_ids, bint ties_first=False, int64_t min_count=1,
        max_token_bytes=None, base_ranks=None, Vocabulary base=None, uint32_t n_base=N_BYTES,
    ):
        if self._state.cells != NULL:
            raise RuntimeError("a Learner is made once")
        self._n_ids = self._n_base = n_base
        counter.settle()
        self._min_count = max(min_count, 1)
        self._max_token_bytes = NONE if max_token_bytes is None else min(max_token_bytes, NONE)
        self._ties_first = self._keys_change = ties_first
        if base is not None:
            self._tokens = base.tokens()
            self._tokens += [b""] * (n_base - len(self._tokens))
            self._known = set(self._tokens)
        check_counts(counter)
        # Every merge takes a symbol away at least, so that no array need be larger than the text, whatever is asked.
        cdef size_t n_ids = min(<size_t> max(max_ids, n_base), n_base + counter.n_arena)
        self._allocate(counter.n_arena + counter.n_pieces + 2, counter.n_pieces, n_ids)
        self._rank = <uint32_t*> allocated(n_ids, sizeof(uint32_t))
        cdef uint32_t i
        for i in range(n_base):
            self._state.length[i] = 1 if base is None else len(self._tokens[i])
        for i in range(self._max_ids):
            self._rank[i] = base_ranks[i] if base_ranks is not None and i < N_BYTES else i
        cdef const Tables* tables = NULL if base is None else &base.tables
        with nogil:
            self._lay_out(counter, tables)
            self._first_pairs()

    def __dealloc__(self):
        free(self._rank)

    # Laying out

    cdef int _lay_out(self, PieceCounter counter, const Tables* base) except -1 nogil:
        """Write every piece as symbols: its bytes, or what the base vocabulary makes of them."""
        cdef Cell* cells = self._state.cells
        cdef Cell* cell = cells
        cdef PieceCount* piece
        cdef const uint8_t* p
        cdef size_t w, i
        cdef Ids ids
        memset(&ids, 0, sizeof(ids))
        try:
            for w in range(counter.n_pieces):
                cell.symbol = NONE
                cell += 1
                piece = &counter.pieces[w]
                self._state.weights[w] = piece.count
                self._n_pieces += piece.count
                p = counter.arena + piece.start
                if base == NULL:
                    for i in range(piece.n_bytes):
                        cell[i].symbol = p[i]
                else:
                    ids.n = 0
                    encode_piece(base, p, piece.n_bytes, &ids)
                    self._write(cell, &ids)
                cell += piece.n_bytes
                self._worked(piece.n_bytes + 1)
        finally:
            ids_free(&ids)
        cell.symbol = NONE
        self._n_cells = cell - cells + 1
        return 0

    cdef void _write(self, Cell* cell, const Ids* ids) noexcept nogil:
        cdef size_t i, k, length
        for i in range(ids.n):
            length = self._state.length[ids.items[i]]
            for k in range(length):
                cell[k].symbol = DEAD
            cell[length - 1].symbol = ids.items[i] | TAIL
            cell[0].symbol = ids.items[i]
            cell += length

    # Choosing

    cdef uint64_t _key(self, uint32_t index) noexcept nogil:
        """What decides between equal counts. With ties="first": the cell of the first occurrence left."""
        cdef Pair* pair = &self._state.pairs[index]
        if not self._ties_first:
            return (<uint64_t> self._rank[pair.left] << 32) | self._rank[pair.right]
        # An occurrence that is gone never comes back, so the slice forgets it for good.
        while pair.n and not stands(&self._state, pair, pair.occurrences[0].at):
            pair.occurrences += 1
            pair.n -= 1
        return pair.occurrences[0].at if pair.n else NONE

    cdef bint _is_valid(self, const Pair* pair) noexcept nogil:
        return <uint64_t> self._state.length[pair.left] + self._state.length[pair.right] <= self._max_token_bytes

    cdef bint _is_new(self, uint32_t pair) except -1 nogil:
        """Whether no token, of the base or learned, has the bytes that a pair would make."""
        cdef Pair* it = &self._state.pairs[pair]
        if self._tokens is None:
            return True
        with gil:
            token = <bytes> self._tokens[it.left] + <bytes> self._tokens[it.right]
            if token in self._known:
                return False
            self._known.add(token)
            self._tokens.append(token)
        return True

    def limits_met(self):
        """Tell of min_count and of max_token_bytes if it keeps a pair from being merged that is still in the text.

        A pair that both keep back counts where none is kept back by one alone.
        """
        cdef bint rare = False, long = False, both = False, is_rare, is_long
        cdef uint32_t i
        with nogil:
            for i in range(self._state.n_pairs):
                if self._state.counts[i] > 0:
                    is_rare = self._state.counts[i] < self._min_count
                    is_long = not self._is_valid(&self._state.pairs[i])
                    rare = rare or (is_rare and not is_long)
                    long = long or (is_long and not is_rare)
                    both = both or (is_rare and is_long)
        both = both and not rare and not long
        return rare or both, long or both

    @property
    def n_pieces(self):
        """How many pieces there are, each as often as it was counted."""
        return self._n_pieces


cdef int check_counts(PieceTable counter) except -1:
    """No pair's count can be more than all symbols together, each as often as its piece."""
    cdef int64_t left = INT64_MAX
    cdef size_t w
    cdef PieceCount* piece
    for w in range(counter.n_pieces):
        piece = &counter.pieces[w]
        if piece.count > left // max(piece.n_bytes, 1):
            raise OverflowError("the counts of the pieces add up to more than 2**63 - 1 symbols")
        left -= piece.count * max(piece.n_bytes, 1)
    return 0

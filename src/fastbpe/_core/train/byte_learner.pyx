"""Learn merges of bytes, or of the integers of sequences. merge_learner.pyx explains the method.

Two different merges never form the same bytes (`tests/reference/__init__.py` has the proof), so every merge has
its own id. This does not hold if merges continue a base vocabulary of any origin: then a pair whose bytes are
already a token is skipped. Merges over sequences are identified by their pairs, not by the result, so a pair that
forms the symbols of a token of the base is merged like any other.
"""

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastbpe._core.train.piece_counter cimport PieceCounter
from fastbpe._core.train.merge_learner cimport MergeLearner, allocated
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.ids.sequences cimport Sequences, sequence_start
from fastbpe._core.merge.merge_long cimport merge_symbols
from fastbpe._core.merge.merge_piece cimport encode_piece
from fastbpe._core.merge.sequence_vocabulary cimport SequenceVocabulary
from fastbpe._core.train.piece_table cimport PieceCount, PieceTable
from fastbpe._core.train.pair_table cimport DEAD, TAIL, Cell, Pair, stands
from fastbpe._core.train.token_limits cimport TokenLimits
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary

from bisect import bisect_right

cdef enum:
    N_BYTES = 256


cdef class Learner(MergeLearner):
    """Learner of merges over counted pieces, or over sequences of integers.

    source: PieceCounter, which must not change while the learner exists; or Sequences, which are emptied, with one
        piece per sequence.
    max_ids: int – total number of ids to reach; if there are as many before the first merge, nothing is learned.
    ties_first: bool – of pairs with equal counts, merge the one that occurs first in the pieces; False: the one
        whose left id, then right id, ranks lower.
    min_count: int – merge only pairs that occur at least this often; 1 or more.
    max_token_length: int or None – maximum length of a token in bytes, or integers; no effect with limits.
    base_ranks: sequence of 256 int, or None – ranks of the single bytes for ties; None: by value.
    base: Vocabulary, for Sequences SequenceVocabulary, or None – pieces consist of the tokens of this vocabulary,
        as it encodes them, instead of bytes or integers.
    n_base: int – the first id that a merge may have, above all ids of `base`.
    taken: iterable of bytes – strings that are tokens already, such as special tokens: no merge forms one. No
        effect without a base of bytes or limits.
    names: list of bytes, or None – with Sequences, the token of each id below n_base. Then a merge may form
        a token of `known`.
    known: bytes → id – tokens that are not symbols of the source. A merge that forms one takes that id as its
        rank for ties, and does not count towards max_ids. Like any other merge, it makes the next id.
    prefix: bytes – with names: prefix that the right one of two tokens loses when they are joined.
    limits: TokenLimits, or None – with Sequences, the token of each id below n_base, and which may be joined. A
        pair that would form the bytes of a token is then skipped.
    more_symbols: int – number of symbols of other sources whose merges share the ids. It raises the upper bound on
        the number of ids, for which memory is allocated: each merge removes at least one symbol.
    ties_bytes: bool – with limits: of pairs with equal counts, merge the one whose left token (then right token)
        comes first in byte order.
    overlaps: bool – count n - 1 pairs in a run of n equal symbols; False: n // 2, the number that merging makes.
    shares: sequence of int – counts, in descending order, of other merges that also make ids up to max_ids, and
        that precede merges of an equal count. Learning ends when no more merges are needed. No effect without a
        base of bytes or limits.
    stops_at_known: bool – with a base of bytes, or limits: a pair that would form the bytes of a token ends
        learning: see known_pair.
    """

    def __init__(
        self, source not None, *, uint32_t max_ids, bint ties_first=False, int64_t min_count=1,
        max_token_length=None, base_ranks=None, base=None, uint32_t n_base=N_BYTES, taken=(),
        names=None, known=None, bytes prefix=b"", TokenLimits limits=None, size_t more_symbols=0,
        bint ties_bytes=False, bint overlaps=True, shares=(), bint stops_at_known=False,
    ):
        if self._state.cells != NULL:
            raise RuntimeError("a Learner cannot be initialized twice")
        self._n_ids = self._n_base = n_base
        self._min_count = min_count
        self._max_token_length = NONE if max_token_length is None else min(max_token_length, NONE)
        self._ties_first = self._keys_change = ties_first
        self._ties_bytes, self._stops_at_known = ties_bytes, stops_at_known
        self._state.no_overlaps = not overlaps
        self._shares = [-count for count in shares]
        self._shared_ids = max_ids
        cdef PieceCounter counter = None
        cdef Sequences sequences = None
        cdef Vocabulary of_bytes = None
        cdef SequenceVocabulary of_sequences = None
        cdef size_t n_symbols, n_pieces
        if isinstance(source, Sequences):
            of_sequences = base
            if of_sequences is not None and n_base != of_sequences.tables.n_ids:
                raise ValueError(f"n_base={n_base}: the base has {of_sequences.tables.n_ids} ids")
        elif base is not None:
            of_bytes = base
            self._tokens = of_bytes.tokens()
            self._tokens += [b""] * (n_base - len(self._tokens))  # ids that are not in the base, but below n_base
            self._existing = {*self._tokens, *taken}
        if limits is not None:
            self._limits = limits
            self._tokens = limits.tokens()
            self._existing = {*self._tokens, *taken}
        if names is not None:
            self._tokens, self._ids_of_known, self._prefix = [*names], {**known}, prefix
        if isinstance(source, Sequences):
            sequences = source
            n_symbols, n_pieces = sequences.items.n, sequences.n
            check_sequence_counts(sequences)
        else:
            counter = source
            counter.settle()
            n_symbols, n_pieces = counter.n_arena, counter.n_pieces
            check_counts(counter)
        # Every merge removes at least one symbol, so no array need be larger than the text, however many ids are
        # wanted.
        cdef size_t n_ids = max(max_ids, n_base)
        if self._ids_of_known is not None:
            n_ids += len(self._ids_of_known)
        n_ids = min(n_ids, n_base + n_symbols + more_symbols)
        self._allocate(n_symbols + n_pieces + 1, n_pieces, n_ids)
        self._rank = <uint32_t*> allocated(n_ids, sizeof(uint32_t))
        cdef uint32_t i
        for i in range(n_base):
            self._state.length[i] = 1
        if of_bytes is not None:
            for i in range(n_base):
                self._state.length[i] = len(self._tokens[i])
        if of_sequences is not None:
            memcpy(self._state.length, of_sequences.lengths, n_base * sizeof(uint32_t))
        for i in range(self._max_ids):
            self._rank[i] = base_ranks[i] if base_ranks is not None and i < N_BYTES else i
        # Memory is for all ids, but learning stops at max_ids. _note_name() raises _max_ids again for known tokens.
        self._most_ids = self._max_ids
        self._max_ids = min(self._max_ids, max(max_ids, n_base))
        cdef const Tables* tables = NULL
        if of_bytes is not None:
            tables = &of_bytes.tables
        if of_sequences is not None:
            tables = &of_sequences.tables
        if sequences is not None:
            with nogil:
                self._lay_out_sequences(sequences, tables)
            sequences.clear()  # the cells replace them
        else:
            with nogil:
                self._lay_out(counter, tables)
        with nogil:
            self._first_pairs()

    def __dealloc__(self):
        free(self._rank)

    # Writing pieces as symbols

    cdef int _lay_out(self, PieceCounter counter, const Tables* base) except -1 nogil:
        """Write every piece as symbols: its bytes, or its tokens of the base vocabulary.

        Ensures: piece w (from 0) is after NONE number w, with its count in weights[w]; another NONE is at the end.
        """
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
                self.n_pieces += piece.count
                p = counter.arena + piece.start
                if base == NULL:
                    for i in range(piece.n_bytes):
                        cell[i].symbol = p[i]
                else:
                    ids.n = 0
                    encode_piece(base, p, piece.n_bytes, &ids)
                    self._write_tokens(cell, &ids)
                cell += piece.n_bytes
                self._note_work(piece.n_bytes + 1)
        finally:
            ids_free(&ids)
        cell.symbol = NONE
        self._n_cells = cell - cells + 1
        return 0

    cdef int _lay_out_sequences(self, Sequences sequences, const Tables* base) except -1 nogil:
        """Write every sequence as symbols, with the same result as _lay_out()."""
        cdef Cell* cell = self._state.cells
        cdef const uint32_t* symbols = sequences.items.items
        cdef size_t i, k, n
        cdef Ids ids
        memset(&ids, 0, sizeof(ids))
        try:
            for i in range(sequences.n):
                cell.symbol = NONE
                cell += 1
                self._state.weights[i] = sequences.counts[i]
                self.n_pieces += sequences.counts[i]
                n = sequences.ends[i] - sequence_start(sequences, i)
                if base == NULL:
                    for k in range(n):
                        cell[k].symbol = symbols[k]
                elif n:
                    ids.n = 0
                    merge_symbols(base, symbols, n, &ids, NULL)
                    self._write_tokens(cell, &ids)
                symbols += n
                cell += n
                self._note_work(n + 1)
        finally:
            ids_free(&ids)
        cell.symbol = NONE
        self._n_cells = cell - self._state.cells + 1
        return 0

    cdef void _write_tokens(self, Cell* cell, const Ids* ids) noexcept nogil:
        """Write tokens as symbols: the id in the first cell, id | TAIL in the last, DEAD between.

        Requires: the tokens have as many bytes or integers as the piece has cells. A base of sequences has all
            integers; if a base of bytes lacks some bytes, training cuts these out of the pieces before.
        """
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
        """Return the key that decides between equal counts: the left token's first bytes, both ranks, or the cell
        of the first remaining occurrence.
        """
        cdef Pair* pair = &self._state.pairs[index]
        if self._ties_bytes:
            return self._limits.head(pair.left)
        if not self._ties_first:
            return (<uint64_t> self._rank[pair.left] << 32) | self._rank[pair.right]
        # An occurrence that is gone never returns, so the pair drops it for good. One stands, as the count is not 0.
        while not stands(&self._state, pair, self._state.occurrences[pair.start]):
            pair.start += 1
            pair.n -= 1
        return self._state.occurrences[pair.start]

    cdef bint _precedes(self, uint32_t pair, uint32_t other) noexcept nogil:
        cdef const Pair* a = &self._state.pairs[pair]
        cdef const Pair* b = &self._state.pairs[other]
        cdef int order
        if not self._ties_bytes:
            return False
        order = self._limits.compare(a.left, b.left)
        return order < 0 or (order == 0 and self._limits.compare(a.right, b.right) < 0)

    cdef bint _is_valid(self, const Pair* pair) noexcept nogil:
        if self._limits is not None:
            return self._limits.allows(pair.left, pair.right)
        return <uint64_t> self._state.length[pair.left] + self._state.length[pair.right] <= self._max_token_length

    cdef bint _is_new(self, uint32_t pair) except -1 nogil:
        """Tell whether a pair becomes an id, and record its bytes.

        With a base of bytes, or limits, it may not form the bytes of a token, or a string of `taken`.
        """
        cdef Pair* it = &self._state.pairs[pair]
        if self._tokens is None:
            return True
        if self._ids_of_known is not None:
            return self._note_name(it.left, it.right)
        with gil:
            token = <bytes> self._tokens[it.left] + <bytes> self._tokens[it.right]
            if self._shares and self._n_ids + bisect_right(self._shares, -self._state.counts[pair]) >= self._shared_ids:
                self._max_ids = self._n_ids  # the other merges use up all ids before this one
                return False
            if token in self._existing:
                if self._stops_at_known:
                    self.known_pair = it.left, it.right, self._state.counts[pair]
                    self._max_ids = self._n_ids
                return False
            self._existing.add(token)
            self._tokens.append(token)
            if self._limits is not None:
                self._limits.add(it.left, it.right)
        return True

    cdef bint _note_name(self, uint32_t left, uint32_t right) except -1 with gil:
        """Record the token that a merge makes. A known one gets the rank of its id, and allows one more id."""
        cdef bytes token = <bytes> self._tokens[left] + (<bytes> self._tokens[right]).removeprefix(self._prefix)
        known = self._ids_of_known.get(token)
        self._tokens.append(token)
        if known is not None:
            self._rank[self._n_ids] = known
            self._max_ids = min(self._max_ids + 1, self._most_ids)
        return True

    def sequences(self, uint32_t left, uint32_t right, uint32_t merged):
        """Return the pieces after all merges, with one more pair replaced by an id.

        left, right: int – the pair, which becomes the existing id `merged` from left to right.
        """
        cdef Sequences out = Sequences(self._n_ids)
        cdef const Cell* cells = self._state.cells
        cdef size_t at = 1, piece = 0
        cdef uint32_t symbol
        cdef Ids ids = Ids(NULL, 0, 0)
        try:
            while at < self._n_cells:
                symbol = cells[at].symbol
                if symbol == NONE:
                    out.add_ids(ids.items, ids.n, self._state.weights[piece])
                    piece += 1
                    ids.n = 0
                    at += 1
                    continue
                at += self._state.length[symbol]
                if symbol == left and cells[at].symbol == right:
                    at += self._state.length[right]
                    symbol = merged
                ids_reserve(&ids, 1)
                ids.items[ids.n] = symbol
                ids.n += 1
        finally:
            ids_free(&ids)
        return out

    def limits_met(self):
        """Return two bools: whether min_count, and whether max_token_length, prevented the merge of a pair in the
        text.

        A pair that both limits exclude counts only if no pair is excluded by one limit alone; then both are True.
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


cdef int check_counts(PieceTable counter) except -1:
    """Raise OverflowError if the number of all symbols could pass 2**63 - 1; this also bounds each pair count.

    An empty piece counts as a symbol, so this bounds the number of pieces, too.
    """
    cdef int64_t remaining = INT64_MAX
    cdef size_t w
    cdef PieceCount* piece
    for w in range(counter.n_pieces):
        piece = &counter.pieces[w]
        if piece.count > remaining // max(piece.n_bytes, 1):
            raise OverflowError("the pieces have more than 2**63 - 1 symbols in total")
        remaining -= piece.count * max(piece.n_bytes, 1)
    return 0


cdef int check_sequence_counts(Sequences sequences) except -1:
    """Do the work of check_counts() for sequences."""
    cdef int64_t remaining = INT64_MAX, n
    cdef size_t i
    for i in range(sequences.n):
        n = <int64_t> max(sequences.ends[i] - sequence_start(sequences, i), <size_t> 1)
        if sequences.counts[i] > remaining // n:
            raise OverflowError("the sequences have more than 2**63 - 1 symbols in total")
        remaining -= sequences.counts[i] * n
    return 0

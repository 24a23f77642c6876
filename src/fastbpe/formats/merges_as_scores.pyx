"""Find sentencepiece scores that give the same ids as a list of merges, and pieces that no scores can express.

A list of merges contains the pairs that may merge; sentencepiece gives each piece a score and merges any two
symbols that form a piece. The merges within a piece, up to its last two symbols, do not depend on the text around
it. So at most one merge ever makes a given piece. Scores in the order of these merges give the same ids, unless a
piece is also spelled by two symbols that the list does not merge. `tests/reference` has the proof: "One merge
makes each token".
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memset

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.hashing cimport hash_bytes
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

cdef enum:
    NORMAL = 1  # type of pieces that text can become, in sentencepiece's enum
    MAX_CHARACTERS = 256  # longest piece whose merges are replayed
    MAX_WORK = 1 << 28  # bytes that the search for pairs may hash; it takes quadratic time in a piece's length


cdef struct Merges:
    const uint32_t* items  # left id, right id, merged id; best first
    size_t n
    uint32_t* table  # open addressing by pair: index of a merge, or NONE
    size_t mask  # number of slots - 1
    uint64_t seed  # seed of the hash function


cdef struct Pieces:
    const uint8_t* data
    const uint32_t* ends  # end of each piece in `data`, by id
    uint32_t n
    uint8_t* usable  # by id: 1 if text can become the piece
    uint64_t* table  # open addressing by text: high half of the hash, then id plus one; 0: empty
    size_t mask  # number of slots - 1
    uint64_t seed  # seed of the hash function


@cython.final
cdef class _Input:
    """Pieces and merges, with hash tables for looking them up. Requires: no piece is empty."""

    cdef Pieces pieces
    cdef Merges merges
    cdef const uint32_t[::1] _view
    cdef bytes _piece_bytes, _piece_ends

    def __cinit__(
        self, bytes piece_bytes not None, bytes piece_ends not None, bytes types not None,
        const uint32_t[::1] merges, bint splits, uint64_t seed,
    ):
        """Take the arguments of `judge`."""
        self._view, self._piece_bytes, self._piece_ends = merges, piece_bytes, piece_ends
        self.pieces = Pieces(
            <const uint8_t*> PyBytes_AS_STRING(piece_bytes), <const uint32_t*> PyBytes_AS_STRING(piece_ends),
            <uint32_t> len(types), NULL, NULL, 3, seed,
        )
        self.merges = Merges(NULL, <size_t> merges.shape[0] // 3, NULL, 3, seed)
        if self.merges.n:
            self.merges.items = &merges[0]
        while self.pieces.mask < 2 * <size_t> self.pieces.n:
            self.pieces.mask = 2 * self.pieces.mask + 1
        self.pieces.usable = <uint8_t*> calloc(<size_t> self.pieces.n + 1, 1)
        self.pieces.table = <uint64_t*> calloc(self.pieces.mask + 1, sizeof(uint64_t))
        if self.pieces.usable == NULL or self.pieces.table == NULL:
            raise self.no_memory()
        _index(&self.pieces, <const uint8_t*> PyBytes_AS_STRING(types), splits)

    def __dealloc__(self):
        free(self.pieces.usable)
        free(self.pieces.table)
        free(self.merges.table)

    cdef int index_merges(self) except -1:
        """Fill the table of merges, which `_merge_alone` needs."""
        while self.merges.mask < 2 * self.merges.n:
            self.merges.mask = 2 * self.merges.mask + 1
        self.merges.table = <uint32_t*> malloc(4 * (self.merges.mask + 1))
        if self.merges.table == NULL:
            raise self.no_memory()
        _index_merges(&self.pieces, &self.merges)
        return 0

    cdef object no_memory(self):
        return MemoryError(f"no memory to judge the merges of {self.pieces.n} pieces")


def judge(piece_bytes, piece_ends, types, merges, splits, seed):
    """Compute scores of pieces, and tell whether they give every text the same pieces as the merges.

    The scores rank the pieces in the order of the first merge that forms each; pieces without a merge come last.
    The pieces are the same if the merges are exactly the pairs of symbols that spell a piece, and all pairs of a
    piece are consecutive in the list.

    Args:
        piece_bytes, piece_ends: bytes – the pieces, as in `CodePointModel`.
        types: bytes – type of each piece, in sentencepiece's enum.
        merges: uint32 triples (left id, right id, merged id), best first; no pair twice.
        splits: bool – text is split before each U+2581, so no piece has one after its first character.
        seed: a random number that the maker of a file cannot know.

    Returns:
        (scores, same): scores as in `CodePointModel`; same: whether the pieces are the same. False also if the
            search takes too long.
    """
    cdef _Input given = _Input(piece_bytes, piece_ends, types, merges, splits, seed)
    cdef bytes scores = PyBytes_FromStringAndSize(NULL, 4 * <Py_ssize_t> given.pieces.n)
    cdef uint32_t* ranks = <uint32_t*> malloc(4 * (<size_t> given.pieces.n + 1))
    if ranks == NULL:
        raise given.no_memory()
    same = _rank(&given.pieces, &given.merges, ranks, <float*> PyBytes_AS_STRING(scores))
    free(ranks)
    return scores, same


def rescore(piece_bytes, piece_ends, types, merges, splits, seed):
    """Find scores that give every text the same pieces as the merges, which may be any list.

    Accepts the arguments of `judge`.

    Returns:
        (scores, ids): ids of the pieces that merging must not form. For the text of such a piece, the
        merges end with two symbols, which scores would merge. None if a piece is longer than MAX_CHARACTERS.
    """
    cdef _Input given = _Input(piece_bytes, piece_ends, types, merges, splits, seed)
    cdef bytes scores = PyBytes_FromStringAndSize(NULL, 4 * <Py_ssize_t> given.pieces.n)
    cdef uint32_t* made
    given.index_merges()
    made = <uint32_t*> malloc(4 * (given.merges.n + 1))
    if made == NULL:
        raise given.no_memory()
    try:
        apart = _follow(&given.pieces, &given.merges, made)
        if apart is None:
            return None
        _score(&given.pieces, &given.merges, made, <float*> PyBytes_AS_STRING(scores))
        return scores, apart
    finally:
        free(made)


def unmade(piece_bytes, piece_ends, types, merges, seed):
    """Return the ids of the pieces that the merges do not form from the piece's own text.

    None if a piece is longer than MAX_CHARACTERS. Accepts the arguments of `judge` except `splits`.
    """
    cdef _Input given = _Input(piece_bytes, piece_ends, types, merges, False, seed)
    cdef uint32_t i, n_left, last = 0
    cdef list found = []
    given.index_merges()
    for i in range(given.pieces.n):
        if given.pieces.usable[i]:
            n_left = _merge_alone(&given.pieces, &given.merges, i, &last)
            if n_left == 0:
                return None
            if n_left > 1:
                found.append(i)
    return found


def first_bad(bytes piece_bytes not None, bytes piece_ends not None, const uint32_t[::1] merges):
    """Return the index of the first merge whose two pieces do not spell the piece that it makes; None if all do.

    -1 if `piece_ends` does not cut `piece_bytes` into pieces. Arguments are as in `judge`.
    """
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(piece_bytes)
    cdef const uint32_t* ends = <const uint32_t*> PyBytes_AS_STRING(piece_ends)
    cdef size_t n = <size_t> len(piece_ends) // 4, i
    cdef uint32_t left, right, made
    cdef uint32_t[3] starts, sizes
    if len(piece_ends) % 4:
        return -1
    for i in range(n):
        if ends[i] < _begin(ends, i) or ends[i] > <size_t> len(piece_bytes):
            return -1
    for i in range(<size_t> merges.shape[0] // 3):
        left, right, made = merges[3 * i], merges[3 * i + 1], merges[3 * i + 2]
        if left >= n or right >= n or made >= n:
            return i
        starts[0], starts[1], starts[2] = _begin(ends, left), _begin(ends, right), _begin(ends, made)
        sizes[0], sizes[1], sizes[2] = ends[left] - starts[0], ends[right] - starts[1], ends[made] - starts[2]
        if not (sizes[0] and sizes[1] and sizes[2] == sizes[0] + sizes[1]) or (
            memcmp(data + starts[2], data + starts[0], sizes[0])
            or memcmp(data + starts[2] + sizes[0], data + starts[1], sizes[1])
        ):
            return i
    return None


cdef inline uint32_t _begin(const uint32_t* ends, uint32_t i) noexcept:
    return ends[i - 1] if i else 0


cdef void _index(Pieces* pieces, const uint8_t* types, bint splits) noexcept:
    """Fill `usable`, and the table of pieces by text."""
    cdef uint32_t i, start
    cdef size_t at
    cdef uint64_t hash
    for i in range(pieces.n):
        start = _begin(pieces.ends, i)
        if types[i] != NORMAL or not _is_possible(pieces.data + start, pieces.ends[i] - start, splits):
            continue
        pieces.usable[i] = True
        hash = hash_bytes(pieces.data + start, pieces.ends[i] - start, pieces.seed)
        at = <size_t> hash & pieces.mask
        while pieces.table[at]:
            at = (at + 1) & pieces.mask
        pieces.table[at] = hash >> 32 << 32 | (i + 1)


cdef bint _is_possible(const uint8_t* text, uint32_t n, bint splits) noexcept:
    """Tell whether text can become a piece: no space, and if `splits` no U+2581 after the first character."""
    cdef uint32_t i
    for i in range(n):
        if text[i] == c' ':
            return False
        if splits and i and text[i] == 0xE2 and n - i > 2 and text[i + 1] == 0x96 and text[i + 2] == 0x81:
            return False
    return True


cdef inline bint _is_symbol(const Pieces* pieces, const uint8_t* text, uint32_t n) noexcept:
    """Tell whether a text is one character or a usable piece: sentencepiece merges unknown characters, too."""
    return n == _character_bytes(text[0]) or _find(pieces, text, n) != NONE


cdef uint32_t _find(const Pieces* pieces, const uint8_t* text, uint32_t n) noexcept:
    """Return the id of a usable piece, or NONE."""
    cdef uint64_t hash = hash_bytes(text, n, pieces.seed)
    cdef size_t at = <size_t> hash & pieces.mask
    cdef uint32_t other, start
    while pieces.table[at]:
        if (hash ^ pieces.table[at]) >> 32 == 0:
            other = <uint32_t> pieces.table[at] - 1
            start = _begin(pieces.ends, other)
            if pieces.ends[other] - start == n and memcmp(pieces.data + start, text, n) == 0:
                return other
        at = (at + 1) & pieces.mask
    return NONE


cdef inline uint32_t _character_bytes(uint8_t lead) noexcept:
    """Return the length in bytes of a character of valid UTF-8, from its first byte."""
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


cdef bint _rank(const Pieces* pieces, const Merges* merges, uint32_t* ranks, float* scores) noexcept:
    """Rank pieces by the first merge that forms each, and tell whether scores by rank do the same as the merges.

    Returns False also if the search takes too long.

    Args:
        ranks: receives the rank of each piece.
        scores: receives the score of each piece.
    """
    cdef uint32_t i, made, last = 0, n_ranks = 0, n, left
    cdef size_t k, n_listed = 0, n_possible = 0, work = 0
    cdef bint in_order = True
    cdef const uint8_t* text
    memset(ranks, 0xFF, 4 * <size_t> pieces.n)
    for k in range(merges.n):
        made = merges.items[3 * k + 2]
        if not _is_usable(pieces, merges.items + 3 * k):
            continue
        if ranks[made] == NONE:
            ranks[made] = n_ranks
            n_ranks += 1
        in_order = in_order and last <= ranks[made]
        last = ranks[made]
        n_listed += 1
    for i in range(pieces.n):
        scores[i] = 0
        if not pieces.usable[i]:
            continue
        if ranks[i] == NONE:
            ranks[i] = n_ranks
            n_ranks += 1
        scores[i] = -<float> ranks[i]  # exact: there are fewer pieces than 2**24
        text = pieces.data + _begin(pieces.ends, i)
        n = <uint32_t> (pieces.data + pieces.ends[i] - text)
        left = _character_bytes(text[0])  # bytes of the left symbol
        while in_order and left < n and work < MAX_WORK:
            work += n
            n_possible += _is_symbol(pieces, text, left) and _is_symbol(pieces, text + left, n - left)
            left += _character_bytes(text[left])
    return in_order and n_possible == n_listed and work < MAX_WORK


cdef inline bint _is_usable(const Pieces* pieces, const uint32_t* merge) noexcept:
    return pieces.usable[merge[0]] and pieces.usable[merge[1]] and pieces.usable[merge[2]]


cdef inline size_t _slot(const Merges* listed, uint32_t left, uint32_t right) noexcept:
    """Return the slot of a pair, or the empty slot that shows that it is absent."""
    cdef uint64_t pair = <uint64_t> left << 32 | right
    # Fibonacci hashing: the upper bits of the product depend on all bits of the pair.
    cdef size_t at = <size_t> (((pair ^ listed.seed) * 0x9E3779B97F4A7C15ULL) >> 24) & listed.mask
    cdef const uint32_t* merge
    while listed.table[at] != NONE:
        merge = listed.items + 3 * <size_t> listed.table[at]
        if merge[0] == left and merge[1] == right:
            break
        at = (at + 1) & listed.mask
    return at


cdef void _index_merges(const Pieces* pieces, Merges* listed) noexcept:
    cdef size_t k
    cdef const uint32_t* merge
    memset(listed.table, 0xFF, 4 * (listed.mask + 1))
    for k in range(listed.n):
        merge = listed.items + 3 * k
        if _is_usable(pieces, merge):
            listed.table[_slot(listed, merge[0], merge[1])] = <uint32_t> k


cdef list _follow(const Pieces* pieces, const Merges* listed, uint32_t* made):
    """Find the merge that forms each piece.

    Args:
        made: receives for each merge the id of the piece that it forms as the last merge of the piece's text, or
            NONE.

    Returns:
        The ids of the pieces whose text ends up as two symbols; None if a piece is too long.
    """
    cdef uint32_t i, last = 0, n_left
    cdef list apart = []
    memset(made, 0xFF, 4 * listed.n)
    for i in range(pieces.n):
        if not pieces.usable[i]:
            continue
        n_left = _merge_alone(pieces, listed, i, &last)
        if n_left == 0:
            return None
        if n_left == 2:
            apart.append(i)
        if n_left == 1 and last != NONE:
            made[last] = i
    return apart


cdef uint32_t _merge_alone(const Pieces* pieces, const Merges* listed, uint32_t piece, uint32_t* last) noexcept:
    """Merge the text of a piece. Returns the number of remaining symbols; 0 if the piece is too long.

    Args:
        last: receives the index of the last merge; NONE if nothing merged.
    """
    cdef uint32_t[MAX_CHARACTERS] symbols, ranks  # ranks[i]: index of the merge of symbols i and i + 1, or NONE
    cdef const uint8_t* text = pieces.data + _begin(pieces.ends, piece)
    cdef uint32_t n_bytes = <uint32_t> (pieces.data + pieces.ends[piece] - text)
    cdef uint32_t at = 0, n = 0, size, k, best
    last[0] = NONE
    while at < n_bytes:
        if n == MAX_CHARACTERS:
            return 0
        size = min(_character_bytes(text[at]), n_bytes - at)  # a piece of a damaged file may end within a character
        symbols[n] = _find(pieces, text + at, size)
        n += 1
        at += size
    for k in range(n - 1):
        ranks[k] = _rank_of(listed, symbols[k], symbols[k + 1])
    while n > 1:
        best = 0
        for k in range(1, n - 1):
            if ranks[k] < ranks[best]:
                best = k
        if ranks[best] == NONE:
            break
        last[0] = ranks[best]
        symbols[best] = listed.items[3 * <size_t> ranks[best] + 2]
        n -= 1
        for k in range(best + 1, n):
            symbols[k] = symbols[k + 1]
            ranks[k - 1] = ranks[k]
        if best:
            ranks[best - 1] = _rank_of(listed, symbols[best - 1], symbols[best])
        if best + 1 < n:
            ranks[best] = _rank_of(listed, symbols[best], symbols[best + 1])
    return n


cdef inline uint32_t _rank_of(const Merges* listed, uint32_t left, uint32_t right) noexcept:
    """Return the index of the merge of a pair, or NONE."""
    return NONE if left == NONE or right == NONE else listed.table[_slot(listed, left, right)]


cdef void _score(const Pieces* pieces, const Merges* listed, const uint32_t* made, float* scores) noexcept:
    """Write descending scores in the order in which merges form the pieces, then in the order of ids.

    Pieces that text cannot become get the score 0.
    """
    cdef size_t k
    cdef uint32_t i, n = 0
    for i in range(pieces.n):
        scores[i] = 1  # no score yet: scores are at most 0
    for k in range(listed.n):
        if made[k] != NONE:
            scores[made[k]] = -<float> n
            n += 1
    for i in range(pieces.n):
        if scores[i] > 0:
            scores[i] = -<float> n if pieces.usable[i] else 0
            n += pieces.usable[i]

"""What a list of merges says of pieces, and whether scores can say it.

Text comes to a piece in one way only: what is merged within it until its last two symbols does not depend on what
stands around it. So each piece has one merge that ever makes it, and scores in the order of these say the same. But
with scores any two symbols that make a piece are merged, listed or not.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memset

from fastbpe.formats._hash cimport hash_bytes

cdef enum:
    NORMAL = 1
    SPACE = 0x20
    MAX_CHARACTERS = 256  # of a piece that is followed
    MAX_WORK = 1 << 28  # bytes hashed to find the ways to make pieces: pieces of thousands of characters have too many

cdef extern from *:
    """
    #define FB_NONE UINT32_MAX
    """
    const uint32_t NONE "FB_NONE"


cdef struct Merges:
    const uint32_t* items  # triples, best first
    size_t n
    uint32_t* table  # open addressing by pair: the number of a merge, or NONE
    size_t mask
    uint64_t seed


cdef struct Pieces:
    const uint8_t* data
    const uint32_t* ends
    uint32_t n
    uint8_t* usable  # of each: whether text may become it
    uint64_t* table  # open addressing by text: half of a hash, and one more than an id
    size_t mask
    uint64_t seed


def judge(
    bytes piece_bytes not None, bytes piece_ends not None, bytes types not None, const uint32_t[::1] merges,
    bint splits, uint64_t seed,
):
    """(scores, whether they say just what the merges say), scores as a CodePointModel has them.

    The pieces that merges make have scores in the order in which they are first made, then the others follow.
    merges: of pieces, no pair twice. splits: no piece goes on with a U+2581. seed: what nobody can foresee.

    They do where the list has all ways to make a piece of two symbols, one after another. Where it would take long to
    see, the answer is no.
    """
    cdef Pieces pieces = Pieces(
        <const uint8_t*> PyBytes_AS_STRING(piece_bytes), <const uint32_t*> PyBytes_AS_STRING(piece_ends),
        <uint32_t> len(types), NULL, NULL, 3, seed,
    )
    cdef bytes scores = PyBytes_FromStringAndSize(NULL, 4 * <Py_ssize_t> len(types))
    cdef uint32_t* ranks = <uint32_t*> malloc(4 * (<size_t> pieces.n + 1))
    cdef bint says
    while pieces.mask < 2 * <size_t> pieces.n:
        pieces.mask = 2 * pieces.mask + 1
    pieces.usable = <uint8_t*> calloc(<size_t> pieces.n + 1, 1)
    pieces.table = <uint64_t*> calloc(pieces.mask + 1, sizeof(uint64_t))
    try:
        if ranks == NULL or pieces.usable == NULL or pieces.table == NULL:
            raise MemoryError(f"no memory to judge the merges of {pieces.n} pieces")
        _index(&pieces, <const uint8_t*> PyBytes_AS_STRING(types), splits)
        says = _rank(&pieces, merges, ranks, <float*> PyBytes_AS_STRING(scores))
        return scores, says
    finally:
        free(ranks)
        free(pieces.usable)
        free(pieces.table)


def rescore(
    bytes piece_bytes not None, bytes piece_ends not None, bytes types not None, const uint32_t[::1] merges,
    bint splits, uint64_t seed,
):
    """(scores, ids): scores with which texts come to the same pieces as with the merges, whatever these are.

    ids: of the pieces that must not be merged, for merging each alone leaves two symbols that no merge joins, and
    scores would join them. None where it would take long to see. Arguments as of `judge`.
    """
    cdef Pieces pieces = Pieces(
        <const uint8_t*> PyBytes_AS_STRING(piece_bytes), <const uint32_t*> PyBytes_AS_STRING(piece_ends),
        <uint32_t> len(types), NULL, NULL, 3, seed,
    )
    cdef Merges listed = Merges(NULL, <size_t> merges.shape[0] // 3, NULL, 3, seed)
    cdef bytes scores = PyBytes_FromStringAndSize(NULL, 4 * <Py_ssize_t> len(types))
    cdef uint32_t* made = <uint32_t*> malloc(4 * (listed.n + 1))
    if listed.n:
        listed.items = &merges[0]
    while pieces.mask < 2 * <size_t> pieces.n:
        pieces.mask = 2 * pieces.mask + 1
    while listed.mask < 2 * listed.n:
        listed.mask = 2 * listed.mask + 1
    pieces.usable = <uint8_t*> calloc(<size_t> pieces.n + 1, 1)
    pieces.table = <uint64_t*> calloc(pieces.mask + 1, sizeof(uint64_t))
    listed.table = <uint32_t*> malloc(4 * (listed.mask + 1))
    try:
        if made == NULL or pieces.usable == NULL or pieces.table == NULL or listed.table == NULL:
            raise MemoryError(f"no memory to judge the merges of {pieces.n} pieces")
        _index(&pieces, <const uint8_t*> PyBytes_AS_STRING(types), splits)
        _index_merges(&pieces, &listed)
        apart = _follow(&pieces, &listed, made)
        if apart is None:
            return None
        _score(&pieces, &listed, made, <float*> PyBytes_AS_STRING(scores))
        return scores, apart
    finally:
        free(made)
        free(pieces.usable)
        free(pieces.table)
        free(listed.table)


def unmade(
    bytes piece_bytes not None, bytes piece_ends not None, bytes types not None, const uint32_t[::1] merges,
    uint64_t seed,
):
    """The ids of the pieces that merging their text alone does not make.

    None where it would take long to see. Arguments as of `judge`.
    """
    cdef Pieces pieces = Pieces(
        <const uint8_t*> PyBytes_AS_STRING(piece_bytes), <const uint32_t*> PyBytes_AS_STRING(piece_ends),
        <uint32_t> len(types), NULL, NULL, 3, seed,
    )
    cdef Merges listed = Merges(NULL, <size_t> merges.shape[0] // 3, NULL, 3, seed)
    cdef uint32_t i, n_left, last = 0
    cdef list found = []
    if listed.n:
        listed.items = &merges[0]
    while pieces.mask < 2 * <size_t> pieces.n:
        pieces.mask = 2 * pieces.mask + 1
    while listed.mask < 2 * listed.n:
        listed.mask = 2 * listed.mask + 1
    pieces.usable = <uint8_t*> calloc(<size_t> pieces.n + 1, 1)
    pieces.table = <uint64_t*> calloc(pieces.mask + 1, sizeof(uint64_t))
    listed.table = <uint32_t*> malloc(4 * (listed.mask + 1))
    try:
        if pieces.usable == NULL or pieces.table == NULL or listed.table == NULL:
            raise MemoryError(f"no memory to judge the merges of {pieces.n} pieces")
        _index(&pieces, <const uint8_t*> PyBytes_AS_STRING(types), False)
        _index_merges(&pieces, &listed)
        for i in range(pieces.n):
            if pieces.usable[i]:
                n_left = _merge_alone(&pieces, &listed, i, &last)
                if n_left == 0:
                    return None
                if n_left > 1:
                    found.append(i)
        return found
    finally:
        free(pieces.usable)
        free(pieces.table)
        free(listed.table)


def first_bad(
    bytes piece_bytes not None, bytes piece_ends not None, const uint32_t[::1] merges
):
    """The number of the first merge that does not make a piece of two pieces; None if all do.

    -1 where the ends do not cut the bytes into pieces.
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
    """Whether it has no space, and with splits no U+2581 but at its beginning."""
    cdef uint32_t i
    for i in range(n):
        if text[i] == SPACE:
            return False
        if splits and i and text[i] == 0xE2 and n - i > 2 and text[i + 1] == 0x96 and text[i + 2] == 0x81:
            return False
    return True


cdef inline bint _is_symbol(const Pieces* pieces, const uint8_t* text, uint32_t n) noexcept:
    """Whether it is a piece or a character."""
    return n == _character_bytes(text[0]) or _find(pieces, text, n) != NONE


cdef uint32_t _find(const Pieces* pieces, const uint8_t* text, uint32_t n) noexcept:
    """The id of a piece that text may become; NONE if it is none."""
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
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


cdef bint _rank(const Pieces* pieces, const uint32_t[::1] merges, uint32_t* ranks, float* scores) noexcept:
    cdef uint32_t i, made, last = 0, n_ranks = 0, n, cut
    cdef size_t k, n_listed = 0, n_splits = 0, work = 0
    cdef bint in_order = True
    cdef const uint8_t* text
    memset(ranks, 0xFF, 4 * <size_t> pieces.n)
    for k in range(<size_t> merges.shape[0] // 3):
        made = merges[3 * k + 2]
        if not (pieces.usable[merges[3 * k]] and pieces.usable[merges[3 * k + 1]] and pieces.usable[made]):
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
        scores[i] = -<float> ranks[i]
        text = pieces.data + _begin(pieces.ends, i)
        n = <uint32_t> (pieces.data + pieces.ends[i] - text)
        cut = _character_bytes(text[0])
        while in_order and cut < n and work < MAX_WORK:
            work += n
            n_splits += _is_symbol(pieces, text, cut) and _is_symbol(pieces, text + cut, n - cut)
            cut += _character_bytes(text[cut])
    return in_order and n_splits == n_listed and work < MAX_WORK


cdef inline size_t _slot(const Merges* listed, uint32_t left, uint32_t right) noexcept:
    """Where a pair stands in the table, or would."""
    cdef uint64_t pair = <uint64_t> left << 32 | right
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
        if pieces.usable[merge[0]] and pieces.usable[merge[1]] and pieces.usable[merge[2]]:
            listed.table[_slot(listed, merge[0], merge[1])] = <uint32_t> k


cdef list _follow(const Pieces* pieces, const Merges* listed, uint32_t* made):
    """See which merge makes each piece. made: of each merge, the piece, or NONE.

    The pieces that are left as two symbols; None where one is too long.
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
    """How many symbols merging leaves of a piece; last: the merge that was done last, NONE if none was. 0: too long."""
    cdef uint32_t[MAX_CHARACTERS] symbols, ranks  # ranks: of each symbol and the one behind it
    cdef const uint8_t* text = pieces.data + _begin(pieces.ends, piece)
    cdef uint32_t n_bytes = <uint32_t> (pieces.data + pieces.ends[piece] - text)
    cdef uint32_t at = 0, n = 0, size, k, best
    last[0] = NONE
    while at < n_bytes:
        if n == MAX_CHARACTERS:
            return 0
        size = _character_bytes(text[at])
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
    return NONE if left == NONE or right == NONE else listed.table[_slot(listed, left, right)]


cdef void _score(const Pieces* pieces, const Merges* listed, const uint32_t* made, float* scores) noexcept:
    """Scores of the pieces in the order in which they are made, then of the others."""
    cdef size_t k
    cdef uint32_t i, n = 0
    for i in range(pieces.n):
        scores[i] = 1
    for k in range(listed.n):
        if made[k] != NONE:
            scores[made[k]] = -<float> n
            n += 1
    for i in range(pieces.n):
        if scores[i] > 0:
            scores[i] = -<float> n if pieces.usable[i] else 0
            n += pieces.usable[i]

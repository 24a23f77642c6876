"""Tables of ranks from a list of merges, where ranks give every text the same ids.

`_reference/__init__.py` says when they do, and has the proof. Only pairs that can ever stand side by side go into the
table: those that the list merges, which are half or a third of the splits of all tokens.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from fastbpe._core.merge.table_builder cimport empty_table, is_sound, look_up_pieces
from fastbpe._core.common.id_buffer cimport Ids, ids_free
from fastbpe._core.merge.merge_piece cimport merge_piece
from fastbpe._core.common.hash_tables cimport (
    MAX_RANKED_IDS, NO_PAIR, NONE, RANKED_BITS, RANKED_MASK, find_merge, find_piece, ranked_slot, table_bits,
)
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary

from array import array

from fastbpe._core.merge.merge_piece import recover_merges

cdef enum:
    LEFT = 3  # tokens of which no merge makes one


cdef struct Parts:
    # The two tokens that a merge joins; left is NONE where no merge makes a token.
    uint32_t left
    uint32_t right


cdef struct Ranking:
    const Tables* tables
    const uint8_t* merges  # uint32 triples
    size_t n_merges
    Parts* parts  # of each token
    uint64_t* slots
    uint32_t shift


def rank_merges(token_bytes, token_ends, const uint8_t[::1] merges not None, bint whole_piece_first):
    """The four buffers of a ranked Vocabulary, and the ids of all tokens of several bytes that no merge makes.

    None where the list of merges does not show that ranks give the same ids, which then hangs on `left_apart`, too.

    merges: uint32 triples (left id, right id, merged id), best first. whole_piece_first: whether a piece that is a
    token is that token, whatever merges make of it; else each token must have just one merge, which makes it.
    """
    cdef Tables t
    cdef Ranking ranking
    cdef uint32_t n_repeated
    cdef list unmade = []
    cdef int bits
    cdef dict tables = look_up_pieces(token_bytes, token_ends, &t, &n_repeated)
    if n_repeated or t.n_ids > MAX_RANKED_IDS or merges.shape[0] % 12:
        return None
    ranking.tables = &t
    ranking.merges = &merges[0] if merges.shape[0] else NULL
    ranking.n_merges = <size_t> merges.shape[0] // 12
    bits = table_bits(min(ranking.n_merges, <size_t> t.n_ids))
    tables["pair_lines"] = empty_table((<size_t> 1 << bits) * sizeof(uint64_t), <void**> &ranking.slots)
    ranking.shift = 64 - bits
    ranking.parts = <Parts*> malloc((<size_t> t.n_ids + 1) * sizeof(Parts))
    if ranking.parts == NULL:
        raise MemoryError(f"no memory for the parts of {t.n_ids} tokens")
    try:
        return (tables, unmade) if _fill(&ranking, unmade if whole_piece_first else None) else None
    finally:
        free(ranking.parts)


cdef bint _fill(const Ranking* ranking, list unmade) except -1:
    """Make a pair of each token's merge; False where the order of the list is not that of the ids, or where unmade
    is None and a token has no merge that makes it, or several merges."""
    cdef const Tables* t = ranking.tables
    cdef uint32_t i, start = 0, length
    cdef uint32_t merge[3]
    cdef size_t done = 0, at
    cdef Parts* parts
    cdef bint makes
    for i in range(t.n_ids):
        length = t.token_ends[i] - start
        start = t.token_ends[i]
        parts = &ranking.parts[i]
        parts.left = NONE
        if length < 2:
            continue
        while done < ranking.n_merges:
            memcpy(merge, ranking.merges + 12 * done, 12)
            if merge[2] != i:
                break
            if not is_sound(t, merge) or (merge[0] == parts.left and merge[1] == parts.right):
                return False
            # Of several merges that make a token, all but one are of tokens that never meet.
            makes = parts.left == NONE and _is_left(ranking, merge[0], merge[1], i)
            if unmade is None and not makes:
                return False
            if makes:
                parts[0] = Parts(merge[0], merge[1])
                at = ranked_slot(ranking.slots, ranking.shift, merge[0], merge[1])
                ranking.slots[at] = (
                    <uint64_t> merge[0] << 2 * RANKED_BITS | <uint64_t> merge[1] << RANKED_BITS | i
                )
            done += 1
        if parts.left == NONE:
            if unmade is None:
                return False
            unmade.append(i)
    return done == ranking.n_merges


cdef bint _is_left(const Ranking* ranking, uint32_t left, uint32_t right, uint32_t token) noexcept nogil:
    """Whether merges of a rank below the token's leave two tokens that stand side by side, made before it, alone.

    Nothing but a merge across the place between them could change that. What stands on its two sides is followed
    back in time: before a token was made, its nearer part stood there. A token on the left is made before a pair of
    the same rank further right is merged, one on the right after.
    """
    cdef const Parts* parts = ranking.parts
    cdef uint32_t left_until = token, right_until = token - 1, found
    cdef bint left_is_merged, right_is_merged
    if not _is_made(ranking, left, token) or not _is_made(ranking, right, token):
        return False
    while True:
        left_is_merged = parts[left].left != NONE if left < token else False
        right_is_merged = parts[right].left != NONE if right < token else False
        if left_is_merged and (not right_is_merged or left > right):
            left_until = left
            left = parts[left].right
        elif right_is_merged:
            right_until = right
            right = parts[right].left
        else:
            return True
        found = _rank(ranking, left, right)
        if found < left_until and found <= right_until:
            return False


cdef inline bint _is_made(const Ranking* ranking, uint32_t part, uint32_t token) noexcept nogil:
    """Whether a part of a token is one of a lower id that a merge makes, or a byte, which may have any."""
    cdef const Tables* t = ranking.tables
    if part >= t.n_ids:
        return False
    if part < token and ranking.parts[part].left != NONE:
        return True
    return t.token_ends[part] - (t.token_ends[part - 1] if part else 0) == 1


cdef inline uint32_t _rank(const Ranking* ranking, uint32_t left, uint32_t right) noexcept nogil:
    cdef uint64_t word = ranking.slots[ranked_slot(ranking.slots, ranking.shift, left, right)]
    return NONE if word == NO_PAIR else <uint32_t> (word & RANKED_MASK)


def left_apart(Vocabulary vocabulary not None, list ids not None):
    """Whether merging leaves three tokens or more of each of these tokens' bytes, so that no pair ever spells one."""
    cdef const Tables* t = &vocabulary.tables
    cdef uint32_t i, start
    cdef Ids out
    out.items = NULL
    out.n = out.capacity = 0
    try:
        for token_id in ids:
            i = token_id
            if i >= t.n_ids:
                raise ValueError(f"id {i} is no token")
            start = t.token_ends[i - 1] if i else 0
            out.n = 0
            merge_piece(t, t.token_bytes + start, t.token_ends[i] - start, NONE, &out)
            if out.n < LEFT:
                return False
        return True
    finally:
        ids_free(&out)


def last_merges(Vocabulary listed not None, const uint8_t[::1] merges not None):
    """(left id, right id) by merged id: of a list, the one merge that ever makes each token. See `recover_merges`.

    merges: the vocabulary's list: uint32 triples (left id, right id, merged id), best first.
    """
    cdef uint32_t[::1] limits = array("I", [NONE]) * listed.n_ids
    cdef uint32_t merge[3]
    cdef size_t k
    for k in range(<size_t> merges.shape[0] // 12, 0, -1):
        memcpy(merge, &merges[12 * (k - 1)], 12)
        if merge[2] >= listed.tables.n_ids:
            raise ValueError(f"merge {k - 1} makes the id {merge[2]}, which is no token")
        limits[merge[2]] = <uint32_t> (k - 1)
    return recover_merges(listed, limits)


def follows_ranks(Vocabulary listed not None, const uint8_t[::1] merges not None):
    """Tell whether ranks give every text the ids that a vocabulary with this list of merges gives it.

    They do where the last merges of the tokens stand in the order of the ids; where every token of several bytes has
    one, or is looked up as a whole piece and left as three tokens or more by merging; and where no two tokens are
    equal. `_reference/__init__.py` has the proof. merges: as in `last_merges`.
    """
    cdef const Tables* t = &listed.tables
    cdef uint32_t i, start = 0, length, priority, least = 0
    cdef dict last = last_merges(listed, merges)
    cdef list unmade = []
    for i in range(t.n_ids):
        length = t.token_ends[i] - start
        if length and find_piece(
            t.pieces, t.piece_mask, t.token_bytes, t.token_ends, t.token_bytes + start, length
        ) != i:
            return False
        start = t.token_ends[i]
        pair = last.get(i)
        if pair is not None:
            priority = find_merge(&t.pairs, pair[0], pair[1]).priority
            if priority < least:
                return False
            least = priority
        elif length > 1:
            unmade.append(i)
    return not unmade or (listed.whole_piece_first and left_apart(listed, unmade))

"""Build a ranked vocabulary from a list of merges, if ranks give every text the same ids as the list.

`tests/reference/__init__.py` states the condition and proves it. The pair table gets only the merge of the
list that makes each token. Other ways to split a token into two tokens never occur side by side in a merged text.

Nearly all tokens pass a short check of the border between their two parts (`_both_remain`). A few do not: some tokens
of Llama 3 have parts with greater ids than their own. For these, and for the tokens that contain them, `_settle`
merges the token's bytes by the list and finds the merge that makes it.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memmove

from fastbpe._core.common.hash_lookups cimport find_merge, is_far, pair_home, ranked_slot
from fastbpe._core.common.hashing cimport table_bits
from fastbpe._core.merge.table_builder cimport empty_table, is_sound, look_up_pieces
from fastbpe._core.common.id_buffer cimport Ids, ids_free
from fastbpe._core.merge.merge_piece cimport merge_piece
from fastbpe._core.common.hash_tables cimport MAX_RANKED_IDS, NO_PAIR, NONE, RANKED_BITS, RANKED_MASK
from fastbpe._core.merge.token_lookups cimport find_token
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary, token_length, token_start

from array import array

from fastbpe._core.merge.merge_piece import recover_merges

cdef enum:
    MIN_LEFT = 3  # fewest ids that merging must leave of a token that no pair makes: two ids would be a pair
    # Limits of _settle(). Beyond them it gives up, and follows_ranks(), which merges the bytes of every token, decides.
    # Llama 3 has 107 unsure tokens.
    MAX_UNSURE = 4096  # unsure tokens
    MAX_COMPARED = 1 << 26  # comparisons of parts of tokens with unsure tokens
    MAX_SETTLED_BYTES = 128  # longest token; its merging takes quadratic time in the length


cdef struct Parts:
    # The two tokens whose merge makes a token. left is NONE if no merge makes the token.
    uint32_t left
    uint32_t right


cdef struct Ranking:
    # State of rank_merges().
    const Tables* tables
    const uint8_t* merges  # uint32 triples (left id, right id, merged id), which need not be aligned
    size_t n_merges
    Parts* parts  # by token
    uint8_t* unsure  # by token: 1 if _both_remain() could not decide about it, or about a token inside it
    uint64_t* slots  # ranked pair table, being filled
    uint32_t shift  # 64 - log2 of the number of its slots


def rank_merges(token_bytes, token_ends, const uint8_t[::1] merges not None, bint whole_piece_first):
    """Return the buffers of a ranked Vocabulary, and the ids of tokens of several bytes that no merge makes.

    Ranks give the same ids as the list if left_apart() is true for the returned ids. Returns None if the fast
    check cannot decide; ranks may still give the same ids then.

    token_bytes, token_ends: as in build_look_ups().
    merges: uint32 triples (left id, right id, merged id), best first.
    whole_piece_first: True: a piece that is a token becomes that token without merging. False: each token of several
        bytes must have exactly one merge in the list, and merging must use it.
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
    bits = table_bits(min(ranking.n_merges, <size_t> t.n_ids))  # the table has at most one merge of each token
    tables["pair_lines"] = empty_table((<size_t> 1 << bits) * sizeof(uint64_t), <void**> &ranking.slots)
    ranking.shift = 64 - bits
    ranking.parts = <Parts*> malloc((<size_t> t.n_ids + 1) * sizeof(Parts))
    ranking.unsure = <uint8_t*> calloc(<size_t> t.n_ids + 1, 1)
    try:
        if ranking.parts == NULL or ranking.unsure == NULL:
            raise MemoryError(f"no memory for the parts of {t.n_ids} tokens")
        if not _fill(&ranking, unmade, whole_piece_first) or not _settle(&ranking, unmade):
            return None
        return tables, [i for i in unmade if ranking.parts[<uint32_t> i].left == NONE]
    finally:
        free(ranking.parts)
        free(ranking.unsure)


cdef bint _fill(const Ranking* ranking, list unmade, bint whole_piece_first) except -1:
    """Put the merge that makes each token into the pair table.

    Returns False if the merges are not in the order of ids, a merge is not sound (see is_sound), or the table has no
    space near a merge's slot.

    unmade: receives the tokens of several bytes for which no merge is certain to make them. Those that have merges
        are marked as unsure. If whole_piece_first is False, the function returns False at such a token, and at a
        token that has several merges.
    """
    cdef const Tables* t = ranking.tables
    cdef uint32_t i, start = 0, length
    cdef uint32_t merge[3]
    cdef size_t done = 0, first
    cdef Parts* parts
    cdef bint makes
    for i in range(t.n_ids):
        length = t.token_ends[i] - start
        start = t.token_ends[i]
        parts = &ranking.parts[i]
        parts.left = NONE
        if length < 2:
            continue
        first = done
        while done < ranking.n_merges:
            memcpy(merge, ranking.merges + 12 * done, 12)
            if merge[2] != i:
                break
            if not is_sound(t, merge):
                return False
            # A token may have several merges, but the parts of all but one never occur side by side. A repeated merge
            # changes no ids: its first line decides.
            makes = parts.left == NONE and _both_remain(ranking, merge[0], merge[1], i)
            if not makes and not whole_piece_first:
                return False
            if makes and not _put(ranking, Parts(merge[0], merge[1]), i):
                return False
            done += 1
        if parts.left == NONE:
            if not whole_piece_first:
                return False
            unmade.append(i)
            ranking.unsure[i] = done > first
    return done == ranking.n_merges


cdef bint _put(const Ranking* ranking, Parts parts, uint32_t token) noexcept nogil:
    """Put the merge that makes a token into the pair table. Returns False if there is no space near its slot."""
    cdef size_t at = ranked_slot(ranking.slots, ranking.shift, parts.left, parts.right)
    if is_far(at, pair_home(parts.left, parts.right, ranking.shift), (<size_t> 1 << (64 - ranking.shift)) - 1):
        return False
    ranking.slots[at] = <uint64_t> parts.left << 2 * RANKED_BITS | <uint64_t> parts.right << RANKED_BITS | token
    ranking.parts[token] = parts
    return True


cdef bint _both_remain(const Ranking* ranking, uint32_t left, uint32_t right, uint32_t token) noexcept nogil:
    """Tell whether `left` and `right`, side by side, are still there when the merges of rank `token` start.

    Only a merge across the boundary between them could prevent this. The function follows the two symbols at the
    boundary back in time: before a token was made, its part next to the boundary was there. For any two symbols
    that were at the boundary together, it checks that their pair has no rank at which it would have been merged.
    Of equal ranks the leftmost pair comes first: a token on the left is made before a pair across the boundary,
    and a token on the right after it.
    """
    cdef const Parts* parts = ranking.parts
    # A pair across the boundary is merged if its rank is below left_until and at most right_until: from then on, `left`
    # or `right` is part of a longer symbol.
    cdef uint32_t left_until = token, right_until = token - 1, found
    cdef bint left_is_merged, right_is_merged
    if not _is_made(ranking, left, token) or not _is_made(ranking, right, token):
        return False
    while True:
        # _fill() has not set the parts of later tokens yet. A part with a greater id is a byte.
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


cdef bint _settle(const Ranking* ranking, list unmade) except -1:
    """Find the last merge of each unsure token, and of each token that contains one, and put it into the table.

    The merges of all other tokens are right. While their bytes are merged, by the list or by ranks, no merge of an
    unsure token can happen, because its bytes do not occur inside them.

    Returns:
        False if a merge other than the one that `_fill` chose makes one of the tokens, or if the tokens are too
        many or too long.
    """
    cdef uint32_t i
    cdef Parts last
    cdef list unsure = [i for i in unmade if ranking.unsure[<uint32_t> i]]
    if not unsure:
        return True
    if len(unsure) > MAX_UNSURE or not _mark_containing(ranking, unsure):
        return False
    for i in range(ranking.tables.n_ids):
        if not ranking.unsure[i]:
            continue
        if token_length(ranking.tables, i) > MAX_SETTLED_BYTES:
            return False
        last = _last_merge(ranking, i)
        if ranking.parts[i].left == NONE:
            if last.left != NONE and not _put(ranking, last, i):
                return False
        elif last.left != ranking.parts[i].left or last.right != ranking.parts[i].right:
            return False
    return True


cdef bint _mark_containing(const Ranking* ranking, list unsure) except -1:
    """Mark the tokens that contain an unsure token. Returns False if the search would take too long."""
    cdef const Tables* t = ranking.tables
    cdef uint32_t i, k, start, length, at, n_left, needle, n = <uint32_t> len(unsure)
    cdef uint64_t n_compared = 0
    cdef const uint8_t* text
    # Linked lists of unsure tokens that begin with the same two bytes. A link is 1 + index in `unsure`; 0 ends the
    # list.
    cdef uint32_t* heads = <uint32_t*> calloc(1 << 16, sizeof(uint32_t))
    cdef uint32_t* chains = <uint32_t*> calloc(2 * n, sizeof(uint32_t))
    if heads == NULL or chains == NULL:
        free(heads)
        free(chains)
        raise MemoryError("no memory to look for tokens inside others")
    try:
        for k in range(n):
            needle = chains[2 * k] = unsure[k]
            text = t.token_bytes + token_start(t, needle)
            chains[2 * k + 1] = heads[<uint32_t> text[0] << 8 | text[1]]
            heads[<uint32_t> text[0] << 8 | text[1]] = k + 1
        for i in range(t.n_ids):
            start = token_start(t, i)
            length = t.token_ends[i] - start
            at = 0
            while at + 1 < length and not ranking.unsure[i]:
                text = t.token_bytes + start + at
                n_left = length - at
                k = heads[<uint32_t> text[0] << 8 | text[1]]
                while k:
                    needle = chains[2 * (k - 1)]
                    n_compared += 1
                    if token_length(t, needle) <= n_left and not memcmp(
                        text, t.token_bytes + token_start(t, needle), token_length(t, needle)
                    ):
                        ranking.unsure[i] = 1
                        break
                    k = chains[2 * (k - 1) + 1]
                at += 1
            if n_compared > MAX_COMPARED:
                return False
        return True
    finally:
        free(heads)
        free(chains)


cdef Parts _last_merge(const Ranking* ranking, uint32_t token) noexcept nogil:
    """Merge the bytes of an unsure token by the list. Returns the last merge; (NONE, NONE) if several ids are left.

    Two adjacent tokens spell at most one token. Its id serves as the priority of their merge, because the list is
    in the order of ids.
    """
    cdef const Tables* t = ranking.tables
    cdef uint32_t symbols[MAX_SETTLED_BYTES]
    cdef uint32_t starts[MAX_SETTLED_BYTES + 1]
    cdef const uint8_t* text = t.token_bytes + token_start(t, token)
    cdef uint32_t n = token_length(t, token), i, at, made, best
    cdef Parts last = Parts(NONE, NONE)
    starts[n] = n
    for i in range(n):
        starts[i] = i
        symbols[i] = find_token(t, text + i, 1)
        if symbols[i] == NONE:
            return last
    while n > 1:
        best = NONE
        at = 0
        for i in range(n - 1):
            made = find_token(t, text + starts[i], starts[i + 2] - starts[i])
            if made < best and _is_listed(ranking, symbols[i], symbols[i + 1], made):
                best = made
                at = i
        if best == NONE:
            return Parts(NONE, NONE)
        last = Parts(symbols[at], symbols[at + 1])
        symbols[at] = best
        memmove(symbols + at + 1, symbols + at + 2, (n - at - 2) * sizeof(uint32_t))
        memmove(starts + at + 1, starts + at + 2, (n - at - 1) * sizeof(uint32_t))
        n -= 1
    return last


cdef bint _is_listed(const Ranking* ranking, uint32_t left, uint32_t right, uint32_t token) noexcept nogil:
    """Tell whether the list merges two tokens into a third."""
    cdef size_t low = 0, high = ranking.n_merges, middle
    cdef uint32_t merge[3]
    if not ranking.unsure[token]:
        return ranking.parts[token].left == left and ranking.parts[token].right == right
    while low < high:  # binary search for the first merge whose result is not below the token
        middle = (low + high) // 2
        memcpy(merge, ranking.merges + 12 * middle, 12)
        if merge[2] < token:
            low = middle + 1
        else:
            high = middle
    while low < ranking.n_merges:
        memcpy(merge, ranking.merges + 12 * low, 12)
        if merge[2] != token:
            return False
        if merge[0] == left and merge[1] == right:
            return True
        low += 1
    return False


cdef inline bint _is_made(const Ranking* ranking, uint32_t part, uint32_t token) noexcept nogil:
    """Tell whether a part exists before its token is made: it is a byte, or has a merge and a lower id."""
    if part < token and ranking.parts[part].left != NONE:
        return True
    return token_length(ranking.tables, part) == 1


cdef inline uint32_t _rank(const Ranking* ranking, uint32_t left, uint32_t right) noexcept nogil:
    """Return the rank of a pair in the table filled so far, or NONE."""
    cdef uint64_t word = ranking.slots[ranked_slot(ranking.slots, ranking.shift, left, right)]
    return NONE if word == NO_PAIR else <uint32_t> (word & RANKED_MASK)


def left_apart(Vocabulary vocabulary not None, list ids not None):
    """Tell whether merging the bytes of each of these tokens leaves three ids or more, so no pair makes it."""
    cdef const Tables* t = &vocabulary.tables
    cdef uint32_t i
    cdef Ids out = Ids(NULL, 0, 0)
    try:
        for token_id in ids:
            i = token_id
            if i >= t.n_ids:
                raise ValueError(f"id {i} is not a token")
            out.n = 0
            merge_piece(t, t.token_bytes + token_start(t, i), token_length(t, i), NONE, &out)
            if out.n < MIN_LEFT:
                return False
        return True
    finally:
        ids_free(&out)


def last_merges(Vocabulary listed not None, const uint8_t[::1] merges not None):
    """Return {merged id: (left id, right id)}: for each token, the last merge when its bytes merge by a list.

    The list may have several merges with the token's id, but only this one ever makes the token. A token that
    merging never makes is missing, as in merge_piece.recover_merges().

    listed: vocabulary that was built from the list.
    merges: uint32 triples (left id, right id, merged id), best first.
    """
    cdef uint32_t[::1] limits = array("I", [NONE]) * listed.n_ids
    cdef uint32_t merge[3]
    cdef size_t k
    for k in range(<size_t> merges.shape[0] // 12, 0, -1):  # backwards, so that the first merge of an id stays
        memcpy(merge, &merges[12 * (k - 1)], 12)
        if merge[2] >= listed.tables.n_ids:
            raise ValueError(f"merge {k - 1} makes the id {merge[2]}, which is not a token")
        limits[merge[2]] = <uint32_t> (k - 1)
    return recover_merges(listed, limits)


def follows_ranks(Vocabulary listed not None, const uint8_t[::1] merges not None):
    """Tell whether ranks give every text the same ids as this list of merges.

    They do if all of these hold (`tests/reference/__init__.py` has the proof):

    - no two tokens have the same bytes;
    - every token of several bytes has a last merge; or the vocabulary looks whole pieces up, and merging the token's
      bytes leaves at least three ids;
    - the list has the last merges of the tokens in the order of their ids.

    listed, merges: as in last_merges().
    """
    cdef const Tables* t = &listed.tables
    cdef uint32_t i, start = 0, length, priority, least = 0
    cdef dict last = last_merges(listed, merges)
    cdef list unmade = []
    for i in range(t.n_ids):
        length = t.token_ends[i] - start
        if length and find_token(t, t.token_bytes + start, length) != i:
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

"""Merge a piece whose base symbols are characters, spelled like the tokens of a tokenizer.json.

A character is looked up with the prefix or suffix for its position in the piece. A character without a token
becomes the tokens of its bytes, the unknown token, or nothing. Then the pairs of ids merge as in any vocabulary.
All of this depends only on the piece, so the piece cache can store the result.

A trace of a piece is the number of its ids, and then each id (they are below MAX_IDS, 2**24) with its length in
the piece, in bytes: `id | length << 24`. If the length is 255 or more, or has the flag SHARED (the next id stands
for the same bytes), it follows as the next item. A cache can store a trace like ids.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from fastbpe._core.common.hash_lookups cimport find_merge
from fastbpe._core.common.hash_tables cimport NONE, Merge
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.common.utf8 cimport fb_char_bytes
from fastbpe._core.merge.merge_long cimport merge_symbols
from fastbpe._core.merge.merge_short cimport MAX_SHORT, merge_in_place
from fastbpe._core.merge.token_lookups cimport find_token
from fastbpe._core.merge.vocabulary cimport MAX_AFFIX_BYTES, NO_SUCH_TOKEN, Spelling, Tables, Vocabulary, token_of

from fastbpe.errors import NoUnknownTokenError

cdef enum:
    CHARACTER_BYTES = 4  # length of the longest character in UTF-8


cdef int merge_spelled(
    const Tables* tables, const uint8_t* piece, size_t n, bint whole_first, Ids* out
) except -1 nogil:
    """Append the ids of a piece, or its trace if the tables' spelling traces.

    whole_first: a piece that is a token becomes that token.
    """
    cdef uint32_t ids[MAX_SHORT]
    cdef uint32_t lengths[MAX_SHORT]
    cdef size_t n_ids
    cdef uint32_t whole
    if whole_first and n <= tables.max_token_bytes:
        whole = find_token(tables, piece, n)
        if whole != NONE:
            lengths[0] = <uint32_t> n
            return _add_all(tables, &whole, lengths, 1, out)
    if most_symbols(tables, n) > MAX_SHORT:
        return _merge_long(tables, piece, n, out)
    n_ids = spell_piece(tables, piece, n, ids, lengths)
    if tables.spelling.in_rounds:
        n_ids = _merge_in_rounds(tables, n_ids, ids, lengths)
    else:
        n_ids = merge_in_place(tables, n_ids, NONE, ids, lengths)
    return _add_all(tables, ids, lengths, n_ids, out)


cdef int _merge_long(const Tables* tables, const uint8_t* piece, size_t n, Ids* out) except -1 nogil:
    """Do the work of merge_spelled() for more than MAX_SHORT symbols, with allocated memory."""
    cdef Ids ids = Ids(NULL, 0, 0), lengths = Ids(NULL, 0, 0), merged = Ids(NULL, 0, 0), parts = Ids(NULL, 0, 0)
    cdef size_t most = most_symbols(tables, n), i, k, at = 0
    cdef uint32_t length
    try:
        ids_reserve(&ids, most)
        ids_reserve(&lengths, most)
        ids.n = spell_piece(tables, piece, n, ids.items, lengths.items)
        merge_symbols(tables, ids.items, ids.n, &merged, &parts)
        for i in range(merged.n):  # lengths of symbols become lengths of ids, in place
            length = 0
            for k in range(parts.items[i]):
                length += lengths.items[at + k]
            at += parts.items[i]
            lengths.items[i] = length
        _add_all(tables, merged.items, lengths.items, merged.n, out)
    finally:
        ids_free(&ids)
        ids_free(&lengths)
        ids_free(&merged)
        ids_free(&parts)
    return 0


cdef size_t _merge_in_rounds(const Tables* tables, size_t n, uint32_t* ids, uint32_t* lengths) noexcept nogil:
    """Merge symbols in place, in each round all occurrences of the best pair; return the number of ids.

    With merges that BPE has learned, merging the leftmost best pair gives the same result, because no merge uses a
    symbol that only a later merge makes.
    """
    cdef Merge best, pair
    cdef size_t i, kept
    while True:
        best.priority = NONE
        for i in range(1, n):
            pair = find_merge(&tables.pairs, ids[i - 1], ids[i])
            if pair.priority < best.priority:
                best = pair
        if best.priority == NONE:
            return n
        i = kept = 0
        while i < n:
            ids[kept], lengths[kept] = ids[i], lengths[i]
            if i + 1 < n and find_merge(&tables.pairs, ids[i], ids[i + 1]).priority == best.priority:
                i += 1
                ids[kept] = best.id
                lengths[kept] += lengths[i]
            i += 1
            kept += 1
        n = kept


cdef int _add_all(
    const Tables* tables, const uint32_t* ids, const uint32_t* lengths, size_t n, Ids* out
) except -1 nogil:
    """Append ids, or the trace of their piece."""
    cdef size_t i
    if not tables.spelling.traces:
        ids_reserve(out, n)
        for i in range(n):
            out.items[out.n + i] = token_of(tables, ids[i])
        out.n += n
        return 0
    ids_reserve(out, 2 * n + 1)
    out.items[out.n] = <uint32_t> n
    out.n += 1
    for i in range(n):
        out.items[out.n] = token_of(tables, ids[i]) | min(lengths[i], <uint32_t> 255) << 24
        out.n += 1
        if lengths[i] >= 255:
            out.items[out.n] = lengths[i]
            out.n += 1
    return 0


cdef size_t most_symbols(const Tables* tables, size_t n) noexcept nogil:
    """Return the maximum number of base symbols of a piece of n bytes."""
    if tables.spelling.has_bytes:
        return n * (1 + tables.spelling.n_prefix) + tables.spelling.n_suffix
    return n


cdef size_t spell_piece(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t* ids, uint32_t* lengths
) except? <size_t> -1 nogil:
    """Write the ids of the base symbols of a piece, and their lengths in bytes; return their number.

    As in tokenizers, the byte tokens of a character come before an unknown token that waits to be fused, and each has
    the length 1, even for a byte of the prefix or suffix, which has no place in the piece.

    Requires: UTF-8, and space for most_symbols().
    """
    cdef const Spelling* spelling = tables.spelling
    cdef uint8_t spelled[2 * MAX_AFFIX_BYTES + CHARACTER_BYTES]
    cdef size_t at = 0, n_bytes, n_spelled, n_ids = 0, i
    cdef size_t waiting = 0  # bytes of an unknown token that more characters may join; 0: no such token
    cdef uint32_t found
    while at < n:
        n_bytes = min(fb_char_bytes(piece[at]), n - at)
        n_spelled = 0
        if at and spelling.n_prefix:
            memcpy(spelled, spelling.prefix, spelling.n_prefix)
            n_spelled = spelling.n_prefix
        memcpy(spelled + n_spelled, piece + at, n_bytes)
        n_spelled += n_bytes
        at += n_bytes
        if at == n and spelling.n_suffix:
            memcpy(spelled + n_spelled, spelling.suffix, spelling.n_suffix)
            n_spelled += spelling.n_suffix
        found = find_token(tables, spelled, n_spelled)
        if found != NONE:
            if waiting:
                ids[n_ids], lengths[n_ids] = spelling.unknown_id, <uint32_t> waiting
                n_ids += 1
                waiting = 0
            ids[n_ids], lengths[n_ids] = found, <uint32_t> n_bytes
            n_ids += 1
        elif spelling.has_bytes and _has_all(spelling, spelled, n_spelled):
            for i in range(n_spelled):
                ids[n_ids], lengths[n_ids] = spelling.byte_ids[spelled[i]], 1
                n_ids += 1
        elif spelling.unknown_id == NO_SUCH_TOKEN:
            with gil:
                raise NoUnknownTokenError(
                    f"the character {(<const char*> piece)[at - n_bytes:at].decode('utf-8', 'replace')!r} has no "
                    "token, and the model's unk_token is not in its vocabulary; add the unk_token there"
                )
        elif spelling.unknown_id != NONE:
            if waiting and not spelling.fuses:
                ids[n_ids], lengths[n_ids] = spelling.unknown_id, <uint32_t> waiting
                n_ids += 1
                waiting = 0
            waiting += n_bytes
    if waiting:
        ids[n_ids], lengths[n_ids] = spelling.unknown_id, <uint32_t> waiting
        n_ids += 1
    return n_ids


def base_symbols(Vocabulary vocabulary not None, bytes piece not None):
    """Return the tokens of the base symbols of a piece, before any merge. Requires: a vocabulary of characters."""
    cdef Ids ids = Ids(NULL, 0, 0), lengths = Ids(NULL, 0, 0)
    cdef size_t n = <size_t> len(piece), most, i
    if vocabulary.tables.spelling == NULL:
        raise ValueError("this is not a vocabulary of characters")
    most = most_symbols(&vocabulary.tables, n)
    try:
        ids_reserve(&ids, most)
        ids_reserve(&lengths, most)
        ids.n = spell_piece(
            &vocabulary.tables, <const uint8_t*> PyBytes_AS_STRING(piece), n, ids.items, lengths.items
        )
        return [token_of(&vocabulary.tables, ids.items[i]) for i in range(ids.n)]
    finally:
        ids_free(&ids)
        ids_free(&lengths)


cdef bint _has_all(const Spelling* spelling, const uint8_t* data, size_t n) noexcept nogil:
    """Tell whether each byte has a token."""
    cdef size_t i
    for i in range(n):
        if spelling.byte_ids[data[i]] == NONE:
            return False
    return True

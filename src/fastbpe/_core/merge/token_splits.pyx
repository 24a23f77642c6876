"""Find every split of a token into two tokens: in a vocabulary of ranks, these are the pairs that may merge.

A token of n bytes has n - 1 split points. A Bloom filter of all tokens rejects nearly all split points that do not
give two tokens, and look-ups confirm the rest. All of this waits on memory, so each step prefetches its data some
tokens ahead.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc

from fastbpe._core.common.hash_lookups cimport find_tag
from fastbpe._core.common.hash_tables cimport GOLDEN_RATIO, NONE
from fastbpe._core.common.hashing cimport hash_bytes
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.python cimport PyByteArray_AS_STRING
from fastbpe._core.merge.token_lookups cimport confirm_token, find_token
from fastbpe._core.merge.vocabulary cimport Tables, token_length, token_start

cdef enum:
    MAX_FILTERED_BYTES = 64  # longest token that is split with the filter; few tokens are longer
    STAGES = 3  # stages of the pipeline in _each_split()
    STAGE_TOKENS = 2  # tokens between two stages: time for a prefetch to complete
    # Start of the filter's backward hashes; forward ones start at 0. The first step adds byte + 1, at most 256, so
    # the sums always differ: only by chance is a text's backward hash another text's forward hash.
    BACKWARD_SEED = 256
    FILTER_BITS = 16  # bits of the filter per token; a token sets two bits


cdef struct Filter:
    # Bloom filter of all tokens of fewer than MAX_FILTERED_BYTES. It contains two hashes of each token: one from
    # the first byte on, one from the last byte backwards, because these extend byte by byte to all prefixes and
    # suffixes.
    uint64_t* bits
    uint32_t shift  # 64 - log2 of the number of 64-bit words


cdef struct SplitPoint:
    # A position at which a token may split into two tokens.
    uint64_t left_hash  # hash_bytes() of the part before it
    uint64_t right_hash  # hash_bytes() of the part after it
    uint32_t at  # offset in token_bytes
    uint32_t left  # candidate for the part before it: a token with the tag of its hash
    uint32_t right  # candidate for the part after it


cdef struct SplitPoints:
    # Split points of one token that pass the filter.
    uint32_t n  # more than MAX_FILTERED_BYTES: the token is too long, and `items` is unused
    SplitPoint items[MAX_FILTERED_BYTES]


cdef int find_splits(const Tables* t, bint has_repeated, Splits* out) except -1:
    """Append all splits of all tokens. Raises MemoryError; the caller frees out.items in any case.

    has_repeated: some tokens have the same bytes as an earlier one.

    Requires: out has no items.
    """
    # For each length in bytes, whether a token of that length exists. A long token is split only where both parts
    # have such a length: otherwise a hostile vocabulary of a few enormous tokens would take quadratic time.
    cdef bytearray lengths = bytearray(<size_t> t.max_token_bytes + 1)
    cdef uint8_t* has_length = <uint8_t*> PyByteArray_AS_STRING(lengths)
    cdef Filter known = Filter(NULL, 58)  # at least 64 words
    cdef uint32_t i
    cdef bint done
    for i in range(t.n_ids):
        has_length[t.token_ends[i] - token_start(t, i)] = 1
    try:
        with nogil:
            done = _fill(t, &known) and _each_split(t, &known, has_length, has_repeated, out)
        if not done:
            raise MemoryError(f"no memory for the pairs of {t.n_ids} tokens")
    finally:
        free(known.bits)
    return 0


cdef inline uint64_t _longer(uint64_t h, uint8_t byte) noexcept nogil:
    """Extend the filter's hash of a text by one byte: on the right, or on the left if the hash runs backwards."""
    return (h + byte + 1) * GOLDEN_RATIO


cdef inline bint _may_be(const Filter* known, uint64_t h) noexcept nogil:
    """Tell whether a token may have this hash; False is certain."""
    return known.bits[h >> known.shift] >> (h >> (known.shift - 6) & 63) & 1


cdef bint _fill(const Tables* t, Filter* known) noexcept nogil:
    """Allocate the filter and add all tokens of fewer than MAX_FILTERED_BYTES; False if out of memory."""
    cdef const uint8_t* token
    cdef uint64_t forward, backward
    cdef uint32_t i, k, n
    while <uint64_t> 1 << (64 - known.shift) < <uint64_t> t.n_ids * FILTER_BITS // 64:
        known.shift -= 1
    known.bits = <uint64_t*> calloc(<size_t> 1 << (64 - known.shift), 8)
    if known.bits == NULL:
        return False
    for i in range(t.n_ids):
        token, n = t.token_bytes + token_start(t, i), token_length(t, i)
        if n >= MAX_FILTERED_BYTES:
            continue
        forward, backward = 0, BACKWARD_SEED
        for k in range(n):
            forward = _longer(forward, token[k])
            backward = _longer(backward, token[n - 1 - k])
        known.bits[forward >> known.shift] |= <uint64_t> 1 << (forward >> (known.shift - 6) & 63)
        known.bits[backward >> known.shift] |= <uint64_t> 1 << (backward >> (known.shift - 6) & 63)
    return True


cdef bint _each_split(
    const Tables* t, const Filter* known, const uint8_t* has_length, bint has_repeated, Splits* out
) noexcept nogil:
    """Append all splits of all tokens to `out`; False if out of memory.

    A software pipeline of three stages, STAGE_TOKENS tokens apart: find the split points and prefetch the slots of
    both parts; look the parts up by tag and prefetch their ends; compare their bytes.
    """
    cdef SplitPoints[STAGES * STAGE_TOKENS] ring
    cdef SplitPoints* points
    cdef uint32_t i, k
    for i in range(t.n_ids + (STAGES - 1) * STAGE_TOKENS):
        if i < t.n_ids:
            _find_split_points(t, known, i, &ring[i % (STAGES * STAGE_TOKENS)])
        k = i - STAGE_TOKENS
        if i >= STAGE_TOKENS and k < t.n_ids:
            _find_parts(t, &ring[k % (STAGES * STAGE_TOKENS)])
        k = i - 2 * STAGE_TOKENS
        if i < 2 * STAGE_TOKENS:
            continue
        points = &ring[k % (STAGES * STAGE_TOKENS)]
        # Of several tokens with the same bytes only the lowest id, which a look-up finds, is used in pairs.
        if has_repeated and find_token(t, t.token_bytes + token_start(t, k), token_length(t, k)) != k:
            continue
        if points.n > MAX_FILTERED_BYTES:
            if not _split_long(t, has_length, k, out):
                return False
        elif not _split(t, k, points, out):
            return False
    return True


cdef inline void _find_split_points(
    const Tables* t, const Filter* known, uint32_t token, SplitPoints* points
) noexcept nogil:
    """Find the points at which the filter has both parts of a token, hash the parts, and prefetch their slots.

    There is no branch on the filter's answer: about two in five are positive, so it could not be predicted.
    """
    cdef const uint8_t* text = t.token_bytes + token_start(t, token)
    cdef uint32_t n = token_length(t, token), at, i, n_points = 0
    cdef Filter filter = known[0]
    cdef uint64_t[MAX_FILTERED_BYTES + 1] right
    cdef uint64_t h = BACKWARD_SEED
    points.n = MAX_FILTERED_BYTES + 1
    if n > MAX_FILTERED_BYTES:
        return
    for i in range(1, n):
        h = _longer(h, text[n - i])
        right[n - i] = h
    h = 0
    for at in range(1, n):
        h = _longer(h, text[at - 1])
        points.items[n_points].at = at  # first in the token; below, in token_bytes
        n_points += _may_be(&filter, h) & _may_be(&filter, right[at])
    for i in range(n_points):
        at = points.items[i].at
        points.items[i].left_hash = hash_bytes(text, at, 0)
        points.items[i].right_hash = hash_bytes(text + at, n - at, 0)
        prefetch(&t.pieces[<size_t> points.items[i].left_hash & t.piece_mask])
        prefetch(&t.pieces[<size_t> points.items[i].right_hash & t.piece_mask])
        points.items[i].at += token_start(t, token)
    points.n = n_points


cdef inline void _find_parts(const Tables* t, SplitPoints* points) noexcept nogil:
    """Keep the points whose parts have the tags of tokens, record these tokens, and prefetch their ends."""
    cdef uint32_t i, n = 0, left, right
    if points.n > MAX_FILTERED_BYTES:
        return
    for i in range(points.n):
        left = find_tag(t.pieces, t.piece_mask, points.items[i].left_hash)
        right = find_tag(t.pieces, t.piece_mask, points.items[i].right_hash)
        if left != NONE and right != NONE:
            points.items[n].at, points.items[n].left, points.items[n].right = points.items[i].at, left, right
            prefetch(&t.token_ends[left])
            prefetch(&t.token_ends[right])
            n += 1
    points.n = n


cdef inline bint _split(const Tables* t, uint32_t token, const SplitPoints* points, Splits* out) noexcept nogil:
    """Append the splits of a token at those points whose parts really are tokens; False if out of memory."""
    cdef uint32_t i, start = token_start(t, token), end = t.token_ends[token], at, left, right
    for i in range(points.n):
        at = points.items[i].at
        left = confirm_token(t, points.items[i].left, t.token_bytes + start, at - start)
        right = confirm_token(t, points.items[i].right, t.token_bytes + at, end - at)
        if left != NONE and right != NONE and not _append(out, left, right, token):
            return False
    return True


cdef bint _split_long(const Tables* t, const uint8_t* has_length, uint32_t token, Splits* out) noexcept nogil:
    """Append the splits of a token that is too long for the filter; False if out of memory."""
    cdef uint32_t start = token_start(t, token), end = t.token_ends[token], at, left, right
    for at in range(start + 1, end):
        if not has_length[at - start] or not has_length[end - at]:
            continue
        left = find_token(t, t.token_bytes + start, at - start)
        if left == NONE:
            continue
        right = find_token(t, t.token_bytes + at, end - at)
        if right != NONE and not _append(out, left, right, token):
            return False
    return True


cdef inline bint _append(Splits* splits, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil:
    """Append a split; False if out of memory."""
    cdef Split* items
    cdef size_t capacity
    if splits.n == splits.capacity:
        capacity = max(2 * splits.capacity, <size_t> 1024)
        items = <Split*> realloc(splits.items, capacity * sizeof(Split))
        if items == NULL:
            return False
        splits.items = items
        splits.capacity = capacity
    splits.items[splits.n] = Split(left, right, merged)
    splits.n += 1
    return True

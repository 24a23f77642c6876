"""Look-ups of tokens by their bytes.

They are not in `vocabulary`: most modules need its types, and Cython would translate these functions for each.
"""

from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.hash_lookups cimport find_piece
from fastbpe._core.common.hashing cimport same_bytes
from fastbpe._core.merge.vocabulary cimport Tables, token_start


cdef inline uint32_t find_token(const Tables* t, const uint8_t* piece, size_t n) noexcept nogil:
    """Id of the token whose bytes are piece[:n], the lowest if there are several, or NONE."""
    return find_piece(t.pieces, t.piece_mask, t.token_bytes, t.token_ends, piece, n)


cdef inline uint32_t confirm_token(
    const Tables* t, uint32_t candidate, const uint8_t* piece, size_t n
) noexcept nogil:
    """Id of the token whose bytes are piece[:n], or NONE, given the candidate that find_tag() found by their hash.

    Requires: candidate < n_ids, n > 0. If a different token has the same tag, which is rare, looks the bytes up.
    """
    cdef size_t start = token_start(t, candidate)
    if t.token_ends[candidate] - start == n and same_bytes(t.token_bytes + start, piece, n):
        return candidate
    return find_token(t, piece, n)

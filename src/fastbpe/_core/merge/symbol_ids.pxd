"""Code-point vocabularies: the initial symbols of a piece, and the ids that its final symbols stand for.

Merging works on symbols (see codepoint_symbols): a symbol is a number below n_ids, ordered by priority. A
character without a token is the symbol n_ids, which is in no pair.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe._core.common.hash_lookups cimport pair_key
from fastbpe._core.common.memory cimport likely
from fastbpe._core.common.hash_tables cimport NO_KEY, NONE
from fastbpe._core.merge.codepoint_symbols cimport EXPANDED
from fastbpe._core.merge.token_lookups cimport find_token
from fastbpe._core.merge.vocabulary cimport Tables


cdef inline uint32_t symbol_at(const Tables* tables, const uint8_t* text, size_t* n_bytes) noexcept nogil:
    """Symbol of the character at `text`, n_ids if it has no token; store its length in bytes in *n_bytes.

    Requires: a code-point vocabulary, and valid UTF-8. U+2581 is the symbol of a space if the model escapes
        spaces.
    """
    cdef uint32_t lead = text[0], found
    if lead < 0x80:
        n_bytes[0] = 1
        return tables.byte_ids[lead]
    n_bytes[0] = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if tables.characters.marks_spaces and lead == 0xE2 and text[1] == 0x96 and text[2] == 0x81:
        return tables.byte_ids[0x20]
    found = find_token(tables, text, n_bytes[0])
    return tables.n_ids if found == NONE else found


cdef inline bint is_ascii(const uint8_t* text, size_t n) noexcept nogil:
    """Tell whether n bytes are all below 0x80."""
    cdef uint8_t bits = 0
    cdef size_t i
    for i in range(n):
        bits |= text[i]
    return bits < 0x80


cdef inline uint64_t begin_characters(
    const Tables* tables, const uint8_t* piece, size_t n, uint32_t* ids, int32_t* keys
) noexcept nogil:
    """Write the symbols of a piece into `ids`, each at its first byte, and the keys of their pairs.

    Requires: n <= 64 bytes of valid UTF-8, ranked tables, and NO_KEY in all of `keys`.
    Returns a mask: bit i is set if a symbol begins at position i.
    """
    cdef uint64_t alive = 0
    cdef size_t at = 0, last = 0, n_bytes
    while at < n:
        ids[at] = symbol_at(tables, piece + at, &n_bytes)
        if at:
            keys[last] = pair_key(&tables.pairs, ids[last], ids[at]) | <int32_t> last
        alive |= <uint64_t> 1 << at
        last = at
        at += n_bytes
    return alive


cdef inline int32_t leftmost(const Tables* tables, const int32_t* keys, int32_t best) noexcept nogil:
    """Key of the leftmost pair with the same priority as `best`, since symbols with the same score share it.

    keys: by position; the low 6 bits of a key are its position.
    """
    cdef const uint32_t* ties = tables.characters.ties
    cdef uint32_t first = ties[best >> 6]
    cdef int32_t i
    for i in range(best & 63):
        if keys[i] != NO_KEY and ties[keys[i] >> 6] == first:
            return keys[i]
    return best


cdef inline size_t spell(
    const Tables* tables, uint32_t symbol, const uint8_t* text, size_t n_bytes, uint32_t* out
) noexcept nogil:
    """Write the ids of the symbol that covers text[:n_bytes]; return their number, at most n_bytes.

    A character without a token becomes the ids of its bytes (byte fallback), or the unknown id.
    """
    cdef uint32_t token = tables.characters.unknown_id
    cdef const uint32_t* expansion
    cdef size_t i
    if likely(symbol < tables.n_ids):
        token = tables.characters.ids[symbol]
        if not likely(token < EXPANDED):
            expansion = tables.characters.expansions + (token ^ EXPANDED)
            memcpy(out, expansion + 1, expansion[0] * sizeof(uint32_t))
            return expansion[0]
    elif tables.characters.has_bytes:
        for i in range(n_bytes):
            out[i] = tables.characters.byte_ids[text[i]]
        return n_bytes
    out[0] = token
    return 1

"""The two hash tables of a vocabulary: tokens by their bytes, and pairs of tokens. `hash_lookups` reads them.

The first is the piece table. The pair table is ranked (8 bytes per slot) or wide (16 bytes per slot): see Pairs.

Both use open addressing with linear probing. The number of slots is a power of two and at most two thirds of them
are full, so a probe sequence always ends at an empty slot. The ranked table is probed one cache line at a time:
all eight slots of the home line, starting at the home slot and wrapping around, then the slots of the next line.

`.fbpe` files contain these tables byte for byte: if the layout or a hash changes, rename the section of the file.
"""

from libc.stdint cimport uint32_t, uint64_t

cdef extern from *:
    # Macros, not a Cython enum: an enum is an int, and UINT32_MAX would turn into -1.
    """
    #define FASTBPE_NONE UINT32_MAX
    #define FASTBPE_NO_PAIR UINT64_MAX
    #define FASTBPE_RANKED_MASK (((uint64_t)1 << 21) - 1)
    """
    const uint32_t NONE "FASTBPE_NONE"  # no id, no priority, or an empty slot
    const uint64_t NO_PAIR "FASTBPE_NO_PAIR"  # an empty slot of the ranked table
    const uint64_t RANKED_MASK "FASTBPE_RANKED_MASK"  # bits of the merged id in a slot of the ranked table

cdef extern from "simd/hashing.h" nogil:
    const uint64_t GOLDEN_RATIO "FB_GOLDEN_RATIO"  # multiplier of Fibonacci hashing: top bits give the slot


cdef struct PieceSlot:
    # Slot of the piece table, 8 bytes: finds a token by its bytes.
    uint32_t tag  # high half of the hash: if it differs, so do the pieces, and their bytes need not be read
    uint32_t id  # NONE: the slot is empty


cdef struct PairSlot:
    # Slot of the wide pair table, 16 bytes.
    uint32_t left
    uint32_t right
    uint32_t priority  # NONE: the slot is empty
    uint32_t id  # merged id


cdef enum:
    RANKED_BITS = 21  # bits of each of the three ids in a slot of the ranked table
    MAX_RANKED_IDS = (1 << RANKED_BITS) - 1  # limit on ids for a ranked table; all ones is not an id
    LINE = 8  # slots of the ranked table in a cache line of 64 bytes
    MAX_RUN = 4096  # longest run of full slots; Vocabulary refuses a longer one, which only an attack makes
    NO_KEY = 0x7FFFFFFF  # key of a pair that is not in the ranked table; greater than any other key


cdef struct Pairs:
    # The pair table: ranked or wide. Exactly one of the two pointers is not NULL.
    # Ranked: 8 bytes per slot, left << 42 | right << 21 | merged id; the merged id is the rank and thus also the
    # priority; all ones: empty. For vocabularies of ranks with up to MAX_RANKED_IDS ids, which includes all
    # published ones. Faster than the wide table, because more of it fits into the processor's caches.
    # Wide: 16 bytes per slot, for all other vocabularies.
    const uint64_t* ranked
    const PairSlot* wide
    uint32_t shift  # 64 - log2 of the number of slots


cdef struct Merge:
    # The result of merging a pair of ids.
    uint32_t priority  # the lowest is merged first; NONE: the pair is not in the table
    uint32_t id  # merged id; NONE: the pair is not in the table

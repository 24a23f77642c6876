"""The slots that a decoder keeps tokens in, one for each id, and reading ids and copying tokens by them."""

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe._core.common.id_buffer cimport Ids


# What a slot's tag says besides the number of bytes in the slot; 0: the id is no token.
cdef enum:
    IN_SLOT = 14  # bytes of a token that fit into its slot: 99 in 100 tokens of cl100k do
    LENGTH = 0x0F
    NOT_ASCII = 0x10
    NOT_LATIN1 = 0x20  # a byte that leads a character above U+00FF
    NOT_UCS2 = 0x40  # above U+FFFF
    LONG = 0x80  # the slot holds the address of a LongToken


cdef struct LongToken:
    const uint8_t* data
    uint32_t n_bytes
    uint32_t n_characters


cdef struct Slot:
    # 16 bytes, copied as one whatever the token's length: half the time of a memcpy of just its bytes.
    uint8_t data[IN_SLOT]
    uint8_t n_characters  # bytes that begin one
    uint8_t tag


cdef struct Head:
    # Of a text whose beginning is left out: which id is the first that is whole, and what is left of those before.
    size_t at
    size_t n_left_out  # bytes, all of them spaces
    const uint8_t* rest
    size_t n_rest


cdef struct Sums:
    # What all ids of a call make together.
    size_t n_bytes
    size_t n_characters
    size_t n_empty  # ids that make nothing
    uint32_t tags


cdef void slot_fill(
    Slot* slot, const uint8_t* token, uint32_t n_bytes, LongToken* long_tokens, uint32_t* n_long
) noexcept nogil
cdef void read_ints(
    PyObject** items, size_t n, const Slot* slots, uint64_t n_ids, Ids* out, Sums* sums
) noexcept nogil
cdef uint64_t read_array(
    const Py_buffer* view, bint is_signed, bint swapped, const Slot* slots, uint64_t n_ids, Ids* out, Sums* sums
) noexcept nogil
cdef uint8_t* copy_tokens(
    const Slot* slots, const Ids* ids, size_t* at, uint8_t* to, const uint8_t* end
) noexcept nogil
cdef bint decode_tokens(
    const Slot* slots, const Ids* ids, const Head* head, uint8_t* block, size_t block_bytes, uint8_t* to, size_t width
) noexcept nogil


cdef inline const uint8_t* slot_token(const Slot* slot, size_t* n) noexcept nogil:
    """The bytes of an id that is a token's."""
    cdef const LongToken* token
    if slot.tag & LONG:
        memcpy(&token, slot.data, sizeof(token))
        n[0] = token.n_bytes
        return token.data
    n[0] = slot.tag & LENGTH
    return slot.data


cdef inline bint slot_add(const Slot* slots, uint64_t n_ids, uint64_t token_id, Sums* sums) noexcept nogil:
    """Add what an id makes to the sums; False if it is no token."""
    # Lost: one test for both kinds of tag (3 % slower); prefetching the ints 24 places ahead (no difference).
    cdef const Slot* slot
    cdef const LongToken* token
    if token_id >= n_ids:
        return False
    slot = &slots[token_id]
    if slot.tag & LONG:
        memcpy(&token, slot.data, sizeof(token))
        sums.n_bytes += token.n_bytes
        sums.n_characters += token.n_characters
        sums.n_empty += token.n_bytes == 0
    elif slot.tag:
        sums.n_bytes += slot.tag & LENGTH
        sums.n_characters += slot.n_characters
    else:
        return False
    sums.tags |= slot.tag
    return True

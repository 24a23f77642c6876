"""Table of a decoder, with a slot of 16 bytes per id, and the loops that read ids and copy tokens."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.common.python cimport PyObject


cdef enum:
    MAX_SLOT_BYTES = 14  # longest token that fits into its slot; most tokens do

# Bits of TokenSlot.tag. A tag of 0: the id is not a token.
cdef enum:
    LENGTH = 0x0F  # mask: bytes of the token, if it is in the slot
    NOT_ASCII = 0x10  # the token has a byte from 0x80 on
    NOT_LATIN1 = 0x20  # the token has the lead byte of a character above U+00FF
    NOT_UCS2 = 0x40  # the token has the lead byte of a character above U+FFFF
    LONG = 0x80  # the token is longer or empty: the slot contains the address of a LongToken


cdef struct LongToken:
    # A token that is not in its slot: longer than MAX_SLOT_BYTES, or empty.
    const uint8_t* data
    uint32_t n_bytes
    uint32_t n_characters


cdef struct TokenSlot:
    # 16 bytes, always copied as a whole: faster than a memcpy of unknown size.
    uint8_t data[MAX_SLOT_BYTES]
    uint8_t n_characters  # bytes of the token that begin a character
    uint8_t tag


cdef struct Beginning:
    # Beginning of a text that differs from the tokens of its ids: without leading spaces, which sentencepiece leaves
    # out with its dummy prefix, or with another form of the first token.
    size_t at  # index of the first id whose token is copied as it is
    const uint8_t* data  # bytes before it
    size_t n  # number of these bytes
    size_t n_bytes_lost  # bytes by which the text is shorter than the tokens, modulo 2 ** 64 (it may be longer)
    size_t n_characters_lost  # the same in characters


cdef struct Sums:
    # Sums over the tokens of a text.
    size_t n_bytes
    size_t n_characters  # bytes that begin a character
    size_t n_empty  # tokens without bytes
    uint32_t tags  # all tags, combined by or


cdef void slot_fill(
    TokenSlot* slot, const uint8_t* token, uint32_t n_bytes, LongToken* long_tokens, uint32_t* n_long
) noexcept nogil
cdef void read_ints(
    PyObject** items, size_t n, const TokenSlot* slots, uint64_t n_ids, Ids* out, Sums* sums
) noexcept nogil
cdef uint64_t read_array(
    const Py_buffer* view, bint is_signed, bint swapped, const TokenSlot* slots, uint64_t n_ids,
    size_t* at, Ids* out, Sums* sums,
) noexcept nogil
cdef uint8_t* copy_tokens(
    const TokenSlot* slots, const Ids* ids, size_t* at, uint8_t* to, const uint8_t* end
) noexcept nogil
cdef bint decode_tokens(
    const TokenSlot* slots, const Ids* ids, const Beginning* beginning,
    uint8_t* block, size_t block_bytes, uint8_t* to, size_t width,
) noexcept nogil


cdef inline const uint8_t* slot_token(const TokenSlot* slot, size_t* n) noexcept nogil:
    """Return the bytes of a slot's token; store their number in *n. Requires: slot.tag != 0."""
    cdef const LongToken* token
    if slot.tag & LONG:
        memcpy(&token, slot.data, sizeof(token))
        n[0] = token.n_bytes
        return token.data
    n[0] = slot.tag & LENGTH
    return slot.data


cdef inline bint slot_add(const TokenSlot* slots, uint64_t n_ids, uint64_t token_id, Sums* sums) noexcept nogil:
    """Add a token to the sums.

    Returns False and leaves the sums unchanged if token_id, which may be any number, is not a token.
    """
    # Tried and dropped: one test for both kinds of tag, pointers instead of indices in the loop of read_ints (the
    # sums no longer fit into registers): slower. Prefetching ints 24 positions ahead: no difference.
    cdef const TokenSlot* slot
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

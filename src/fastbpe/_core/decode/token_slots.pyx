"""Loops over ids: reading them from lists and arrays, and copying their tokens.

See token_slots.pxd for the table.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove

from fastbpe._core.common.python cimport PyObject
from fastbpe._core.decode.utf8_to_str cimport put_characters
from fastbpe._core.ids.int_table cimport Ints, ints_so_far, int_value
from fastbpe._core.common.id_buffer cimport Ids

cdef extern from *:
    """
    /* Value of an int of one digit (30 bits) that is not negative, as every id is; otherwise UINT32_MAX. Requires: an
       exact int. */
    static inline uint32_t fastbpe_small_int(PyObject* item)
    {
    #if PY_VERSION_HEX >= 0x030C0000
        const PyLongObject* number = (const PyLongObject*)item;
        if (!PyUnstable_Long_IsCompact(number))
            return UINT32_MAX;
        Py_ssize_t value = PyUnstable_Long_CompactValue(number);
        return value < 0 ? UINT32_MAX : (uint32_t)value;
    #else
        Py_ssize_t n_digits = Py_SIZE(item);
        return n_digits == 1 ? (uint32_t)((PyLongObject*)item)->ob_digit[0] : n_digits ? UINT32_MAX : 0;
    #endif
    }

    static inline uint32_t fastbpe_swap32(uint32_t value)
    {
        value = (value & 0x00FF00FFu) << 8 | (value >> 8 & 0x00FF00FFu);
        return value << 16 | value >> 16;
    }

    static inline uint64_t fastbpe_swap64(uint64_t value)
    {
        return (uint64_t)fastbpe_swap32((uint32_t)value) << 32 | fastbpe_swap32((uint32_t)(value >> 32));
    }
    """
    uint32_t small_int "fastbpe_small_int"(PyObject* item) noexcept nogil
    bint PyLong_CheckExact(PyObject* item) noexcept nogil
    uint32_t swap32 "fastbpe_swap32"(uint32_t value) noexcept nogil
    uint64_t swap64 "fastbpe_swap64"(uint64_t value) noexcept nogil


cdef void slot_fill(
    TokenSlot* slot, const uint8_t* token, uint32_t n_bytes, LongToken* long_tokens, uint32_t* n_long
) noexcept nogil:
    """Fill the slot of a token. A token that does not fit goes to long_tokens[n_long], and n_long is incremented.

    Requires: `token` and long_tokens exist as long as the slot.
    """
    cdef uint32_t i, n_characters = 0
    cdef uint8_t tag = 0
    cdef LongToken* long_token
    for i in range(n_bytes):
        n_characters += token[i] & 0xC0 != 0x80
        if token[i] >= 0x80:
            tag |= NOT_ASCII
        if token[i] >= 0xC4:
            tag |= NOT_LATIN1
        if token[i] >= 0xF0:
            tag |= NOT_UCS2
    if 0 < n_bytes <= MAX_SLOT_BYTES:  # an empty token would get the tag 0
        memcpy(slot.data, token, n_bytes)
        slot.n_characters = <uint8_t> n_characters
        slot.tag = tag | <uint8_t> n_bytes
        return
    long_token = &long_tokens[n_long[0]]
    n_long[0] += 1
    long_token.data = token
    long_token.n_bytes = n_bytes
    long_token.n_characters = n_characters
    memcpy(slot.data, &long_token, sizeof(long_token))
    slot.tag = tag | LONG


cdef void read_ints(
    PyObject** items, size_t n, const TokenSlot* slots, uint64_t n_ids, Ids* out, Sums* sums
) noexcept nogil:
    """Read items of a list or tuple, starting at index out.n, and add their tokens to the sums.

    items, n: the items of the list or tuple.
    slots, n_ids: the decoder's table.
    out: the ids are appended to it. Requires: space for n ids.

    Stops at the end, or at the first item that is not an exact int, or is not a token.

    Requires: some thread holds the GIL and no other Python code runs. This may be another thread, because an int is
        plain memory that never moves.
    """
    cdef size_t i = out.n
    cdef uint32_t* to = out.items
    cdef uint64_t value
    cdef Sums local = sums[0]  # a copy, which stays in registers
    cdef Ints table = ints_so_far()[0]
    cdef uint64_t n_in_table = min(n_ids, <uint64_t> table.n)
    # Ints that encoding made are in one table: their addresses give the values, so they need not be loaded.
    while i < n:
        value = int_value(&table, items[i])
        if not slot_add(slots, n_in_table, value, &local):
            break
        to[i] = <uint32_t> value
        i += 1
    while i < n and PyLong_CheckExact(items[i]):
        value = small_int(items[i])
        if not slot_add(slots, n_ids, value, &local):
            break
        to[i] = <uint32_t> value
        i += 1
    out.n = i
    sums[0] = local


cdef uint64_t read_array(
    const Py_buffer* view, bint is_signed, bint swapped, const TokenSlot* slots, uint64_t n_ids,
    size_t* at, Ids* out, Sums* sums,
) noexcept nogil:
    """Read items of a one-dimensional array of integers, starting at index at[0], and add their tokens to the sums.

    is_signed: the items have a sign. swapped: their byte order is not the machine's.
    slots, n_ids: the decoder's table.
    at: advanced to the end of the array, or to the first item that is not a token, which is then returned.
    out: the ids are appended to it. Requires: space for all items.
    """
    cdef size_t i = at[0], n = <size_t> view.shape[0]
    cdef Py_ssize_t step = view.itemsize if view.strides == NULL else view.strides[0]  # ctypes provides none
    cdef const char* item = <const char*> view.buf + <Py_ssize_t> i * step
    cdef uint32_t* to = out.items + out.n
    cdef uint64_t value = 0
    cdef Sums local = sums[0]
    while i < n:
        value = _load(item, view.itemsize, is_signed, swapped)
        if not slot_add(slots, n_ids, value, &local):
            break
        to[0] = <uint32_t> value
        to += 1
        item += step
        i += 1
    at[0] = i
    out.n = <size_t> (to - out.items)
    sums[0] = local
    return value


cdef inline uint64_t _load(const char* at, Py_ssize_t n_bytes, bint is_signed, bint swapped) noexcept nogil:
    """Load an integer of 1, 2, 4 or 8 bytes from any address, sign-extended to 64 bits if it is signed."""
    cdef uint16_t two
    cdef uint32_t four
    cdef uint64_t value
    if n_bytes == 4:
        memcpy(&four, at, 4)
        if swapped:
            four = swap32(four)
        return <uint64_t> <int64_t> <int32_t> four if is_signed else four
    if n_bytes == 8:
        memcpy(&value, at, 8)
        return swap64(value) if swapped else value
    if n_bytes == 2:
        memcpy(&two, at, 2)
        if swapped:
            two = <uint16_t> (two >> 8 | two << 8)
        return <uint64_t> <int64_t> <int16_t> two if is_signed else two
    return <uint64_t> <int64_t> <int8_t> at[0] if is_signed else <uint8_t> at[0]


cdef uint8_t* copy_tokens(
    const TokenSlot* slots, const Ids* ids, size_t* at, uint8_t* to, const uint8_t* end
) noexcept nogil:
    """Copy the tokens of ids from index at[0] on, as many as fit before `end`; return the end of the output.

    at: advanced to the first id that was not copied. Bytes up to `end` may be overwritten.
    """
    cdef const TokenSlot* slot
    cdef const LongToken* token
    cdef size_t i = at[0], n = ids.n
    cdef const uint32_t* items = ids.items
    # Tried and dropped: one test for a run of slots that certainly fit. Towards the end the runs become short, and
    # each mispredicts its end: decode_batch of texts of 100 characters took 1.25 times as long. (A loop
    # of decode_batch(ids, num_threads=1), the least of 60 calls, 3 MB of English, cl100k, GCC 12, AMD EPYC Zen 5,
    # 2026-11-30.)
    while i < n:
        while i < n and <size_t> (end - to) >= sizeof(TokenSlot):
            slot = &slots[items[i]]
            if slot.tag & LONG:
                break
            memcpy(to, slot, sizeof(TokenSlot))
            to += slot.tag & LENGTH
            i += 1
        if i == n:
            break
        slot = &slots[items[i]]
        if slot.tag & LONG:
            memcpy(&token, slot.data, sizeof(token))
            if token.n_bytes > <size_t> (end - to):
                break
            memcpy(to, token.data, token.n_bytes)
            to += token.n_bytes
        elif <size_t> (slot.tag & LENGTH) <= <size_t> (end - to):
            memcpy(to, slot, slot.tag & LENGTH)
            to += slot.tag & LENGTH
        else:
            break
        i += 1
    at[0] = i
    return to


cdef bint decode_tokens(
    const TokenSlot* slots, const Ids* ids, const Beginning* beginning,
    uint8_t* block, size_t block_bytes, uint8_t* to, size_t width,
) noexcept nogil:
    """Decode a beginning and the tokens of ids into characters of `width` bytes; return False if not UTF-8.

    block: working space for UTF-8, filled and decoded repeatedly.
    to: has space for all characters.
    """
    cdef size_t at = beginning.at, n, n_read, n_written, n_kept
    cdef bint has_ids_left = True
    n_read = put_characters(beginning.data, beginning.n, to, width, &n_written)
    to += n_written * width
    n_kept = beginning.n - n_read
    if n_kept > 3:
        return False
    memcpy(block, beginning.data + n_read, n_kept)
    while has_ids_left:
        n = <size_t> (copy_tokens(slots, ids, &at, block + n_kept, block + block_bytes) - block)
        n_read = put_characters(block, n, to, width, &n_written)
        to += n_written * width
        n_kept = n - n_read  # the start of a character that the next token ends, or invalid bytes
        if n_kept > 3:
            return False
        memmove(block, block + n_read, n_kept)
        has_ids_left = at < ids.n
    return n_kept == 0

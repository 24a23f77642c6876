"""Ids back to bytes and text: every token of every id, special ones too, in slots of one size.

One pass reads the ids into memory of ours, checks them and adds up what they make; then there is one
allocation of the exact size, and a second pass, which needs no GIL, copies into it. Each id is read once: what
other threads do to a list or an array meanwhile cannot hurt.
"""

cimport cython
from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer,
)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from cpython.long cimport PyLong_AsLongLong
from cpython.object cimport PyObject
from cpython.sequence cimport PySequence_Fast_GET_SIZE, PySequence_Fast_ITEMS
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memmove

from fastbpe._core.characters cimport put_characters
from fastbpe._core.memory cimport use_huge_pages
from fastbpe._core.merge cimport Ids, ids_free, ids_reserve
from fastbpe._core.text cimport character_starts
from fastbpe._core.vocabulary cimport Tables, Vocabulary

import operator
import sys

from fastbpe.errors import InvalidTokenError

cdef extern from *:
    """
    /* The value of an exact int of one digit that is not negative, which every id is; else UINT32_MAX. */
    static inline uint32_t fastbpe_small_int(PyObject* item)
    {
    #if defined(CYTHON_COMPILING_IN_CPYTHON) && CYTHON_COMPILING_IN_CPYTHON && PY_VERSION_HEX >= 0x030C0000
        const PyLongObject* number = (const PyLongObject*)item;
        if (!PyUnstable_Long_IsCompact(number))
            return UINT32_MAX;
        Py_ssize_t value = PyUnstable_Long_CompactValue(number);
        return value < 0 ? UINT32_MAX : (uint32_t)value;
    #elif defined(CYTHON_COMPILING_IN_CPYTHON) && CYTHON_COMPILING_IN_CPYTHON
        Py_ssize_t n_digits = Py_SIZE(item);
        return n_digits == 1 ? (uint32_t)((PyLongObject*)item)->ob_digit[0] : n_digits ? UINT32_MAX : 0;
    #else
        int overflow;
        long value = PyLong_AsLongAndOverflow(item, &overflow);
        return overflow || value < 0 || value >= (long)INT32_MAX ? UINT32_MAX : (uint32_t)value;
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
    uint32_t small_int "fastbpe_small_int"(PyObject* item) noexcept
    bint PyLong_CheckExact(PyObject* item) noexcept
    str PyUnicode_New(Py_ssize_t n_characters, Py_UCS4 greatest)  # to be filled before anybody sees it
    uint32_t swap32 "fastbpe_swap32"(uint32_t value) noexcept nogil
    uint64_t swap64 "fastbpe_swap64"(uint64_t value) noexcept nogil

cdef enum:
    NOGIL_BYTES = 8192  # below this, handing the GIL over costs more than it gives
    BLOCK_BYTES = 16384  # of UTF-8 on its way into a str that is not ASCII
    IN_SLOT = 14  # bytes of a token that fit into its slot: 99 in 100 tokens of cl100k do

# What a slot's tag says besides the number of bytes in the slot; 0: the id is no token.
cdef enum:
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


cdef struct Sums:
    # What all ids of a call make together.
    size_t n_bytes
    size_t n_characters
    uint32_t tags


@cython.final
cdef class Decoder:
    """The bytes of each id. special_tokens: list of (id, bytes), which no ordinary token's id repeats."""

    cdef Vocabulary _vocabulary
    cdef dict _special
    cdef uint32_t _n_ids
    cdef Slot* _slots  # made at the first use, so that loading costs nothing
    cdef LongToken* _long
    cdef size_t _longest  # token, in bytes

    def __cinit__(self, Vocabulary vocabulary not None, list special_tokens not None):
        self._vocabulary = vocabulary
        self._special = dict(special_tokens)
        self._n_ids = max(vocabulary.tables.n_ids, max(self._special, default=-1) + 1)

    def __dealloc__(self):
        free(self._slots)
        free(self._long)

    cdef int _make_slots(self) except -1:
        cdef const Tables* t = &self._vocabulary.tables
        cdef uint32_t i, start, n_long = 0
        cdef Slot* slots
        cdef bytes token
        self._longest = max(t.max_token_bytes, max(map(len, self._special.values()), default=0))
        for i in range(t.n_ids):
            n_long += t.token_ends[i] - (t.token_ends[i - 1] if i else 0) > IN_SLOT
        slots = <Slot*> calloc(<size_t> self._n_ids + 1, sizeof(Slot))
        self._long = <LongToken*> malloc((<size_t> n_long + len(self._special) + 1) * sizeof(LongToken))
        if slots == NULL or self._long == NULL:
            free(slots)
            free(self._long)
            self._long = NULL
            raise MemoryError(f"no memory for the bytes of {self._n_ids} ids")
        n_long = 0
        for i in range(t.n_ids):
            start = t.token_ends[i - 1] if i else 0
            _fill(&slots[i], t.token_bytes + start, t.token_ends[i] - start, self._long, &n_long)
        for i, token in self._special.items():
            _fill(&slots[i], <const uint8_t*> PyBytes_AS_STRING(token), <uint32_t> len(token), self._long, &n_long)
        self._slots = slots
        return 0

    cdef object _unknown(self, object token_id, Py_ssize_t position):
        return InvalidTokenError(
            f"id {token_id} at position {position} is no token of this vocabulary (its ids lie in "
            f"0..{<int64_t> self._n_ids - 1})"
        )

    # Reading ids

    cdef int _read(self, object ids, Ids* out, Sums* sums) except -1:
        """The ids of any sequence of integers, each checked to be a token's, and what they make together."""
        if self._slots == NULL:
            self._make_slots()
        out.n = sums.n_bytes = sums.n_characters = sums.tags = 0
        if isinstance(ids, (str, bytes)):
            raise TypeError(f"ids must be a sequence of integers, not {type(ids).__name__}")
        if PyObject_CheckBuffer(ids):
            return self._read_buffer(ids, out, sums)
        return self._read_items(ids if type(ids) is list or type(ids) is tuple else list(ids), out, sums)

    cdef int _read_items(self, object items, Ids* out, Sums* sums) except -1:
        cdef size_t n = <size_t> PySequence_Fast_GET_SIZE(items)
        cdef int64_t value
        cdef object item
        ids_reserve(out, n)
        use_huge_pages(out.items, n * sizeof(uint32_t))
        while True:
            _read_ints(PySequence_Fast_ITEMS(items), n, self._slots, self._n_ids, out, sums)
            if out.n == n:
                return 0
            # No exact int of one digit, or no token: the slow way, for this one.
            item = <object> PySequence_Fast_ITEMS(items)[out.n]
            if type(item) is not int:
                item = _as_int(item, out.n)
                if <size_t> PySequence_Fast_GET_SIZE(items) != n:  # its __index__ may do anything
                    raise ValueError("ids changed while they were read")
            try:
                value = PyLong_AsLongLong(item)
            except OverflowError:
                value = -1
            if not _add(self._slots, self._n_ids, <uint64_t> value, sums):
                raise self._unknown(item, out.n)
            out.items[out.n] = <uint32_t> value
            out.n += 1

    cdef int _read_buffer(self, object ids, Ids* out, Sums* sums) except -1:
        """An array of integers (numpy's, array.array's, …) of one dimension, as it lies in memory."""
        cdef Py_buffer view
        cdef bytes code
        cdef bint is_signed, swapped
        cdef uint64_t bad
        PyObject_GetBuffer(ids, &view, PyBUF_STRIDES | PyBUF_FORMAT)
        try:
            code = view.format if view.format != NULL else b"B"
            if view.ndim != 1 or code.lstrip(b"@=<>!") not in _INTEGERS:
                raise TypeError(
                    f"ids must be integers in one dimension: got format {code.decode()!r} "
                    f"with {view.ndim} dimensions"
                )
            is_signed, swapped = code.islower(), code[:1] in _SWAPPED
            ids_reserve(out, <size_t> view.shape[0])
            use_huge_pages(out.items, <size_t> view.shape[0] * sizeof(uint32_t))
            with nogil:
                bad = _read_array(&view, is_signed, swapped, self._slots, self._n_ids, out, sums)
            if out.n < <size_t> view.shape[0]:
                raise self._unknown(<int64_t> bad if is_signed else bad, out.n)
        finally:
            PyBuffer_Release(&view)
        return 0

    # Making bytes and text

    cdef bytes _bytes(self, const Ids* ids, const Sums* sums):
        cdef bytes out = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> sums.n_bytes)
        cdef uint8_t* to = <uint8_t*> PyBytes_AS_STRING(out)
        self._copy_all(ids, to, sums.n_bytes)
        return out

    cdef void _copy_all(self, const Ids* ids, uint8_t* to, size_t n_bytes) noexcept:
        cdef size_t at = 0
        if n_bytes < NOGIL_BYTES:
            _copy(self._slots, ids, &at, to, to + n_bytes)
            return
        with nogil:
            use_huge_pages(to, n_bytes)
            _copy(self._slots, ids, &at, to, to + n_bytes)

    cdef str _text(self, const Ids* ids, const Sums* sums, const char* errors):
        cdef str text
        cdef uint8_t* data
        cdef size_t width, block_bytes
        cdef bint sound
        if not sums.tags & NOT_ASCII:
            text = PyUnicode_New(<Py_ssize_t> sums.n_bytes, 0x7F)
            self._copy_all(ids, <uint8_t*> PyUnicode_DATA(text), sums.n_bytes)
            return text
        width = 4 if sums.tags & NOT_UCS2 else 2 if sums.tags & NOT_LATIN1 else 1
        text = PyUnicode_New(
            <Py_ssize_t> sums.n_characters, 0x10FFFF if width == 4 else 0xFFFF if width == 2 else 0xFF
        )
        data = <uint8_t*> PyUnicode_DATA(text)
        block_bytes = min(sums.n_bytes, max(<size_t> BLOCK_BYTES, self._longest)) + sizeof(Slot)
        block = <uint8_t*> malloc(block_bytes)
        if block == NULL:
            raise MemoryError(f"no memory for {block_bytes} bytes of text")
        if sums.n_bytes < NOGIL_BYTES:
            sound = _decode(self._slots, ids, block, block_bytes, data, width)
        else:
            with nogil:
                use_huge_pages(data, sums.n_characters * width)
                sound = _decode(self._slots, ids, block, block_bytes, data, width)
        free(block)
        return text if sound else PyUnicode_DecodeUTF8(self._bytes(ids, sums), <Py_ssize_t> sums.n_bytes, errors)

    def decode_bytes(self, ids):
        """The bytes of all ids end to end."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        try:
            self._read(ids, &values, &sums)
            return self._bytes(&values, &sums)
        finally:
            ids_free(&values)

    def decode(self, ids, str errors not None="replace"):
        """The text of all ids; errors= says what becomes of bytes that are not UTF-8."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef bytes handler = errors.encode()
        try:
            self._read(ids, &values, &sums)
            return self._text(&values, &sums, handler)
        finally:
            ids_free(&values)

    def decode_batch(self, batch, str errors not None="replace"):
        """`decode` for each sequence of ids, in order."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef bytes handler = errors.encode()
        cdef list out = []
        try:
            for ids in batch:
                PyErr_CheckSignals()
                self._read(ids, &values, &sums)
                out.append(self._text(&values, &sums, handler))
            return out
        finally:
            ids_free(&values)

    def tokens(self, ids):
        """The bytes of each id."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef size_t i, n
        cdef const uint8_t* token
        try:
            self._read(ids, &values, &sums)
            out = []
            for i in range(values.n):
                token = _token(&self._slots[values.items[i]], &n)
                out.append(PyBytes_FromStringAndSize(<const char*> token, <Py_ssize_t> n))
            return out
        finally:
            ids_free(&values)

    def decode_with_offsets(self, ids, str errors not None="replace"):
        """(text, for each id the place in it of the first character that the id has a part in).

        errors: "replace" or "strict".
        """
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef bytes data, begins
        cdef list offsets
        cdef size_t i, n
        cdef Py_ssize_t n_begun = 0
        cdef uint8_t* begins_here
        try:
            self._read(ids, &values, &sums)
            data = self._bytes(&values, &sums)
            text = data.decode("utf-8", errors)
            begins = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> sums.n_bytes)
            begins_here = <uint8_t*> PyBytes_AS_STRING(begins)
            character_starts(<const uint8_t*> PyBytes_AS_STRING(data), sums.n_bytes, begins_here)
            offsets = []
            for i in range(values.n):
                offsets.append(n_begun - (not begins_here[0]))
                _token(&self._slots[values.items[i]], &n)
                for _ in range(n):
                    n_begun += begins_here[0]
                    begins_here += 1
            return text, offsets
        finally:
            ids_free(&values)

    def token(self, token_id):
        """The bytes of one id."""
        cdef bytes special
        cdef int64_t value
        token_id = _as_int(token_id, 0)
        if self._special:
            special = self._special.get(token_id)
            if special is not None:
                return special
        if 0 <= token_id < self._vocabulary.tables.n_ids:
            value = token_id
            token = self._vocabulary.token(<uint32_t> value)
            if token:
                return token
        raise self._unknown(token_id, 0)

    @property
    def n_ids(self):
        """One more than the greatest id."""
        return self._n_ids


_INTEGERS = frozenset(bytes([code]) for code in b"bBhHiIlLqQnN")  # small letters are signed
_SWAPPED = frozenset({b">", b"!"} if sys.byteorder == "little" else {b"<"})


cdef object _as_int(object item, Py_ssize_t position):
    try:
        return operator.index(item)
    except TypeError:
        raise TypeError(
            f"ids must be integers: {item!r} at position {position} is {type(item).__name__}"
        ) from None


cdef void _fill(
    Slot* slot, const uint8_t* token, uint32_t n_bytes, LongToken* long_tokens, uint32_t* n_long
) noexcept nogil:
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
    if n_bytes <= IN_SLOT:
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


cdef inline const uint8_t* _token(const Slot* slot, size_t* n) noexcept nogil:
    """The bytes of an id that is a token's."""
    cdef const LongToken* token
    if slot.tag & LONG:
        memcpy(&token, slot.data, sizeof(token))
        n[0] = token.n_bytes
        return token.data
    n[0] = slot.tag & LENGTH
    return slot.data


cdef inline bint _add(const Slot* slots, uint64_t n_ids, uint64_t token_id, Sums* sums) noexcept nogil:
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
    elif slot.tag:
        sums.n_bytes += slot.tag & LENGTH
        sums.n_characters += slot.n_characters
    else:
        return False
    sums.tags |= slot.tag
    return True


cdef void _read_ints(
    PyObject** items, size_t n, const Slot* slots, uint64_t n_ids, Ids* out, Sums* sums
) noexcept:
    """Exact ints, up to the end or to the first item that is none, or no token."""
    cdef size_t i = out.n
    cdef uint32_t* to = out.items
    cdef uint32_t value
    cdef Sums local = sums[0]  # in registers
    while i < n and PyLong_CheckExact(items[i]):
        value = small_int(items[i])
        if not _add(slots, n_ids, value, &local):
            break
        to[i] = value
        i += 1
    out.n = i
    sums[0] = local


cdef uint64_t _read_array(
    const Py_buffer* view, bint is_signed, bint swapped, const Slot* slots, uint64_t n_ids, Ids* out, Sums* sums
) noexcept nogil:
    """All items, or up to the first that is no token, which is returned."""
    cdef size_t i, n = <size_t> view.shape[0]
    cdef const char* at = <const char*> view.buf
    cdef uint64_t value = 0
    cdef Sums local = sums[0]
    for i in range(n):
        value = _load(at, view.itemsize, is_signed, swapped)
        if not _add(slots, n_ids, value, &local):
            out.n = i
            return value
        out.items[i] = <uint32_t> value
        at += view.strides[0]
    out.n = n
    sums[0] = local
    return 0


cdef inline uint64_t _load(const char* at, Py_ssize_t n_bytes, bint is_signed, bint swapped) noexcept nogil:
    """An integer of 1, 2, 4 or 8 bytes, which need not be aligned; its sign fills the 64 bits."""
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


cdef uint8_t* _copy(
    const Slot* slots, const Ids* ids, size_t* at, uint8_t* to, const uint8_t* end
) noexcept nogil:
    """Copy tokens from place at on, as many as fit, and move at; the end of what was written."""
    cdef const Slot* slot
    cdef const LongToken* token
    cdef size_t i = at[0], n = ids.n
    cdef const uint32_t* items = ids.items
    while i < n:
        slot = &slots[items[i]]
        if slot.tag & LONG:
            memcpy(&token, slot.data, sizeof(token))
            if token.n_bytes > <size_t> (end - to):
                break
            memcpy(to, token.data, token.n_bytes)
            to += token.n_bytes
        elif <size_t> (end - to) >= sizeof(Slot):
            memcpy(to, slot, sizeof(Slot))
            to += slot.tag & LENGTH
        elif <size_t> (slot.tag & LENGTH) <= <size_t> (end - to):
            memcpy(to, slot, slot.tag & LENGTH)
            to += slot.tag & LENGTH
        else:
            break
        i += 1
    at[0] = i
    return to


cdef bint _decode(
    const Slot* slots, const Ids* ids, uint8_t* block, size_t block_bytes, uint8_t* to, size_t width
) noexcept nogil:
    """The characters of all ids, each width bytes wide, by way of a block; False at what is not UTF-8."""
    cdef size_t at = 0, n_kept = 0, n, n_read, n_written
    while at < ids.n:
        n = <size_t> (_copy(slots, ids, &at, block + n_kept, block + block_bytes) - block)
        n_read = put_characters(block, n, to, width, &n_written)
        to += n_written * width
        n_kept = n - n_read  # a character that the next token ends, or what is none
        if n_kept > 3:
            return False
        memmove(block, block + n_read, n_kept)
    return n_kept == 0

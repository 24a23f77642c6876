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
from cpython.sequence cimport PySequence_Fast_GET_SIZE, PySequence_Fast_ITEMS
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from fastbpe._core.memory cimport use_huge_pages
from fastbpe._core.merge cimport Ids, ids_free, ids_reserve
from fastbpe._core.slots cimport (
    IN_SLOT, NOT_ASCII, NOT_LATIN1, NOT_UCS2, Head, LongToken, Slot, Sums, copy_tokens, decode_tokens,
    read_array, read_ints, slot_add, slot_fill, slot_token,
)
from fastbpe._core.text cimport character_starts
from fastbpe._core.vocabulary cimport Tables, Vocabulary

import operator
import sys

from fastbpe.errors import InvalidTokenError

cdef extern from *:
    str PyUnicode_New(Py_ssize_t n_characters, Py_UCS4 greatest)  # to be filled before anybody sees it

cdef enum:
    NOGIL_BYTES = 8192  # below this, handing the GIL over costs more than it gives
    BLOCK_BYTES = 16384  # of UTF-8 on its way into a str that is not ASCII


@cython.final
cdef class Decoder:
    """The bytes of each id. special_tokens: list of (id, bytes), which no ordinary token's id repeats; of these some
    may be empty.

    leading: for code points, whether every token that is nothing but a space is left out at the beginning of a text,
    and not only the first token's space; None: nothing is. whole: tokens that keep their space there. joins: bytes on
    both sides of a token that is empty may make a character together.
    """

    cdef Vocabulary _vocabulary
    cdef dict _special
    cdef uint32_t _n_ids
    cdef Slot* _slots  # made at the first use, so that loading costs nothing
    cdef LongToken* _long
    cdef size_t _longest  # token, in bytes

    cdef bint _strips
    cdef bint _strips_all
    cdef bint _joins
    cdef frozenset _whole

    def __cinit__(
        self, Vocabulary vocabulary not None, list special_tokens not None, *, leading=None,
        frozenset whole not None=frozenset(), bint joins=False,
    ):
        self._vocabulary = vocabulary
        self._strips = leading is not None
        self._strips_all = bool(leading)
        self._joins = joins
        self._whole = whole
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
            if t.token_ends[i] > start:
                slot_fill(&slots[i], t.token_bytes + start, t.token_ends[i] - start, self._long, &n_long)
        for i, token in self._special.items():
            slot_fill(&slots[i], <const uint8_t*> PyBytes_AS_STRING(token), <uint32_t> len(token), self._long, &n_long)
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
        out.n = 0
        memset(sums, 0, sizeof(Sums))
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
            read_ints(PySequence_Fast_ITEMS(items), n, self._slots, self._n_ids, out, sums)
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
            if not slot_add(self._slots, self._n_ids, <uint64_t> value, sums):
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
                bad = read_array(&view, is_signed, swapped, self._slots, self._n_ids, out, sums)
            if out.n < <size_t> view.shape[0]:
                raise self._unknown(<int64_t> bad if is_signed else bad, out.n)
        finally:
            PyBuffer_Release(&view)
        return 0

    # Making bytes and text

    cdef bytes _bytes(self, const Ids* ids, const Sums* sums, const Head* head):
        cdef bytes out = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> sums.n_bytes)
        cdef uint8_t* to = <uint8_t*> PyBytes_AS_STRING(out)
        self._copy_all(ids, to, sums.n_bytes, head)
        return out

    cdef void _copy_all(self, const Ids* ids, uint8_t* to, size_t n_bytes, const Head* head) noexcept:
        cdef size_t at = head.at
        memcpy(to, head.rest, head.n_rest)
        to += head.n_rest
        n_bytes -= head.n_rest
        if n_bytes < NOGIL_BYTES:
            copy_tokens(self._slots, ids, &at, to, to + n_bytes)
            return
        with nogil:
            use_huge_pages(to, n_bytes)
            copy_tokens(self._slots, ids, &at, to, to + n_bytes)

    cdef str _text(self, const Ids* ids, const Sums* sums, const Head* head, const char* errors):
        cdef str text
        cdef uint8_t* data
        cdef size_t width, block_bytes
        cdef bint sound
        if not sums.tags & NOT_ASCII:
            text = PyUnicode_New(<Py_ssize_t> sums.n_bytes, 0x7F)
            self._copy_all(ids, <uint8_t*> PyUnicode_DATA(text), sums.n_bytes, head)
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
        memcpy(block, head.rest, head.n_rest)
        if sums.n_bytes < NOGIL_BYTES:
            sound = decode_tokens(self._slots, ids, head, block, block_bytes, data, width)
        else:
            with nogil:
                use_huge_pages(data, sums.n_characters * width)
                sound = decode_tokens(self._slots, ids, head, block, block_bytes, data, width)
        free(block)
        if sound:
            return text
        return PyUnicode_DecodeUTF8(self._bytes(ids, sums, head), <Py_ssize_t> sums.n_bytes, errors)

    cdef str _parts(self, const Ids* ids, const Sums* sums, const Head* head, const char* errors):
        """The text, in parts where some ids make nothing: bytes on both sides of these make no character together."""
        cdef Ids part
        cdef Sums part_sums
        cdef Head part_head = head[0]
        cdef size_t start = head.at - (head.n_rest > 0), at, n
        cdef list texts = []
        if not sums.n_empty or not sums.tags & NOT_ASCII or self._joins:
            return self._text(ids, sums, head, errors)
        part_head.at = head.n_rest > 0
        while start < ids.n:
            memset(&part_sums, 0, sizeof(Sums))
            at = start
            while at < ids.n:
                slot_token(&self._slots[ids.items[at]], &n)
                if n == 0:
                    break
                slot_add(self._slots, self._n_ids, ids.items[at], &part_sums)
                at += 1
            if at > start:
                part_sums.n_bytes -= part_head.at
                part_sums.n_characters -= part_head.at
                part = Ids(ids.items + start, at - start, 0)
                texts.append(self._text(&part, &part_sums, &part_head, errors))
                memset(&part_head, 0, sizeof(Head))
                part_head.rest = b""
            start = at + 1
        return "".join(texts)

    cdef int _behead(self, const Ids* ids, Sums* sums, Head* head) except -1:
        """See which spaces at the beginning are left out, and leave them out of the sums."""
        cdef const uint8_t* data
        cdef size_t i, n
        memset(head, 0, sizeof(Head))
        head.rest = b""
        if not self._strips:
            return 0
        for i in range(ids.n):
            data = slot_token(&self._slots[ids.items[i]], &n)
            if n == 0 and (self._strips_all or ids.items[i] not in self._whole):
                continue
            if n == 0 or data[0] != 0x20 or ids.items[i] in self._whole:
                break
            head.at = i + 1
            head.n_left_out += 1
            head.rest, head.n_rest = data + 1, n - 1
            if n > 1 or not self._strips_all:
                break
        sums.n_bytes -= head.n_left_out
        sums.n_characters -= head.n_left_out
        return 0

    def decode_bytes(self, ids):
        """The bytes of all ids end to end."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef Head head
        try:
            self._read(ids, &values, &sums)
            self._behead(&values, &sums, &head)
            return self._bytes(&values, &sums, &head)
        finally:
            ids_free(&values)

    def decode(self, ids, str errors not None="replace"):
        """The text of all ids; errors= says what becomes of bytes that are not UTF-8."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef Head head
        cdef bytes handler = errors.encode()
        try:
            self._read(ids, &values, &sums)
            self._behead(&values, &sums, &head)
            return self._parts(&values, &sums, &head, handler)
        finally:
            ids_free(&values)

    def decode_batch(self, batch, str errors not None="replace"):
        """`decode` for each sequence of ids, in order."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef Head head
        cdef bytes handler = errors.encode()
        cdef list out = []
        try:
            for ids in batch:
                PyErr_CheckSignals()
                self._read(ids, &values, &sums)
                self._behead(&values, &sums, &head)
                out.append(self._parts(&values, &sums, &head, handler))
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
                token = slot_token(&self._slots[values.items[i]], &n)
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
        cdef Head head
        try:
            self._read(ids, &values, &sums)
            self._behead(&values, &sums, &head)
            data = self._bytes(&values, &sums, &head)
            text = data.decode("utf-8", errors)
            begins = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> sums.n_bytes)
            begins_here = <uint8_t*> PyBytes_AS_STRING(begins)
            character_starts(<const uint8_t*> PyBytes_AS_STRING(data), sums.n_bytes, begins_here)
            offsets = []
            for i in range(values.n):
                offsets.append(n_begun - (not begins_here[0]))
                slot_token(&self._slots[values.items[i]], &n)
                if i < head.at and n:
                    n -= 1  # its space was left out
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

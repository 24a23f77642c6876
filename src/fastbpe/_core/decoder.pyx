"""Ids back to bytes: every token of every id, special ones too, in one flat table."""

cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport PyLong_AsLongLong
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from fastbpe._core.vocabulary cimport Tables, Vocabulary

import operator

from fastbpe.errors import InvalidTokenError


@cython.final
cdef class Decoder:
    """The bytes of each id. special_tokens: list of (id, bytes), which no ordinary token's id repeats."""

    cdef uint8_t* _bytes
    cdef uint32_t* _ends
    cdef uint32_t _n_ids

    def __cinit__(self, Vocabulary vocabulary not None, list special_tokens not None):
        cdef const Tables* t = &vocabulary.tables
        cdef dict special = dict(special_tokens)
        cdef uint32_t n_ids = max(t.n_ids, max(special, default=-1) + 1)
        cdef size_t n_bytes = (t.token_ends[t.n_ids - 1] if t.n_ids else 0) + sum(map(len, special.values()))
        cdef uint32_t i, start = 0, length, end = 0
        cdef bytes token
        self._bytes = <uint8_t*> malloc(n_bytes + 1)
        self._ends = <uint32_t*> malloc((<size_t> n_ids + 1) * sizeof(uint32_t))
        if self._bytes == NULL or self._ends == NULL:
            raise MemoryError(f"no memory for the bytes of {n_ids} ids")
        self._n_ids = n_ids
        for token_id, token in sorted(special.items()) + [(n_ids, b"")]:
            while start < <uint32_t> token_id:
                i = start
                start += 1
                if i < t.n_ids:
                    length = t.token_ends[i] - (t.token_ends[i - 1] if i else 0)
                    memcpy(self._bytes + end, t.token_bytes + t.token_ends[i] - length, length)
                    end += length
                self._ends[i] = end
            if start < n_ids:
                memcpy(self._bytes + end, PyBytes_AS_STRING(token), len(token))
                end += <uint32_t> len(token)
                self._ends[start] = end
                start += 1

    def __dealloc__(self):
        free(self._bytes)
        free(self._ends)

    cdef inline uint32_t _length(self, uint32_t token_id) noexcept nogil:
        return self._ends[token_id] - (self._ends[token_id - 1] if token_id else 0)

    cdef object _unknown(self, object token_id, Py_ssize_t position):
        return InvalidTokenError(
            f"id {token_id} at position {position} is no token of this vocabulary (its ids lie in "
            f"0..{<int64_t> self._n_ids - 1})"
        )

    cdef int _read(self, object ids, Py_ssize_t* n, uint32_t** out) except -1:
        """The ids of any sequence of integers, each checked to be a token's. The caller frees out."""
        cdef Py_ssize_t i
        cdef int64_t value
        cdef object item
        cdef list items
        if isinstance(ids, (str, bytes)):
            raise TypeError(f"ids must be a sequence of integers, not {type(ids).__name__}")
        if PyObject_CheckBuffer(ids):
            ids = _from_buffer(ids)
        items = ids if type(ids) is list else list(ids)
        n[0] = len(items)
        out[0] = <uint32_t*> malloc((n[0] + 1) * sizeof(uint32_t))
        if out[0] == NULL:
            raise MemoryError(f"no memory for {n[0]} ids")
        for i in range(n[0]):
            item = items[i]
            if type(item) is not int:
                item = _as_int(item, i)
                if len(items) != n[0]:  # its __index__ may do anything
                    raise ValueError("ids changed while they were read")
            try:
                value = PyLong_AsLongLong(item)
            except OverflowError:
                value = -1
            if not 0 <= value < self._n_ids or not self._length(<uint32_t> value):
                raise self._unknown(item, i)
            out[0][i] = <uint32_t> value
        return 0

    cdef size_t _n_bytes(self, const uint32_t* ids, Py_ssize_t n) noexcept nogil:
        cdef size_t total = 0
        cdef Py_ssize_t i
        for i in range(n):
            total += self._length(ids[i])
        return total

    cdef void _write(self, const uint32_t* ids, Py_ssize_t n, uint8_t* to) noexcept nogil:
        cdef Py_ssize_t i
        cdef uint32_t length
        for i in range(n):
            length = self._length(ids[i])
            memcpy(to, self._bytes + self._ends[ids[i]] - length, length)
            to += length

    def decode_bytes(self, ids):
        """The bytes of all ids end to end."""
        cdef uint32_t* values = NULL
        cdef Py_ssize_t n = 0
        cdef bytes out
        try:
            self._read(ids, &n, &values)
            out = PyBytes_FromStringAndSize(NULL, self._n_bytes(values, n))
            self._write(values, n, <uint8_t*> PyBytes_AS_STRING(out))
            return out
        finally:
            free(values)

    def decode(self, ids, str errors not None="replace"):
        """The text of all ids; errors= says what becomes of bytes that are not UTF-8."""
        cdef uint32_t* values = NULL
        cdef uint8_t* data = NULL
        cdef Py_ssize_t n = 0
        cdef size_t n_bytes
        cdef bytes handler = errors.encode()
        try:
            self._read(ids, &n, &values)
            n_bytes = self._n_bytes(values, n)
            data = <uint8_t*> malloc(n_bytes + 1)
            if data == NULL:
                raise MemoryError(f"no memory for {n_bytes} bytes of text")
            self._write(values, n, data)
            return PyUnicode_DecodeUTF8(<const char*> data, n_bytes, handler)
        finally:
            free(values)
            free(data)

    @property
    def n_ids(self):
        """One more than the greatest id."""
        return self._n_ids


cdef object _as_int(object item, Py_ssize_t position):
    try:
        return operator.index(item)
    except TypeError:
        raise TypeError(
            f"ids must be integers: {item!r} at position {position} is {type(item).__name__}"
        ) from None


cdef list _from_buffer(object ids):
    """The items of an array of integers (numpy's, array.array's, …) of one dimension."""
    view = memoryview(ids)
    if view.ndim != 1 or view.format.lstrip("@=<>!") not in set("bBhHiIlLqQnN"):
        raise TypeError(
            f"ids must be integers in one dimension: got format {view.format!r} with {view.ndim} dimensions"
        )
    return view.tolist() if view.format[0] not in "<>!=" else list(ids.tolist())

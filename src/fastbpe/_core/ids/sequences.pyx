"""Sequences of integers, read from lists, arrays and other objects, and kept end to end.

Each integer is checked when it is copied, so later passes can trust it and other threads may change the source.
"""

cimport cython
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from fastbpe._core.common.gil_yield cimport yield_gil_at
from fastbpe._core.common.id_buffer cimport ids_expect, ids_free, ids_reserve
from fastbpe._core.common.python cimport (
    PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyErr_CheckSignals, PyLong_AsLongAndOverflow,
    PyObject_CheckBuffer, PyObject_GetBuffer
)

import operator
import sys
from collections.abc import Mapping, Sized

from fastbpe._utils.short_reprs import short_repr
from fastbpe.errors import InvalidTokenError

ctypedef fused Item:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef enum:
    SIGNALS_EVERY = 1 << 20  # items of a list between two checks for signals
    NOGIL_ITEMS = 1 << 16  # size of an array from which releasing the GIL pays

cdef object INTEGERS = frozenset(bytes([code]) for code in b"bBhHiIlLqQnN")  # formats; lower case: signed
cdef object SWAPPED = frozenset({b">", b"!"} if sys.byteorder == "little" else {b"<"})  # FOREIGN_ORDER
cdef str FOREIGN_ORDER = "big" if sys.byteorder == "little" else "little"


@cython.final
cdef class Sequences:
    """Sequences of integers from 0 to limit - 1.

    limit: one more than the greatest integer.
    of_ids: the integers are ids, and one outside the limits raises InvalidTokenError; False: they are symbols, and
        it raises ValueError.
    is_one: only one sequence will be added, so errors contain no index.
    first: index of the first sequence, for errors.
    """

    def __cinit__(self, uint32_t limit, *, bint of_ids=False, bint is_one=False, size_t first=0):
        self._limit, self._of_ids, self._is_one, self._first = limit, of_ids, is_one, first

    def __dealloc__(self):
        self.clear()

    def __len__(self):
        return self.n

    @property
    def n_items(self):
        """Number of integers of all sequences."""
        return self.items.n

    def clear(self):
        """Drop all sequences and free their memory."""
        ids_free(&self.items)
        free(self.ends)
        free(self.counts)
        self.ends = NULL
        self.counts = NULL
        self.n = self._capacity = 0

    def add(self, sequence, int64_t count=1):
        """Append a sequence: a list, tuple, range, or any one-dimensional array of integers.

        count: number of times that the sequence counts.

        Raises ValueError (InvalidTokenError for ids) or TypeError, with the position, and then adds nothing.
        """
        cdef size_t before = self.items.n
        self._reserve()
        try:
            self._read(sequence)
        except BaseException:
            self.items.n = before
            raise
        self.ends[self.n] = self.items.n
        self.counts[self.n] = count
        self.n += 1

    cdef int add_ids(self, const uint32_t* ids, size_t n, int64_t count) except -1:
        """Append a sequence of integers that are below the limit. This is not checked."""
        self._reserve()
        ids_reserve(&self.items, n)
        memcpy(self.items.items + self.items.n, ids, n * sizeof(uint32_t))
        self.items.n += n
        self.ends[self.n] = self.items.n
        self.counts[self.n] = count
        self.n += 1
        return 0

    def lengths(self):
        """List the lengths of the sequences."""
        return [self.ends[i] - sequence_start(self, i) for i in range(self.n)]

    cdef int _reserve(self) except -1:
        """Make space for one more sequence."""
        cdef size_t capacity = max(2 * self._capacity, <size_t> 4)
        cdef void* grown
        if self.n < self._capacity:
            return 0
        grown = realloc(self.ends, capacity * sizeof(size_t))
        if grown != NULL:
            self.ends = <size_t*> grown
            grown = realloc(self.counts, capacity * sizeof(int64_t))
        if grown == NULL:
            raise MemoryError(f"no memory for {capacity} sequences")
        self.counts = <int64_t*> grown
        self._capacity = capacity
        return 0

    # Errors

    cdef str _place(self, size_t position):
        """Describe the position of an integer in the sequence that is being read."""
        return f"position {position}" if self._is_one else f"position {position} of sequence {self._first + self.n}"

    cdef object _bad(self, object item, size_t position):
        """Create the error for an integer outside the limits."""
        where, shown = self._place(position), short_repr(operator.index(item))
        if self._of_ids:
            return InvalidTokenError(
                f"id {shown} at {where} is not a token of this vocabulary (its ordinary tokens have the ids 0 to "
                f"{self._limit - 1})"
            )
        return ValueError(
            f"{shown} at {where} is not a symbol: a base size of {self._limit} allows 0 to {self._limit - 1}"
        )

    # Reading

    cdef int _read(self, object sequence) except -1:
        if type(sequence) is list or type(sequence) is tuple:
            return self._read_items(sequence)
        if not PyObject_CheckBuffer(sequence) and hasattr(sequence, "__array__"):
            sequence = sequence.__array__()  # a tensor, or a column of a data frame
        if PyObject_CheckBuffer(sequence):
            return self._read_buffer(sequence)
        if (
            isinstance(sequence, (str, Mapping)) or not isinstance(sequence, Sized)
            or not hasattr(sequence, "__getitem__")
        ):
            where = "" if self._is_one else f"sequence {self._first + self.n}: "
            hint = ""
            if not self._is_one and hasattr(sequence, "__index__"):
                hint = "; to pass one sequence, pass [sequence]"
            raise TypeError(
                f"{where}a sequence of integers must be a list, tuple, range or array, not "
                f"{type(sequence).__name__}{hint}"
            )
        return self._read_items(sequence)

    cdef int _read_items(self, object items) except -1:
        """Read a list, a tuple, or any iterable. Other threads run in between and may change a list."""
        cdef size_t position = 0
        cdef int64_t value = 0
        cdef int overflow
        ids_reserve(&self.items, <size_t> len(items))
        for item in items:
            overflow = 1
            if type(item) is int:
                value = PyLong_AsLongAndOverflow(item, &overflow)
            if overflow or <uint64_t> value >= self._limit:
                value = self._value(item, position)
            if self.items.n == self.items.capacity:  # an __index__ or another thread has made the list longer
                ids_reserve(&self.items, 1)
            self.items.items[self.items.n] = <uint32_t> value
            self.items.n += 1
            yield_gil_at(position)
            position += 1
            if position % SIGNALS_EVERY == 0:
                PyErr_CheckSignals()
        return 0

    cdef int64_t _value(self, object item, size_t position) except -1:
        """Convert an item that is not an int within the limits to one, or raise its error."""
        kind = type(item).__name__
        try:
            if kind in ("bool", "bool_"):  # including numpy's
                raise TypeError
            number = operator.index(item)
        except TypeError:
            raise TypeError(
                f"{'ids' if self._of_ids else 'symbols'} must be integers: {item!r:.80} at "
                f"{self._place(position)} is {kind}"
            ) from None
        if not 0 <= number < self._limit:
            raise self._bad(number, position)
        return number

    cdef int _read_buffer(self, object sequence) except -1:
        """Read an array of integers (numpy, array.array, …) through the buffer protocol."""
        cdef Py_buffer view
        cdef bytes code
        cdef size_t n, good
        cdef bint is_signed
        where = "" if self._is_one else f"sequence {self._first + self.n}: "
        try:
            PyObject_GetBuffer(sequence, &view, PyBUF_STRIDES | PyBUF_FORMAT)
        except ValueError as error:  # an array of dates, for example
            raise TypeError(f"{where}a sequence must contain integers: {error}") from None
        try:
            code = view.format if view.format != NULL else b"B"
            if view.ndim != 1:
                raise ValueError(
                    f"{where}a sequence must have one dimension, not {view.ndim}"
                    + (": methods such as encode_batch take each row as a sequence" if view.ndim == 2 else "")
                )
            if not view.shape[0]:  # numpy.array([]) has floats
                return 0
            if code == b"O":
                return self._read_items(list(sequence))
            if code.lstrip(b"@=<>!") not in INTEGERS:
                raise TypeError(
                    f"{where}a sequence must contain integers, not items of buffer format {code.decode()!r} (a type "
                    "code of the module struct)"
                )
            n, is_signed = <size_t> view.shape[0], code.islower()
            if code[:1] in SWAPPED:
                return self._read_items([_item(&view, i, is_signed, FOREIGN_ORDER) for i in range(n)])
            if not self.items.n:  # a single long array goes on huge pages
                ids_expect(&self.items, n)
            ids_reserve(&self.items, n)
            if n < NOGIL_ITEMS:
                good = _copy_any(&view, n, is_signed, self._limit, self.items.items + self.items.n)
            else:
                with nogil:
                    good = _copy_any(&view, n, is_signed, self._limit, self.items.items + self.items.n)
            if good < n:
                raise self._bad(_item(&view, good, is_signed, sys.byteorder), good)
            self.items.n += n
        finally:
            PyBuffer_Release(&view)
        return 0


cdef size_t _copy_any(
    const Py_buffer* view, size_t n, bint is_signed, uint32_t limit, uint32_t* out
) noexcept nogil:
    """Copy an array of integers; return n, or the position of the first one that is not below the limit."""
    if view.itemsize == 1:
        return _copy[int8_t](view, n, limit, out, 0) if is_signed else _copy[uint8_t](view, n, limit, out, 0)
    if view.itemsize == 2:
        return _copy[int16_t](view, n, limit, out, 0) if is_signed else _copy[uint16_t](view, n, limit, out, 0)
    if view.itemsize == 4:
        return _copy[int32_t](view, n, limit, out, 0) if is_signed else _copy[uint32_t](view, n, limit, out, 0)
    return _copy[int64_t](view, n, limit, out, 0) if is_signed else _copy[uint64_t](view, n, limit, out, 0)


cdef size_t _copy(const Py_buffer* view, size_t n, uint32_t limit, uint32_t* out, Item kind) noexcept nogil:
    """Copy integers of the type of `kind`, whose value is not used; see _copy_any()."""
    cdef const char* p = <const char*> view.buf
    cdef Py_ssize_t stride = _stride(view)
    cdef size_t i
    cdef Item item
    for i in range(n):
        memcpy(&item, p, sizeof(Item))  # arrays need not be aligned
        if <uint64_t> item >= limit:  # a negative one becomes a large number
            return i
        out[i] = <uint32_t> item
        p += stride
    return n


cdef object _item(const Py_buffer* view, size_t i, bint is_signed, str order):
    """Return the integer at a position of an array. order: byte order, "little" or "big"."""
    cdef const char* p = <const char*> view.buf + <Py_ssize_t> i * _stride(view)
    return int.from_bytes(p[:view.itemsize], order, signed=is_signed)


cdef inline Py_ssize_t _stride(const Py_buffer* view) noexcept nogil:
    """Return the bytes from one item of an array to the next."""
    return view.itemsize if view.strides == NULL else view.strides[0]  # ctypes provides no strides

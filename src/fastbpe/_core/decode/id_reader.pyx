"""Read ids from any sequence: copy each once, check that it is a token, and add its length to the text's sums.

Later passes use the copy, so other threads may change the list or array during the call.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from fastbpe._core.common.atomics cimport is_set, set_flag
from fastbpe._core.common.free_threading cimport lock, unlock
from fastbpe._core.common.gil_yield cimport YIELD_ITEMS, yield_gil_if_due
from fastbpe._core.common.id_buffer cimport Ids, ids_reserve
from fastbpe._core.common.python cimport (
    PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyBytes_AS_STRING, PyLong_AsLongLong, PyObject_CheckBuffer,
    PyObject_GetBuffer, PySequence_Check, PySequence_Fast_GET_SIZE, PySequence_Fast_ITEMS
)
from fastbpe._core.decode.token_slots cimport (
    MAX_SLOT_BYTES, LongToken, Sums, TokenSlot, read_array, read_ints, slot_add, slot_fill,
)
from fastbpe._core.merge.vocabulary cimport Tables, token_length, token_start

import operator
import sys

cdef str _RAISE = sys.intern("raise")
cdef const uint8_t* REPLACEMENT = b"\xef\xbf\xbd"

from fastbpe._utils.short_reprs import short_repr
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.errors import InvalidTokenError


cdef class IdReader:
    """Base class of Decoder: has the table of all tokens, and reads ids. Only Decoder is instantiated."""

    def __dealloc__(self):
        free(self._slots)
        free(self._long)

    cdef int _make_slots(self) except -1:
        """Make the table of all tokens. Requires: the GIL."""
        cdef const Tables* t = &self._vocabulary.tables
        cdef uint32_t i, n_long = 0
        cdef TokenSlot* slots
        cdef LongToken* long_tokens
        cdef bytes token
        cdef size_t longest = max(t.max_token_bytes, max(map(len, self._special.values()), default=0))
        for i in range(t.n_ids):
            n_long += token_length(t, i) > MAX_SLOT_BYTES
        slots = <TokenSlot*> calloc(<size_t> self._n_ids + 1, sizeof(TokenSlot))
        long_tokens = <LongToken*> malloc((<size_t> n_long + len(self._special) + 1) * sizeof(LongToken))
        if slots == NULL or long_tokens == NULL:
            free(slots)
            free(long_tokens)
            raise MemoryError(f"no memory for the bytes of {self._n_ids} ids")
        n_long = 0
        for i in range(t.n_ids):
            if token_length(t, i):
                slot_fill(&slots[i], t.token_bytes + token_start(t, i), token_length(t, i), long_tokens, &n_long)
        for i, token in self._special.items():
            slot_fill(
                &slots[i], <const uint8_t*> PyBytes_AS_STRING(token), <uint32_t> len(token), long_tokens, &n_long
            )
        slot_fill(&slots[self._n_ids], REPLACEMENT, 3, long_tokens, &n_long)
        lock(&self._lock)
        if not is_set(&self._has_slots):
            self._slots, self._long, slots, long_tokens = slots, long_tokens, NULL, NULL
            self._longest = longest
            set_flag(&self._has_slots)
        unlock(&self._lock)
        free(slots)  # if another thread was faster
        free(long_tokens)
        return 0

    cdef object _unknown(self, object token_id, Py_ssize_t position):
        """Make the error for an id that is not a token. position: its index in a sequence; -1: it is alone."""
        cdef str place = f" at position {position}" if position >= 0 else ""
        cdef str gaps = ", with gaps" if 0 <= token_id < self._n_ids else ""  # this id is in a gap
        return InvalidTokenError(
            f"id {short_repr(token_id)}{place} is not a token of this vocabulary (its ids are between "
            f"0 and {<int64_t> self._n_ids - 1}{gaps})"
        )

    cdef int _read(self, object ids, Ids* out, Sums* sums, int unknown) except -1:
        """Read the ids of any sequence of integers, check that each is a token, and sum up their tokens.

        unknown: RAISE, SKIP or REPLACE. REPLACE stores _n_ids, the slot of U+FFFD, for ids that are not a token.
        out: receives the ids; its former content is dropped.
        sums: receives the sums over their tokens.
        """
        if not is_set(&self._has_slots):
            self._make_slots()
        out.n = 0
        memset(sums, 0, sizeof(Sums))
        if type(ids) is list or type(ids) is tuple:
            with cython.critical_section(ids):
                return self._read_items(ids, out, sums, unknown)
        # A ctypes.c_int has a buffer, too, but is no sequence.
        if PyObject_CheckBuffer(ids) and PySequence_Check(ids) and not isinstance(ids, bytes):
            return self._read_buffer(ids, out, sums, unknown)
        try:
            items = None if isinstance(ids, (str, bytes)) else iter(ids)  # a mapping gives its keys, as to tiktoken
        except TypeError:  # also of a numpy.int64, although it has __getitem__
            items = None
        if items is None:
            raise TypeError(f"ids must be a sequence of integers, not {type(ids).__name__}")
        return self._read_items(list(items), out, sums, unknown)

    cdef int _read_items(self, object items, Ids* out, Sums* sums, int unknown) except -1:
        """Read a list or tuple, whose items may change during the call. See _read().

        Raises ValueError if its length changes.

        Requires: the GIL or a critical section, so that no other thread changes it between calls of Python code.
        """
        cdef size_t n = <size_t> PySequence_Fast_GET_SIZE(items), n_skipped = 0, n_others = 0, at
        cdef int64_t value
        cdef object item
        ids_reserve(out, n)
        while True:
            _check_size(items, n)  # __index__ may have run any code
            read_ints(
                PySequence_Fast_ITEMS(items) + n_skipped, n - n_skipped, self._slots, self._n_ids, out, sums
            )
            at = n_skipped + out.n
            if at == n:
                return 0
            # The item is not an exact int of one digit, or not a token: it takes the general path.
            n_others += 1
            if n_others % YIELD_ITEMS == 0:
                items = tuple(items)  # the first time, copy it: other threads may change a list
                _check_size(items, n)
                yield_gil_if_due()
            item = <object> PySequence_Fast_ITEMS(items)[at]
            if type(item) is not int:
                item = as_int(item, at, self._takes_bools)
            try:
                value = PyLong_AsLongLong(item)
            except OverflowError:
                value = -1
            if not slot_add(self._slots, self._n_ids, <uint64_t> value, sums):
                if unknown == RAISE:
                    raise self._unknown(item, at)
                if unknown == SKIP:
                    n_skipped += 1
                else:
                    self._add_replacement(out, sums)
                continue
            out.items[out.n] = <uint32_t> value
            out.n += 1

    cdef int _read_buffer(self, object ids, Ids* out, Sums* sums, int unknown) except -1:
        """Read a one-dimensional array of integers (numpy, array.array, …) through the buffer protocol.

        See _read().
        """
        cdef Py_buffer view
        cdef bytes code
        cdef bint is_signed, swapped
        cdef uint64_t bad
        cdef size_t at = 0, n
        try:
            PyObject_GetBuffer(ids, &view, PyBUF_STRIDES | PyBUF_FORMAT)
        except ValueError as error:  # for example an array of dates
            raise TypeError(f"ids must be integers in one dimension: {error}") from None
        try:
            code = view.format if view.format != NULL else b"B"
            if view.ndim == 1 and not view.shape[0]:  # numpy.array([]) contains floats
                return 0
            if view.ndim == 1 and code == b"O":
                return self._read_items(list(ids), out, sums, unknown)
            if view.ndim != 1 or code.lstrip(b"@=<>!") not in _INTEGERS:
                raise TypeError(
                    f"ids must be integers in one dimension: got an array with ndim={view.ndim} and buffer format "
                    f"{code.decode()!r:.60} (a type code of the module struct)"
                )
            is_signed, swapped = code.islower(), code[:1] in _SWAPPED
            n = <size_t> view.shape[0]
            ids_reserve(out, n)
            with nogil:
                bad = read_array(&view, is_signed, swapped, self._slots, self._n_ids, &at, out, sums)
                while at < n and unknown != RAISE:
                    at += 1
                    if unknown == REPLACE:
                        self._add_replacement(out, sums)
                    read_array(&view, is_signed, swapped, self._slots, self._n_ids, &at, out, sums)
            if at < n:
                raise self._unknown(<int64_t> bad if is_signed else bad, at)
            return 0
        finally:
            PyBuffer_Release(&view)

    cdef void _add_replacement(self, Ids* out, Sums* sums) noexcept nogil:
        """Append the id of U+FFFD. Requires: space for it."""
        slot_add(self._slots, <uint64_t> self._n_ids + 1, self._n_ids, sums)
        out.items[out.n] = self._n_ids
        out.n += 1


_INTEGERS = frozenset(bytes([code]) for code in b"bBhHiIlLqQnN")  # lower case: signed
_SWAPPED = frozenset({b">", b"!"} if sys.byteorder == "little" else {b"<"})


cdef inline int _check_size(object items, size_t n) except -1:
    """Raise ValueError if a list or tuple no longer has n items."""
    if <size_t> PySequence_Fast_GET_SIZE(items) != n:
        raise ValueError("ids changed while they were read; pass a copy that no other thread changes")
    return 0


cdef int unknown_rule(object unknown_ids) except -1:
    """Convert the argument unknown_ids= to RAISE, SKIP or REPLACE. Raises ValueError."""
    if unknown_ids is _RAISE or unknown_ids == "raise":
        return RAISE
    if unknown_ids == "skip":
        return SKIP
    if unknown_ids == "replace":
        return REPLACE
    raise ValueError(choose_one_of("unknown_ids", unknown_ids, ("raise", "skip", "replace")))


cdef object as_int(object item, Py_ssize_t position, bint takes_bools):
    """Convert an id of any integer type to an int, or raise TypeError. position: as for IdReader._unknown()."""
    cdef str place
    try:
        if type(item) is bool and not takes_bools:
            raise TypeError
        return operator.index(item)
    except TypeError:
        place = f" at position {position}" if position >= 0 else ""
        raise TypeError(f"ids must be integers: {short_repr(item)}{place} is {type(item).__name__}") from None

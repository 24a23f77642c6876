"""The life of one encode(): text → UTF-8 → special tokens → pieces → ids → list, buffer or count."""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, realloc

from fastbpe._core.merge cimport Ids, encode_piece, ids_free, ids_reserve
from fastbpe._core.special cimport Match, SpecialMatcher
from fastbpe._core.splitter cimport GAP, Ends, Splitter, ends_free
from fastbpe._core.text cimport Utf8, utf8_of, utf8_release
from fastbpe._core.vocabulary cimport Vocabulary

from fastbpe.errors import SpecialTokenError

cdef enum:
    NOGIL_BYTES = 8192  # below this, handing the GIL over costs more than it gives
    SPARE_IDS = 1 << 20  # a scratch that grew beyond this many ids is not kept between calls
    KEPT_INTS = 1 << 20  # ids above, which few vocabularies have, are made anew each time


@cython.final
cdef class IdBuffer:
    """Token ids in memory of their own, exported by the buffer protocol as uint32: numpy wraps it in place."""

    def __dealloc__(self):
        free(self._items)

    def __len__(self):
        return self._n

    def __getbuffer__(self, Py_buffer* view, int flags):
        self._shape[0] = self._n
        self._strides[0] = sizeof(uint32_t)
        view.buf = self._items
        view.obj = self
        view.len = self._n * <Py_ssize_t> sizeof(uint32_t)
        view.itemsize = sizeof(uint32_t)
        view.readonly = 0
        view.ndim = 1
        view.format = b"I"
        view.shape = self._shape
        view.strides = self._strides
        view.suboffsets = NULL
        view.internal = NULL


@cython.final
cdef class Encoder:
    """Encodes text with one vocabulary and one splitter. Any thread may call any method."""

    def __cinit__(self, Vocabulary vocabulary not None, Splitter splitter not None, uint32_t n_ids):
        self.vocabulary = vocabulary
        self.splitter = splitter
        self._kept_ints = [None] * min(n_ids, <uint32_t> KEPT_INTS)

    def __dealloc__(self):
        if self._spare != NULL:
            ids_free(&self._spare.ids)
            ends_free(&self._spare.ends)
            free(self._spare)

    cdef Scratch* _take(self) except NULL:
        # Under the GIL: whoever finds the spare scratch gone makes another.
        cdef Scratch* scratch = self._spare
        self._spare = NULL
        if scratch == NULL:
            scratch = <Scratch*> calloc(1, sizeof(Scratch))
            if scratch == NULL:
                raise MemoryError("no memory for an encoder's scratch space")
        scratch.ids.n = scratch.ends.n = 0
        return scratch

    cdef void _give(self, Scratch* scratch) noexcept:
        if self._spare == NULL and scratch.ids.capacity <= SPARE_IDS and scratch.ends.capacity <= SPARE_IDS:
            self._spare = scratch
            return
        ids_free(&scratch.ids)
        ends_free(&scratch.ends)
        free(scratch)

    cdef int _append(
        self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, Scratch* scratch
    ) except -1:
        """Append the ids of a text to the scratch."""
        cdef Utf8 view
        cdef Match match
        utf8_of(text, &view)
        try:
            if disallowed is not None and disallowed.find(view.data, view.n, 0, &match):
                raise SpecialTokenError.disallowed(disallowed.tokens[match.index].decode())
            if view.n < NOGIL_BYTES:
                self._with_special(view.data, view.n, allowed, scratch)
            else:
                with nogil:
                    self._with_special(view.data, view.n, allowed, scratch)
        finally:
            utf8_release(&view)
        return 0

    cdef int _with_special(
        self, const uint8_t* data, size_t n, SpecialMatcher allowed, Scratch* scratch
    ) except -1 nogil:
        cdef Match match
        cdef size_t at = 0
        if allowed is not None:
            while allowed.find(data, n, at, &match):
                self._ordinary(data + at, match.start - at, scratch)
                ids_reserve(&scratch.ids, 1)
                scratch.ids.items[scratch.ids.n] = match.id
                scratch.ids.n += 1
                at = match.end
        return self._ordinary(data + at, n - at, scratch)

    cdef int _ordinary(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        cdef size_t i, start = 0, end, at = 0
        while at < n:
            scratch.ends.n = 0
            at = self.splitter.split(data, n, at, &scratch.ends)
            for i in range(scratch.ends.n):
                end = scratch.ends.items[i] & ~GAP
                if end == scratch.ends.items[i]:
                    encode_piece(&self.vocabulary.tables, data + start, end - start, &scratch.ids)
                start = end
        return 0

    cdef list _to_list(self, const uint32_t* ids, size_t n):
        """Every id is one Python int, made at its first use and kept: a list is then look up and store."""
        cdef list out = PyList_New(n)
        cdef PyObject* kept
        cdef size_t i, n_kept = PyList_GET_SIZE(self._kept_ints)
        cdef object value
        for i in range(n):
            if ids[i] < n_kept:
                kept = PyList_GET_ITEM(self._kept_ints, ids[i])
                if kept == <PyObject*> None:
                    self._kept_ints[ids[i]] = value = ids[i]
                else:
                    value = <object> kept
            else:
                value = ids[i]
            Py_INCREF(value)
            PyList_SET_ITEM(out, i, value)
        return out

    def encode(self, text, SpecialMatcher allowed=None, SpecialMatcher disallowed=None):
        """The ids of a text as a list."""
        cdef Scratch* scratch = self._take()
        try:
            self._append(text, allowed, disallowed, scratch)
            return self._to_list(scratch.ids.items, scratch.ids.n)
        finally:
            self._give(scratch)

    def encode_parts(self, parts, SpecialMatcher trusted=None):
        """The ids of (text, trusted) parts, each encoded by itself; special tokens only in trusted ones."""
        if parts is None:
            raise TypeError("parts must be a list of (text, trusted), not None")
        cdef Scratch* scratch = self._take()
        try:
            for part in parts:
                if not isinstance(part, (tuple, list)) or len(part) != 2:
                    raise TypeError(f"each of parts must be (text, trusted), not {part!r:.80}")
                self._append(part[0], trusted if part[1] else None, None, scratch)
            return self._to_list(scratch.ids.items, scratch.ids.n)
        finally:
            self._give(scratch)

    def encode_batch(self, texts, SpecialMatcher allowed=None, SpecialMatcher disallowed=None):
        """A list of ids for each text."""
        cdef Scratch* scratch = self._take()
        cdef list out = []
        try:
            for text in texts:
                PyErr_CheckSignals()
                scratch.ids.n = 0
                self._append(text, allowed, disallowed, scratch)
                out.append(self._to_list(scratch.ids.items, scratch.ids.n))
            return out
        finally:
            self._give(scratch)

    def encode_to_buffer(self, texts, SpecialMatcher allowed=None, SpecialMatcher disallowed=None):
        """(IdBuffer of the ids of all texts end to end, list of where each text's ids begin and the end)."""
        cdef IdBuffer buffer = IdBuffer.__new__(IdBuffer)
        cdef Scratch* scratch = self._take()
        cdef list offsets = [0]
        cdef uint32_t* items
        try:
            for text in texts:
                PyErr_CheckSignals()
                self._append(text, allowed, disallowed, scratch)
                offsets.append(scratch.ids.n)
            buffer._items, buffer._n = scratch.ids.items, scratch.ids.n
            scratch.ids.items = NULL
            scratch.ids.n = scratch.ids.capacity = 0
        finally:
            self._give(scratch)
        items = <uint32_t*> realloc(buffer._items, max(buffer._n, 1) * sizeof(uint32_t))
        if items != NULL:  # shrinking in vain is no error
            buffer._items = items
        return buffer, offsets

    def count(self, text):
        """How many ids a text has, special tokens being text."""
        cdef Scratch* scratch = self._take()
        try:
            self._append(text, None, None, scratch)
            return scratch.ids.n
        finally:
            self._give(scratch)

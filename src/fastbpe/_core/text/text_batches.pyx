"""Batches of texts from an iterable, with bounded memory; and texts as rows of one UTF-8 buffer, as in Arrow.

An iterable may be endless: each batch is encoded before the next is read.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from fastbpe._core.text.utf8_text cimport Text, first_invalid, not_utf8

from fastbpe._utils.batches import OneText, items_in

cdef enum:
    MAX_BATCH_UNITS = 1 << 24  # code points, or bytes of UTF-8; the text that reaches this limit ends the batch
    MAX_BATCH_TEXTS = 1 << 16


@cython.final
cdef class TextBatches:
    """Reader of an iterable of texts, one batch at a time.

    texts: an iterable of str, or of bytes-like objects with UTF-8. If it is a OneText, errors have no index.
    """

    def __cinit__(self, object texts):
        if isinstance(texts, (str, bytes)):
            raise TypeError("texts must be a list of texts, not one text: pass [text]")
        self._iterator = iter(items_in(texts))
        self.is_one = type(texts) is OneText

    cdef list next(self):
        """Return the next batch; None at the end.

        An item that is not a text ends its batch; the following call raises its TypeError, so that errors of
        earlier texts come first. If the batch is empty then, this call raises it. The last batch may be empty.
        """
        cdef list out
        if self.texts is not None:
            self.first += len(self.texts)
        if self._error is not None:
            raise self._error
        if self._is_over:
            return None
        self.texts = out = []
        self.n_units = 0
        for text in self._iterator:
            if type(text) is str:
                self.n_units += <size_t> len(<str> text)
            elif isinstance(text, (str, bytes, bytearray, memoryview)):
                self.n_units += text.nbytes if isinstance(text, memoryview) else len(text)
            else:
                place = "" if self.is_one else f"texts[{self.first + len(out)}]: "
                self._error = TypeError(f"{place}text must be str, or bytes of UTF-8, not {type(text).__name__}")
                if not out:
                    raise self._error
                return out
            out.append(text)
            if self.n_units >= MAX_BATCH_UNITS or len(out) >= MAX_BATCH_TEXTS:
                return out
        self._is_over = True
        return out


@cython.final
cdef class TextRows:
    """Texts in one UTF-8 buffer, read without creating an object for each.

    data: bytes of all texts.
    offsets: integers in the machine's byte order: row i has the bytes offsets[i] to offsets[i + 1].
    validity: bit i, counted from the lowest bit of each byte, is 0 if row i is null; None: no row is null. A null
        row is read as an empty text.
    first: index of the first row in `offsets` and `validity`.
    n: number of rows.
    wide: offsets are 64-bit, not 32-bit.
    """

    def __cinit__(self, data, offsets, validity, size_t first, size_t n, *, bint wide):
        self._data = memoryview(b"" if data is None else data).cast("B")
        self._offsets = memoryview(b"" if offsets is None else offsets).cast("B")
        self._has_nulls = validity is not None
        self._validity = memoryview(b"" if validity is None else validity).cast("B")
        self._first, self._n, self._wide = first, n, wide
        # Arrow may leave out the offsets of no rows.
        if n and <size_t> len(self._offsets) < (first + n + 1) * (8 if wide else 4):
            raise ValueError(f"{len(self._offsets)} bytes of offsets are too few for {n} rows from row {first} on")
        if self._has_nulls and <size_t> len(self._validity) * 8 < first + n:
            raise ValueError(
                f"{len(self._validity)} bytes of validity are too few for {n} rows from row {first} on"
            )

    def __len__(self):
        return self._n

    cdef int view(self, size_t row, Text* out) except -1:
        """Fill a view of a row. Raises ValueError if the row is not UTF-8, or is outside the buffer.

        Requires: row is below len(self). The view is valid as long as this object exists.
        """
        cdef size_t at = self._first + row, bad
        cdef int64_t[2] wide
        cdef int32_t[2] narrow
        out[0] = Text(b"", 0, 1, True, NULL)
        if self._has_nulls and not self._validity[at >> 3] >> (at & 7) & 1:
            return 0
        if self._wide:
            memcpy(wide, &self._offsets[8 * at], sizeof(wide))
        else:
            memcpy(narrow, &self._offsets[4 * at], sizeof(narrow))
            wide[0], wide[1] = narrow[0], narrow[1]
        if not 0 <= wide[0] <= wide[1] <= len(self._data):
            raise ValueError(f"row {row}: its bytes {wide[0]} to {wide[1]} are not within {len(self._data)} bytes")
        out.data, out.n = &self._data[wide[0]], <size_t> (wide[1] - wide[0])
        bad = first_invalid(<const uint8_t*> out.data, out.n)
        if bad < out.n:
            raise not_utf8(f"row {row} is", (<const uint8_t*> out.data)[bad], bad)
        return 0

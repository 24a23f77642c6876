"""Batches of texts, so that memory stays bounded.

An iterable may give texts without end. Each batch is encoded before the next is read.
"""

cimport cython

from fastbpe._utils.batches import items_in

cdef enum:
    MAX_BATCH_UNITS = 1 << 24  # code points, or bytes of UTF-8; the text that reaches it is the last
    MAX_BATCH_TEXTS = 1 << 16


@cython.final
cdef class TextBatches:
    """Reader of an iterable of texts, one batch at a time.

    texts: an iterable of str, or of bytes-like objects with UTF-8.
    """

    def __cinit__(self, object texts):
        if isinstance(texts, (str, bytes)):
            raise TypeError("texts must be a list of texts, not one text: pass [text]")
        self._iterator = iter(items_in(texts))

    cdef list next(self):
        """Return the next batch; None at the end.

        An item that is not a text ends its batch, and raises TypeError only at the following call. So the error of an
        earlier text comes first.
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
                self._error = TypeError(
                    f"texts[{self.first + len(out)}]: "
                    f"text must be str, or bytes of UTF-8, not {type(text).__name__}"
                )
                if not out:
                    raise self._error
                return out
            out.append(text)
            if self.n_units >= MAX_BATCH_UNITS or len(out) >= MAX_BATCH_TEXTS:
                return out
        self._is_over = True
        return out

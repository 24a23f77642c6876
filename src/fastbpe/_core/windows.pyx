"""A batch of texts in windows, whatever gives them: what is encoded before more are asked for bounds the memory."""

cimport cython

cdef enum:
    WINDOW_UNITS = 1 << 24
    WINDOW_TEXTS = 1 << 16


@cython.final
cdef class Windows:
    """Texts, as many at a time as are encoded before more are asked for."""

    def __cinit__(self, object texts):
        if isinstance(texts, (str, bytes)):
            raise TypeError("texts must be a list of texts, not one text; use encode for one")
        self._iterator = iter(texts)
        self.texts = []

    cdef list next(self):
        """The next texts; none at the end. What is no text is an error once those before it are done."""
        cdef list out = []
        self.first += len(self.texts)
        self.texts = out
        self.n_units = 0
        if self._error is not None:
            raise self._error
        for text in self._iterator:
            if not isinstance(text, (str, bytes, bytearray, memoryview)):
                self._error = TypeError(
                    f"texts[{self.first + len(out)}]: text must be str, or bytes of UTF-8, not {type(text).__name__}"
                )
                if not out:
                    raise self._error
                break
            out.append(text)
            self.n_units += text.nbytes if isinstance(text, memoryview) else len(text)
            if self.n_units >= WINDOW_UNITS or len(out) >= WINDOW_TEXTS:
                break
        return out

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
            raise TypeError("texts must be a list of texts, not one text: give [text]")
        self._iterator = iter(texts)

    cdef list next(self):
        """The next texts; None at the end. What is no text is an error once those before it are done."""
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
                    f"texts[{self.first + len(out)}]: text must be str, or bytes of UTF-8, not {type(text).__name__}"
                )
                if not out:
                    raise self._error
                return out
            out.append(text)
            if self.n_units >= WINDOW_UNITS or len(out) >= WINDOW_TEXTS:
                return out
        self._is_over = True
        return out

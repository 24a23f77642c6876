"""Methods of minbpe's tokenizers that are called often, close to the core."""

# Tried and dropped: these methods in Python using an Encoder: slower for short strings.

cimport cython

from fastbpe._core.encode.encoder cimport Encoder

from fastbpe.errors import CheckError, InvalidTokenError, SpecialTokenError


class InvalidIdError(InvalidTokenError, ValueError):
    """Error for an id that is not a token.

    It is a ValueError, as minbpe's RegexTokenizer raises, and a KeyError, as minbpe's BasicTokenizer raises.
    """


cdef class Methods:
    """Encoder and decoder made by `_make`, kept until `_forget` is called."""

    # The result of _make(), and a list of the matchers of allowed_special="all", empty until they are needed;
    # None: nothing has been made. Another thread may train or load at any time.
    cdef tuple _made
    cdef size_t _n_forgotten  # number of calls of _forget

    def _make(self):
        """Make the parts of the tokenizer.

        Returns:
            (Vocabulary, Encoder, Decoder, special tokens that "all" allows, function from a set of allowed special
            tokens to the ones among them that are found in text).
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement _make()")

    @cython.critical_section
    def _forget(self):
        """Drop encoder and decoder, so that the next call makes them again."""
        self._made = None
        self._n_forgotten += 1

    cdef tuple _parts(self):
        """Return _made; the first call makes it. It is not kept if another thread calls `_forget` meanwhile."""
        cdef tuple made
        cdef size_t n_forgotten
        with cython.critical_section(self):
            made, n_forgotten = self._made, self._n_forgotten
        if made is None:
            made = *self._make(), []
            with cython.critical_section(self):
                if n_forgotten == self._n_forgotten:
                    self._made = made
        return made

    @property
    def _vocabulary(self):
        """Tables of the encoder."""
        return self._parts()[0]

    cdef Encoder _ready(self):
        return self._parts()[1]

    def _encode_ordinary(self, text):
        """Encode a text in which special tokens are plain text."""
        return self._ready()._to_list(text, None, None, None)

    def _encode(self, text, allowed_special="none_raise"):
        """Encode a text.

        Args:
            text: str.
            allowed_special: special tokens that become their ids: "all", "none", or a set of them; others are
                plain text. "none_raise": like "none", but the text must not contain any.

        Raises:
            AssertionError: with "none_raise", the text contains a special token.
            ValueError: allowed_special is not one of these.
        """
        cdef Encoder encoder
        cdef list matchers
        _, encoder, _, all_special, choose, matchers = self._parts()
        if isinstance(allowed_special, (set, frozenset)):
            return encoder.encode(text, allowed_special=choose(allowed_special), disallowed_special=())
        if allowed_special == "none_raise":
            try:
                return encoder._to_list(text, None, encoder._all(), None)
            except SpecialTokenError as error:
                raise CheckError(str(error)) from None
        if allowed_special == "none":
            return encoder._to_list(text, None, None, None)
        if allowed_special == "all":
            if not matchers:  # several threads may append: all matchers are equal, and only the first is used
                matchers.append(encoder._matchers(all_special, ()))
            allowed, disallowed = matchers[0]
            return encoder._to_list(text, allowed, disallowed, None)
        raise SpecialTokenError(
            f'allowed_special={allowed_special!r} is not understood: pass "all", "none", "none_raise" or a set'
        )

    def _decode(self, ids):
        """Decode ids to text; bytes that are not UTF-8 become U+FFFD.

        Args:
            ids: any iterable of numbers.

        Raises:
            InvalidIdError: an id that is not a token; it is a ValueError and a KeyError.
            TypeError: ids is not iterable.
        """
        decoder = self._parts()[2]
        if type(ids) is not list and hasattr(ids, "__next__"):
            ids = list(ids)  # an iterator: after an error, the ids are read again
        try:
            return decoder.decode(ids, "replace")
        except InvalidTokenError as error:
            raise _invalid(decoder, ids, error) from None
        except TypeError:  # an id that is a number of another type, or `ids` is bytes
            return self._decode(self._numbers(ids))

    cdef list _numbers(self, ids):
        """Return ids of any type as ints: minbpe looks them up in a dict, where 97.0 and 97 are the same key."""
        cdef list numbers = []
        for token in ids:
            try:
                number = int(token) if hasattr(token, "__float__") else None
            except (OverflowError, ValueError):  # infinity; not a number
                number = None
            if number is None or number != token:
                raise InvalidIdError(f"invalid token id: {token}")
            numbers.append(number)
        return numbers


cdef object _invalid(decoder, ids, error):
    """Return minbpe's error for the first of `ids` that is not a token."""
    for token in ids:
        try:
            decoder.token(token)
        except InvalidTokenError:
            return InvalidIdError(f"invalid token id: {token}")
    return error  # another thread has changed `ids`

"""Methods of minbpe's tokenizers that are called often, close to the core."""

# Tried and dropped: these methods in Python over an Encoder: slower for short strings.

from fastbpe._core.encode.encoder cimport Encoder

from fastbpe.errors import CheckError, InvalidTokenError, SpecialTokenError


class InvalidIdError(InvalidTokenError, ValueError):
    """Error for an id that is not a token: RegexTokenizer of minbpe raises ValueError, BasicTokenizer KeyError."""


cdef class Methods:
    """Encoder and decoder made by `_make`, kept until `_forget` is called."""

    cdef Encoder _encoder
    cdef readonly object _vocabulary  # tables of the encoder
    cdef object _decoder, _all_special, _choose
    cdef tuple _matchers_of_all  # of allowed_special="all"; None until they are needed

    def _make(self):
        """Return (Vocabulary, Encoder, Decoder, what "all" allows, function that checks allowed special tokens)."""
        raise NotImplementedError(f"{type(self).__name__} does not say what encodes")

    def _forget(self):
        """Drop encoder and decoder, so that the next call makes them again."""
        self._encoder = None

    cdef Encoder _ready(self):
        if self._encoder is None:
            self._vocabulary, encoder, self._decoder, self._all_special, self._choose = self._make()
            self._matchers_of_all = None
            self._encoder = encoder
        return self._encoder

    def _encode_ordinary(self, text):
        """Encode a text in which special tokens are plain text."""
        return self._ready()._to_list(text, None, None, None)

    def _encode(self, text, allowed_special="none_raise"):
        """Encode a text.

        Args:
            text: str.
            allowed_special: special tokens that become their ids: "all", "none", or a set of them; others are
                plain text. "none_raise": like "none", but the text must not hold any.

        Raises:
            AssertionError: with "none_raise", a special token stands in the text.
            ValueError: allowed_special is not one of these.
        """
        cdef Encoder encoder = self._ready()
        if isinstance(allowed_special, (set, frozenset)):
            return encoder.encode(text, allowed_special=self._choose(allowed_special), disallowed_special=())
        if allowed_special == "none_raise":
            try:
                return encoder._to_list(text, None, encoder._all(), None)
            except SpecialTokenError as error:
                raise CheckError(str(error)) from None
        if allowed_special == "none":
            return encoder._to_list(text, None, None, None)
        if allowed_special == "all":
            if self._matchers_of_all is None:
                self._matchers_of_all = encoder._matchers(self._all_special, ())
            return encoder._to_list(text, self._matchers_of_all[0], self._matchers_of_all[1], None)
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
        self._ready()
        try:
            return self._decoder.decode(ids, "replace")
        except InvalidTokenError as error:
            raise self._invalid(ids, error) from None
        except TypeError:
            return self._decoder.decode(self._numbers(ids), "replace")

    cdef list _numbers(self, ids):
        """Return ids of any type as ints: minbpe looks each up in a dict, where 97.0 and 97 are the same key."""
        cdef list numbers = []
        for token in ids:
            if not hasattr(token, "__float__") or int(token) != token:
                raise InvalidIdError(f"invalid token id: {token}")
            numbers.append(int(token))
        return numbers

    cdef object _invalid(self, ids, error):
        for token in ids:
            try:
                self._decoder.token(token)
            except InvalidTokenError:
                return InvalidIdError(f"invalid token id: {token}")
        return error  # `ids` was an iterator and is used up

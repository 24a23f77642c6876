"""The methods of minbpe's tokenizers that are called often, with little before the core."""

from fastbpe._core.encode.encoder cimport Encoder

from fastbpe.errors import CheckError, InvalidTokenError, SpecialTokenError


class InvalidIdError(InvalidTokenError, ValueError):
    """An id that is no token: ValueError is what RegexTokenizer raises, KeyError what BasicTokenizer does."""


cdef class Methods:
    """Encodes and decodes by what `_make` gives, until `_forget` is called."""

    cdef Encoder _encoder
    cdef object _decoder, _all_special, _choose
    cdef tuple _matchers_of_all  # what "all" allows and forbids; None: not asked for yet

    def _make(self):
        """(Encoder, Decoder, what allowed_special="all" allows, what chooses of a set what is allowed)."""
        raise NotImplementedError(f"{type(self).__name__} does not say what encodes")

    def _forget(self):
        """Ask `_make` again at the next call."""
        self._encoder = None

    cdef Encoder _ready(self):
        if self._encoder is None:
            encoder, self._decoder, self._all_special, self._choose = self._make()
            self._matchers_of_all = None
            self._encoder = encoder
        return self._encoder

    def _encode_ordinary(self, text):
        """The ids of a text in which special tokens are just text."""
        return self._ready()._to_list(text, None, None, None)

    def _encode(self, text, allowed_special="none_raise"):
        """The ids of a text.

        allowed_special: special tokens that become their ids: "all", "none", or a set of them; others are just
            text. "none_raise": none, and none may stand in the text.

        Raises:
            AssertionError: with "none_raise", a special token stands in the text.
            ValueError: allowed_special is none of these.
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
            f'allowed_special={allowed_special!r} is not understood: give "all", "none", "none_raise" or a set'
        )

    def _decode(self, ids):
        """The text of ids; what is not UTF-8 becomes U+FFFD.

        Raises ValueError, which is also a KeyError, for an id that is no token.
        """
        self._ready()
        try:
            return self._decoder.decode(ids, "replace")
        except InvalidTokenError as error:
            raise self._invalid(ids, error) from None

    cdef object _invalid(self, ids, error):
        for token in ids:
            try:
                self._decoder.token(token)
            except InvalidTokenError:
                return InvalidIdError(f"invalid token id: {token}")
        return error  # an iterator, used up

"""The decoding half of a Tokenizer's face, as far as it is called often: a Python frame costs what short lists do."""

from fastbpe._core.encode.encoder cimport Encoder

from fastbpe._core.text.utf8_text import plain, to_utf8

import codecs


cdef class DecodingEncoder(Encoder):
    """An Encoder that decodes with `_decoder`, or `_skipping` without special tokens, which a class sets."""

    def decode(
        self, ids, *, errors="replace", num_threads=None, unknown_ids="raise", skip_special_tokens=False
    ):
        """Decode ids to text, special tokens included.

        Args:
            ids: a list, an array or any sequence of integers.
            errors: what becomes of bytes that are not UTF-8: "replace" (by U+FFFD), "strict" or "ignore".
            num_threads: at most so many work on a long list; None: as in `encode`.
            unknown_ids: what becomes of ids that are no token, negative ones included: "raise", "skip" (they are
                left out) or "replace" (by U+FFFD each).
            skip_special_tokens: leave special tokens out; added tokens that are not special stay.

        Raises:
            InvalidTokenError: with unknown_ids="raise", an id is no token (a KeyError).
            UnicodeDecodeError: with errors="strict", bytes that are not UTF-8.

        >>> from fastbpe import Tokenizer
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> tokenizer = Tokenizer.from_ranks(ranks, pattern=None, special_tokens={"<end>": 256})
        >>> tokenizer.decode([72, 105, 256, 300], unknown_ids="skip", skip_special_tokens=True)
        'Hi'
        """
        if errors != "replace":
            check_errors(errors)
        decoder = self._skipping if skip_special_tokens else self._decoder
        return decoder.decode(ids, errors, num_threads, unknown_ids)

    def token_to_id(self, token):
        """The id of a token, ordinary or special, or None. The lowest id, should several have these bytes."""
        found = self._vocabulary.find(token)
        if found is not None:
            return found
        return self._special.ids_of_bytes.get(to_utf8(token) if isinstance(token, str) else plain(token))

    def id_to_token(self, token_id):
        """The bytes of an id. Raises InvalidTokenError (a KeyError)."""
        return self._decoder.token(token_id)


def check_errors(errors):
    """Raise LookupError now, and not only where bytes are bad."""
    if errors not in ("replace", "strict", "ignore"):
        codecs.lookup_error(errors)

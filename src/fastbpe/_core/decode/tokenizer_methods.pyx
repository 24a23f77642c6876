"""Methods of `Tokenizer` that decode, compiled: a Python frame costs as much as decoding a few ids.

The class body of `Tokenizer` binds and documents them. They read four attributes of `self`: `_decoding`, with
`decode` and similar methods; `_skipping`, the same without special tokens; `_find`, a function that finds a token;
and `_names`, a Decoder that has the token of each id.
"""

cimport cython

from fastbpe._core.merge.vocabulary cimport Vocabulary

from fastbpe._core.text.utf8_text import plain, to_utf8

import codecs


def decode(self, /, ids, *, errors="replace", num_threads=None, unknown_ids="raise", skip_special_tokens=False):
    """Decode ids to text. See `Tokenizer.decode`."""
    if errors != "replace":
        check_errors(errors)
    decoding = self._skipping if skip_special_tokens else self._decoding
    return decoding.decode(ids, errors, num_threads, unknown_ids)


def token_to_id(self, token):
    """Find the id of a token. See `Tokenizer.token_to_id`."""
    return self._find(token)


def id_to_token(self, token_id):
    """Return the bytes of an id. See `Tokenizer.id_to_token`."""
    return self._names.token(token_id)


def check_errors(errors):
    """Raise LookupError if no error handler has this name. Decoding would detect this only at invalid bytes.

    Raises TypeError if `errors` is not a str.
    """
    if not isinstance(errors, str):
        raise TypeError(f"errors must be the name of an error handler, such as 'replace', not {errors!r:.60}")
    if errors not in ("replace", "strict", "ignore"):
        codecs.lookup_error(errors)


@cython.final
cdef class TokenFinder:
    """Finder of the id of a token, from its bytes or its text.

    Args:
        vocabulary: Vocabulary of the ordinary tokens, which take precedence.
        special: object whose `ids_of_bytes` maps other tokens to ids.
    """

    cdef Vocabulary _vocabulary
    cdef object _special

    def __init__(self, Vocabulary vocabulary not None, special):
        self._vocabulary = vocabulary
        self._special = special

    def find(self, token):
        """Find the id of a token, or return None."""
        found = self._vocabulary.find(token)
        if found is not None:
            return found
        return self._special.ids_of_bytes.get(to_utf8(token) if isinstance(token, str) else plain(token))

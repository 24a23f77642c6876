"""Methods of `Tokenizer` that decode, compiled as functions: a Python frame would cost as much as a short list of ids.

The class body of `Tokenizer` binds them and documents them. They read four attributes of `self`: `_decoder` (Decoder),
`_skipping` (Decoder that leaves special tokens out), `_vocabulary` (Vocabulary) and `_special` (SpecialTokens).
"""

from fastbpe._core.text.utf8_text import plain, to_utf8

import codecs


def decode(self, /, ids, *, errors="replace", num_threads=None, unknown_ids="raise", skip_special_tokens=False):
    """Decode ids to text. See `Tokenizer.decode`."""
    if errors != "replace":
        check_errors(errors)
    decoder = self._skipping if skip_special_tokens else self._decoder
    return decoder.decode(ids, errors, num_threads, unknown_ids)


def token_to_id(self, token):
    """Find the id of a token. See `Tokenizer.token_to_id`."""
    found = self._vocabulary.find(token)
    if found is not None:
        return found
    return self._special.ids_of_bytes.get(to_utf8(token) if isinstance(token, str) else plain(token))


def id_to_token(self, token_id):
    """Give the bytes of an id. See `Tokenizer.id_to_token`."""
    if type(token_id) is bool:
        raise TypeError("ids must be integers, not bool")
    return self._decoder.token(token_id)


def check_errors(errors):
    """Raise LookupError if no error handler has this name. Decoding itself would notice only at bad bytes."""
    if errors not in ("replace", "strict", "ignore"):
        codecs.lookup_error(errors)

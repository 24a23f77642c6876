"""Options of a vocabulary whose base symbols are characters, as the model BPE of a tokenizer.json has them."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.hash_tables cimport NONE

from fastbpe.errors import VocabularyError


@cython.final
cdef class SpelledSymbols:
    """Options of a vocabulary of characters.

    prefix: bytes – UTF-8 before each character but the first one of a piece: continuing_subword_prefix.
    suffix: bytes – UTF-8 behind the last character of a piece: end_of_word_suffix.
    unknown_id: id of characters without a token. None: they are left out. -1: the unknown token is not a token, and
        a text that needs it raises VocabularyError.
    fuses: unknown characters in a row are one token.
    byte_ids: 256 ids of the tokens of bytes, -1 for a byte without one; None: no byte fallback.
    """

    def __cinit__(
        self, *, bytes prefix not None=b"", bytes suffix not None=b"", unknown_id=None, bint fuses=False,
        list byte_ids=None,
    ):
        cdef size_t i
        if max(len(prefix), len(suffix)) > MAX_AFFIX_BYTES:
            raise VocabularyError(
                f"a prefix of {len(prefix)} bytes and a suffix of {len(suffix)}: the limit is {MAX_AFFIX_BYTES}"
            )
        self._prefix, self._suffix = prefix, suffix
        self.spelling.prefix = <const uint8_t*> PyBytes_AS_STRING(prefix)
        self.spelling.n_prefix = <size_t> PyBytes_GET_SIZE(prefix)
        self.spelling.suffix = <const uint8_t*> PyBytes_AS_STRING(suffix)
        self.spelling.n_suffix = <size_t> PyBytes_GET_SIZE(suffix)
        self.spelling.unknown_id = NONE
        if unknown_id is not None:
            self.spelling.unknown_id = NO_SUCH_TOKEN if unknown_id < 0 else <uint32_t> unknown_id
        self.spelling.fuses = fuses
        self.spelling.has_bytes = byte_ids is not None
        if byte_ids is not None:
            for i in range(256):
                self.spelling.byte_ids[i] = NONE if byte_ids[i] < 0 else <uint32_t> byte_ids[i]
        self.tracing = self.spelling
        self.tracing.traces = True

"""Reader of the pieces and scores of a Unigram in a tokenizer.json: the fast twin of `read_segmented.scored`.

They make up nearly all of such a file. A JSON parser reads the rest. If a file has anything unusual, this reader
gives up without a message: the slow twin then reads the file, or reports the error and its position.
"""

cimport cython
from libc.math cimport isinf
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.python cimport (
    PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE, PyUnicode_DecodeUTF8
)
from fastbpe._core.text.json_lexer cimport String, read_sign, read_string, skip_space, unescape
from fastbpe.formats.huggingface._json_values cimport next_item, read_key, skip_value

cdef enum:
    MAX_TOKENS = 1 << 21  # as in byte_vocabulary.py
    PAIR_BYTES = 6  # of the shortest pair, `["",0]`; so a list of n bytes has at most n // PAIR_BYTES + 1 pairs
    MAX_POWER = 308  # exponent of the greatest power of ten that a float can contain
    MAX_EXPONENT_DIGITS = 4  # leading zeros included; the slow twin reads longer exponents

cdef double[309] powers  # 10**0 to 10**MAX_POWER, as Python reads them
cdef int _i
for _i in range(309):
    powers[_i] = float(f"1e{_i}")


@cython.final
cdef class ScoredVocab:
    """Pieces and scores of a Unigram, and the rest of the file: JSON in which the vocabulary is empty."""

    cdef readonly list pieces
    cdef readonly bytes token_bytes  # UTF-8 of all pieces
    cdef readonly bytes token_ends  # end of each piece in token_bytes: uint32
    cdef readonly bytes scores  # float64
    cdef readonly bytes rest
    cdef public object ids  # dict from piece to id, shared by all users; None until it is made

    cdef uint8_t* _token_bytes
    cdef uint32_t* _ends
    cdef double* _scores
    cdef uint32_t _n  # pairs
    cdef size_t _n_bytes  # of the pieces

    def __dealloc__(self):
        free(self._token_bytes)
        free(self._ends)
        free(self._scores)

    cdef bint _read(self, bytes file) except -1:
        """Read the file. Returns False to give up."""
        cdef size_t n = <size_t> PyBytes_GET_SIZE(file)
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(file)
        cdef const uint8_t* end = data + n
        cdef const uint8_t* model = _value_of(data, end, b"model")
        cdef const uint8_t* vocab = _value_of(model, end, b"vocab") if model != NULL else NULL
        if vocab == NULL or vocab[0] != c'[' or n >= NONE:  # _ends has 32 bits
            return False
        self._token_bytes = <uint8_t*> malloc(n + 1)  # enough: no string is longer than in the file
        self._ends = <uint32_t*> malloc((n // PAIR_BYTES + 1) * sizeof(uint32_t))
        self._scores = <double*> malloc((n // PAIR_BYTES + 1) * sizeof(double))
        if self._token_bytes == NULL or self._ends == NULL or self._scores == NULL:
            return False
        cdef const uint8_t* at = self._read_pairs(vocab, end)
        if at == NULL or not self._n:  # damaged or empty: the slow twin tells them apart
            return False
        try:
            self.pieces = self._texts()
        except UnicodeDecodeError:
            return False
        self.token_bytes = PyBytes_FromStringAndSize(<const char*> self._token_bytes, <Py_ssize_t> self._n_bytes)
        self.token_ends = PyBytes_FromStringAndSize(<const char*> self._ends, 4 * <Py_ssize_t> self._n)
        self.scores = PyBytes_FromStringAndSize(<const char*> self._scores, 8 * <Py_ssize_t> self._n)
        self.rest = b"".join((file[:vocab - data], b"[]", file[at - data:]))
        return True

    cdef const uint8_t* _read_pairs(self, const uint8_t* at, const uint8_t* end) noexcept:
        """Read `[["piece", score], ...]`. Returns the position after it; NULL to give up."""
        cdef String piece
        cdef size_t n
        at = skip_space(at + 1, end)
        while at < end and at[0] != c']':
            at = read_string(read_sign(at, end, c'['), end, &piece) if at[0] == c'[' else NULL
            if at == NULL or self._n == MAX_TOKENS:
                return NULL
            n = piece.n
            if piece.has_escapes:
                n = unescape(&piece, self._token_bytes + self._n_bytes)
                if n == <size_t> -1:
                    return NULL
            else:
                memcpy(self._token_bytes + self._n_bytes, piece.data, n)
            self._n_bytes += n
            self._ends[self._n] = <uint32_t> self._n_bytes
            at = read_sign(skip_space(at, end), end, c',')
            if at != NULL:
                at = _read_number(at, end, &self._scores[self._n])
            if at != NULL:
                at = read_sign(skip_space(at, end), end, c']')
            if at != NULL:
                at = next_item(at, end, c'[', c']')
            if at == NULL:
                return NULL
            self._n += 1
        return at + 1 if at < end else NULL

    cdef list _texts(self):
        """Return the pieces as str. Raises UnicodeDecodeError."""
        cdef uint32_t i, start = 0
        cdef list texts = []
        for i in range(self._n):
            texts.append(PyUnicode_DecodeUTF8(
                <const char*> self._token_bytes + start, <Py_ssize_t> (self._ends[i] - start), NULL
            ))
            start = self._ends[i]
        return texts


cdef const uint8_t* _value_of(const uint8_t* at, const uint8_t* end, const char* name) noexcept:
    """Return the position of the value of a member of the object at `at`.

    NULL: the member is missing or repeated, some key has an escape, or the object is damaged.

    name: name of the member, five bytes long.
    """
    cdef const uint8_t* found = NULL
    cdef String key
    at = read_sign(skip_space(at, end), end, c'{')
    while at != NULL and at < end and at[0] == c'"':
        at = read_key(at, end, &key)
        if at == NULL or key.has_escapes:
            return NULL
        if key.n == 5 and memcmp(key.data, name, 5) == 0:
            if found != NULL or at >= end:
                return NULL
            found = at
        at = skip_value(at, end)
        if at != NULL:
            at = next_item(at, end, c'"', c'}')
    return found if at != NULL and at < end and at[0] == c'}' else NULL


cdef const uint8_t* _read_number(const uint8_t* at, const uint8_t* end, double* value) noexcept:
    """Read a number as `serde_float` does.

    Returns NULL if it is not a number, is too large, or has an exponent of more than MAX_EXPONENT_DIGITS digits.
    """
    cdef const uint8_t* first
    cdef bint is_negative = at < end and at[0] == c'-', fits = True
    cdef uint64_t digits = 0
    cdef int64_t power = 0
    at += is_negative
    first = at
    while at < end and c'0' <= at[0] <= c'9':
        fits = fits and _add_digit(&digits, at[0])
        power += not fits  # a digit that is left out makes the number ten times greater
        at += 1
    if at == first or (first[0] == c'0' and at - first > 1):
        return NULL
    if at < end and at[0] == c'.':
        at += 1
        first, fits = at, True  # a digit after the point may fit although one before it did not
        while at < end and c'0' <= at[0] <= c'9':
            fits = fits and _add_digit(&digits, at[0])
            power -= fits  # a digit after the point that is left out changes nothing
            at += 1
        if at == first:
            return NULL
    if at < end and at[0] | 0x20 == c'e':
        at = _read_exponent(at + 1, end, &power)
        if at == NULL:
            return NULL
    value[0] = <double> digits
    while value[0] != 0 and not -MAX_POWER <= power <= MAX_POWER:
        if power > 0:
            return NULL
        value[0] /= powers[MAX_POWER]
        power += MAX_POWER
    if value[0] != 0:
        value[0] = value[0] * powers[power] if power >= 0 else value[0] / powers[-power]
    if isinf(value[0]):
        return NULL
    if is_negative:
        value[0] = -value[0]
    return at


cdef inline bint _add_digit(uint64_t* digits, uint8_t digit) noexcept:
    """Append a decimal digit; return False, and change nothing, if the number would not fit."""
    cdef uint64_t added = digit - c'0', most = <uint64_t> -1
    if digits[0] > (most - added) // 10:
        return False
    digits[0] = digits[0] * 10 + added
    return True


cdef const uint8_t* _read_exponent(const uint8_t* at, const uint8_t* end, int64_t* power) noexcept:
    """Read the exponent after the `e` of a number, and add it to `power`. Returns its end, or NULL."""
    cdef const uint8_t* first
    cdef bint is_negative = at < end and at[0] == c'-'
    cdef int64_t number = 0
    if at < end and (at[0] == c'-' or at[0] == c'+'):
        at += 1
    first = at
    while at < end and c'0' <= at[0] <= c'9' and at - first <= MAX_EXPONENT_DIGITS:
        number = 10 * number + at[0] - c'0'
        at += 1
    if at == first or at - first > MAX_EXPONENT_DIGITS:
        return NULL
    power[0] += -number if is_negative else number
    return at


def read(bytes data not None):
    """Read a tokenizer.json whose vocabulary is a list of pieces and scores, whatever type it names.

    Returns None if the slow twin must read it.
    """
    cdef ScoredVocab vocab = ScoredVocab()
    return vocab if vocab._read(data) else None

"""The pieces of a sentencepiece `.model`, where they are plainly written: the fast twin of `sentencepiece._piece`.

And the strings of a repeated field, likewise.

It judges nothing. A piece with anything but a text, scores and types, and every field that is no piece, is left to
the slow twin.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy, memset

from fastbpe._core.common.hash_tables cimport hash_bytes

cdef enum:
    NORMAL = 1
    LAST_TYPE = 6
    MAX_PIECE_BYTES = 7999  # as in sentencepiece
    COPY = 16
    SHORT = 16  # bytes: two words

cdef uint8_t[4] _NO_SCORE  # of a piece that has none
memset(_NO_SCORE, 0, 4)

cdef uint64_t[SHORT + 1] _FIRST, _SECOND  # what a piece of n bytes leaves of two words


cdef void _fill_masks() noexcept:
    cdef int n
    for n in range(SHORT + 1):  # by bytes, as the words are filled: in whatever order these stand in a word
        memset(&_FIRST[n], 0xFF, <size_t> min(n, 8))
        memset(&_SECOND[n], 0xFF, <size_t> max(n - 8, 0))


_fill_masks()


cdef struct Piece:
    const uint8_t* text
    uint32_t n_bytes
    const uint8_t* score
    uint8_t type_


def read(const uint8_t[::1] data not None, size_t at, uint32_t n_before):
    """The plain pieces that follow each other from data[at] on.

    Returns (where the first other field begins, their text end to end, the end of each as uint32, their scores
    as float32 little-endian, their types as bytes); ends count from n_before bytes of text that came before.
    """
    cdef size_t n = <size_t> data.shape[0], n_pieces = 0, n_bytes = 0, i, end = 0, behind = at
    cdef size_t most = <size_t> 0xFFFFFFFF - n_before
    cdef const uint8_t* p = &data[0] if n else NULL
    cdef Piece piece = Piece(NULL, 0, NULL, 0)
    # Counted first: memory that is new to the process takes longer than a second look.
    while n_bytes <= most:
        i = _plain(p, behind, n, &piece)
        if i == 0:
            break
        behind = i
        n_bytes += piece.n_bytes
        n_pieces += 1
    cdef bytes text = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_bytes)
    cdef bytes ends = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> (n_pieces * sizeof(uint32_t)))
    cdef bytes scores = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> (n_pieces * sizeof(uint32_t)))
    cdef bytes types = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> n_pieces)
    cdef char* to_text = PyBytes_AS_STRING(text)
    cdef uint32_t* to_ends = <uint32_t*> PyBytes_AS_STRING(ends)
    cdef uint32_t* to_scores = <uint32_t*> PyBytes_AS_STRING(scores)
    cdef char* to_types = PyBytes_AS_STRING(types)
    for i in range(n_pieces):
        at = _plain(p, at, n, &piece)
        if piece.n_bytes <= COPY and end + COPY <= n_bytes and <size_t> (piece.text - p) + COPY <= n:
            memcpy(to_text + end, piece.text, COPY)  # one store, whatever the length
        else:
            memcpy(to_text + end, piece.text, piece.n_bytes)
        end += piece.n_bytes
        to_ends[i] = n_before + <uint32_t> end
        memcpy(&to_scores[i], piece.score, 4)
        to_types[i] = <char> piece.type_
    return behind, text, ends, scores, types


cdef inline size_t _plain(const uint8_t* p, size_t at, size_t n, Piece* piece) noexcept nogil:
    """The end of the plain piece at p[at]; 0 if there is none."""
    cdef size_t end, to
    if not _enter(p, &at, n, &end):
        return 0
    piece.n_bytes, piece.score, piece.type_ = 0, &_NO_SCORE[0], NORMAL
    while at < end:
        if p[at] == 0x0A:
            if not _enter(p, &at, end, &to) or not 0 < to - at <= MAX_PIECE_BYTES:
                return 0
            piece.text, piece.n_bytes = p + at, <uint32_t> (to - at)
            at = to
        elif p[at] == 0x15 and end - at >= 5:
            piece.score = p + at + 1
            at += 5
        elif p[at] == 0x18 and end - at >= 2 and NORMAL <= p[at + 1] <= LAST_TYPE:
            piece.type_ = p[at + 1]
            at += 2
        else:
            return 0
    return end if piece.n_bytes else 0


cdef inline bint _enter(const uint8_t* p, size_t* at, size_t n, size_t* end) noexcept nogil:
    """Go into the field at p[at] if it is of number 1, has bytes, and a length of one byte or two."""
    cdef size_t i = at[0] + 2, size
    if n - at[0] < 2 or p[at[0]] != 0x0A:  # at <= n
        return False
    size = p[i - 1]
    if size > 0x7F:
        if i == n or p[i] > 0x7F:
            return False
        size = (size & 0x7F) | <size_t> p[i] << 7
        i += 1
    at[0], end[0] = i, i + size
    return size <= n - i


def first_repeated(bytes text not None, bytes ends not None, uint64_t seed):
    """The two ids of the first piece that stood before; None where all are new. seed: what nobody can foresee."""
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef const uint32_t* end_of = <const uint32_t*> PyBytes_AS_STRING(ends)
    cdef uint32_t n = <uint32_t> (len(ends) // 4), i, start = 0, other, n_bytes, tag
    cdef Py_ssize_t n_text = len(text)
    cdef size_t mask = 4, at
    cdef uint64_t hash
    cdef int id_bits = 1
    while <uint64_t> 1 << id_bits <= n:
        id_bits += 1
    while mask < <size_t> n * 2:
        mask *= 2
    cdef uint32_t* seen = <uint32_t*> calloc(mask, sizeof(uint32_t))  # a part of a hash above one more than an id
    if seen == NULL:
        raise MemoryError(f"no memory to compare {n} pieces")
    mask -= 1
    try:
        for i in range(n):
            n_bytes = end_of[i] - start
            hash = _hash_of(p + start, n_bytes, <size_t> n_text - start, seed)
            tag = <uint32_t> (hash >> 32 >> id_bits << id_bits)
            at = <size_t> hash & mask
            while seen[at]:
                if (seen[at] ^ tag) >> id_bits == 0:
                    other = seen[at] - tag - 1
                    if (
                        end_of[other] - (end_of[other - 1] if other else 0) == n_bytes
                        and memcmp(p + end_of[other] - n_bytes, p + start, n_bytes) == 0
                    ):
                        return other, i
                at = (at + 1) & mask
            seen[at] = tag | (i + 1)
            start = end_of[i]
        return None
    finally:
        free(seen)


cdef inline uint64_t _hash_of(const uint8_t* text, size_t n, size_t room, uint64_t seed) noexcept nogil:
    """The hash of a piece, as a rule without a jump that its length decides. room: bytes from its beginning on."""
    cdef uint64_t[2] words
    if n > SHORT:
        return hash_bytes(text, n, seed)
    words[0] = words[1] = 0
    memcpy(words, text, SHORT if room >= SHORT else n)
    cdef uint64_t h = ((words[0] & _FIRST[n]) ^ n ^ seed) * 0x9E3779B97F4A7C15ULL
    h = (h ^ (h >> 29) ^ (words[1] & _SECOND[n])) * 0x9E3779B97F4A7C15ULL
    return h ^ (h >> 29)


def ids_of(bytes types not None, uint8_t wanted):
    """The ids of one type, rising. types: of each id, a byte."""
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(types)
    cdef size_t n = <size_t> len(types), i = 0
    cdef const uint8_t* found
    cdef list ids = []
    while i < n:
        found = <const uint8_t*> memchr(p + i, wanted, n - i)
        if found == NULL:
            break
        i = <size_t> (found - p)
        ids.append(i)
        i += 1
    return ids


def of_type(bytes text not None, bytes ends not None, bytes types not None, uint8_t wanted):
    """Id to piece, of one type, rising. text: the pieces end to end; ends: where each ends, as uint32."""
    cdef const uint32_t* end_of = <const uint32_t*> PyBytes_AS_STRING(ends)
    cdef dict pieces = {}
    cdef size_t i
    if len(ends) != 4 * len(types):
        raise ValueError(f"{len(ends)} bytes of ends for {len(types)} pieces")
    for i in ids_of(types, wanted):
        pieces[i] = text[end_of[i - 1] if i else 0:end_of[i]]
    return pieces


def strings(bytes data not None, size_t at, bytes tag not None):
    """(the texts of the fields with this tag that follow each other from data[at] on, where the next field begins).

    Left to others are texts of 128 bytes and more. Bytes that are no UTF-8 are surrogates.
    """
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef const char* wanted = PyBytes_AS_STRING(tag)
    cdef size_t n = <size_t> len(data), n_tag = <size_t> len(tag), n_text
    cdef list found = []
    while at + n_tag < n and memcmp(p + at, wanted, n_tag) == 0:
        n_text = p[at + n_tag]
        if n_text > 0x7F or n_text >= n - at - n_tag:
            break
        at += n_tag + 1
        found.append(PyUnicode_DecodeUTF8(<const char*> p + at, <Py_ssize_t> n_text, "surrogateescape"))
        at += n_text
    return found, at

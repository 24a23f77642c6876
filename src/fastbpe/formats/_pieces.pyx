"""The pieces of a sentencepiece `.model`, where they are plainly written: the fast twin of `sentencepiece._piece`.

And the strings of a repeated field, likewise.

It judges nothing. A piece with anything but its text, score and type, once each and in this order, and every field
that is no piece, is left to the slow twin.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy

from fastbpe.formats._hash cimport hash_bytes

cdef enum:
    NORMAL = 1
    LAST_TYPE = 6
    LEAST = 10  # bytes of a plain piece
    COPY = 16


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
    cdef size_t n = <size_t> data.shape[0], next_at, n_pieces = 0, n_bytes = 0, room = (n - min(at, n)) // LEAST + 1
    cdef const uint8_t* p = &data[0] if n else NULL
    cdef Piece piece = Piece(NULL, 0, NULL, 0)
    # Room for the most there may be, made smaller in place: fresh memory is dear.
    cdef bytes text = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> (n - min(at, n) + COPY))
    cdef bytes ends = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> (room * sizeof(uint32_t)))
    cdef bytes scores = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> (room * sizeof(uint32_t)))
    cdef bytes types = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> room)
    cdef char* to_text = PyBytes_AS_STRING(text)
    cdef uint32_t* to_ends = <uint32_t*> PyBytes_AS_STRING(ends)
    cdef uint32_t* to_scores = <uint32_t*> PyBytes_AS_STRING(scores)
    cdef char* to_types = PyBytes_AS_STRING(types)
    cdef size_t most = <size_t> 0xFFFFFFFF - n_before
    while n_bytes <= most:
        next_at = _plain(p, at, n, &piece)
        if next_at == 0:
            break
        at = next_at
        if piece.n_bytes <= COPY and <size_t> (piece.text - p) + COPY <= n:
            memcpy(to_text + n_bytes, piece.text, COPY)  # one store, whatever the length
        else:
            memcpy(to_text + n_bytes, piece.text, piece.n_bytes)
        n_bytes += piece.n_bytes
        to_ends[n_pieces] = n_before + <uint32_t> n_bytes
        memcpy(&to_scores[n_pieces], piece.score, 4)
        to_types[n_pieces] = <char> piece.type_
        n_pieces += 1
    return at, _cut(text, n_bytes), _cut(ends, 4 * n_pieces), _cut(scores, 4 * n_pieces), _cut(types, n_pieces)


cdef object _cut(bytes data, size_t n):
    """The first n bytes."""
    return (<const char*> data)[:n]


cdef inline size_t _plain(const uint8_t* p, size_t at, size_t n, Piece* piece) noexcept nogil:
    """The end of the plain piece at p[at]; 0 if there is none."""
    cdef size_t end
    if n - at < 10 or p[at] != 0x0A:  # at <= n
        return 0
    at += 1
    end = p[at]
    at += 1
    if end > 0x7F:
        if p[at] > 0x7F:
            return 0
        end = (end & 0x7F) | <size_t> p[at] << 7
        at += 1
    if end > n - at or end < 7:
        return 0
    end += at
    if p[at] != 0x0A or p[at + 1] > 0x7F or p[at + 1] == 0 or <size_t> p[at + 1] + 7 > end - at:
        return 0
    piece.n_bytes = p[at + 1]
    piece.text = p + at + 2
    at += 2 + piece.n_bytes
    if p[at] != 0x15:
        return 0
    piece.score = p + at + 1
    at += 5
    piece.type_ = NORMAL
    if at < end:
        if end - at != 2 or p[at] != 0x18 or not NORMAL <= p[at + 1] <= LAST_TYPE:
            return 0
        piece.type_ = p[at + 1]
    return end


def first_repeated(bytes text not None, bytes ends not None, uint64_t seed):
    """The two ids of the first piece that stood before; None where all are new. seed: what nobody can foresee."""
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef const uint32_t* end_of = <const uint32_t*> PyBytes_AS_STRING(ends)
    cdef uint32_t n = <uint32_t> (len(ends) // 4), i, start = 0, other, n_bytes
    cdef size_t mask = 4, at
    cdef uint64_t hash
    while mask < <size_t> n * 2:
        mask *= 2
    cdef uint64_t* seen = <uint64_t*> calloc(mask, sizeof(uint64_t))  # half of a hash, and one more than an id
    if seen == NULL:
        raise MemoryError(f"no memory to compare {n} pieces")
    mask -= 1
    try:
        for i in range(n):
            n_bytes = end_of[i] - start
            hash = hash_bytes(p + start, n_bytes, seed)
            at = <size_t> hash & mask
            while seen[at]:
                other = <uint32_t> seen[at] - 1
                if ((hash ^ seen[at]) >> 32 == 0
                        and end_of[other] - (end_of[other - 1] if other else 0) == n_bytes
                        and memcmp(p + end_of[other] - n_bytes, p + start, n_bytes) == 0):
                    return other, i
                at = (at + 1) & mask
            seen[at] = hash >> 32 << 32 | (i + 1)
            start = end_of[i]
        return None
    finally:
        free(seen)


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

"""Fast loops for a sentencepiece `.model`: reading plain pieces and short strings, and searching in pieces.

`read` is the fast twin of `model_file._piece`. A piece is plain if it has a text of 1 to 7,999 bytes and contains
only texts, scores and known types. All other fields are left to `model_file`.
"""

from fastbpe._core.common.hashing cimport hash_bytes
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy, memset


cdef enum:
    NORMAL = 1  # PieceType.NORMAL: the default type
    LAST_TYPE = 6  # the greatest PieceType
    MAX_PIECE_BYTES = 7999  # sentencepiece's limit
    COPY_BYTES = 16  # a shorter piece is copied with the bytes that follow it, up to this length
    HASHED_BYTES = 16  # pieces up to this length are hashed as two words of 8 bytes
    TEXT_TAG = 0x0A  # field 1, bytes; also the tag of a piece in the file
    SCORE_TAG = 0x15  # field 2, fixed32
    TYPE_TAG = 0x18  # field 3, varint

cdef uint8_t[4] _NO_SCORE  # 0.0, the default score
memset(_NO_SCORE, 0, 4)

cdef uint64_t[HASHED_BYTES + 1] _FIRST, _SECOND  # by length: masks of a piece's bytes in each of the two words


cdef void _fill_masks() noexcept:
    cdef int n
    for n in range(HASHED_BYTES + 1):  # uses memset, so that the machine's byte order does not matter
        memset(&_FIRST[n], 0xFF, <size_t> min(n, 8))
        memset(&_SECOND[n], 0xFF, <size_t> max(n - 8, 0))


_fill_masks()


cdef struct Piece:
    const uint8_t* text
    uint32_t n_bytes
    const uint8_t* score
    uint8_t type_


def read(const uint8_t[::1] data not None, size_t at, uint32_t n_before):
    """Read consecutive plain pieces, starting at data[at].

    Args:
        data: the file.
        at: offset of the first piece.
        n_before: bytes of text in earlier pieces; ends count from it.

    Returns:
        (offset of the first field that is not a plain piece, texts end to end, end of each text as uint32, scores as
        little-endian float32, types as bytes).
    """
    cdef size_t n = <size_t> data.shape[0], n_pieces = 0, n_bytes = 0, i, end = 0, behind = at
    cdef size_t max_bytes = <size_t> 0xFFFFFFFF - n_before  # ends have 32 bits
    cdef const uint8_t* p = &data[0] if n else NULL
    cdef Piece piece = Piece(NULL, 0, NULL, 0)
    # Two passes: the first counts, so that the outputs are allocated once, which is cheaper than growing them.
    while n_bytes <= max_bytes:
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
        if (
            piece.n_bytes <= COPY_BYTES and end + COPY_BYTES <= n_bytes
            and <size_t> (piece.text - p) + COPY_BYTES <= n
        ):
            memcpy(to_text + end, piece.text, COPY_BYTES)  # one store without a branch on the length
        else:
            memcpy(to_text + end, piece.text, piece.n_bytes)
        end += piece.n_bytes
        to_ends[i] = n_before + <uint32_t> end
        memcpy(&to_scores[i], piece.score, 4)
        to_types[i] = <char> piece.type_
    return behind, text, ends, scores, types


cdef inline size_t _plain(const uint8_t* p, size_t at, size_t n, Piece* piece) noexcept nogil:
    """Read the plain piece at p[at]. Returns its end, or 0 if no plain piece is there."""
    cdef size_t end, to
    if not _enter(p, &at, n, &end):
        return 0
    piece.n_bytes, piece.score, piece.type_ = 0, &_NO_SCORE[0], NORMAL
    while at < end:
        if p[at] == TEXT_TAG:
            if not _enter(p, &at, end, &to) or not 0 < to - at <= MAX_PIECE_BYTES:
                return 0
            piece.text, piece.n_bytes = p + at, <uint32_t> (to - at)
            at = to
        elif p[at] == SCORE_TAG and end - at >= 5:
            piece.score = p + at + 1
            at += 5
        elif p[at] == TYPE_TAG and end - at >= 2 and NORMAL <= p[at + 1] <= LAST_TYPE:
            piece.type_ = p[at + 1]
            at += 2
        else:
            return 0
    return end if piece.n_bytes else 0


cdef inline bint _enter(const uint8_t* p, size_t* at, size_t n, size_t* end) noexcept nogil:
    """Set `at` and `end` to the bounds of the value of the field at p[at].

    Returns False if it is not field 1 with bytes, its length takes more than two bytes, or the value does not end
    within the n bytes. Requires: at <= n.
    """
    cdef size_t i = at[0] + 2, size
    if n - at[0] < 2 or p[at[0]] != TEXT_TAG:
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
    """Return the two ids of the first piece that appears twice, or None.

    Args:
        text: pieces end to end.
        ends: the end of each, as uint32.
        seed: a random number that the maker of a file cannot know.
    """
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef const uint32_t* end_of = <const uint32_t*> PyBytes_AS_STRING(ends)
    cdef uint32_t n = <uint32_t> (len(ends) // 4), i, start = 0, other, n_bytes, tag
    cdef Py_ssize_t n_text = len(text)
    cdef size_t n_slots = 4, mask, at
    cdef uint64_t hash
    cdef int id_bits = 1
    while <uint64_t> 1 << id_bits <= n:
        id_bits += 1
    while n_slots < <size_t> n * 2:
        n_slots *= 2
    mask = n_slots - 1
    # Hash table (open addressing): high bits of the hash, then id plus one in `id_bits` bits; 0: empty.
    cdef uint32_t* seen = <uint32_t*> calloc(n_slots, sizeof(uint32_t))
    if seen == NULL:
        raise MemoryError(f"no memory to compare {n} pieces")
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


cdef inline uint64_t _hash_of(const uint8_t* text, size_t n, size_t n_readable, uint64_t seed) noexcept nogil:
    """Hash a piece, without a branch on the length of a short one.

    Args:
        text: n bytes.
        n_readable: bytes that may be read from `text` on.
    """
    cdef uint64_t[2] words
    if n > HASHED_BYTES:
        return hash_bytes(text, n, seed)
    words[0] = words[1] = 0
    memcpy(words, text, HASHED_BYTES if n_readable >= HASHED_BYTES else n)
    cdef uint64_t h = ((words[0] & _FIRST[n]) ^ n ^ seed) * 0x9E3779B97F4A7C15ULL
    h = (h ^ (h >> 29) ^ (words[1] & _SECOND[n])) * 0x9E3779B97F4A7C15ULL
    return h ^ (h >> 29)


def ids_of(bytes types not None, uint8_t wanted):
    """Return the ids of one type, ascending. types: one byte per id."""
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
    """Return id → piece of one type.

    Args:
        text: pieces end to end.
        ends: the end of each, as uint32.
        types: one byte per id.
    """
    cdef const uint32_t* end_of = <const uint32_t*> PyBytes_AS_STRING(ends)
    cdef dict pieces = {}
    cdef size_t i
    if len(ends) != 4 * len(types):
        raise ValueError(f"ends has {len(ends)} bytes, but {len(types)} pieces need 4 bytes each")
    for i in ids_of(types, wanted):
        pieces[i] = text[end_of[i - 1] if i else 0:end_of[i]]
    return pieces


def strings(bytes data not None, size_t at, bytes tag not None):
    """Read the strings of consecutive fields with one tag, starting at data[at].

    Strings of 128 bytes or more are left to the caller. Bytes that are not UTF-8 become surrogates.

    Returns:
        (strings, offset of the first field that was not read).
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

"""SentencePieceText: pieces with their offsets in a text, and the protobuf message that contains them.

A piece is a tuple: (piece, id, surface, begin, end). Its surface is the part of the text that it stands for,
text[begin:end] in bytes; None: its message has no field `surface`. An id of -1, for no id, becomes 2**32 - 1, because
the field is a uint32.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from fastbpe._core.common.gil_yield cimport yield_gil_at
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from fastbpe.model import PieceType
from fastbpe.tokenizer.families.codepoint_tables import METASPACE_UTF8 as _METASPACE
from fastbpe.sentencepiece._errors import ArgumentError

cdef bytes METASPACE = _METASPACE, NO_CHARACTER = "\ufffd".encode()
cdef int UNKNOWN = PieceType.UNKNOWN, CONTROL = PieceType.CONTROL, BYTE = PieceType.BYTE

cdef enum:
    # Tags of protobuf: field number and wire type.
    TEXT = 1 << 3 | 2
    PIECES = 2 << 3 | 2
    PIECE = 1 << 3 | 2
    ID = 2 << 3 | 0
    SURFACE = 3 << 3 | 2
    BEGIN = 4 << 3 | 0
    END = 5 << 3 | 0


cdef inline size_t _width(size_t value) noexcept nogil:
    """Return the number of bytes that a varint takes."""
    cdef size_t n = 1
    while value >= 0x80:
        value >>= 7
        n += 1
    return n


cdef inline uint8_t* _number(uint8_t* out, uint8_t tag, size_t value) noexcept nogil:
    out[0] = tag
    out += 1
    while value >= 0x80:
        out[0] = <uint8_t> (value & 0x7F | 0x80)
        value >>= 7
        out += 1
    out[0] = <uint8_t> value
    return out + 1


cdef inline uint8_t* _bytes(uint8_t* out, uint8_t tag, bytes data) noexcept:
    cdef size_t n = <size_t> PyBytes_GET_SIZE(data)
    out = _number(out, tag, n)
    memcpy(out, PyBytes_AS_STRING(data), n)
    return out + n


cdef size_t _piece_bytes(tuple item) except 0:
    """Return the length of the message of one piece, in bytes."""
    cdef bytes piece = item[0], surface = item[2]  # other types raise TypeError before anything is written
    cdef size_t n = <size_t> PyBytes_GET_SIZE(piece)
    cdef size_t size = 4 + _width(n) + n  # 4: the tags PIECE, ID, BEGIN and END
    size += _width(<uint32_t> <long long> item[1]) + _width(item[3]) + _width(item[4])
    if surface is not None:
        n = <size_t> PyBytes_GET_SIZE(surface)
        size += 1 + _width(n) + n
    return size


def serialize(bytes text not None, list pieces not None):
    """Return a SentencePieceText as the bytes that sentencepiece writes.

    Args:
        text: UTF-8.
        pieces: tuples (piece, id, surface, begin, end).

    >>> serialize(b"a", [("▁a".encode(), 5, b"a", 0, 1)]).hex()
    '0a0161120f0a04e296816110051a016120002801'
    """
    cdef size_t n_text = <size_t> PyBytes_GET_SIZE(text), size = 1 + _width(n_text) + n_text, n
    cdef size_t i
    cdef tuple item
    cdef bytes out
    cdef uint8_t* to
    pieces = list(pieces)  # a copy, which other threads cannot change
    for i, item in enumerate(pieces):
        yield_gil_at(i)
        n = _piece_bytes(item)
        size += 1 + _width(n) + n
    out = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> size)
    to = _bytes(<uint8_t*> PyBytes_AS_STRING(out), TEXT, text)
    for i, item in enumerate(pieces):
        yield_gil_at(i)
        to = _number(to, PIECES, _piece_bytes(item))
        to = _bytes(to, PIECE, item[0])
        to = _number(to, ID, <uint32_t> <long long> item[1])
        if item[2] is not None:
            to = _bytes(to, SURFACE, item[2])
        to = _number(to, BEGIN, item[3])
        to = _number(to, END, item[4])
    return out


def encoded(
    bytes text not None, bytes types not None, list pieces not None, list ids not None, list offsets not None
):
    """Return the pieces of an encoded text. If a character is several byte pieces, only the last has a surface.

    Args:
        text: UTF-8.
        types: a PieceType for each id.
        pieces, ids, offsets: one per piece; offsets in bytes.
    """
    cdef list out = []
    cdef Py_ssize_t i, token, begin, end
    cdef int lead, n_more = 0  # byte pieces still to come for the same character
    cdef bytes piece
    for i in range(len(pieces)):
        yield_gil_at(<size_t> i)
        piece, token = pieces[i], ids[i]
        begin, end = offsets[i]
        if n_more:
            n_more -= 1
        elif types[token] == BYTE:
            lead = int(piece[3:5], 16)
            n_more = (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
        out.append((piece, token, None if n_more else text[begin:end], begin, end))
    return out


def in_characters(bytes text not None, list places not None):
    """Convert offsets in bytes of UTF-8 to offsets in characters.

    Raises:
        IndexError: an offset beyond the end.
    """
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef size_t n = <size_t> PyBytes_GET_SIZE(text), at = 0, n_characters = 0, place, i
    cdef list out = []
    if text.isascii():
        for i, place in enumerate(places):
            yield_gil_at(i)
            if place > n:
                raise IndexError(f"offset {place} is beyond the end of the text, at {n} bytes")
        return places
    for i, place in enumerate(places):
        yield_gil_at(i)
        if place > n:
            raise IndexError(f"offset {place} is beyond the end of the text, at {n} bytes")
        if place < at:  # rare: offsets ascend
            at = n_characters = 0
        while at < place:
            at += 1
            # An offset inside a character counts as that character's offset.
            n_characters += at == n or data[at] & 0xC0 != 0x80
        out.append(n_characters)
    return out


def normalized_in_characters(bytes text not None, bytes normalized not None, list places not None):
    """Return the origin, in characters of a text, of each character of its normalized text and of the end.

    Args:
        text: UTF-8 before normalization.
        normalized: UTF-8 after it.
        places: origin, in bytes of the text, of each byte of `normalized` and of the end; [] if it is empty.
    """
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(normalized)
    cdef size_t n = <size_t> PyBytes_GET_SIZE(normalized), i
    cdef list of_characters = []
    if not places:
        return [0]
    if normalized.isascii():
        return in_characters(text, places)
    for i in range(n + 1):
        yield_gil_at(i)
        if i == n or data[i] & 0xC0 != 0x80:
            of_characters.append(places[i])
    return in_characters(text, of_characters)


def mapping(bytes text not None, list pieces not None, bint as_bytes):
    """Return the "offset_mapping" of a decoded text.

    Raises:
        ValueError: as_bytes is False, and rules for decoded text have made the text shorter.
    """
    cdef tuple item
    cdef list ids = [], names = [], places = [], offsets = []
    cdef size_t i
    for i, item in enumerate(pieces):
        yield_gil_at(i)
        ids.append(<uint32_t> <long long> item[1])
        names.append(item[0] if as_bytes else (<bytes> item[0]).decode())
        places.append(item[3])
        places.append(item[4])
    if not as_bytes:
        try:
            places = in_characters(text, places)
        except IndexError:
            raise ArgumentError("Invalid piece offsets in SentencePieceText") from None
    for i in range(<size_t> len(ids)):
        yield_gil_at(i)
        offsets.append((places[2 * i], places[2 * i + 1]))
    return {"text": text if as_bytes else text.decode(), "ids": ids, "pieces": names, "offsets": offsets}


@cython.final
cdef class Surfaces:
    """Decode pieces one by one, even those that are not in the vocabulary, and return their offsets in the text.

    Args:
        types: a PieceType for each id.
        ids: piece → id.
        unknown_id: id of other pieces; -1 without an unknown piece.
        unknown_surface: text of `<unk>`.
        trims, dummy_prefix: remove_extra_whitespaces and add_dummy_prefix of the model's normalizer.
    """

    cdef bytes _types, _unknown_surface
    cdef dict _ids
    cdef Py_ssize_t _unknown_id
    cdef bint _trims, _strips
    cdef dict _known  # piece → (id, surface); the surface of a byte piece is None

    def __init__(
        self, bytes types not None, dict ids not None, Py_ssize_t unknown_id, bytes unknown_surface not None, *,
        bint trims, bint dummy_prefix,
    ):
        self._types, self._ids, self._unknown_id, self._unknown_surface = types, ids, unknown_id, unknown_surface
        self._trims, self._strips = trims, trims or dummy_prefix
        self._known = {}

    def of(self, pieces):
        """Return (text of all pieces as UTF-8, tuples (piece, id, surface, begin, end) with offsets in bytes)."""
        cdef list out = [], pending = []  # pending: consecutive byte pieces
        cdef Py_ssize_t at = 0, end, token
        cdef bint at_start = True
        cdef tuple known
        cdef bytes surface, piece
        cdef size_t i
        for i, piece in enumerate(pieces):
            yield_gil_at(i)
            known = self._known.get(piece)
            if known is None:
                known = self._look_up(piece)
            token, surface = known[0], known[1]
            if surface is None:
                pending.append(piece)
                continue
            if pending:
                at = self._add_bytes(pending, out, at)
                pending.clear()
            if at_start:  # at > 0: byte pieces have added text since
                surface, at_start = self._surface(piece, token, at == 0)
            end = at + PyBytes_GET_SIZE(surface)
            out.append((piece, token, surface, at, end))
            at = end
        self._add_bytes(pending, out, at)
        return b"".join([(<tuple> item)[2] for item in out]), out

    cdef tuple _look_up(self, bytes piece):
        cdef Py_ssize_t token = self._ids.get(piece, self._unknown_id)
        cdef tuple found
        if token >= 0 and self._types[token] == BYTE:
            found = token, None
        else:
            found = token, self._surface(piece, token, False)[0]
        if piece in self._ids:  # the memory for others would have no limit
            self._known[piece] = found
        return found

    cdef Py_ssize_t _add_bytes(self, list pending, list out, Py_ssize_t at) except -1:
        """Add byte pieces at an offset, and return the offset of their end.

        The last byte piece of a character has the surface.
        """
        cdef Py_ssize_t i = 0, k, last, n_bytes
        cdef bytes surface, data
        cdef bytearray numbers = bytearray()
        if not pending:
            return at
        for piece in pending:
            yield_gil_at(<size_t> len(numbers))
            numbers.append(int(piece[3:5], 16))
        data = bytes(numbers)
        while i < len(data):
            yield_gil_at(<size_t> i)
            n_bytes = _character_bytes(data, i)
            surface = data[i : i + n_bytes] if n_bytes else NO_CHARACTER
            last = i + max(n_bytes, 1) - 1
            for k in range(i, last):
                out.append((pending[k], self._ids[pending[k]], b"", at, at))
            out.append((pending[last], self._ids[pending[last]], surface, at, at + len(surface)))
            at += len(surface)
            i = last + 1
        return at

    cdef tuple _surface(self, bytes piece, Py_ssize_t token, bint at_start):
        """Return (text of a piece, whether the next piece is still at the start of the text)."""
        cdef bytes text
        if token >= 0 and self._types[token] == CONTROL:
            return b"", at_start
        if token < 0 or self._types[token] == UNKNOWN:
            # As in sentencepiece, a piece that decodes to nothing ends the start of the text in `decode` to str,
            # but not here, where offsets are computed.
            return (self._unknown_surface if piece in self._ids else piece), at_start
        text = piece.replace(METASPACE, b" ")
        if not at_start or not self._strips or not piece.startswith(METASPACE):
            return text, at_start
        return text[1:], self._trims


cdef Py_ssize_t _character_bytes(bytes data, Py_ssize_t at):
    """Return the length in bytes of the UTF-8 character that begins at an offset; 0 if no character does."""
    cdef Py_ssize_t n_bytes
    for n_bytes in range(1, 5):
        try:
            data[at : at + n_bytes].decode()
        except UnicodeDecodeError:
            continue
        return n_bytes
    return 0

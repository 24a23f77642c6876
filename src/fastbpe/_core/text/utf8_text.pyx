"""Text as UTF-8, by the same rule for every entry point.

An ASCII str is read in place. Any other str is transcoded into our own memory, so that the str does not cache a
second copy. A surrogate pair becomes its character, a lone surrogate U+FFFD. Bytes must be UTF-8.

The core counts texts in units: code points of a str (a surrogate is one, too), or bytes of UTF-8.
"""

# Tried and dropped: fast paths for characters of two and three bytes in the UTF-8 check, as in char_bytes():
# mispredicted branches made it slower.

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from fastbpe._core.common.hashing cimport load64
from fastbpe._core.common.memory cimport prefetch
from fastbpe._core.common.python cimport (
    PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE, PyList_GET_ITEM, PyObject, PyUnicode_DATA,
    PyUnicode_FromObject, PyUnicode_GET_LENGTH, PyUnicode_KIND
)
from fastbpe._core.common.utf8 cimport put_char

import os


cdef enum:
    PREFETCH_BYTES = 1 << 12  # a page: the hardware prefetcher takes over after it

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(PyObject* text) noexcept


cdef extern from "simd/transcode.h" nogil:
    ctypedef size_t (*fb_transcode_fn)(const void* data, size_t* at, size_t n, int unit, uint8_t* out) noexcept
    fb_transcode_fn fb_choose_transcode(const char* path)

cdef fb_transcode_fn _transcode_blocks = fb_choose_transcode(os.environ.get("FASTBPE_SIMD", "").encode())


def use_path(str path not None):
    """Choose the instruction set, as FASTBPE_SIMD does at import; "" chooses the best.

    For tests, while nothing encodes.
    """
    global _transcode_blocks
    _transcode_blocks = fb_choose_transcode(path.encode())


cdef int text_of(object text, Text* view) except -1:
    """Fill a view of a str, or of bytes, which are checked to be UTF-8.

    Requires: the caller keeps `text` alive while it uses the view, and then calls text_release().
    Ensures: on an error the view owns nothing.
    """
    cdef size_t bad
    text_view(text, view)
    if not isinstance(text, str):
        bad = first_invalid(<const uint8_t*> view.data, view.n)
        if bad < view.n:
            byte = (<const uint8_t*> view.data)[bad]
            text_release(view)
            raise not_utf8("text is", byte, bad)
    return 0


cdef object not_utf8(str what, uint8_t byte, size_t at):
    """Make the ValueError for bytes that are not UTF-8.

    what: beginning of the message, such as "text is".
    byte, at: the first invalid byte and its offset.
    """
    return ValueError(
        f"{what} not UTF-8: invalid byte 0x{byte:02x} at offset {at} "
        "(decode it first, with errors='replace' if it may be damaged)"
    )


cdef int text_view(object text, Text* view) except -1:
    """Fill a view of a str, or of bytes without checking them; otherwise like text_of().

    A bytearray or memoryview is copied: another thread may change it while the view is read.
    """
    view.owned = NULL
    if isinstance(text, str):
        view.data = PyUnicode_DATA(text)
        view.n = <size_t> PyUnicode_GET_LENGTH(text)
        view.unit = PyUnicode_KIND(text)
        view.is_utf8 = PyUnicode_IS_COMPACT_ASCII(<PyObject*> text)
        return 0
    if isinstance(text, (bytearray, memoryview)):
        text = bytes(text)
        _own(text, view)  # copied again, because this bytes object ends with the call
    elif isinstance(text, bytes):
        view.data = PyBytes_AS_STRING(text)
        view.n = <size_t> PyBytes_GET_SIZE(text)
    else:
        raise TypeError(f"text must be str, or bytes of UTF-8, not {type(text).__name__}")
    view.unit = 1
    view.is_utf8 = True
    return 0


cdef int _own(bytes text, Text* view) except -1:
    """Fill the view with its own copy of the bytes."""
    view.n = <size_t> PyBytes_GET_SIZE(text)
    view.owned = <uint8_t*> malloc(view.n + 1)
    if view.owned == NULL:
        raise MemoryError(f"no memory for {view.n} bytes of UTF-8")
    memcpy(view.owned, PyBytes_AS_STRING(text), view.n)
    view.data = view.owned
    return 0


cdef void text_release(Text* view) noexcept nogil:
    free(view.owned)
    view.owned = NULL


cdef void text_prefetch(const Text* text) noexcept nogil:
    """Prefetch the first page of the text that is read next.

    Texts of a batch are scattered over the heap, where the hardware prefetcher cannot guess the next one.
    """
    cdef size_t i, n_bytes = min(text.n * text.unit, <size_t> PREFETCH_BYTES)
    for i in range(0, n_bytes, 64):
        prefetch(<const uint8_t*> text.data + i)


cdef void prefetch_after(list texts, size_t i) noexcept:
    """Prefetch the text after texts[i], and the object header of the text after that."""
    cdef Text view
    cdef size_t n = len(texts)
    if i + 2 < n:
        prefetch(PyList_GET_ITEM(texts, i + 2))
    if i + 1 < n and isinstance(texts[i + 1], (str, bytes)):
        text_view(texts[i + 1], &view)  # cannot fail for a str or bytes
        text_prefetch(&view)


cdef int utf8_of(object text, Utf8* view) except -1:
    """Fill a view of a text's UTF-8, transcoding a str that is not ASCII.

    Requires: the caller keeps `text` alive while it uses the view, and then calls utf8_release().
    Ensures: on an error the view owns nothing.
    """
    cdef Text units
    view.owned = NULL
    text_of(text, &units)
    view.data, view.n, view.owned = <const uint8_t*> units.data, units.n, units.owned
    if not units.is_utf8:
        view.owned = <uint8_t*> malloc(utf8_capacity(&units, units.n))
        if view.owned == NULL:
            raise MemoryError(f"no memory for the UTF-8 of {units.n} characters")
        with nogil:
            view.n = text_utf8(&units, 0, units.n, view.owned)
        view.data = view.owned
    return 0


cdef void utf8_release(Utf8* view) noexcept nogil:
    free(view.owned)
    view.owned = NULL


# Transcoding the units of a str to UTF-8

cdef fused Unit:
    uint8_t
    uint16_t
    uint32_t

cdef const size_t BLOCK_UNITS = 16  # units per step of a loop without branches


cdef size_t utf8_capacity(const Text* text, size_t n_units) noexcept nogil:
    """Return how many bytes text_utf8() may write for n_units units, including 64 for its last vector store."""
    return n_units * (text.unit + 1 if text.unit < 4 else 4) + 64


cdef size_t text_utf8(const Text* text, size_t start, size_t end, uint8_t* out) noexcept nogil:
    """Write units start to end as UTF-8, and return the number of bytes.

    Requires: no surrogate pair crosses start or end, and out has utf8_capacity(text, end - start) bytes.
    """
    if text.unit == 1:
        return _transcode(<const uint8_t*> text.data + start, end - start, out)
    if text.unit == 2:
        return _transcode(<const uint16_t*> text.data + start, end - start, out)
    return _transcode(<const uint32_t*> text.data + start, end - start, out)


cdef size_t _transcode(const Unit* data, size_t n, uint8_t* out) noexcept nogil:
    """Transcode n units in blocks of 16, by the vectors of simd/transcode.h or loops that a compiler vectorizes.

    Blocks that these leave out (for example, with surrogates), and the units after the last block, are transcoded
    one character at a time.
    Returns the number of bytes.
    """
    cdef uint8_t* to = out
    cdef size_t i = 0, j
    cdef uint32_t seen
    while n - i >= BLOCK_UNITS:
        if _transcode_blocks != NULL:
            to += _transcode_blocks(data, &i, n, sizeof(Unit), to)
            if n - i >= BLOCK_UNITS:
                i = _transcode_slowly(data, i, i + BLOCK_UNITS, n, &to)
            continue
        seen = 0
        for j in range(BLOCK_UNITS):
            seen |= data[i + j]
        if seen < 0x80:
            for j in range(BLOCK_UNITS):
                to[j] = <uint8_t> data[i + j]
            to += BLOCK_UNITS
            i += BLOCK_UNITS
        elif seen < 0x10000 and (Unit is uint8_t or not _has_surrogate(data + i)):
            for j in range(BLOCK_UNITS):
                to = _put_up_to_3(to, data[i + j])
            i += BLOCK_UNITS
        else:
            i = _transcode_slowly(data, i, i + BLOCK_UNITS, n, &to)
    _transcode_slowly(data, i, n, n, &to)
    return to - out


cdef inline bint _has_surrogate(const Unit* block) noexcept nogil:
    """Tell whether a block of BLOCK_UNITS units has a surrogate."""
    cdef uint32_t found = 0
    cdef size_t j
    for j in range(BLOCK_UNITS):
        found |= block[j] >> 11 == 0x1B
    return found


cdef inline uint8_t* _put_up_to_3(uint8_t* to, uint32_t c) noexcept nogil:
    """Write a character below U+10000 without a branch, which mixed text would make hard to predict.

    Requires: 4 bytes to write to.
    """
    cdef uint32_t is_2 = c >= 0x80, is_3 = c >= 0x800
    cdef uint32_t two = 0x80C0 | c >> 6 | (c & 0x3F) << 8
    cdef uint32_t three = 0x8080E0 | c >> 12 | (c >> 6 & 0x3F) << 8 | (c & 0x3F) << 16
    cdef uint32_t word = three if is_3 else two if is_2 else c
    to[0] = <uint8_t> word  # the lowest byte first on any machine; compilers make one store of the four
    to[1] = <uint8_t> (word >> 8)
    to[2] = <uint8_t> (word >> 16)
    to[3] = <uint8_t> (word >> 24)
    return to + 1 + is_2 + is_3


cdef size_t _transcode_slowly(const Unit* data, size_t i, size_t end, size_t n, uint8_t** out) noexcept nogil:
    """Transcode units i to end, and one more if a surrogate pair begins at the last; return the index after them.

    Requires: end ≤ n.
    """
    cdef uint32_t c
    while i < end:
        c = data[i]
        i += 1
        if Unit is not uint8_t and c >> 11 == 0x1B:  # a surrogate
            if c < 0xDC00 and i < n and data[i] >> 10 == 0x37:  # the first of a pair
                c = 0x10000 + ((c & 0x3FF) << 10) + (data[i] & 0x3FF)
                i += 1
            else:
                c = 0xFFFD
        out[0] = put_char(out[0], c)
    return i


cdef size_t first_invalid(const uint8_t* data, size_t n) noexcept nogil:
    """Return the offset of the first byte that is not part of well-formed UTF-8; n if all bytes are."""
    cdef size_t i = 0, n_bytes
    while i < n:
        if data[i] >= 0x80:
            n_bytes = _valid_sequence(data + i, n - i)
            if not n_bytes:
                return i
            i += n_bytes
        elif n - i >= 32 and not (
            load64(data + i) | load64(data + i + 8) | load64(data + i + 16) | load64(data + i + 24)
        ) & 0x8080808080808080ULL:
            i += 32
        elif n - i >= 8 and not load64(data + i) & 0x8080808080808080ULL:
            i += 8
        else:
            i += 1
    return n


cdef inline size_t _valid_sequence(const uint8_t* p, size_t n) noexcept nogil:
    """Return the length of the well-formed character at the start of p[:n]; 0 if no such character is there.

    Requires: p[0] is not ASCII.
    """
    cdef bint is_valid
    cdef size_t n_bytes = _sequence(p, n, &is_valid)
    return n_bytes if is_valid else 0


cdef inline size_t _sequence(const uint8_t* p, size_t n, bint* is_valid) noexcept nogil:
    """Return the length of the character that p[:n] begins with; if it is invalid, of the bytes U+FFFD replaces.

    One U+FFFD replaces each maximal subpart of an ill-formed sequence (Unicode, section 3.9), as in CPython.

    Requires: p[0] is not ASCII.
    """
    cdef size_t n_after, k  # bytes after the lead byte
    cdef uint8_t lead = p[0], low = 0x80, high = 0xBF  # bounds of byte 2: no overlong form, no surrogate
    is_valid[0] = False
    if 0xC2 <= lead <= 0xDF:
        n_after = 1
    elif 0xE0 <= lead <= 0xEF:
        n_after = 2
        low = 0xA0 if lead == 0xE0 else 0x80
        high = 0x9F if lead == 0xED else 0xBF
    elif 0xF0 <= lead <= 0xF4:
        n_after = 3
        low = 0x90 if lead == 0xF0 else 0x80
        high = 0x8F if lead == 0xF4 else 0xBF
    else:
        return 1
    for k in range(1, n_after + 1):
        if k >= n or not low <= p[k] <= high:
            return k
        low, high = 0x80, 0xBF
    is_valid[0] = True
    return n_after + 1


cdef void character_starts(const uint8_t* data, size_t n, uint8_t* starts) noexcept nogil:
    """Store 1 for each byte that begins a character or an invalid sequence (one U+FFFD), 0 for the others.

    Requires: starts has n bytes.
    """
    cdef size_t i = 0
    cdef bint is_valid
    memset(starts, 0, n)
    while i < n:
        starts[i] = 1
        i += 1 if data[i] < 0x80 else _sequence(data + i, n - i, &is_valid)


def to_utf8(text):
    """Return the UTF-8 of a text: a surrogate pair becomes its character, a lone surrogate U+FFFD.

    Raises: TypeError if text is not a str or bytes-like, ValueError if bytes are not UTF-8.
    """
    cdef Utf8 view
    utf8_of(text, &view)
    try:
        return (<const char*> view.data)[:view.n]
    finally:
        utf8_release(&view)


def utf8_size(texts):
    """Count the bytes of `to_utf8` for all texts together, without creating them.

    texts: str, or bytes of UTF-8, which are not checked.
    """
    cdef Text view
    cdef size_t total = 0
    for text in texts:
        text_view(text, &view)
        if view.is_utf8:
            total += view.n
        elif view.unit == 1:
            total += _size(<const uint8_t*> view.data, view.n)
        elif view.unit == 2:
            total += _size(<const uint16_t*> view.data, view.n)
        else:
            total += _size(<const uint32_t*> view.data, view.n)
        text_release(&view)
    return total


cdef size_t _size(const Unit* data, size_t n) noexcept nogil:
    """Count the bytes of UTF-8 for units of a str."""
    cdef size_t i, size = n, n_pairs = 0
    cdef uint32_t c
    for i in range(n):
        c = data[i]
        size += (c >= 0x80) + (c >= 0x800) + (c >= 0x10000)
    if Unit is not uint8_t:
        for i in range(1, n):
            n_pairs += (data[i] >> 10 == 0x37) & (data[i - 1] >> 10 == 0x36)
    # Each surrogate was counted as 3 bytes. This is right for a lone one (U+FFFD), but the character of a pair has 4.
    return size - 2 * n_pairs


def plain(text):
    """Convert an instance of a subclass of str or bytes (numpy's, an enum's) to the plain type.

    Returns any other object unchanged.
    """
    if isinstance(text, str):
        return PyUnicode_FromObject(text)
    if isinstance(text, bytes) and type(text) is not bytes:
        return PyBytes_FromStringAndSize(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
    return text


def n_valid(data):
    """Count the bytes of valid UTF-8 before the first byte that is invalid or begins a truncated character."""
    cdef bytes checked = plain(data)
    cdef size_t n = <size_t> len(checked), at
    cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(checked)
    with nogil:
        at = first_invalid(start, n)
    return at


cpdef bint has_surrogates(object text) except -1:
    """Return True if a str contains surrogates, in pairs or alone, which UTF-8 cannot express."""
    cdef Text view
    cdef str checked = plain(text)
    text_of(checked, &view)
    return has_surrogate(&view)


cdef bint has_surrogate(const Text* text) noexcept nogil:
    """Tell whether a view contains surrogates, in pairs or alone."""
    if text.unit == 1:
        return False
    if text.unit == 2:
        return _any_surrogate(<const uint16_t*> text.data, text.n)
    return _any_surrogate(<const uint32_t*> text.data, text.n)


cdef bint _any_surrogate(const Unit* data, size_t n) noexcept nogil:
    cdef size_t i
    cdef Unit found = 0  # as wide as a unit, so that one instruction compares as many as fit
    for i in range(n):
        found |= <Unit> (data[i] >> 11 == 0x1B)
    return found != 0

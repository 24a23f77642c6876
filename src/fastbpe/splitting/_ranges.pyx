"""Sorted ranges of code points: tuples of (first, last), disjoint, not adjacent, and without surrogates.

Compiled, because a class such as `[^\\s\\p{L}]` needs several passes over some 700 ranges.
"""

from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint8_t, uint16_t
from libc.string cimport memcmp, memset

cdef enum:
    MAX_CODE_POINT = 0x10FFFF
    FIRST_SURROGATE = 0xD800
    LAST_SURROGATE = 0xDFFF
    N_LEADS = 256
    LEAD_BYTES = 32  # one bit per first byte
    N_BLOCKS = 0x1100  # blocks of 256 code points
    BLOCK_BYTES = 32  # one bit per code point
    SOME_ARE_MEMBERS = 5  # as in charsets.pxd


cdef struct Pending:
    # The last range, to which the next one may be adjacent; last < first: no range yet.
    int64_t first
    int64_t last


cdef inline int _emit(list out, int64_t first, int64_t last) except -1:
    """Append a range unless it is empty."""
    if first <= last:
        out.append((first, last))
    return 0


cdef int _flush(list out, const Pending* pending) except -1:
    """Append the pending range, without its surrogates."""
    _emit(out, pending.first, min(pending.last, <int64_t> (FIRST_SURROGATE - 1)))
    _emit(out, max(pending.first, <int64_t> (LAST_SURROGATE + 1)), pending.last)
    return 0


cdef int _add(list out, Pending* pending, int64_t first, int64_t last) except -1:
    """Extend the pending range by a range that touches it; else append the pending one and make the new one pending.

    Requires: the range begins at or after the beginning of the pending one.
    """
    if pending.first <= pending.last and first <= pending.last + 1:
        pending.last = max(pending.last, last)
        return 0
    _flush(out, pending)
    pending[0] = Pending(first, last)
    return 0


def merged(ranges):
    """Sort and merge ranges in any order, and leave surrogates out.

    Raises ValueError if a range runs backwards, or has a number that is not a code point.
    """
    cdef list out = []
    cdef Pending pending = Pending(0, -1)
    cdef int64_t first, last
    for first, last in sorted(ranges):
        if not 0 <= first <= last <= MAX_CODE_POINT:
            raise ValueError(f"({first:#x}, {last:#x}) is not a range; pass (low, high) within 0..0x10FFFF")
        _add(out, &pending, first, last)
    _flush(out, &pending)
    return tuple(out)


def common(tuple one not None, tuple two not None):
    """Return the ranges of the code points that are in both sets."""
    cdef list out = []
    cdef Py_ssize_t i = 0, k = 0
    cdef int64_t first, last, other_first, other_last
    while i < len(one) and k < len(two):
        first, last = one[i]
        other_first, other_last = two[k]
        _emit(out, max(first, other_first), min(last, other_last))
        if last < other_last:
            i += 1
        else:
            k += 1
    return tuple(out)


def others(tuple ranges not None):
    """Return the ranges of all other code points, without surrogates."""
    cdef list out = []
    cdef Pending pending = Pending(0, -1)
    cdef int64_t start = 0, first, last
    for first, last in ranges:
        if first > start:
            _add(out, &pending, start, first - 1)
        start = last + 1
    if start <= MAX_CODE_POINT:
        _add(out, &pending, start, MAX_CODE_POINT)
    _flush(out, &pending)
    return tuple(out)


cdef inline int _digit(char c) noexcept:
    """Return the value of a digit of base 36, in lower case; -1 for another character."""
    if c'0' <= c <= c'9':
        return c - c'0'
    return c - c'a' + 10 if c'a' <= c <= c'z' else -1


cdef int64_t _number(const char** at) noexcept:
    """Read a number in base 36. at: its position; moved past the number."""
    cdef int64_t value = 0
    while _digit(at[0][0]) >= 0:
        value = 36 * value + _digit(at[0][0])
        at[0] += 1
    return value


cdef inline const char* _next_word(const char* at) noexcept:
    """Skip white space."""
    while c'\0' < at[0] <= c' ':
        at += 1
    return at


def unpacked(str table not None):
    """Decode ranges in words `gap.length` in base 36; a gap is counted from the end of the previous range."""
    cdef list out = []
    cdef int64_t start = 0, length
    cdef const char* at = _next_word(PyUnicode_AsUTF8AndSize(table, NULL))
    while at[0]:
        start += _number(&at)
        at += 1
        length = _number(&at)
        out.append((start, start + length - 1))
        start += length
        at = _next_word(at)
    return tuple(out)


def of_names(str runs not None, Py_ssize_t name_length, *names):
    """Return the ranges of some names in a table of runs: words of a name and a length in base 36.

    name_length: characters of each name in the table, at most 8.
    names: in lower case; the beginning of a name stands for all names that begin with it.
    """
    cdef list out = []
    cdef Pending pending = Pending(0, -1)
    cdef int64_t start = 0, length
    cdef Py_ssize_t i
    cdef tuple wanted = tuple([each.encode() for each in names])
    cdef bytes name
    cdef char[8] lower
    cdef const char* at = PyUnicode_AsUTF8AndSize(runs, NULL)
    while at[0]:
        for i in range(name_length):
            lower[i] = at[i] | 0x20 if c'A' <= at[i] <= c'Z' else at[i]
        at += name_length
        length = _number(&at)
        for name in wanted:
            if memcmp(lower, PyBytes_AS_STRING(name), <size_t> min(len(name), name_length)) == 0:
                _add(out, &pending, start, start + length - 1)
                break
        start += length
        at = _next_word(at)
    _flush(out, &pending)
    return tuple(out)


# Tables of the engine


cdef (int64_t, int64_t) _span(int lead) noexcept:
    """Return the first and last code point whose UTF-8 begins with a byte; (0, -1): no code point.

    For 0xED the span includes the surrogates.
    """
    if lead < 0x80:
        return lead, lead
    if 0xC2 <= lead < 0xE0:
        return (lead & 0x1F) << 6, (lead & 0x1F) << 6 | 0x3F
    if 0xE0 <= lead < 0xF0:
        return max((lead & 0x0F) << 12, 0x800), (lead & 0x0F) << 12 | 0xFFF
    if 0xF0 <= lead < 0xF5:
        return max((lead & 0x07) << 18, 0x10000), min((lead & 0x07) << 18 | 0x3FFFF, MAX_CODE_POINT)
    return 0, -1


cdef int _count_by_lead(tuple ranges, int64_t* counts) except -1:
    """Count the members of a set by the first byte of their UTF-8."""
    cdef int lead = 0
    cdef int64_t first, last, span_first, span_last
    memset(counts, 0, N_LEADS * sizeof(int64_t))
    # Ranges and first bytes both ascend. The next range may begin with the first byte at which this one ends.
    for first, last in ranges:
        while lead < N_LEADS:
            span_first, span_last = _span(lead)
            counts[lead] += max(min(last, span_last) - max(first, span_first) + 1, <int64_t> 0)
            if span_last >= last:
                break
            lead += 1
    return 0


def lead_answers(tuple ranges not None):
    """Return what each first byte of a character's UTF-8 says about its membership, as in set_tables.py."""
    cdef int64_t[N_LEADS] counts
    cdef int64_t first, last, n_possible
    cdef int lead
    cdef bytes answers = PyBytes_FromStringAndSize(NULL, N_LEADS)
    cdef uint8_t* to = <uint8_t*> PyBytes_AS_STRING(answers)
    _count_by_lead(ranges, counts)
    for lead in range(N_LEADS):
        first, last = _span(lead)
        n_possible = min(last, <int64_t> (FIRST_SURROGATE - 1)) - first + 1 if lead == 0xED else last - first + 1
        if not counts[lead]:
            to[lead] = 0
        elif counts[lead] < n_possible:
            to[lead] = SOME_ARE_MEMBERS
        else:
            to[lead] = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    return answers


def first_bytes(tuple ranges not None):
    """Return an int with a bit for each first byte of the UTF-8 of a set's characters."""
    cdef int64_t[N_LEADS] counts
    cdef uint8_t[LEAD_BYTES] bits
    cdef int lead
    _count_by_lead(ranges, counts)
    memset(bits, 0, sizeof(bits))
    for lead in range(N_LEADS):
        bits[lead >> 3] |= (counts[lead] > 0) << (lead & 7)
    return int.from_bytes((<const char*> bits)[:sizeof(bits)], "little")


def number_blocks(tuple ranges not None, dict numbers not None):
    """Return the number of each block of 256 code points, as uint16.

    numbers: bits of a block → its number; receives the blocks that are new.
    """
    cdef bytes bits = bytes(N_BLOCKS * BLOCK_BYTES), index = PyBytes_FromStringAndSize(NULL, 2 * N_BLOCKS)
    cdef uint8_t* members = <uint8_t*> PyBytes_AS_STRING(bits)
    cdef uint16_t* to = <uint16_t*> PyBytes_AS_STRING(index)
    cdef int64_t c, first, last
    cdef Py_ssize_t block, at
    for c, last in ranges:
        while c <= last:
            if not c & 7 and last - c >= 8:  # whole bytes of the bitmap at once
                first = c
                c += (last + 1 - c) & ~7
                memset(members + (first >> 3), 0xFF, <size_t> (c - first) >> 3)
            else:
                members[c >> 3] |= <uint8_t> (1 << (c & 7))
                c += 1
    for block in range(N_BLOCKS):
        at = block * BLOCK_BYTES
        if block and memcmp(members + at, members + at - BLOCK_BYTES, BLOCK_BYTES) == 0:
            to[block] = to[block - 1]
        else:
            to[block] = numbers.setdefault(bits[at:at + BLOCK_BYTES], len(numbers))
    return index

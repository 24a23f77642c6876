"""Ids and offsets as the bytes of files: little-endian on any machine, ids of two or four bytes, offsets of eight."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


def pack_ids(const uint32_t[::1] ids, int n_bytes):
    """The ids, each in its lower n_bytes bytes (2 or 4), as a bytearray."""
    cdef Py_ssize_t i, n = ids.shape[0]
    if n_bytes not in (2, 4):
        raise ValueError(f"n_bytes={n_bytes}: ids are packed in 2 or 4 bytes")
    cdef bytearray packed = PyByteArray_FromStringAndSize(NULL, n * n_bytes)
    cdef uint8_t* out = <uint8_t*> PyByteArray_AS_STRING(packed)
    with nogil:  # by shifts: the compiler sees what they are and moves many at a time
        if n_bytes == 2:
            for i in range(n):
                out[2 * i] = <uint8_t> ids[i]
                out[2 * i + 1] = <uint8_t> (ids[i] >> 8)
        else:
            for i in range(n):
                out[4 * i] = <uint8_t> ids[i]
                out[4 * i + 1] = <uint8_t> (ids[i] >> 8)
                out[4 * i + 2] = <uint8_t> (ids[i] >> 16)
                out[4 * i + 3] = <uint8_t> (ids[i] >> 24)
    return packed


def pack_offsets(const int64_t[::1] offsets, int64_t more):
    """The offsets, each larger by `more`, as a bytearray."""
    cdef Py_ssize_t i, n = offsets.shape[0]
    cdef bytearray packed = PyByteArray_FromStringAndSize(NULL, n * 8)
    cdef uint8_t* out = <uint8_t*> PyByteArray_AS_STRING(packed)
    cdef uint64_t offset
    cdef int k
    with nogil:
        for i in range(n):
            offset = <uint64_t> (offsets[i] + more)
            for k in range(8):
                out[8 * i + k] = <uint8_t> (offset >> 8 * k)
    return packed

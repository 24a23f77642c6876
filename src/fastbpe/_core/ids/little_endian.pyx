"""Pack ids (2 or 4 bytes) and offsets (8 bytes) for files: little-endian on any machine."""

from fastbpe._core.common.python cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


def pack_ids(const uint32_t[::1] ids, int n_bytes):
    """Pack the low n_bytes bytes of each id (2 or 4) into a new bytearray, little-endian."""
    cdef Py_ssize_t i, n = ids.shape[0]
    if n_bytes not in (2, 4):
        raise ValueError(f"n_bytes={n_bytes}: ids are packed in 2 or 4 bytes")
    cdef bytearray packed = PyByteArray_FromStringAndSize(NULL, n * n_bytes)
    cdef uint8_t* out = <uint8_t*> PyByteArray_AS_STRING(packed)
    with nogil:  # shifts work on any machine, and the compiler turns them into vector moves
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
    """Pack each offset plus `more` into a new bytearray, 8 bytes each, little-endian."""
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

"""Table of the Python ints of ids, made once for the whole process: see int_table.pyx."""

from fastbpe._core.common.python cimport PyObject
from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #ifndef FASTBPE_INTS
    #define FASTBPE_INTS
    #if PY_VERSION_HEX < 0x030B0000
    #include "longintrepr.h"
    #endif
    #define FASTBPE_INT_AT(first, i) ((PyObject *)((PyLongObject *)(first) + (i)))
    #endif
    """
    PyObject* int_at "FASTBPE_INT_AT"(void* first, size_t i) noexcept nogil  # address of the int of value i
    size_t INT_BYTES "sizeof(PyLongObject)"

cdef enum:
    BLOCK_INTS = 128  # ints that are made together, a page of 4 KB


cdef struct Ints:
    void* first  # array of ints: int_at(first, i) is the int of id i
    uint32_t n  # size of the array; 0: no array yet, or none at all, because this Python's ints have another layout
    uint8_t* made  # by block: whether its ints exist; an extra block, never made, is for ids from n on
    uint32_t n_row  # the ints of all ids below it exist, so `made` need not be read
    size_t n_looked_up  # ids for which `made` was read since n_row was last updated


cdef Ints* kept_ints() except NULL
cdef const Ints* ints_so_far() noexcept nogil
cdef void make_block(Ints* ints, size_t block) noexcept
cdef void count_lookups(Ints* ints, size_t n) noexcept


cdef inline object offset_int(Ints* ints, size_t offset):
    """Return the int of an offset in a text, from the table if it is below ints.n."""
    if offset >= ints.n:
        return offset
    if not ints.made[offset // BLOCK_INTS]:
        make_block(ints, offset // BLOCK_INTS)
    return <object> int_at(ints.first, offset)


cdef inline size_t int_value(const Ints* ints, const PyObject* item) noexcept nogil:
    """Return the value of an int of the table, from its address alone; ints.n or more: it is not in the table."""
    return (<size_t> item - <size_t> ints.first) // INT_BYTES

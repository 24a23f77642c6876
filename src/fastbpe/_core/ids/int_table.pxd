"""Python ints for ids, that are made once for the whole process and never freed: see ints.pyx."""

from cpython.object cimport PyObject
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
    PyObject* int_at "FASTBPE_INT_AT"(void* first, size_t i) noexcept nogil
    size_t INT_BYTES "sizeof(PyLongObject)"

cdef enum:
    BLOCK_INTS = 128  # made at once: a page


cdef struct Ints:
    void* first  # they lie in a row: that of id i is int_at(first, i)
    uint32_t n  # ids from n on have none; 0 where Python's ints are not known well enough
    uint8_t* made  # for each block; the one behind the last is never made
    uint32_t n_row  # all ids below have theirs
    size_t n_looked_up  # ids since it was set last of which it had to be asked whether they have


cdef Ints* kept_ints() except NULL
cdef const Ints* ints_so_far() noexcept nogil
cdef void make_block(Ints* ints, size_t block) noexcept
cdef void looked_up(Ints* ints, size_t n) noexcept


cdef inline object place_int(Ints* ints, size_t place):
    """The int of a place in a text: those up to a million are kept, too, 32 MB at most. Offsets take a sixth less time."""
    if place >= ints.n:
        return place
    if not ints.made[place // BLOCK_INTS]:
        make_block(ints, place // BLOCK_INTS)
    return <object> int_at(ints.first, place)


cdef inline size_t kept_place(const Ints* ints, const PyObject* item) noexcept nogil:
    """The value of an int that is kept, which is not read for it; ints.n or more: it is none of them."""
    return (<size_t> item - <size_t> ints.first) // INT_BYTES

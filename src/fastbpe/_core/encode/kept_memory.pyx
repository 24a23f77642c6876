"""Release of memory that the core keeps between calls."""

from fastbpe._core.encode.scratch_pool cimport free_scratches
from fastbpe._core.encode.spans cimport free_shared_tuples
from fastbpe._core.ids.id_lists cimport free_spare

cdef extern from *:
    """
    #ifdef __GLIBC__
    #include <malloc.h>
    #define FASTBPE_TRIM_MALLOC() ((void)malloc_trim(0))
    #else
    #define FASTBPE_TRIM_MALLOC() ((void)0)
    #endif
    """
    void trim_malloc "FASTBPE_TRIM_MALLOC"() noexcept nogil


def free_blocks():
    """Free the arrays, offset tuples, buffers and piece caches that the core keeps; return their size in bytes."""
    return free_spare() + free_shared_tuples() + free_scratches()


def give_to_system():
    """Make glibc return free pages to the system. With another C library, do nothing.

    glibc's malloc keeps pages between used ones, and up to 64 MB at the end of the heap: twice the greatest
    M_MMAP_THRESHOLD.
    """
    with nogil:
        trim_malloc()

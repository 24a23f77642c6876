"""Gives back the memory that the core keeps between calls."""

from fastbpe._core.ids.id_lists cimport free_spare
from fastbpe._core.encode.pipeline cimport free_scratches

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
    """Free all blocks that wait for the next call, of all pipelines; how many bytes."""
    return free_spare() + free_scratches()


def give_to_system():
    """Have malloc return free pages to the system: glibc's keeps up to 64 MB of them, and more between used ones."""
    with nogil:
        trim_malloc()

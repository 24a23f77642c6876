"""Python's memory for small objects, kept from one call to the next.

Python takes memory for them from the system in arenas of 1 MB and gives each back as soon as nothing in it lives. A call
that makes a million tuples, or a loop that makes as many short lists, has all of that laid out anew each time, a page
fault for every 4 KB: a third to a half of its time (docs/performance.md). malloc, where the items of long lists lie,
keeps up to 64 MB for what comes next; as much is kept here. In each of the arenas that were filled last there is a block
of ours, which holds nothing: the arena stays, and all of Python may use it.
"""

cdef extern from *:
    """
    #include <stddef.h>

    /* Blocks where malloc or another allocator is in place of arenas would be of no use, and may stand in its way. */
    static int fastbpe_has_arenas(void) {
    #if defined(WITH_PYMALLOC) && !defined(Py_GIL_DISABLED)
        PyMemAllocatorEx raw, object;
        PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
        PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &object);
        return raw.malloc != object.malloc;
    #else
        return 0;
    #endif
    }
    """
    bint _has_arenas "fastbpe_has_arenas"()
    void* PyObject_Malloc(size_t n) noexcept
    void PyObject_Free(void* block) noexcept

cdef enum:
    WINDOW_BITS = 20  # an arena's size: where it begins is not known, but in a row of them each has a window of its own
    N_KEPT = 64
    MOST_BYTES = 512  # of a small object; what is larger is malloc's

cdef void* _blocks[N_KEPT]
cdef int _next = 0
cdef bint _is_on = _has_arenas()


cdef void keep_arena(size_t n_bytes) noexcept:
    """Have the arena that the next object of that size would lie in outlive it, in place of what was kept first."""
    global _next
    cdef void* block
    cdef int i
    if not _is_on or n_bytes > MOST_BYTES:
        return
    block = PyObject_Malloc(n_bytes)
    for i in range(N_KEPT):
        if <size_t> _blocks[i] >> WINDOW_BITS == <size_t> block >> WINDOW_BITS:
            PyObject_Free(block)
            return
    PyObject_Free(_blocks[_next])
    _blocks[_next] = block
    _next = (_next + 1) % N_KEPT

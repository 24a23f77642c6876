"""Python's memory for small objects: kept from one call to the next, and laid out an arena at a time.

Python takes memory for them from the system in arenas of 1 MB and gives each back as soon as nothing in it lives. A
call that makes a million tuples, or a loop that makes as many short lists, has all of that laid out anew each time, a
page fault for every 4 KB: a third to a half of its time (docs/performance.md). malloc, where the items of long lists
lie, keeps up to 64 MB for what comes next; here it is 80, a million tuples and some. In each of the arenas that were
filled last there is a block of ours, which holds nothing: the arena stays, and all of Python may use it.

An arena that Python takes while such objects are made has its pages asked for at once, in place of a fault for each:
another 10 to 20 % where what is made is kept. For that Python is given an allocator of arenas that asks its own one.
"""

cdef extern from *:
    """
    #include <stddef.h>
    #ifdef __linux__
    #include <sys/mman.h>
    #ifndef MADV_POPULATE_WRITE
    #define MADV_POPULATE_WRITE 23 /* Linux 5.14; older ones refuse it, and pages come one by one as ever */
    #endif
    #endif

    #if defined(WITH_PYMALLOC) && !defined(Py_GIL_DISABLED)
    static PyObjectArenaAllocator fastbpe_arenas;
    static int fastbpe_is_filling = 0;

    static void *fastbpe_new_arena(void *context, size_t n_bytes) {
        void *arena = fastbpe_arenas.alloc(context, n_bytes);
    #ifdef __linux__
        if (arena != NULL && fastbpe_is_filling) madvise(arena, n_bytes, MADV_POPULATE_WRITE);
    #endif
        fastbpe_is_filling = 0; /* until many more were made */
        return arena;
    }

    /* Whether there are arenas: where malloc or another allocator is in place of them, blocks would be of no use, and
       may stand in its way. */
    static int fastbpe_take_arenas(void) {
        PyMemAllocatorEx raw, object;
        PyObjectArenaAllocator ours;
        PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
        PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &object);
        if (raw.malloc == object.malloc) return 0;
        PyObject_GetArenaAllocator(&fastbpe_arenas);
        ours = fastbpe_arenas; /* its context, and what gives arenas back, are as they were */
        ours.alloc = fastbpe_new_arena;
        PyObject_SetArenaAllocator(&ours);
        return 1;
    }
    #else
    static int fastbpe_is_filling = 0;
    static int fastbpe_take_arenas(void) { return 0; }
    #endif
    """
    int _is_filling "fastbpe_is_filling"
    bint _take_arenas "fastbpe_take_arenas"()
    void* PyObject_Malloc(size_t n) noexcept
    void PyObject_Free(void* block) noexcept

cdef enum:
    WINDOW_BITS = 20  # an arena's size: where it begins is not known, but in a row of them each has a window of its own
    N_KEPT = 80
    MOST_BYTES = 512  # of a small object; what is larger is malloc's

cdef void* _blocks[N_KEPT]
cdef int _next = 0
cdef bint _is_asked = False, _has_arenas = False


cdef void keep_arena(size_t n_bytes) noexcept:
    """Have the arena that the next object of that size would lie in outlive it, in place of what was kept first."""
    global _next, _is_asked, _has_arenas, _is_filling
    cdef void* block
    cdef int i
    if not _is_asked:  # not at import: of a few objects none of this is of any use
        _is_asked, _has_arenas = True, _take_arenas()
    if not _has_arenas or n_bytes > MOST_BYTES:
        return
    _is_filling = True
    block = PyObject_Malloc(n_bytes)
    for i in range(N_KEPT):
        if <size_t> _blocks[i] >> WINDOW_BITS == <size_t> block >> WINDOW_BITS:
            PyObject_Free(block)
            return
    PyObject_Free(_blocks[_next])
    _blocks[_next] = block
    _next = (_next + 1) % N_KEPT

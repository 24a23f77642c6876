"""Locks and copies that stand in for the GIL on a free-threaded CPython. With the GIL, all of it compiles to nothing.

FREE_THREADED  this is a free-threaded build, whether or not its GIL is on
lock(lock)     take a lock; it is free while its bytes are 0
unlock(lock)   give it back
own(items)     a list that no other thread changes: a copy of a list of the caller's; with the GIL, the list itself

A lock guards a few lines of plain C: no Python code, no memory of megabytes freed, no other lock taken but in the
one order that is written beside it. Its holder has the GIL or, without one, a thread state, and never gives it up.
So the interpreter, which stops all threads for a fork, never stops one that holds a lock, and the child finds all
locks free. That is why this is a spin lock and no PyMutex: a thread that waits for a PyMutex gives its thread state
up, and may be handed the lock while all others stand still.

An attribute that is made when first needed is made without a lock, kept under one if no other thread was faster,
and never replaced: a reader who has seen it (by an atomic flag, or under the same lock) may use it without one.
"""

from fastbpe._core.common.atomics cimport claim, clear_flag, yield_thread

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define FASTBPE_FREE_THREADED 1
    #else
    #define FASTBPE_FREE_THREADED 0
    #endif
    """
    bint FREE_THREADED "FASTBPE_FREE_THREADED"

ctypedef int Lock


cdef inline void lock(Lock* lock) noexcept:
    while FREE_THREADED and not claim(lock):
        yield_thread()


cdef inline void unlock(Lock* lock) noexcept:
    if FREE_THREADED:
        clear_flag(lock)


cdef inline list own(list items):
    return items[:] if FREE_THREADED else items

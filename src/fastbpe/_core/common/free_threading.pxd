"""Locks and copies in place of the GIL on a free-threaded CPython. With the GIL, all of it compiles to nothing.

FREE_THREADED  this is a free-threaded build, whether or not its GIL is on
lock(lock)     take a lock; it is free while it is 0
unlock(lock)   give it back
own(items)     a list that no other thread changes: a copy of a caller's list; with the GIL, the list itself

A lock guards a few lines of plain C, which run no Python code. Its holder has a thread state and never gives it up.
So the interpreter, which stops all threads for a fork, never stops one that holds a lock, and the child finds all
locks free. A PyMutex would not do: a thread that waits for one gives its thread state up, and may be handed the
mutex while all others stand still. Code without a thread state (nogil) takes no lock.

An attribute that is made at its first use is made without a lock, kept under one if no other thread was faster,
and never replaced: a reader that has seen its atomic flag, or has had the same lock, may use it.
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

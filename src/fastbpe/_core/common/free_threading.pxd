"""Locks and copies that replace the GIL on a free-threaded CPython. With a GIL, they compile to nothing.

FREE_THREADED  true in a free-threaded build, even if its GIL is enabled
lock(lock)     acquire a lock; 0 means that it is free
unlock(lock)   release it
own(items)     a list that no other thread changes: a copy of a caller's list; with the GIL, the list itself

A lock guards a few lines of plain C that run no Python code, so a thread that holds it never detaches its thread
state. The interpreter can therefore not stop that thread for a fork, and the child process finds all locks free. A
PyMutex would not work: a thread that waits for one detaches its thread state, and may be handed the mutex while
all other threads are stopped. Code without a thread state (nogil) must not take a lock.

Some attributes are created at their first use. A thread creates the value without a lock. Then it takes a lock,
and stores the value unless another thread was faster. No thread replaces the value later. So a thread may use the
value once it has held the same lock, or has seen the flag (see `atomics`) that is set after the value is stored.
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

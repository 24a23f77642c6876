"""Release the GIL now and then while one thread makes many short calls, or many Python objects in one call.

A thread that waits for the GIL requests it only if nobody has released it for sys.getswitchinterval() (5 ms by
default), and CPython hands the GIL over only to a thread that has requested it. A thread that releases the GIL
more often takes it back before any waiting thread has woken up, and each release restarts the wait of the other
threads. With a release every 0.1 ms, no other thread ever got the GIL. So this module waits 1.5 switch intervals
between releases.

On a free-threaded CPython the release lets the interpreter stop this thread, for garbage collection or a fork.
"""

from fastbpe._core.common.free_threading cimport FREE_THREADED
from fastbpe._core.common.interrupts cimport now

import sys

# The GIL protects these two variables, which all threads share. They are not used without a GIL.
cdef double _released = 0  # monotonic time of the last release by any thread, in seconds
cdef double _period = 0  # seconds between two releases; 0: the first call releases at once


cdef int yield_gil_if_due() except -1:
    """Release the GIL and take it back, if the last release was at least 1.5 switch intervals ago.

    Requires: the GIL is held.
    """
    global _released, _period
    if not FREE_THREADED and now() - _released < _period:
        return 0
    with nogil:
        pass
    if FREE_THREADED:
        return 0
    _released = now()
    _period = 1.5 * sys.getswitchinterval()
    return 0

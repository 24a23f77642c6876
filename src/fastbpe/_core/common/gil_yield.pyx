"""The GIL between many short pieces of work: every few milliseconds other Python threads may have it.

Not more often. A thread that waits for the GIL asks for it when nobody has given it up for sys.getswitchinterval()
(5 ms), and it is only to one that has asked that it really goes over: else who gives it up has it back before the other
has woken. Given up every tenth of a millisecond it is never asked for, and the other threads stood still for as long as
short texts were encoded.
"""

from fastbpe._core.common.interrupts cimport now

import sys

cdef double _given = 0  # when it was given up last, by whichever thread
cdef double _period = 0


cdef int take_turns() except -1:
    """Let others have the GIL, if that was long enough ago. To be called under the GIL."""
    global _given, _period
    if 0 <= now() - _given < _period:
        return 0
    with nogil:
        pass
    _given = now()
    _period = 1.5 * sys.getswitchinterval()
    return 0

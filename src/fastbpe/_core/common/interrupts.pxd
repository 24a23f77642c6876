"""What long work without the GIL looks at now and then: signals, and whether anybody still wants it."""

from cpython.exc cimport PyErr_CheckSignals

from fastbpe._core.common.atomics cimport is_set

cdef extern from *:
    """
    #ifndef FASTBPE_NOW
    #define FASTBPE_NOW
    #include <time.h>
    static inline double fastbpe_now(void) {
        struct timespec now;
        timespec_get(&now, TIME_UTC);
        return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    }
    #endif
    #define FASTBPE_SIGNALS_EVERY 0.1
    """
    double now "fastbpe_now"() noexcept nogil
    const double SIGNALS_EVERY "FASTBPE_SIGNALS_EVERY"  # seconds; each time costs a wait for the GIL


cdef struct Watch:
    double checked  # when signals were last looked at, in seconds; 0: not yet
    int* abandoned  # set by another thread: nobody wants what is being made any more; or NULL


cdef inline int check_signals(Watch* watch) except -1 nogil:
    """Let Ctrl-C through, now and then, and end what was abandoned."""
    cdef double time = now()
    if 0 <= time - watch.checked < SIGNALS_EVERY:
        return 0
    if watch.checked:
        with gil:
            PyErr_CheckSignals()
            if watch.abandoned != NULL and is_set(watch.abandoned):
                raise RuntimeError("abandoned: the call that this was done for has ended")
    watch.checked = time
    return 0

"""Monotonic clock, and a check for signals or an abandoned call during long work without the GIL."""

from fastbpe._core.common.atomics cimport is_set
from fastbpe._core.common.python cimport PyErr_CheckSignals

cdef extern from *:
    """
    #ifdef _WIN32
    #define WIN32_LEAN_AND_MEAN
    #include <windows.h>
    static inline double fastbpe_now(void) {
        LARGE_INTEGER ticks, ticks_per_second;
        QueryPerformanceCounter(&ticks);
        QueryPerformanceFrequency(&ticks_per_second);
        return (double)ticks.QuadPart / (double)ticks_per_second.QuadPart;
    }
    #else
    #include <time.h>
    static inline double fastbpe_now(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    }
    #endif
    #define FASTBPE_SIGNALS_EVERY 0.1
    """
    double now "fastbpe_now"() noexcept nogil  # seconds since some fixed moment; never decreases
    const double SIGNALS_EVERY "FASTBPE_SIGNALS_EVERY"  # seconds between checks, which may wait for the GIL


cdef struct Watch:
    double checked  # time of the last check, from now(); 0: none yet
    int* abandoned  # flag that another thread sets once the result is no longer needed; NULL: no flag


cdef inline int check_signals(Watch* watch) except -1 nogil:
    """Run Python's signal handlers (Ctrl-C), at most once per SIGNALS_EVERY. The first call only starts the clock.

    Raises any exception of a handler, and RuntimeError once watch.abandoned is set.
    """
    cdef double time = now()
    if time - watch.checked < SIGNALS_EVERY:
        return 0
    if watch.checked:
        with gil:
            PyErr_CheckSignals()
            if watch.abandoned != NULL and is_set(watch.abandoned):
                raise RuntimeError("abandoned: the call that started this work has ended")
    watch.checked = time
    return 0

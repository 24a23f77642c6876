"""Atomic flags and counters that threads without the GIL share.

add(at, n)      add n to *at and return the old value, so each caller gets a range of its own
set_flag(flag)  set *flag to 1; a thread that sees it set also sees everything that this thread wrote before
clear_flag(flag)  set *flag to 0, with the same guarantee
claim(flag)     set *flag to 1 and return whether it was 0: true for exactly one thread
is_set(flag)    tell whether *flag is set
yield_thread()  let the operating system schedule another thread

All operations are sequentially consistent: if each of two threads sets its own flag and then reads the flag of the
other thread, at least one of them sees it set. Jobs._wait() in encode.parallel_encoding relies on this.
"""

cdef extern from *:
    """
    #ifdef _MSC_VER
    #define WIN32_LEAN_AND_MEAN
    #include <windows.h>
    #include <intrin.h>
    static inline size_t fastbpe_add(size_t *at, size_t n) {
        return (size_t)_InterlockedExchangeAdd64((volatile long long *)at, (long long)n);
    }
    static inline void fastbpe_set(int *flag) { _InterlockedExchange((volatile long *)flag, 1); }
    static inline void fastbpe_clear(int *flag) { _InterlockedExchange((volatile long *)flag, 0); }
    static inline int fastbpe_claim(int *flag) { return !_InterlockedExchange((volatile long *)flag, 1); }
    static inline int fastbpe_is_set(int *flag) { return _InterlockedOr((volatile long *)flag, 0); }
    static inline void fastbpe_yield(void) { SwitchToThread(); }
    #else
    #include <sched.h>
    static inline size_t fastbpe_add(size_t *at, size_t n) {
        return __atomic_fetch_add(at, n, __ATOMIC_SEQ_CST);
    }
    static inline void fastbpe_set(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST); }
    static inline void fastbpe_clear(int *flag) { __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST); }
    static inline int fastbpe_claim(int *flag) { return !__atomic_exchange_n(flag, 1, __ATOMIC_SEQ_CST); }
    static inline int fastbpe_is_set(int *flag) { return __atomic_load_n(flag, __ATOMIC_SEQ_CST); }
    static inline void fastbpe_yield(void) { sched_yield(); }
    #endif
    """
    size_t add "fastbpe_add"(size_t* at, size_t n) noexcept nogil
    void set_flag "fastbpe_set"(int* flag) noexcept nogil
    void clear_flag "fastbpe_clear"(int* flag) noexcept nogil
    bint claim "fastbpe_claim"(int* flag) noexcept nogil
    bint is_set "fastbpe_is_set"(int* flag) noexcept nogil
    void yield_thread "fastbpe_yield"() noexcept nogil

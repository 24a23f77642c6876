"""What threads tell each other without the GIL: flags that are set once, and numbers that only one of them gets."""

cdef extern from *:
    """
    #ifndef FASTBPE_FLAGS
    #define FASTBPE_FLAGS
    #ifdef _MSC_VER
    #include <intrin.h>
    static inline size_t fastbpe_take(size_t *at) { return (size_t)_InterlockedExchangeAdd64((volatile long long *)at, 1); }
    static inline void fastbpe_set(int *flag) { _InterlockedExchange((volatile long *)flag, 1); }
    static inline int fastbpe_is_set(int *flag) { return _InterlockedOr((volatile long *)flag, 0); }
    #else
    static inline size_t fastbpe_take(size_t *at) { return __atomic_fetch_add(at, 1, __ATOMIC_RELAXED); }
    static inline void fastbpe_set(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }
    static inline int fastbpe_is_set(int *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }
    #endif
    #endif
    """
    size_t take_number "fastbpe_take"(size_t* at) noexcept nogil
    void set_flag "fastbpe_set"(int* flag) noexcept nogil
    bint is_set "fastbpe_is_set"(int* flag) noexcept nogil

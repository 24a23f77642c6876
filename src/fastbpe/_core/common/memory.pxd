"""Memory for large tables and outputs: zeroed, and on huge pages where the system lends them when asked."""

cdef extern from *:
    """
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    #ifdef __linux__
    #include <sys/mman.h>
    #include <unistd.h>
    #ifndef MADV_POPULATE_WRITE
    #define MADV_POPULATE_WRITE 23 /* Linux 5.14; older ones refuse it, and pages come one by one as ever */
    #endif
    #endif

    #define FASTBPE_HUGE ((size_t)1 << 21)
    #define FASTBPE_MAPPED ((size_t)1 << 25) /* from here on glibc's blocks are mappings of their own */
    #define FASTBPE_SMALL ((size_t)1 << 22) /* of a table that lies on small pages: see docs/performance.md, cold */

    /* First touch of fresh memory runs at 2.8 GB/s on 4 KB pages and at 8.8 GB/s on huge ones.

       All of its pages are told, those at its ends, too: realloc moves a mapping that is all of one kind, and copies
       any other, on small pages. */
    static inline void fastbpe_use_huge_pages(void *memory, size_t n_bytes) {
    #ifdef MADV_HUGEPAGE
        uintptr_t end = (uintptr_t)memory + n_bytes, page, from, to;
        if (((uintptr_t)memory + FASTBPE_HUGE - 1) / FASTBPE_HUGE >= end / FASTBPE_HUGE) return; /* none is whole */
        page = (uintptr_t)sysconf(_SC_PAGESIZE);
        from = (uintptr_t)memory / page * page;
        to = (end + page - 1) / page * page;
        madvise((void *)from, to - from, MADV_HUGEPAGE); /* a hint: refused, it costs speed alone */
    #else
        (void)memory, (void)n_bytes;
    #endif
    }

    /* Have the pages of fresh memory, all of which is about to be written, at once: one by one they take nearly twice
       as long (docs/performance.md). Of memory that has them it asks for nothing. */
    static inline void fastbpe_lay_out(void *memory, size_t n_bytes) {
    #ifdef MADV_POPULATE_WRITE
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)memory / page * page;
        if (n_bytes > page) madvise((void *)from, (uintptr_t)memory + n_bytes - from, MADV_POPULATE_WRITE);
    #else
        (void)memory, (void)n_bytes;
    #endif
    }

    /* Whether to grow from n_had to n_bytes is to be done by hand. Where realloc has to copy, it copies all that was
       had, used or not, before there is a word of huge pages. */
    static inline int fastbpe_copies(size_t n_had, size_t n_bytes) {
        return n_bytes >= 2 * FASTBPE_HUGE && n_had < FASTBPE_MAPPED;
    }

    /* Memory of n_bytes in place of such of n_had, fewer, the first n_used of which are kept; NULL: there is none, and
       the old is as it was. */
    static inline void *fastbpe_grown(void *memory, size_t n_used, size_t n_had, size_t n_bytes) {
        int copies = fastbpe_copies(n_had, n_bytes);
        void *grown = copies ? malloc(n_bytes) : realloc(memory, n_bytes);
        if (grown == NULL) return NULL;
        fastbpe_use_huge_pages(grown, n_bytes);
        if (copies) {
            if (n_used) memcpy(grown, memory, n_used);
            free(memory);
        }
        return grown;
    }

    /* n_bytes of zeros at a multiple of 64 bytes, and room behind them up to room bytes, which is not touched; what is
       behind FASTBPE_SMALL on huge pages of its own. *block is what to free. */
    static inline void *fastbpe_zeros(size_t n_bytes, size_t room, void **block) {
        size_t unit = n_bytes > FASTBPE_HUGE / 4 ? FASTBPE_HUGE : 64;
        n_bytes = (n_bytes + unit - 1) / unit * unit;
        room = room < n_bytes ? n_bytes : (room + unit - 1) / unit * unit;
        char *memory = (char *)(*block = malloc(room + unit));
        if (memory == NULL) return NULL;
        memory += unit - (uintptr_t)memory % unit;
        if (room > FASTBPE_SMALL) /* calloc might touch them before */
            fastbpe_use_huge_pages(memory + FASTBPE_SMALL, room - FASTBPE_SMALL);
        fastbpe_lay_out(memory, n_bytes);
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
    void lay_out "fastbpe_lay_out"(void* memory, size_t n_bytes) noexcept nogil
    void* grown "fastbpe_grown"(void* memory, size_t n_used, size_t n_had, size_t n_bytes) noexcept nogil
    void* zeros "fastbpe_zeros"(size_t n_bytes, size_t room, void** block) noexcept nogil

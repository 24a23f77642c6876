"""Memory for large tables and outputs: on huge pages if Linux provides them, and zeroed for tables.

prefetch(p)                               load the cache line at p; any address is allowed
likely(x)                                 x, with a hint to the compiler that it is true
use_huge_pages(memory, n_bytes)           ask the kernel for huge pages (2 MB); a hint, which cannot fail
grown(memory, n_used, n_had, n_bytes)     reallocate to n_bytes and keep the first n_used; NULL if out of memory
zeros(n_bytes, capacity, block)           zeroed memory that starts on a cache line; NULL if out of memory
resized(memory, n_had, n_bytes)           reallocate; a large array gets its own pages; NULL if out of memory

malloc(0) may return NULL. So the core allocates one item more wherever there may be none, and NULL means that memory
has run out.
"""

# Tried and dropped: calloc for large tables: it may clear recycled memory before madvise() asks for huge pages.
# Tried and dropped: MADV_POPULATE_WRITE before writing to memory: no gain on any row of compare.py.

cdef extern from *:
    """
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    #ifdef __linux__
    #include <sys/mman.h>
    #endif

    #define FASTBPE_HUGE ((size_t)1 << 21) /* bytes of a huge page */
    /* Size from which glibc's malloc always maps a block separately (the greatest M_MMAP_THRESHOLD of 64-bit
       systems), so that realloc moves pages instead of copying. */
    #define FASTBPE_MAPPED ((size_t)1 << 25)
    /* Leading bytes of a table that stay on small pages: a process that has just started uses little more than
       these, and the kernel zeroes a huge page as a whole at its first touch. */
    #define FASTBPE_SMALL ((size_t)1 << 22)

    /* First touches are several times faster on huge pages: one page fault per 2 MB instead of 4 KB.

       The hint covers the partial pages at both ends too: mremap moves a mapping only if all its pages have the
       same flags; otherwise realloc copies, and onto small pages. */
    static inline void fastbpe_use_huge_pages(void *memory, size_t n_bytes) {
    #ifdef MADV_HUGEPAGE
        uintptr_t end = (uintptr_t)memory + n_bytes, page, from, to;
        if (((uintptr_t)memory + FASTBPE_HUGE - 1) / FASTBPE_HUGE >= end / FASTBPE_HUGE) return; /* no whole one */
        page = (uintptr_t)sysconf(_SC_PAGESIZE);
        from = (uintptr_t)memory / page * page;
        to = (end + page - 1) / page * page;
        madvise((void *)from, to - from, MADV_HUGEPAGE); /* if refused, only speed suffers */
    #else
        (void)memory, (void)n_bytes;
    #endif
    }

    /* Tell whether malloc and memcpy are better than realloc for growing from n_had to n_bytes. If realloc has to
       copy, it copies the whole old block, even the unused part, and onto small pages, because the huge-page hint
       comes only afterwards. A block of two huge pages certainly contains a whole one. */
    static inline int fastbpe_copies(size_t n_had, size_t n_bytes) {
        return n_bytes >= 2 * FASTBPE_HUGE && n_had < FASTBPE_MAPPED;
    }

    /* Reallocate memory from n_had to n_bytes and keep the first n_used. Requires: n_used <= n_had < n_bytes.
       Returns NULL if out of memory; the old block is then unchanged. */
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

    /* Allocate a table of n_bytes zeros that can grow in place.

       n_bytes: bytes that are zeroed now.
       capacity: bytes to reserve in total, or 0 for n_bytes; bytes after n_bytes are not touched.
       block: receives the address for free().

       Returns an address that is a multiple of 64 (a cache line), or of 2 MB for tables of more than 512 KB; NULL
       if out of memory. Bytes after FASTBPE_SMALL are on huge pages if Linux provides them. */
    static inline void *fastbpe_zeros(size_t n_bytes, size_t capacity, void **block) {
        size_t unit = n_bytes > FASTBPE_HUGE / 4 ? FASTBPE_HUGE : 64;
        n_bytes = (n_bytes + unit - 1) / unit * unit;
        capacity = capacity < n_bytes ? n_bytes : (capacity + unit - 1) / unit * unit;
        char *memory = (char *)(*block = malloc(capacity + unit));
        if (memory == NULL) return NULL;
        memory += unit - (uintptr_t)memory % unit;
        if (capacity > FASTBPE_SMALL) /* malloc, not calloc: the hint must come before the first touch */
            fastbpe_use_huge_pages(memory + FASTBPE_SMALL, capacity - FASTBPE_SMALL);
        return memset(memory, 0, n_bytes);
    }

    /* Bytes from which `resized` maps pages. With 1 MB, training on 100 KB again and again is slower, because
       it gets new pages each time. */
    #define FASTBPE_OWN_PAGES ((size_t)1 << 22)

    /* Reallocate an array from n_had to n_bytes; the array is always resized and freed by this function.

       A large array has pages of its own, huge ones if Linux provides them. So it grows without a copy, and pages
       that it gives up return to the system at once. In malloc's heap, each array that has moved leaves a hole, which
       larger ones do not fill.

       memory: the array; NULL allocates a new one.
       n_had: bytes that the array has, 0 if it is NULL.
       n_bytes: bytes that it gets, uninitialized if new; 0 frees the array.

       Returns NULL for 0 bytes, or if out of memory; in the second case the array is unchanged. */
    static inline void *fastbpe_resized(void *memory, size_t n_had, size_t n_bytes) {
        void *made = NULL;
    #ifdef __linux__
        if (n_had >= FASTBPE_OWN_PAGES && n_bytes >= FASTBPE_OWN_PAGES) {
            made = mremap(memory, n_had, n_bytes, MREMAP_MAYMOVE);
            if (made == MAP_FAILED) return NULL;
            fastbpe_use_huge_pages(made, n_bytes);
            return made;
        }
        if (n_bytes >= FASTBPE_OWN_PAGES) {
            made = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (made == MAP_FAILED) return NULL;
            fastbpe_use_huge_pages(made, n_bytes);
            if (n_had) memcpy(made, memory, n_had);
            free(memory);
            return made;
        }
        if (n_had >= FASTBPE_OWN_PAGES) {
            if (n_bytes && (made = malloc(n_bytes)) == NULL) return NULL;
            if (n_bytes) memcpy(made, memory, n_bytes);
            munmap(memory, n_had);
            return made;
        }
    #endif
        (void)n_had;
        if (n_bytes) return realloc(memory, n_bytes);
        free(memory);
        return made;
    }

    #if defined(__GNUC__) || defined(__clang__)
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
    void* grown "fastbpe_grown"(void* memory, size_t n_used, size_t n_had, size_t n_bytes) noexcept nogil
    void* zeros "fastbpe_zeros"(size_t n_bytes, size_t capacity, void** block) noexcept nogil
    void* resized "fastbpe_resized"(void* memory, size_t n_had, size_t n_bytes) noexcept nogil

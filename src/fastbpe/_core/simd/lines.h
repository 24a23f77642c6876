/* Cache lines of a table with entries of 32 bytes, two per line; the first 16 bytes of an entry are its key. */
#ifndef FASTBPE_LINES_H
#define FASTBPE_LINES_H

#include <stddef.h>
#include <stdint.h>

/* Tell whether one of a line's two entries has the key, and store its offset in the line, 0 or 32, in *at.
 * If both have it, it is the second. Requires: `line` is a multiple of 64. No branch: both are equally likely.
 * Gain: 26 % on batches (docs/how/optimizations.md). */
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
static inline int fb_find_in_line(const void *line, const void *key, size_t *at) {
    __m128i wanted = _mm_loadu_si128((const __m128i *)key);
    __m128i first = _mm_load_si128((const __m128i *)line), second = _mm_load_si128((const __m128i *)line + 2);
    unsigned is_first = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi32(first, wanted)) + 1; /* 0x10000 if it is */
    unsigned is_second = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi32(second, wanted)) + 1;
    *at = is_second >> 11 & 32;
    return (is_first | is_second) >= 0x10000;
}
#else
static inline int fb_find_in_line(const void *line, const void *key, size_t *at) {
    const uint64_t *entries = (const uint64_t *)line, *wanted = (const uint64_t *)key;
    int is_first = ((entries[0] ^ wanted[0]) | (entries[1] ^ wanted[1])) == 0;
    int is_second = ((entries[4] ^ wanted[0]) | (entries[5] ^ wanted[1])) == 0;
    *at = (size_t)is_second << 5;
    return is_first | is_second;
}
#endif

#endif

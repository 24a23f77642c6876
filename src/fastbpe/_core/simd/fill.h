/* Filling a list with Python ints that are in an array (see int_table.pyx): an address is computed from each id.
 * Gain: 4 % on short texts (docs/how/optimizations.md). */
#ifndef FASTBPE_FILL_H
#define FASTBPE_FILL_H

#include <stddef.h>
#include <stdint.h>

enum { FB_INT_BYTES = 32 }; /* distance between two ints in the array */

/* Store the address of the int of each of n ids in items.
 *
 * first: the int of id 0. n_row: ids below it have ints.
 * Returns 0 if an id is not below n_row; the contents of items are then undefined. Works on four ids at a time; the
 * last four may overlap the previous ones. */
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
static inline __m128i fb_fill_four(void **items, const uint32_t *ids, __m128i first, __m128i last) {
    const __m128i zero = _mm_setzero_si128(), sign = _mm_set1_epi32(INT32_MIN);
    __m128i four = _mm_loadu_si128((const __m128i *)ids);
    /* As 64-bit numbers, times FB_INT_BYTES. The comparison is unsigned: the sign bits are flipped, also in `last`. */
    __m128i low = _mm_unpacklo_epi32(four, zero), high = _mm_unpackhi_epi32(four, zero);
    _mm_storeu_si128((__m128i *)items, _mm_add_epi64(_mm_slli_epi64(low, 5), first));
    _mm_storeu_si128((__m128i *)items + 1, _mm_add_epi64(_mm_slli_epi64(high, 5), first));
    return _mm_cmpgt_epi32(_mm_xor_si128(four, sign), last);
}

static inline int fb_fill_ints(void **items, const uint32_t *ids, size_t n, const void *first, uint32_t n_row) {
    size_t i;
    if (n >= 4 && n_row) { /* without ints, n_row - 1 would be the greatest id */
        const __m128i base = _mm_set1_epi64x((int64_t)(intptr_t)first);
        const __m128i last = _mm_set1_epi32((int32_t)((n_row - 1) ^ 0x80000000u));
        __m128i beyond = fb_fill_four(items + n - 4, ids + n - 4, base, last);
        for (i = 0; i + 4 < n; i += 4) beyond = _mm_or_si128(beyond, fb_fill_four(items + i, ids + i, base, last));
        return _mm_movemask_epi8(beyond) == 0;
    }
    for (i = 0; i < n && ids[i] < n_row; i++) items[i] = (char *)first + (size_t)ids[i] * FB_INT_BYTES;
    return i == n;
}
#else
static inline int fb_fill_ints(void **items, const uint32_t *ids, size_t n, const void *first, uint32_t n_row) {
    int within = 1;
    for (size_t i = 0; i < n; i++) {
        items[i] = (char *)first + (size_t)ids[i] * FB_INT_BYTES;
        within &= ids[i] < n_row;
    }
    return within;
}
#endif

#endif

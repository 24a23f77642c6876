/* Keys of 16 bytes for short pieces (see piece_keys.pxd), and the multiplication that hashes them. */
#ifndef FASTBPE_KEYS_H
#define FASTBPE_KEYS_H

#include <stdint.h>
#include <string.h>

/* By length n of a piece, up to 15: masks for the 16 bytes from its start, and the length in the last byte. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define FB_FIRST(n) ((n) > 7 ? ~UINT64_C(0) : ~(~UINT64_C(0) >> (8 * (n) & 63)))
#define FB_LAST_BYTE(n) UINT64_C(n)
#else
#define FB_FIRST(n) ((n) > 7 ? ~UINT64_C(0) : (UINT64_C(1) << (8 * (n) & 63)) - 1)
#define FB_LAST_BYTE(n) (UINT64_C(n) << 56)
#endif
#define FB_KEY_ROW(n) {{FB_FIRST(n), FB_FIRST((n) < 8 ? 0 : (n) - 8)}, {0, FB_LAST_BYTE(n)}}
typedef struct {
    uint64_t kept[2], length[2];
} fb_key_row;
static const fb_key_row fb_key_rows[16] = {
    FB_KEY_ROW(0),  FB_KEY_ROW(1),  FB_KEY_ROW(2),  FB_KEY_ROW(3), FB_KEY_ROW(4),  FB_KEY_ROW(5),
    FB_KEY_ROW(6),  FB_KEY_ROW(7),  FB_KEY_ROW(8),  FB_KEY_ROW(9), FB_KEY_ROW(10), FB_KEY_ROW(11),
    FB_KEY_ROW(12), FB_KEY_ROW(13), FB_KEY_ROW(14), FB_KEY_ROW(15),
};

/* Store the key of a piece of n <= 15 bytes at `key`; return its low half and store the high half in *high.
 * Requires: 16 bytes from `piece` on are readable. Tried and dropped: two 64-bit halves instead of a vector: slower. */
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
static inline uint64_t fb_make_key(const uint8_t *piece, size_t n, void *key, uint64_t *high) {
    const __m128i *row = (const __m128i *)&fb_key_rows[n];
    __m128i bytes = _mm_and_si128(_mm_loadu_si128((const __m128i *)piece), _mm_loadu_si128(row));
    bytes = _mm_or_si128(bytes, _mm_loadu_si128(row + 1));
    _mm_storeu_si128((__m128i *)key, bytes);
    *high = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(bytes, bytes));
    return (uint64_t)_mm_cvtsi128_si64(bytes);
}
#else
static inline uint64_t fb_make_key(const uint8_t *piece, size_t n, void *key, uint64_t *high) {
    uint64_t halves[2];
    memcpy(halves, piece, 16);
    halves[0] &= fb_key_rows[n].kept[0];
    halves[1] = (halves[1] & fb_key_rows[n].kept[1]) | fb_key_rows[n].length[1];
    memcpy(key, halves, 16);
    *high = halves[1];
    return halves[0];
}
#endif

/* Low and high half of the 128-bit product, combined by xor. */
#ifdef __SIZEOF_INT128__
static inline uint64_t fb_fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}
#else
static inline uint64_t fb_fold(uint64_t a, uint64_t b) {
    uint64_t low = a * b, cross = (a >> 32) * (b & 0xFFFFFFFF) + (((a & 0xFFFFFFFF) * (b & 0xFFFFFFFF)) >> 32);
    uint64_t middle = (a & 0xFFFFFFFF) * (b >> 32) + (cross & 0xFFFFFFFF);
    return low ^ ((a >> 32) * (b >> 32) + (cross >> 32) + (middle >> 32));
}
#endif

#endif

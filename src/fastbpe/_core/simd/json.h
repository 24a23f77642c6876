/* Scans and copies strings of JSON, 16 bytes at a time.
 *
 * Strings have a few hundred bytes, so the vectors that every x86-64 (SSE2) and ARM64 (NEON) processor has are enough.
 * Gain: 11 % on counting a .jsonl file (docs/how/optimizations.md).
 * The loops of json_lines.pyx handle the rest of the data, and all of it on other processors.
 */
#ifndef FASTBPE_JSON_H
#define FASTBPE_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FB_JSON_BLOCK 16 /* bytes of a vector */

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>

/* Mask of the bytes of a block that are a backslash, with FB_JSON_MASK_BITS bits per byte. If `all`, also of quotes
 * and bytes below U+0020. Requires: 16 bytes are readable. */
static inline uint64_t fb_json_mask(const uint8_t *at, int all) {
    __m128i v = _mm_loadu_si128((const __m128i *)at);
    __m128i hit = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    if (all) {
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);
        hit = _mm_or_si128(_mm_or_si128(hit, control), _mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
    }
    return (unsigned)_mm_movemask_epi8(hit);
}
#define FB_JSON_MASK_BITS 1 /* bits of a mask per byte */

#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#include <arm_neon.h>

static inline uint64_t fb_json_mask(const uint8_t *at, int all) {
    uint8x16_t v = vld1q_u8(at);
    uint8x16_t hit = vceqq_u8(v, vdupq_n_u8('\\'));
    if (all) hit = vorrq_u8(hit, vorrq_u8(vcltq_u8(v, vdupq_n_u8(0x20)), vceqq_u8(v, vdupq_n_u8('"'))));
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(hit), 4)), 0);
}
#define FB_JSON_MASK_BITS 4
#else
#define FB_JSON_MASK_BITS 0
#endif

#if FB_JSON_MASK_BITS
/* Return the index of the first byte whose bit is set. Requires: mask != 0. */
#ifdef _MSC_VER
#include <intrin.h>
static inline unsigned fb_json_first(uint64_t mask) {
    unsigned long bit;
    _BitScanForward64(&bit, mask);
    return bit / FB_JSON_MASK_BITS;
}
#else
static inline unsigned fb_json_first(uint64_t mask) { return (unsigned)__builtin_ctzll(mask) / FB_JSON_MASK_BITS; }
#endif

/* Return the position of the first quote, backslash or byte below U+0020. If no whole block of 16
 * bytes has one, return the position after the last whole block. */
static inline const uint8_t *fb_json_stop(const uint8_t *at, const uint8_t *end) {
    while (end - at >= FB_JSON_BLOCK) {
        uint64_t mask = fb_json_mask(at, 1);
        if (mask) return at + fb_json_first(mask);
        at += FB_JSON_BLOCK;
    }
    return at;
}

/* Copy the bytes before the first backslash; if no whole block has one, copy all whole blocks. Returns the number of
 * bytes copied. Requires: `out` has space for end - at bytes. May overwrite up to 16 bytes of `out` after the copy. */
static inline size_t fb_json_copy(const uint8_t *at, const uint8_t *end, uint8_t *out) {
    const uint8_t *start = at;
    while (end - at >= FB_JSON_BLOCK) {
        uint64_t mask = fb_json_mask(at, 0);
        memcpy(out, at, FB_JSON_BLOCK);
        if (mask) return (size_t)(at - start) + fb_json_first(mask);
        at += FB_JSON_BLOCK;
        out += FB_JSON_BLOCK;
    }
    return (size_t)(at - start);
}
#else
static inline const uint8_t *fb_json_stop(const uint8_t *at, const uint8_t *end) { return (void)end, at; }
static inline size_t fb_json_copy(const uint8_t *at, const uint8_t *end, uint8_t *out) {
    return (void)at, (void)end, (void)out, (size_t)0;
}
#endif

#endif
